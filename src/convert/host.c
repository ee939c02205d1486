/* host.c - CUDA calls, NVTX, OS runtime calls and scheduling, by thread. */
#include <stdio.h>
#include "convert/convert.h"
#include "schema/nvtx_row.h"

static const struct nsx_val none = {.type = NSX_V_NULL};

enum { C_START, C_END, C_CLASS, C_TID, C_PID, C_PLAIN_TID, C_CORR, C_NAME,
       C_RETURN };
static const enum nsx_field call_fields[] = {
	NSX_FIELDS(runtime, start_ns, end_ns, event_class, global_tid, pid, tid,
		   corr, name, return_value)};

static int host_read_call(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			  struct nsx_err *err)
{
	struct nsx_conv *c = ctx;
	struct nsx_slice s = {.name = v[C_NAME],
			      .corr = nsx_u32_or(&v[C_CORR], 0)};
	int rc;

	if (nsx_i64_or(&v[C_CLASS], 0) == NSX_CLASS_BACKTRACE ||
	    !nsx_conv_span(c, &v[C_START], &v[C_END], &s))
		return nsx_stopped(err);
	if (nsx_tracks_thread(&c->tracks, NSX_A_API, &v[C_TID], &v[C_PID],
			      &v[C_PLAIN_TID], &s.track, err))
		return err->rc;
	if (c->writing && c->opts->shed >> NSX_SHED_CALLS & 1 &&
	    !nsx_flows_has(&c->flows, c->tracks.tracks[s.track].process, s.corr))
		return nsx_stopped(err);
	rc = nsx_slice_begin(c, &s, err);
	if (rc <= 0)
		return rc;
	if (nsx_i64_or(&v[C_RETURN], 0))
		c->writer->arg_int(c, "return", v[C_RETURN].u.i);
	if (s.corr)
		c->writer->arg_int(c, "correlation", s.corr);
	nsx_slice_end(c, &s);
	return 0;
}

const struct nsx_activity_def nsx_def_api = {
	NSX_VIEW_runtime, call_fields, ARRAY_LEN(call_fields), C_RETURN, -1,
	host_read_call, NULL};

/* NVTX ----------------------------------------------------------------------*/

static int host_read_nvtx(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			  struct nsx_err *err)
{
	struct nsx_conv *c = ctx;
	int rc, kind = nsx_nvtx_row_kind(v);
	struct nsx_slice s = {.name = *nsx_nvtx_row_name(v)};
	struct nsx_val end = v[NSX_N_END];
	bool is_far;

	if (kind < 0 || (kind == NSX_NVTX_MARK && c->opts->shed >> NSX_SHED_MARKS & 1))
		return nsx_stopped(err);
	if (c->names->prefix && !nsx_names_matches(c->names, &s.name))
		return nsx_stopped(err);
	s.kind = kind == NSX_NVTX_STACK ? NSX_SLICE : kind == NSX_NVTX_ASYNC ? NSX_ASYNC : NSX_MARK;
	is_far = c->shifts.possible.is_on && nsx_is_instant(&end) &&
		 end.u.i > c->shifts.possible.to_ns;
	c->shifts.has_far |= is_far;
	s.open = kind != NSX_NVTX_MARK && (end.type == NSX_V_NULL || is_far);
	/* A range that was never closed lasts to the end of the converted time, which the survey
	 * finds.
	 */
	if (s.open)
		end = (struct nsx_val){.type = NSX_V_I64,
				       .u.i = c->writing ? c->last_ns :
					      c->shifts.possible.is_on ? c->shifts.possible.to_ns :
								      NSX_TIME_MAX};
	else if (kind == NSX_NVTX_MARK)
		end = v[NSX_N_START];
	if (!nsx_conv_span(c, &v[NSX_N_START], &end, &s))
		return nsx_stopped(err);
	if (nsx_tracks_thread(&c->tracks, NSX_A_NVTX, &v[NSX_N_TID],
			      &v[NSX_N_PID], &v[NSX_N_PLAIN_TID], &s.track, err))
		return err->rc;
	rc = nsx_slice_begin(c, &s, err);
	if (rc <= 0)
		return rc;
	if (nsx_i64_or(&v[NSX_N_DOMAIN], 0))
		c->writer->arg_int(c, "domain", v[NSX_N_DOMAIN].u.i);
	if (s.open)
		c->writer->arg_int(c, "never_closed", 1);
	nsx_slice_end(c, &s);
	return 0;
}

const struct nsx_activity_def nsx_def_nvtx = {
	NSX_VIEW_nvtx, nsx_nvtx_row, NSX_N_CELLS, NSX_N_CELLS, -1, host_read_nvtx,
	NULL};

/* OS runtime, libraries ---------------------------------------------------------*/

enum { O_START, O_END, O_TID, O_NAME };
static const enum nsx_field osrt_fields[] = {NSX_FIELDS(osrt, start_ns, end_ns, global_tid, name)};

static const enum nsx_field library_fields[] = {
	NSX_FIELDS(mpi_coll, start_ns, end_ns, global_tid, name)};

static int read_named_call(void *ctx, int64_t rid NSX_UNUSED,
			   const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_conv *c = ctx;
	struct nsx_slice s = {.name = v[O_NAME]};

	if (!nsx_conv_span(c, &v[O_START], &v[O_END], &s))
		return nsx_stopped(err);
	if (nsx_tracks_thread(&c->tracks, c->activity, &v[O_TID], &none, &none, &s.track, err))
		return err->rc;
	return nsx_slice_put(c, &s, err);
}

const struct nsx_activity_def nsx_def_osrt = {
	NSX_VIEW_osrt, osrt_fields, ARRAY_LEN(osrt_fields), ARRAY_LEN(osrt_fields),
	-1, read_named_call, NULL};
/* The tables of all libraries have the same first fields. */
const struct nsx_activity_def nsx_def_library = {
	NSX_VIEW_mpi_coll, library_fields, ARRAY_LEN(library_fields),
	ARRAY_LEN(library_fields), -1, read_named_call, NULL};

/* Scheduling: on a CPU from a scheduled-in row to the thread's next row. ------ */

enum { S_START, S_CPU, S_IN, S_TID };
static const enum nsx_field sched_fields[] = {
	NSX_FIELDS(sched, start_ns, cpu, is_sched_in, global_tid)};

static int put_cpu_slice(struct nsx_conv *c, uint32_t track, int64_t end_ns,
			 bool open, struct nsx_err *err)
{
	const struct nsx_track *t = &c->tracks.tracks[track];
	struct nsx_slice s = {.start_ns = t->on_ns, .end_ns = end_ns,
			      .track = track};
	char name[32];
	int rc;

	snprintf(name, sizeof(name), "CPU %lld", (long long)t->cpu);
	s.name = nsx_text_val(name);
	if (!nsx_conv_in_window(c, s.start_ns, s.end_ns))
		return 0;
	rc = nsx_slice_begin(c, &s, err);
	if (rc <= 0)
		return rc;
	if (open)
		c->writer->arg_int(c, "until_end_of_trace", 1);
	nsx_slice_end(c, &s);
	return 0;
}

static int read_scheduling_row(void *ctx, int64_t rid NSX_UNUSED,
			       const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_conv *c = ctx;
	struct nsx_window whole = c->window;
	struct nsx_slice s = {.name = none};
	struct nsx_track *t;
	bool ok;

	/* All rows are read, because the slices are cut to the window later. */
	c->window = (struct nsx_window){0, 0};
	ok = nsx_conv_span(c, &v[S_START], &v[S_START], &s);
	c->window = whole;
	if (!ok)
		return nsx_stopped(err);
	if (nsx_tracks_thread(&c->tracks, NSX_A_SCHED, &v[S_TID], &none, &none, &s.track, err))
		return err->rc;
	if (!c->writing)
		return nsx_slice_begin(c, &s, err);
	t = &c->tracks.tracks[s.track];
	if (t->cpu >= 0 && put_cpu_slice(c, s.track, s.start_ns, false, err))
		return err->rc;
	t->cpu = nsx_i64_or(&v[S_IN], 0) ? NSX_MAX(nsx_i64_or(&v[S_CPU], 0), 0)
					 : -1;
	t->on_ns = s.start_ns;
	return 0;
}

/* Ends the slices of threads that are still on a CPU at the end of the converted time. */
static int end_scheduling_slices(struct nsx_conv *c, struct nsx_err *err)
{
	for (uint32_t i = 0; i < c->tracks.track_keys.n; i++)
		if (c->tracks.track_keys.keys[i].w[0] == NSX_A_SCHED &&
		    c->tracks.tracks[i].cpu >= 0 &&
		    put_cpu_slice(c, i, c->last_ns, true, err))
			return err->rc;
	return 0;
}

const struct nsx_activity_def nsx_def_sched = {
	NSX_VIEW_sched, sched_fields, ARRAY_LEN(sched_fields),
	ARRAY_LEN(sched_fields), 0, read_scheduling_row, end_scheduling_slices};
