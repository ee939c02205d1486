/* memory.c - unified memory: migrations that work waits for, and kernels stalled by their page
 * faults.
 *
 * A replay can remove migrations between kernels. It cannot remove those inside a kernel, whose
 * duration includes them: there the price is the time of kernels during which pages move or faults
 * are handled, less the time that the moved bytes take at the memory's own rate.
 */
#include <stdlib.h>
#include <string.h>
#include "detect/detect.h"
#include "detect/words.h"
#include "schema/codes.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

/* share of the recording from which unified memory is reported even if it is quiet in the window */
#define LOUD_SHARE 0.1
enum { PAGE_BY_PAGE_NS = 10000000 }; /* migrations at most this far apart belong together */

struct unified {
	struct nsx_detect *d;
	struct nsx_row_list rows; /* migrations in the judged window */
	int64_t bytes, ns;
	int64_t faults, judged_faults; /* groups of faults: all; in the judged window */
	double all_ns; /* kernel time under migrations and faults in the whole trace */
	/* host reads page by page: idle time of the GPU, and bytes */
	int64_t read_back_ns, read_back_bytes;
	int64_t paged_ns; /* from each kernel's start to its last page       */
	struct nsx_paged *paged;
	size_t npaged, cap_paged;
	struct managed {
		int64_t at_ns, bytes; /* bytes: negative for a free          */
	} *managed;
	size_t nmanaged, cap_managed;
	struct nsx_spans *busy; /* by device: spans of migrations and faults */
	/* by device: spans in which pages arrive that a kernel touched */
	struct nsx_spans *fetched;
	uint32_t device; /* the device with most of all_ns; NSX_NONE */
	size_t *cap, *cap_fetched;
};

static int add_span(struct unified *u, uint32_t device, int64_t start_ns,
		    int64_t end_ns, struct nsx_err *err)
{
	struct nsx_spans *s = &u->busy[device];

	return nsx_push(s->v, s->n, u->cap[device], "migrations", err,
			(struct nsx_span){start_ns, end_ns});
}

static int add_fetched(struct unified *u, uint32_t device, const struct nsx_copy *x,
		       struct nsx_span when, struct nsx_err *err)
{
	struct nsx_spans *s = &u->fetched[device];

	return x->copy_kind != NSX_COPY_UVM_HTOD || x->cause == NSX_MIGRATE_PREFETCH ?
		       0 : nsx_push(s->v, s->n, u->cap_fetched[device], "migrations", err, when);
}

/* Adds a migration that the host caused soon after another one: the GPU's idle time between the
 * two, and its bytes. *last_ns: end of the previous migration.
 */
static void add_read_back(struct unified *u, size_t op, int64_t *last_ns)
{
	const struct nsx_trace *t = u->d->trace;
	uint32_t device = nsx_stream_of(t, op)->device;
	int64_t start_ns = nsx_op_start(&t->ops, op);

	if (start_ns - *last_ns < PAGE_BY_PAGE_NS && start_ns > *last_ns) {
		nsx_add_to(&u->read_back_ns, nsx_idle_within(&u->d->facts->idle[device], *last_ns,
							     start_ns));
		nsx_add_to(&u->read_back_bytes, NSX_MAX(0, nsx_op_copy(t, op)->bytes));
	}
	*last_ns = NSX_MAX(*last_ns, nsx_op_end(&t->ops, op));
}

static int collect_moves(struct unified *u, struct nsx_err *err)
{
	const struct nsx_trace *t = u->d->trace;
	int64_t read_at = INT64_MIN / 2;

	for (size_t i = 0; i < t->ops.n; i++) {
		const struct nsx_copy *x = nsx_op_copy(t, i);
		int64_t at_ns = nsx_op_start(&t->ops, i);

		if (t->ops.kind[i] != NSX_OP_MEMCPY || !nsx_copy_is_migration(x->copy_kind))
			continue;
		if (add_span(u, nsx_stream_of(t, i)->device, at_ns,
			     nsx_op_end(&t->ops, i), err) ||
		    add_fetched(u, nsx_stream_of(t, i)->device, x,
				(struct nsx_span){at_ns, nsx_op_end(&t->ops, i)}, err))
			return err->rc;
		if (!nsx_is_judged(u->d, at_ns) || !nsx_op_counts(t, i))
			continue;
		if (nsx_list_row(u->d, &u->rows, i, err))
			return err->rc;
		if (nsx_copy_is_fetched(x->copy_kind, x->cause))
			add_read_back(u, i, &read_at);
		nsx_add_to(&u->bytes, NSX_MAX(0, x->bytes));
		nsx_add_to(&u->ns, nsx_op_ns(&t->ops, i));
	}
	return 0;
}

static int on_fault(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v, struct nsx_err *err)
{
	struct unified *u = ctx;

	if (!nsx_is_instant(&v[0]) || !nsx_is_instant(&v[1]) || v[1].u.i < v[0].u.i)
		return 0;
	for (uint32_t i = 0; i < u->d->trace->ndevices; i++)
		if (v[2].type == NSX_V_I64 && u->d->trace->device[i].device_id == v[2].u.i) {
			u->faults++;
			u->judged_faults += nsx_is_judged(u->d, v[0].u.i);
			return add_span(u, i, v[0].u.i, v[1].u.i, err);
		}
	return 0;
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

		nsx_spans_normalise(&u->busy[i]);
		if (nsx_spans_intersect(u->d->scratch, &u->busy[i], &window, &inside, err))
			return err->rc;
		all_ns = (double)nsx_spans_overlap(&u->busy[i], compute);
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

/* Time from a kernel's start to the arrival of its last page. */
static int64_t paged_ns(const struct nsx_spans *fetched, struct nsx_span kernel)
{
	size_t i = nsx_spans_find(fetched, kernel.end_ns);
	int64_t until_ns = i < fetched->n && fetched->v[i].start_ns < kernel.end_ns ?
				   kernel.end_ns :
			   i ? fetched->v[i - 1].end_ns : INT64_MIN;

	return until_ns > kernel.start_ns ? until_ns - kernel.start_ns : 0;
}

static int list_paged(struct unified *u, uint32_t device, struct nsx_err *err)
{
	struct nsx_detect *d = u->d;
	const struct nsx_ops *o = &d->trace->ops;
	const struct nsx_device *dev = &d->trace->device[device];
	struct nsx_spans *fetched = &u->fetched[device], waits = {0};

	nsx_spans_normalise(fetched);
	if (!fetched->n)
		return 0;
	if (!nsx_new_array(waits.v, d->scratch, dev->nops, "kernels", err))
		return err->rc;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		int64_t start_ns = nsx_op_start(o, i), ns;

		if (o->kind[i] != NSX_OP_KERNEL || o->cls[i] != NSX_C_COMPUTE ||
		    !nsx_is_judged(d, start_ns))
			continue;
		ns = paged_ns(fetched, (struct nsx_span){start_ns, nsx_op_end(o, i)});
		if (!ns)
			continue;
		nsx_spans_push(&waits, start_ns, start_ns + ns);
		if (nsx_push(u->paged, u->npaged, u->cap_paged, "kernels", err,
			     (struct nsx_paged){(uint32_t)i, ns}))
			return err->rc;
	}
	u->paged_ns = NSX_MAX(u->paged_ns, nsx_spans_total(&waits));
	return 0;
}

/* Passes the list on to nsx_detect_kernels. */
static int keep_paged(struct unified *u, struct nsx_err *err)
{
	struct nsx_detect *d = u->d;

	for (uint32_t i = 0; i < d->trace->ndevices; i++)
		if (list_paged(u, i, err))
			return err->rc;
	if (!nsx_new_array(d->paged, d->found->arena, u->npaged, "kernels", err))
		return err->rc;
	for (size_t i = 0; i < u->npaged; i++)
		d->paged[i] = u->paged[i];
	d->npaged = u->npaged;
	return 0;
}

/* Managed memory ----------------------------------------------------------------*/

static int on_allocation(void *ctx, int64_t rid NSX_UNUSED,
			 const struct nsx_val *v, struct nsx_err *err)
{
	struct unified *u = ctx;

	if (!nsx_is_instant(&v[0]) || v[1].type != NSX_V_I64 || v[1].u.i < 0 ||
	    v[1].u.i > NSX_TIME_MAX || v[2].type != NSX_V_I64 ||
	    v[2].u.i != NSX_MEM_MANAGED || v[3].type != NSX_V_I64)
		return 0;
	if (nsx_grow(&u->managed, &u->cap_managed, u->nmanaged + 1,
		     sizeof(*u->managed), "managed memory", err))
		return err->rc;
	u->managed[u->nmanaged++] = (struct managed){
		v[0].u.i, v[3].u.i ? -v[1].u.i : v[1].u.i};
	return 0;
}

NSX_ORDER(cmp_managed, struct managed, UP(at_ns), UP(bytes));

/* Finds the peak of managed memory in use; 0: unknown. */
static int find_managed(struct unified *u, int64_t *ret, struct nsx_err *err)
{
	int64_t now = 0;

	*ret = 0;
	if (nsx_view_each(u->d->trace->schema, memory_event, on_allocation, u,
			  err, start_ns, bytes, mem_kind, operation))
		return err->rc;
	nsx_sort(u->managed, u->nmanaged, sizeof(*u->managed), cmp_managed);
	for (size_t i = 0; i < u->nmanaged; i++) {
		nsx_add_to(&now, u->managed[i].bytes);
		*ret = NSX_MAX(*ret, now);
	}
	return 0;
}

/* Findings ----------------------------------------------------------------------*/

/* Whether unified memory takes much of the whole recording. */
static bool is_loud(const struct unified *u)
{
	const struct nsx_window *full = &u->d->trace->window;

	return u->all_ns >= LOUD_SHARE * (double)(full->end_ns - full->start_ns);
}

/* Reports figures of the whole recording if most faults lie outside the judged window. Faults end
 * once memory has settled, and the judged window is the loop after that.
 */
static void tell_whole(struct unified *u, struct nsx_finding *f)
{
	if (!is_loud(u) ||
	    NSX_MAX(f->measured_ns, (double)u->ns) >=
		    LOUD_SHARE * u->d->length_ns)
		return;
	f->severity = NSX_SEV_MEDIUM;
	f->alarm = NSX_ALARM_SET;
	f->most_ns = u->all_ns; /* what is judged would win next to nothing  */
	f->guess_ns = f->measured_ns = 0;
	f->spans.n = 0;
	f->title = say_unified_memory_moves_while;
}

static const char *say_whole(const struct unified *u)
{
	const struct nsx_window *full = &u->d->trace->window;
	struct nsx_arena *a = u->d->found->arena;

	return nsx_tell(u->d->found, say_kernels_run_while_pages, nsx_text_ns(a, u->all_ns),
		nsx_text_share(a, u->all_ns, (double)(full->end_ns - full->start_ns)));
}

static const char *say_size(struct unified *u, int64_t managed)
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

/* Appends to the evidence, which has the line of say_size or none. */
static void tell_stalls(struct unified *u, double stalled, struct nsx_finding *f)
{
	struct nsx_findings *l = u->d->found;
	size_t n = f->evidence[0] != NULL;

	if (n) {
		f->recommendation[1] = f->recommendation[0];
		f->recommendation[0] = say_use_less_managed_memory_at;
	}
	if (f->alarm == NSX_ALARM_SET) {
		f->evidence[n++] = f->evidence[0];
		f->evidence[0] = say_whole(u);
	}
	if (stalled > 0)
		f->evidence[n++] =
			nsx_tell(l, say_kernels_run_judged_window, nsx_text_ns(l->arena, stalled));
	if ((double)u->read_back_ns >= NSX_LEAST_SHARE * u->d->length_ns)
		f->evidence[n++] = nsx_tell(l, say_host_fetches_back_page_by,
			nsx_tell_bytes(l, u->read_back_bytes), nsx_tell_ns(l, u->read_back_ns));
	if (u->ns > 0)
		f->evidence[n++] = nsx_tell(l, say_migrations_take_between, nsx_tell_ns(l, u->ns),
			(double)u->paged_ns <= stalled ? "" :
							 nsx_tell(l, say_all_at_most_each_until,
								 nsx_tell_ns(l, u->paged_ns)));
	f->evidence[n] =
		u->faults ? say_faults(u, f->alarm == NSX_ALARM_SET) : say_page_faults_were_not_2;
}

static int memory_propose(struct unified *u, double least_ns, struct nsx_err *err)
{
	struct nsx_detect *d = u->d;
	struct nsx_findings *l = d->found;
	uint32_t device = NSX_NONE;
	double stalled = 0;
	int64_t managed;

	if (stalled_ns(u, &device, &stalled, err) || keep_paged(u, err))
		return err->rc;
	if (!is_loud(u) && ((stalled <= 0 && !u->rows.n) ||
			    ((double)u->ns < least_ns && !u->faults)))
		return 0;
	if (find_managed(u, &managed, err))
		return err->rc;
	struct nsx_finding f = {.id = NSX_ID_unified_memory,
		.device = device,
		.also = 1u << NSX_CAT_COMPUTE, /* because kernels wait for pages */
		.title = !u->rows.n ? say_kernels_wait_gpu_page :
				      nsx_tell(l, say_unified_memory_moves_from,
					      nsx_text_n(l->arena, u->rows.n, "migration", NULL),
					      nsx_tell_bytes(l, u->bytes)),
		.confidence = NSX_CONF_MEDIUM,
		.guess_ns = (double)u->ns, .measured_ns = stalled,
		.is_least = true,
		.recommendation = {say_prefetch_before_use, say_if_more_managed_than_gpu},
		.evidence = {say_size(u, managed)},
		.proof = {{.csv = "memcpy_summary",
			.column = "busy_ms",
			.at = {{"direction", nsx_string("UVM HtoD")}}}}};

	if (u->device != NSX_NONE &&
	    (nsx_spans_intersect(l->arena, &u->busy[u->device],
				 &d->facts->device[u->device].compute, &f.spans,
				 err) ||
	     nsx_spans_pack(l->arena, &f.spans, err)))
		return err->rc;
	tell_whole(u, &f);
	tell_stalls(u, stalled, &f);
	if (u->rows.n && f.alarm != NSX_ALARM_SET)
		f.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_DROP, .op = NSX_ON_COPIES,
			.rows = nsx_keep_rows(d, u->rows.v, u->rows.n)});
	nsx_found(l, &f);
	return 0;
}

static int find_unified(struct unified *u, struct nsx_err *err)
{
	double least_ns = NSX_LEAST_SHARE * u->d->length_ns;

	size_t n = u->d->trace->ndevices;

	if (!nsx_new_array(u->busy, u->d->scratch, n, "GPUs", err) ||
	    !nsx_new_array(u->fetched, u->d->scratch, n, "GPUs", err) ||
	    !nsx_new_array(u->cap, u->d->scratch, n, "GPUs", err) ||
	    !nsx_new_array(u->cap_fetched, u->d->scratch, n, "GPUs", err))
		return err->rc;
	if (collect_moves(u, err) ||
	    nsx_view_each(u->d->trace->schema, um_gpu_fault, on_fault, u, err,
			  start_ns, end_ns, device_id))
		return err->rc;
	for (uint32_t i = 0; i < u->d->trace->ndevices; i++)
		if (u->busy[i].n)
			return memory_propose(u, least_ns, err);
	return 0;
}

int nsx_detect_memory(struct nsx_detect *d, struct nsx_err *err)
{
	struct unified u = {.d = d};
	int rc = find_unified(&u, err);

	for (uint32_t i = 0; u.cap_fetched && i < d->trace->ndevices; i++) {
		free(u.busy[i].v);
		free(u.fetched[i].v);
	}
	free(u.managed);
	free(u.paged);
	return rc;
}
