/* gpu.c - kernels, copies, memsets and graph replays, with a track for each stream. */
#include <stdio.h>
#include "convert/convert.h"

enum { START, END, DEVICE, CONTEXT, STREAM, CORR, GLOBAL_PID, PID, OWN };
#define COMMON(v)                                                             \
	NSX_F_##v##_start_ns, NSX_F_##v##_end_ns, NSX_F_##v##_device_id,       \
		NSX_F_##v##_context_id, NSX_F_##v##_stream_id,                 \
		NSX_F_##v##_corr, NSX_F_##v##_global_pid, NSX_F_##v##_pid

static const enum nsx_view views[NSX_NACTIVITIES] = {
	[NSX_A_KERNEL] = NSX_VIEW_kernel, [NSX_A_MEMCPY] = NSX_VIEW_memcpy,
	[NSX_A_MEMSET] = NSX_VIEW_memset, [NSX_A_GRAPH] = NSX_VIEW_graph,
};

/* Corrects the times of a row as the loader does. Returns false if the row is left out. */
static bool correct_gpu_times(const struct nsx_conv *c, const struct nsx_val *v, uint64_t process,
			      struct nsx_val *start, struct nsx_val *end)
{
	const struct nsx_shifts *s = &c->shifts;
	const struct nsx_row_change key = {views[c->activity], nsx_u32_or(&v[CORR], 0),
					   start->u.i, end->u.i, 0};
	const struct nsx_row_change *change;

	if (start->type != NSX_V_I64 || end->type != NSX_V_I64)
		return true;
	change = nsx_find_change(s->row, s->nrows, &key);
	if (change && change->new_end_ns == NSX_LEFT_OUT)
		return false;
	if (change)
		end->u.i = change->new_end_ns;
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].process_key == process &&
		    s->v[i].device_id == nsx_i64_or(&v[DEVICE], s->v[i].device_id)) {
			start->u.i += s->v[i].ns;
			end->u.i += s->v[i].ns;
			break;
		}
	return true;
}

/* Reads the columns that all four tables share. Returns 1 to continue, 0 if the row is not
 * converted.
 */
static int begin_gpu_slice(struct nsx_conv *c, const struct nsx_val *v,
			   struct nsx_slice *s, struct nsx_err *err)
{
	uint64_t process = nsx_read_process_key(&v[GLOBAL_PID], &v[PID]);
	struct nsx_val start = v[START], end = v[END];

	if (!correct_gpu_times(c, v, process, &start, &end) || !nsx_conv_span(c, &start, &end, s))
		return nsx_stopped(err);
	s->corr = nsx_u32_or(&v[CORR], 0);
	if (nsx_tracks_stream(&c->tracks, c->activity, process,
			      nsx_i64_or(&v[DEVICE], 0), nsx_i64_or(&v[CONTEXT], 0),
			      nsx_i64_or(&v[STREAM], 0), &s->track, err))
		return err->rc;
	return nsx_slice_begin(c, s, err);
}

static void end_gpu_slice(struct nsx_conv *c, const struct nsx_slice *s)
{
	if (s->corr)
		c->writer->arg_int(c, "correlation", s->corr);
	nsx_slice_end(c, s);
}

/* Writes three cells as "1x2x3"; nothing if they are absent. */
static void put_dimensions(struct nsx_conv *c, const char *key, const struct nsx_val *v)
{
	if (v->type == NSX_V_I64)
		c->writer->arg_dims(c, key, v);
}

enum { NAME = OWN, SHORT_NAME, GRID, BLOCK = GRID + 3, NODE = BLOCK + 3,
       REGISTERS, STATIC_SHARED, DYNAMIC_SHARED };
static const enum nsx_field kernel_fields[] = {
	COMMON(kernel), NSX_F_kernel_name, NSX_F_kernel_short_name, NSX_F_kernel_grid_x,
	NSX_F_kernel_grid_y, NSX_F_kernel_grid_z, NSX_F_kernel_block_x, NSX_F_kernel_block_y,
	NSX_F_kernel_block_z, NSX_F_kernel_graph_node_id, NSX_F_kernel_registers,
	NSX_F_kernel_static_shared_bytes, NSX_F_kernel_dynamic_shared_bytes,
};

static int gpu_read_kernel(void *ctx, int64_t rid NSX_UNUSED,
			   const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_conv *c = ctx;
	bool has_other, is_short = v[SHORT_NAME].type != NSX_V_NULL;
	struct nsx_slice s = {.name = v[is_short ? SHORT_NAME : NAME]};
	int rc;

	if (!c->writing && nsx_names_use(c->names, &v[NAME], err))
		return err->rc;
	rc = begin_gpu_slice(c, v, &s, err);
	if (rc <= 0)
		return rc;
	has_other = is_short && v[NAME].type != NSX_V_NULL &&
		    (v[NAME].type != NSX_V_I64 || v[NAME].u.i != s.name.u.i);
	if (c->writer->is_typed)
		c->writer->kernel(c, &s, has_other ? &v[NAME] : NULL, &v[REGISTERS]);
	else if (has_other)
		c->writer->arg_name(c, "kernel", &v[NAME]);
	put_dimensions(c, "grid", &v[GRID]);
	put_dimensions(c, "block", &v[BLOCK]);
	if (nsx_i64_or(&v[NODE], 0))
		c->writer->arg_int(c, "graph_node", v[NODE].u.i);
	end_gpu_slice(c, &s);
	return 0;
}

const struct nsx_activity_def nsx_def_kernel = {
	NSX_VIEW_kernel, kernel_fields, ARRAY_LEN(kernel_fields), GRID, 1,
	gpu_read_kernel, NULL};

/* Copies, memsets and graphs have a name in one cell and a figure in the next. */
enum { NAMED_BY = OWN, FIGURE };
static const enum nsx_field memcpy_fields[] = {
	COMMON(memcpy), NSX_F_memcpy_copy_kind, NSX_F_memcpy_bytes};
static const enum nsx_field memset_fields[] = {
	COMMON(memset), NSX_F_memset_bytes, NSX_F_memset_bytes};
static const enum nsx_field graph_fields[] = {
	COMMON(graph), NSX_F_graph_graph_id, NSX_F_graph_graph_exec_id};

static int read_other_work(void *ctx, int64_t rid NSX_UNUSED,
			   const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_conv *c = ctx;
	bool is_graph = c->activity == NSX_A_GRAPH;
	struct nsx_slice s;
	char name[64];
	int rc;

	if (c->activity == NSX_A_MEMCPY)
		snprintf(name, sizeof(name), "Memcpy %s", nsx_copy_direction(
				 c->schema->copy_kinds.of[nsx_u8_or(&v[NAMED_BY], 0)]));
	else if (is_graph && v[NAMED_BY].type == NSX_V_I64)
		snprintf(name, sizeof(name), "Graph %lld", (long long)v[NAMED_BY].u.i);
	else
		snprintf(name, sizeof(name), "%s", is_graph ? "Graph" : "Memset");
	s = (struct nsx_slice){.name = nsx_text_val(name)};
	rc = begin_gpu_slice(c, v, &s, err);
	if (rc <= 0)
		return rc;
	if (v[FIGURE].type == NSX_V_I64)
		c->writer->arg_int(c, is_graph ? "graph_exec" : "bytes", v[FIGURE].u.i);
	end_gpu_slice(c, &s);
	return 0;
}

const struct nsx_activity_def nsx_def_memcpy = {
	NSX_VIEW_memcpy, memcpy_fields, ARRAY_LEN(memcpy_fields), FIGURE, 1,
	read_other_work, NULL};
const struct nsx_activity_def nsx_def_memset = {
	NSX_VIEW_memset, memset_fields, ARRAY_LEN(memset_fields), OWN, 1,
	read_other_work, NULL};
const struct nsx_activity_def nsx_def_graph = {
	NSX_VIEW_graph, graph_fields, ARRAY_LEN(graph_fields), FIGURE, 1,
	read_other_work, NULL};
