/* memory.c - unified memory: migrations that work waits for, and kernels that
 * their page faults stall.
 *
 * Migrations that stand between kernels can be replayed without.  What happens
 * inside a kernel cannot, for its duration holds it: there the price is the time
 * of kernels during which pages are moved or faults handled, less the time that
 * the moved bytes take at the memory's own rate.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/stat.h"
#include "detect/detect.h"
#include "schema/viewscan.h"

#define LEAST_SHARE 0.003 /* of the window */
#define LOUD_SHARE 0.1 /* of the trace */
enum { UVM_HTOD = 11, UVM_DTOD = 13 };

struct unified {
	struct nsx_detect *d;
	uint32_t *rows; /* migrations in the judged window */
	size_t nrows, cap_rows;
	int64_t bytes, ns, faults;
	double all_ns; /* over the whole trace, on the GPU with most of it */
	struct nsx_spans *busy; /* by device: migrating or handling faults */
	size_t *cap;
};

static int add_span(struct unified *u, uint32_t device, int64_t start_ns,
		    int64_t end_ns, struct nsx_err *err)
{
	struct nsx_spans *s = &u->busy[device];

	if (nsx_grow(&s->v, &u->cap[device], s->n + 1, sizeof(*s->v),
		     "migrations", err))
		return err->rc;
	s->v[s->n++] = (struct nsx_span){start_ns, end_ns};
	return 0;
}

static int collect_moves(struct unified *u, struct nsx_err *err)
{
	const struct nsx_trace *t = u->d->trace;

	for (size_t i = 0; i < t->ops.n; i++) {
		const struct nsx_copy *x = &t->copy[t->ops.detail[i]];
		int64_t at_ns = nsx_op_start(&t->ops, i);

		if (t->ops.kind[i] != NSX_OP_MEMCPY ||
		    x->copy_kind < UVM_HTOD || x->copy_kind > UVM_DTOD)
			continue;
		if (add_span(u, t->stream[t->ops.stream[i]].device, at_ns,
			     nsx_op_end(&t->ops, i), err))
			return err->rc;
		if (at_ns < u->d->w.start_ns || at_ns >= u->d->w.end_ns ||
		    !nsx_op_counts(t, i))
			continue;
		if (nsx_grow(&u->rows, &u->cap_rows, u->nrows + 1,
			     sizeof(*u->rows), "migrations", err))
			return err->rc;
		u->rows[u->nrows++] = (uint32_t)i;
		nsx_add_to(&u->bytes, NSX_MAX(0, x->bytes));
		nsx_add_to(&u->ns, nsx_op_ns(&t->ops, i));
	}
	return 0;
}

static bool is_instant(const struct nsx_val *v)
{
	return v->type == NSX_V_I64 && v->u.i <= NSX_TIME_MAX &&
	       v->u.i >= -NSX_TIME_MAX;
}

static int on_fault(void *ctx, int64_t rid, const struct nsx_val *v,
		    struct nsx_err *err)
{
	struct unified *u = ctx;

	(void)rid;
	if (!is_instant(&v[0]) || !is_instant(&v[1]) || v[1].u.i < v[0].u.i)
		return 0;
	for (uint32_t i = 0; i < u->d->trace->ndevices; i++)
		if (v[2].type == NSX_V_I64 &&
		    u->d->trace->device[i].device_id == v[2].u.i) {
			u->faults++;
			return add_span(u, i, v[0].u.i, v[1].u.i, err);
		}
	return 0;
}

/* Kernel time under migrations and faults, of the device that loses most. */
static int stalled_ns(struct unified *u, uint32_t *ret_device, double *ret,
		      struct nsx_err *err)
{
	struct nsx_span judged = {u->d->w.start_ns, u->d->w.end_ns};
	const struct nsx_spans window = {&judged, 1};
	const struct nsx_trace *t = u->d->trace;

	*ret = 0;
	for (uint32_t i = 0; i < t->ndevices; i++) {
		const struct nsx_gpu_info *gpu = nsx_device_gpu(t, i);
		struct nsx_spans inside;
		double ns;

		nsx_spans_normalise(&u->busy[i]);
		if (nsx_spans_intersect(u->d->scratch, &u->busy[i], &window,
					&inside, err))
			return err->rc;
		u->all_ns = NSX_MAX(u->all_ns,
				    (double)nsx_spans_total(&u->busy[i]));
		ns = (double)nsx_spans_overlap(
			&inside, &u->d->facts->device[i].compute);
		if (gpu && gpu->bandwidth_bytes_per_s > 0)
			ns -= 1e9 * (double)u->bytes /
			      (double)gpu->bandwidth_bytes_per_s;
		if (ns > *ret) {
			*ret = ns;
			*ret_device = i;
		}
	}
	return 0;
}

static int propose(struct unified *u, struct nsx_err *err)
{
	struct nsx_detect *d = u->d;
	struct nsx_findings *l = d->found;
	uint32_t *rows = nsx_arena_try_array(l->arena, u->nrows, sizeof(*rows),
					     "migrations", err);
	const struct nsx_window *full = &d->trace->window;
	uint32_t device = NSX_NONE;
	double stalled = 0;
	size_t n = 0;

	if (!rows || stalled_ns(u, &device, &stalled, err))
		return err->rc;
	if (u->nrows)
		memcpy(rows, u->rows, u->nrows * sizeof(*rows));
	struct nsx_finding f = {
		.id = NSX_ID_unified_memory, .device = device,
		.title = nsx_tell(l, "unified memory moves to and from the "
				  "GPU while it is used: %zu migrations, %s",
				  u->nrows, nsx_tell_bytes(l, u->bytes)),
		.confidence = NSX_CONF_MEDIUM,
		.guess_ns = (double)u->ns, .measured_ns = stalled,
		.recommendation = {
			"prefetch before use (cudaMemPrefetchAsync) and "
			"advise (cudaMemAdvise), or copy explicitly",
			"if more is managed than the GPU has memory: use less "
			"at a time"},
		.proof = {{.csv = "memcpy_summary", .column = "busy_ms",
			   .units = "ms",
			   .at = {{"direction", nsx_string("UVM HtoD")}}}}};

	f.evidence[n++] = nsx_tell(l, "migrations take %.3f ms", (double)u->ns /
								     1e6);
	/* Once memory has settled the judged part may show little of it. */
	if (u->all_ns > LOUD_SHARE * (double)(full->end_ns - full->start_ns)) {
		f.severity = NSX_SEV_MEDIUM;
		f.is_set = NSX_MAX(stalled, (double)u->ns) <
			   LOUD_SHARE *
				   (double)(d->w.end_ns - d->w.start_ns);
		f.evidence[n++] = nsx_tell(
			l, "over the whole trace pages are moved or faults "
			"handled for %.3f ms", u->all_ns / 1e6);
	}
	if (stalled > 0)
		f.evidence[n++] = nsx_tell(
			l, "kernels run for %.3f ms while pages are moved or "
			"faults handled, beyond what the bytes take at the "
			"memory's own rate", stalled / 1e6);
	f.evidence[n] = u->faults ?
		nsx_tell(l, "%" PRId64 " groups of page faults of the GPU were "
			 "recorded", u->faults) :
		"page faults were not traced: add "
		"--cuda-um-gpu-page-faults=true --cuda-um-cpu-page-faults=true";
	if (u->nrows)
		f.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_DROP, .op = NSX_ON_COPIES, .rows = rows,
			.nrows = u->nrows});
	nsx_found(l, &f);
	return 0;
}

static int find_unified(struct unified *u, struct nsx_err *err)
{
	static const enum nsx_field fault[] = {NSX_F_um_gpu_fault_start_ns,
					       NSX_F_um_gpu_fault_end_ns,
					       NSX_F_um_gpu_fault_device_id};
	double least_ns = LEAST_SHARE *
			  (double)(u->d->w.end_ns - u->d->w.start_ns);

	u->busy = nsx_arena_get(u->d->scratch, (u->d->trace->ndevices + 1) *
						       sizeof(*u->busy));
	u->cap = nsx_arena_get(u->d->scratch, (u->d->trace->ndevices + 1) *
						      sizeof(*u->cap));
	if (collect_moves(u, err) ||
	    nsx_view_scan(u->d->trace->schema, NSX_VIEW_um_gpu_fault, fault,
			  ARRAY_LEN(fault), 1, on_fault, u, 0, err))
		return err->rc;
	return (double)u->ns >= least_ns || u->faults ? propose(u, err) : 0;
}

int nsx_detect_memory(struct nsx_detect *d, struct nsx_err *err)
{
	struct unified u = {.d = d};
	int rc = find_unified(&u, err);

	for (uint32_t i = 0; u.busy && i < d->trace->ndevices; i++)
		free(u.busy[i].v);
	free(u.rows);
	return rc;
}
