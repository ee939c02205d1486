/* memory.c - unified memory: migrations that work waits for, and kernels stalled by their page
 * faults.
 *
 * A replay can remove migrations between kernels. It cannot remove those inside a kernel, whose
 * duration includes them: there the price is the time of kernels during which pages move or faults
 * are handled, less the time that the moved bytes take at the memory's own rate.
 */
#include "detect/detect.h"
#include "facts/memory.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

/* share of the recording from which unified memory is reported even if it is quiet in the window */
#define LOUD_SHARE 0.1

struct unified {
	struct nsx_detect *d;
	struct nsx_row_list rows; /* migrations in the judged window */
	int64_t bytes, ns;
	int64_t faults, judged_faults; /* groups of faults: all; in the judged window */
	double all_ns; /* kernel time under migrations and faults in the whole trace */
	struct moves { /* by device: spans of migrations and faults */
		struct nsx_spans busy;
		size_t cap;
	} *moves;
	uint32_t device; /* the device with most of all_ns; NSX_NONE: none */
};

static int add_span(struct moves *m, int64_t start_ns, int64_t end_ns, struct nsx_err *err)
{
	return nsx_push(m->busy.v, m->busy.n, m->cap, "migrations", err,
			(struct nsx_span){start_ns, end_ns});
}

static int collect_moves(struct unified *u, struct nsx_err *err)
{
	const struct nsx_trace *t = u->d->trace;

	for (size_t i = 0; i < t->ops.n; i++) {
		const struct nsx_copy *x = nsx_op_copy(t, i);
		int64_t at_ns = nsx_op_start(&t->ops, i);

		if (t->ops.kind[i] != NSX_OP_MEMCPY || !nsx_copy_is_migration(x->copy_kind))
			continue;
		if (add_span(&u->moves[nsx_stream_of(t, i)->device], at_ns, nsx_op_end(&t->ops, i),
			     err))
			return err->rc;
		if (!nsx_is_judged(u->d, at_ns) || !nsx_op_counts(t, i))
			continue;
		if (nsx_list_row(u->d, &u->rows, i, err))
			return err->rc;
		nsx_add_to(&u->bytes, NSX_MAX(0, x->bytes));
		nsx_add_to(&u->ns, nsx_op_ns(&t->ops, i));
	}
	return 0;
}

static int on_fault(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v, struct nsx_err *err)
{
	struct unified *u = ctx;
	uint32_t device;

	if (!nsx_is_span(u->d->trace->schema->shifts, &v[0], &v[1]) ||
	    v[2].type != NSX_V_I64)
		return 0;
	device = nsx_device_find(u->d->trace, nsx_process_key((uint64_t)nsx_i64_or(&v[3], 0)),
				 v[2].u.i);
	if (device == NSX_NONE)
		return 0;
	u->faults++;
	u->judged_faults += nsx_is_judged(u->d, v[0].u.i);
	return add_span(&u->moves[device], v[0].u.i, v[1].u.i, err);
}

/* Finds the device with most kernel time under migrations and faults in the judged window. */
static int stalled_ns(struct unified *u, uint32_t *ret_device, double *ret, struct nsx_err *err)
{
	struct nsx_span judged = {u->d->w.start_ns, u->d->w.end_ns};
	const struct nsx_spans window = {.v = &judged, .n = 1};
	const struct nsx_trace *t = u->d->trace;

	*ret = 0;
	u->device = NSX_NONE;
	for (uint32_t i = 0; i < t->ndevices; i++) {
		const struct nsx_spans *compute = &u->d->facts->device[i].compute;
		const struct nsx_gpu_info *gpu = nsx_device_gpu(t, i);
		struct nsx_spans inside;
		double ns, all_ns;

		nsx_spans_normalise(&u->moves[i].busy);
		if (nsx_spans_intersect(u->d->scratch, &u->moves[i].busy, &window, &inside, err))
			return err->rc;
		all_ns = (double)nsx_spans_overlap(&u->moves[i].busy, compute);
		if (all_ns > u->all_ns) {
			u->all_ns = all_ns;
			u->device = i;
		}
		ns = (double)nsx_spans_overlap(&inside, compute);
		if (gpu && gpu->bandwidth_bytes_per_s > 0)
			ns -= 1e9 * (double)u->bytes / (double)gpu->bandwidth_bytes_per_s;
		if (ns > *ret) {
			*ret = ns;
			*ret_device = i;
		}
	}
	return 0;
}

/* Finds the peak of managed memory in use; 0: unknown. */
static int find_managed(const struct unified *u, int64_t *ret, struct nsx_err *err)
{
	struct nsx_memory m;
	int64_t now = 0;

	*ret = 0;
	if (nsx_memory_read(u->d->trace->schema, &m, err)) {
		nsx_memory_done(&m);
		return err->rc;
	}
	for (size_t i = 0, end = 0; i < m.nsteps; i++) {
		if (i == end) {
			end = nsx_mem_group_end(&m, i);
			now = 0;
		}
		if (m.steps[i].kind == NSX_MC_MANAGED)
			nsx_add_to(&now, m.steps[i].delta);
		*ret = NSX_MAX(*ret, now);
	}
	nsx_memory_done(&m);
	return 0;
}

/* Findings ----------------------------------------------------------------------*/

/* Whether unified memory takes much of the whole recording. */
static bool is_loud(const struct unified *u)
{
	const struct nsx_window *full = &u->d->trace->window;

	return u->all_ns >= LOUD_SHARE * (double)(full->end_ns - full->start_ns);
}

static const char *say_size(const struct unified *u, int64_t managed)
{
	const struct nsx_gpu_info *gpu = u->d->trace->ndevices ?
		nsx_device_gpu(u->d->trace, 0) : NULL;

	if (!gpu || gpu->memory_bytes <= 0 || managed <= gpu->memory_bytes)
		return NULL;
	return nsx_tell(u->d->found, say_managed_memory_on_gpu_with,
		nsx_tell_bytes(u->d->found, managed),
		nsx_tell_bytes(u->d->found, gpu->memory_bytes));
}

/* Says how many groups of faults were recorded, in the judged window or in all. */
static const char *say_faults(const struct unified *u, bool in_all)
{
	struct nsx_findings *l = u->d->found;
	int64_t n = in_all ? u->faults : u->judged_faults;

	return nsx_tell(l, say_page_faults_gpu_recorded,
		nsx_text_n(l->arena, (size_t)n, "group", NULL), n == 1 ? "was" : "were",
		in_all ? " in all" : "");
}

/* Adds what was seen. is_whole: of the whole recording. */
static void tell_unified(const struct unified *u, double stalled, bool is_whole,
			 struct nsx_finding *f)
{
	struct nsx_findings *l = u->d->found;

	if (stalled > 0)
		nsx_add_evidence(f, nsx_tell(l, say_kernels_run_judged_window,
					     nsx_text_ns(l->arena, stalled)));
	if (u->ns > 0)
		nsx_add_evidence(f, nsx_tell(l, say_migrations_take_between,
					     nsx_tell_ns(l, u->ns)));
	nsx_add_evidence(f, u->faults ? say_faults(u, is_whole) :
			    u->d->trace->schema->refused[NSX_VIEW_um_gpu_fault] ?
				    say_page_faults_were_not_3 : say_page_faults_were_not_2);
}

static int memory_propose(struct unified *u, struct nsx_err *err)
{
	struct nsx_detect *d = u->d;
	struct nsx_findings *l = d->found;
	uint32_t device = NSX_NONE;
	double stalled = 0;
	int64_t managed;
	bool is_whole;
	const char *size, *share;

	if (stalled_ns(u, &device, &stalled, err))
		return err->rc;
	if (!is_loud(u) && ((stalled <= 0 && !u->rows.n) ||
			    ((double)u->ns < NSX_LEAST_SHARE * d->length_ns && !u->faults)))
		return 0;
	if (find_managed(u, &managed, err))
		return err->rc;
	size = say_size(u, managed);
	share = nsx_text_share(l->arena, u->all_ns, (double)(d->trace->window.end_ns -
							     d->trace->window.start_ns));
	/* Faults end once memory has settled, and the judged window is the loop after that: if most
	 * lie outside of it, what is judged would win next to nothing.
	 */
	is_whole = is_loud(u) && NSX_MAX(stalled, (double)u->ns) < LOUD_SHARE * d->length_ns;
	struct nsx_finding f = {.id = NSX_ID_unified_memory, .device = device,
		.also = 1u << NSX_CAT_COMPUTE, /* compute suffers, too: kernels wait for pages */
		.title = is_whole   ? say_unified_memory_moves_while :
			 !u->rows.n ? say_kernels_wait_gpu_page :
				      nsx_tell(l, say_unified_memory_moves_from,
					      nsx_text_n(l->arena, u->rows.n, "migration", NULL),
					      nsx_tell_bytes(l, u->bytes)),
		.confidence = NSX_CONF_MEDIUM, .severity = NSX_SEV_MEDIUM,
		.alarm = is_whole ? NSX_ALARM_SET : NSX_ALARM_BY_PRICE,
		.most_ns = is_whole ? u->all_ns : 0, .is_least = true,
		.recommendation = {say_prefetch_before_use, say_if_more_managed_than_gpu},
		.evidence = {is_whole ? nsx_tell(l, say_kernels_run_while_pages,
					 nsx_text_ns(l->arena, u->all_ns), share) : size,
			is_whole ? size : NULL},
		.proof = {{.csv = "memcpy_summary", .column = "busy_ms",
			.at = {{"direction", nsx_string("UVM HtoD")}}}}};

	if (size) {
		f.recommendation[0] = say_use_less_managed_memory_at;
		f.recommendation[1] = say_prefetch_before_use;
	}
	tell_unified(u, stalled, is_whole, &f);
	if (!is_whole) {
		f.guess_ns = (double)u->ns;
		f.measured_ns = stalled;
		nsx_plan_rows(d, &f.remedy, &u->rows, (struct nsx_change){
			.verb = NSX_DROP, .op = NSX_ON_COPIES});
	}
	if (!is_whole && u->device != NSX_NONE &&
	    (nsx_spans_intersect(l->arena, &u->moves[u->device].busy,
				 &d->facts->device[u->device].compute, &f.spans, err) ||
	     nsx_spans_pack(l->arena, &f.spans, err)))
		return err->rc;
	nsx_found(l, &f);
	return 0;
}

static int find_unified(struct unified *u, struct nsx_err *err)
{
	if (collect_moves(u, err) ||
	    nsx_view_each(u->d->trace->schema, um_gpu_fault, on_fault, u, err,
			  start_ns, end_ns, device_id, global_pid))
		return err->rc;
	for (uint32_t i = 0; i < u->d->trace->ndevices; i++)
		if (u->moves[i].busy.n)
			return memory_propose(u, err);
	return 0;
}

int nsx_detect_memory(struct nsx_detect *d, struct nsx_err *err)
{
	struct unified u = {.d = d};
	int rc;

	u.moves = nsx_arena_get(d->scratch, (d->trace->ndevices + 1) * sizeof(*u.moves));
	rc = find_unified(&u, err);
	for (uint32_t i = 0; i < d->trace->ndevices; i++)
		free(u.moves[i].busy.v);
	return rc;
}
