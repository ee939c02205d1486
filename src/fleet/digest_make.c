/* digest_make.c - makes a digest of each rank of a trace.
 *
 * Steps are the iterations of facts.h, and idle causes its pieces. Nothing is measured a
 * second time; the facts are only cut by steps and summed.
 */
#include "base/group.h"
#include "base/stat.h"
#include "facts/memory.h"
#include "facts/steps/steps.h"
#include "fleet/digest_make.h"
#include "passes/pass.h"

enum { MOST_FAMILIES = 512, MOST_IDLE = 32, MOST_FINDINGS = 24,
       MOST_NAME = 160 };
/* Ranks of one trace. Each rank is one more sweep over the work of its device, so their number has
 * to be bounded; a host runs a few hundred at most.
 */
enum { MOST_RANKS = 1024 };

/* Members ---------------------------------------------------------------------*/

/* Finds or adds a member; NULL without memory. */
static struct nsx_member *add_member(struct nsx_groups *g, struct nsx_member **v, uint32_t process,
				     uint32_t device, struct nsx_err *err)
{
	struct nsx_member *x = nsx_group_value(g, v, process, device, "ranks", err);

	if (x) {
		x->process = process;
		x->device = device;
	}
	return x;
}

NSX_ORDER(cmp_member, struct nsx_member, UP(process), UP(device));
NSX_ORDER(cmp_busiest, struct nsx_member, DOWN(ncolls), DOWN(gpu_ns));

/* Makes an MPI process one rank: on the device with which it communicates, else on its
 * busiest device, else on none.
 */
static int add_mpi_process(struct nsx_groups *g, struct nsx_member **v,
			   uint32_t process, struct nsx_err *err)
{
	struct nsx_member *best = NULL;

	for (size_t i = 0; i < g->n; i++)
		if ((*v)[i].process == process && (!best || cmp_busiest(&(*v)[i], best) < 0))
			best = &(*v)[i];
	best = best ?: add_member(g, v, process, NSX_NONE, err);
	if (!best)
		return err->rc;
	best->ncolls++;
	return 0;
}

/* Lists the members. If any process communicates, only communicating ones count; otherwise those
 * with at least a hundredth of the busiest one's GPU time.
 */
static int digest_make_list_members(struct nsx_maker *m, struct nsx_member **ret,
				    size_t *ret_n, struct nsx_err *err)
{
	const struct nsx_trace *t = m->t;
	struct nsx_groups g = {0};
	struct nsx_member *v = NULL, *x;
	uint32_t process = NSX_NONE; /* the last one with an MPI collective */
	size_t n = 0, ncolls = 0;
	int64_t most_ns = 0;
	int rc = 0;

	for (size_t i = 0; i < t->ops.n && !rc; i++) {
		const struct nsx_stream *s = nsx_stream_of(t, i);

		if (!nsx_op_counts(t, i))
			continue;
		if ((x = add_member(&g, &v, s->process, s->device, err))) {
			x->ncolls += t->ops.cls[i] == NSX_C_COMM;
			nsx_add_to(&x->gpu_ns, nsx_op_ns(&t->ops, i));
		} else {
			rc = err->rc;
		}
	}
	for (size_t i = 0; i < m->nmpi && !rc; i++)
		if (m->mpi[i].is_coll && m->mpi[i].process != process) {
			process = m->mpi[i].process;
			rc = add_mpi_process(&g, &v, process, err);
		}
	for (size_t i = 0; i < g.n; i++) {
		ncolls += v[i].ncolls;
		most_ns = NSX_MAX(most_ns, v[i].gpu_ns);
	}
	for (size_t i = 0; i < g.n; i++)
		if (ncolls ? v[i].ncolls > 0 : v[i].gpu_ns >= most_ns / 100)
			v[n++] = v[i];
	if (!rc && n > MOST_RANKS)
		rc = nsx_fail(err, NSX_E_DATA, "cannot digest '%s': %zu of its processes may be "
			      "ranks, at most %d are read; capture fewer processes", m->path, n,
			      MOST_RANKS);
	nsx_groups_done(&g);
	nsx_sort(v, n, sizeof(*v), cmp_member);
	*ret = v;
	*ret_n = n;
	return rc;
}

/* Steps ---------------------------------------------------------------------------*/

static bool is_step_of(const struct nsx_iteration *it, const struct nsx_member *x)
{
	return it->device == x->device && (it->process == x->process || it->process == NSX_NONE);
}

static int list_steps(struct nsx_maker *m, const struct nsx_member *x,
		      struct nsx_digest *d, struct nsx_err *err)
{
	const struct nsx_facts *f = m->f;
	int64_t end_ns = INT64_MIN;

	if (!nsx_new_array(d->steps, d->arena, f->niterations, "iterations", err))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *it = &f->iterations[i];
		int64_t from_ns = NSX_MAX(it->start_ns, m->t->window.start_ns);
		int64_t to_ns = NSX_MIN(it->end_ns, m->t->window.end_ns);
		struct nsx_partition part;
		struct nsx_dstep *s = &d->steps[d->nsteps];

		if (!is_step_of(it, x) || from_ns < end_ns || to_ns <= from_ns)
			continue;
		nsx_partition(&f->device[x->device], from_ns, to_ns, &part);
		s->start_ns = from_ns;
		s->wall_ns = to_ns - from_ns;
		memcpy(s->part_ns, part.ns, sizeof(part.ns));
		s->steady = it->steady;
		end_ns = to_ns;
		d->nsteps++;
	}
	return 0;
}

static const char *cut_name(const char *s, struct nsx_arena *a)
{
	size_t n = strlen(s);

	return nsx_arena_strndup(a, s, n > MOST_NAME ? nsx_cut_chars(s, MOST_NAME) : n);
}

static void name_steps(const struct nsx_maker *m, const struct nsx_member *x, struct nsx_digest *d)
{
	const struct nsx_facts *f = m->f;

	d->unit = "";
	if (!d->nsteps)
		return;
	d->method = f->iteration_method;
	for (size_t i = 0; i < f->ncadences; i++) {
		const struct nsx_cadence *c = &f->cadences[i];

		if (c->chosen && (c->process == x->process || c->process == NSX_NONE))
			d->unit = cut_name(nsx_fact_text(f, c->name), d->arena);
	}
}

/* The first step from *at on that ends after t. */
static struct nsx_dstep *step_at(struct nsx_digest *d, size_t *at, int64_t t)
{
	while (*at < d->nsteps && d->steps[*at].start_ns + d->steps[*at].wall_ns <= t)
		++*at;
	return *at < d->nsteps ? &d->steps[*at] : NULL;
}

static void charge_piece(struct nsx_digest *d, size_t *at, const struct nsx_idle_piece *p)
{
	struct nsx_dstep *s = step_at(d, at, p->start_ns);

	for (; s && s < d->steps + d->nsteps && s->start_ns < p->end_ns; s++)
		s->cause_ns[p->cause] += NSX_MAX(0, NSX_MIN(p->end_ns, s->start_ns + s->wall_ns) -
						    NSX_MAX(p->start_ns, s->start_ns));
}

NSX_ORDER(cmp_idle, struct nsx_didle, DOWN(ns), UP(cause), TEXT(detail));

static int digest_make_sum_idle(struct nsx_maker *m, const struct nsx_member *x,
				struct nsx_digest *d, struct nsx_err *err)
{
	const struct nsx_idle *idle = &m->f->idle[x->device];
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups g = {0};
	size_t at = 0;
	NSX_AT_EXIT(nsx_free_at) struct nsx_didle *v = NULL;
	int rc = 0;

	for (size_t i = 0; i < idle->n && !rc; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		struct nsx_didle *sum = nsx_group_value(&g, &v, p.cause, p.detail, "idle causes",
							err);

		charge_piece(d, &at, &p);
		if (!sum) {
			rc = err->rc;
			break;
		}
		sum->cause = p.cause;
		sum->detail = nsx_fact_text(m->f, p.detail);
		nsx_add_to(&sum->ns, p.end_ns - p.start_ns);
		sum->count++;
	}
	nsx_sort(v, g.n, sizeof(*v), cmp_idle);
	d->nidle = NSX_MIN(g.n, MOST_IDLE);
	d->idle = nsx_arena_get(d->arena, d->nidle * sizeof(*v));
	for (size_t i = 0; i < d->nidle && !rc; i++) {
		d->idle[i] = v[i];
		d->idle[i].detail = cut_name(v[i].detail, d->arena);
	}
	return rc;
}

/* Kernels ---------------------------------------------------------------------------*/

/* A sketch takes 8 kB, so families are sketched one after the other. */
struct kernels {
	struct nsx_groups g;
	struct nsx_dfamily *v; /* names are those of the trace */
	uint32_t *family; /* by operation of the device: its index + 1; 0: no kernel of this rank */
};

NSX_ORDER(cmp_family, struct nsx_dfamily, DOWN(total_ns), TEXT(name));

static int keep_families(struct nsx_digest *d, const struct nsx_ops *ops,
			 const struct nsx_device *dev, const struct kernels *k,
			 struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_buf b = {0};
	uint32_t *at, *order;

	if (nsx_new_arrays(a, k->g.n + 2, "kernel families", err, at) ||
	    nsx_new_arrays(a, dev->nops, "kernels", err, order) ||
	    !nsx_new_array(d->families, d->arena, k->g.n, "kernel families", err))
		return err->rc;
	NSX_DEAL(at, order, k->g.n, dev->nops, i, k->family[i] - 1);
	for (size_t f = 0; f < k->g.n; f++) {
		struct nsx_sketch sketch = {0};

		for (size_t i = at[f]; i < at[f + 1]; i++)
			nsx_sketch_add(&sketch, nsx_op_ns(ops, dev->ops_at + order[i]), 1);
		nsx_buf_clear(&b);
		nsx_sketch_put(&sketch, &b);
		d->families[f] = k->v[f];
		d->families[f].name = cut_name(k->v[f].name, d->arena);
		d->families[f].sketch = (struct nsx_blob){
			nsx_arena_strndup(d->arena, b.p, b.n), b.n};
	}
	nsx_buf_done(&b);
	nsx_sort(d->families, k->g.n, sizeof(*d->families), cmp_family);
	return 0;
}

static int digest_make_add_kernel(const struct nsx_maker *m, struct kernels *k, size_t first_op,
				  size_t op, struct nsx_err *err)
{
	nsx_str name = nsx_op_shape(m->t, op)->base_name;
	struct nsx_dfamily *x = nsx_group_value(&k->g, &k->v, name, 0, "kernel families", err);

	if (!x)
		return err->rc;
	x->name = nsx_text(m->t, name);
	x->count++;
	nsx_add_to(&x->total_ns, nsx_op_ns(&m->t->ops, op));
	k->family[op - first_op] = (uint32_t)(x - k->v) + 1;
	return 0;
}

static void digest_make_add_copy(const struct nsx_trace *t, size_t op, struct nsx_digest *d)
{
	d->copies++;
	nsx_add_to(&d->copied_bytes, nsx_op_copy(t, op)->bytes);
	nsx_add_to(&d->copy_ns, nsx_op_ns(&t->ops, op));
}

static int sum_ops(struct nsx_maker *m, const struct nsx_member *x,
		   struct nsx_digest *d, struct nsx_err *err)
{
	const struct nsx_trace *t = m->t;
	const struct nsx_device *dev = &t->device[x->device];
	struct kernels k = {0};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	size_t at = 0;
	int rc = nsx_new_array(k.family, a, dev->nops, "kernels", err) ? 0 : err->rc;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops && !rc; i++) {
		int64_t start_ns = nsx_op_start(&t->ops, i);
		struct nsx_dstep *s;

		if (nsx_op_process(t, i) != x->process || !nsx_op_counts(t, i))
			continue;
		d->first_ns = NSX_MIN(d->first_ns, start_ns);
		d->last_ns = NSX_MAX(d->last_ns, nsx_op_end(&t->ops, i));
		if (t->ops.cls[i] == NSX_C_COPY)
			digest_make_add_copy(t, i, d);
		if (t->ops.cls[i] != NSX_C_COMPUTE)
			continue;
		s = step_at(d, &at, start_ns);
		if (s && s->start_ns <= start_ns) {
			s->kernels++;
			nsx_add_to(&s->kernel_ns, nsx_op_ns(&t->ops, i));
		}
		if (t->ops.kind[i] == NSX_OP_KERNEL)
			rc = digest_make_add_kernel(m, &k, dev->ops_at, i, err);
	}
	rc = rc ?: keep_families(d, &t->ops, dev, &k, a, err);
	d->nfamilies = m->o->detail == NSX_DETAIL_FULL ? k.g.n : NSX_MIN(k.g.n, MOST_FAMILIES);
	nsx_groups_done(&k.g);
	free(k.v);
	return rc;
}

/* Calls -------------------------------------------------------------------------------*/

static void digest_make_sum_calls(const struct nsx_maker *m, const struct nsx_member *x,
				  struct nsx_digest *d)
{
	const struct nsx_trace *t = m->t;

	for (const struct nsx_thread *th = t->thread; th < t->thread + t->nthreads; th++)
		for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
			unsigned class = th->process == x->process ? t->calls.cls[i] : NSX_CALL_OTHER;

			if (class == NSX_CALL_LAUNCH) {
				d->launches++;
				nsx_add_to(&d->launch_ns, nsx_call_ns(&t->calls, i));
			} else if (class == NSX_CALL_SYNC) {
				d->syncs++;
				nsx_add_to(&d->sync_ns, nsx_call_ns(&t->calls, i));
			}
		}
}

/* Finds the rank's peak memory on its device. Memory allocated before the capture counts as
 * far as frees reveal it.
 */
static int find_peak(const struct nsx_maker *m, const struct nsx_member *x,
		     struct nsx_digest *d, struct nsx_err *err)
{
	int64_t device_id = m->t->device[x->device].device_id;
	struct nsx_memory mem;
	int rc = nsx_memory_read(m->t->schema, &mem, err);
	size_t end;

	for (size_t i = 0; i < mem.nsteps; i = end) {
		const struct nsx_mem_step *s = &mem.steps[i];
		int64_t live;

		end = nsx_mem_group_end(&mem, i);
		if (s->kind != NSX_MC_DEVICE || s->device_id != device_id ||
		    nsx_process_find(m->t, s->process) != x->process)
			continue;
		live = nsx_mem_before(s, end - i);
		d->peak_bytes = NSX_MAX(d->peak_bytes, live);
		for (; s < mem.steps + end; s++) {
			nsx_add_to(&live, s->delta);
			d->peak_bytes = NSX_MAX(d->peak_bytes, live);
		}
	}
	nsx_memory_done(&mem);
	return rc;
}

/* Steps of an inference engine ---------------------------------------------------------*/

static int64_t least_of(const struct nsx_engine_step *s)
{
	int64_t size = nsx_step_size(&s->name);

	return size < 1 ? -1 : (int64_t)1 << (63 - __builtin_clzll((uint64_t)size));
}

static int cmp_kind_and_size(const void *a, const void *b)
{
	const struct nsx_engine_step *x = a, *y = b;

	return NSX_CMP(x->name.kind, y->name.kind) ?: NSX_CMP(least_of(x), least_of(y));
}

static struct nsx_dkind digest_make_sum_kind(const struct nsx_engine_step *v, size_t n, int64_t *ns)
{
	struct nsx_dkind k = {v->name.kind, least_of(v), (int64_t)n, 0, 0, 0};

	for (size_t i = 0; i < n; i++) {
		ns[i] = v[i].gpu_end_ns - v[i].gpu_start_ns;
		nsx_add_to(&k.total_ns, ns[i]);
		nsx_add_to(&k.sizes, NSX_MAX(0, nsx_step_size(&v[i].name)));
	}
	k.p50_ns = nsx_to_i64(nsx_quantile(ns, n, 0.5));
	return k;
}

/* Fills the kinds of the rank's steps. */
static int list_engine_steps(struct nsx_maker *m, const struct nsx_member *x,
		      struct nsx_digest *d, struct nsx_err *err)
{
	struct nsx_engine_steps s;
	int64_t *ns;
	size_t n = 0;
	int rc = nsx_steps_build(m->t, &s, err);

	if (rc)
		return rc;
	for (size_t i = 0; i < s.n; i++)
		if (s.v[i].process == x->process && s.v[i].device == x->device)
			s.v[n++] = s.v[i];
	nsx_sort(s.v, n, sizeof(*s.v), cmp_kind_and_size);
	if (!nsx_new_array(ns, m->a, n, "steps", err) ||
	    !nsx_new_array(d->kinds, d->arena, NSX_MIN(n, 64 * NSX_NSTEP_KINDS),
			   "kinds of steps", err))
		rc = err->rc;
	NSX_EACH_RUN(i, next, rc ? 0 : n, !cmp_kind_and_size(&s.v[i], &s.v[next]))
		d->kinds[d->nkinds++] = digest_make_sum_kind(s.v + i, next - i, ns);
	nsx_steps_done(&s);
	return rc;
}

/* Digests -----------------------------------------------------------------------------*/

static int fill_digest(struct nsx_maker *m, const struct nsx_member *x,
		       struct nsx_digest *d, struct nsx_err *err)
{
	const struct nsx_trace *t = m->t;
	bool has_device = x->device != NSX_NONE;
	const struct nsx_gpu_info *gpu = has_device ? nsx_device_gpu(t, x->device) : NULL;
	int rc = 0;

	d->product = nsx_arena_strdup(d->arena, t->schema->product_version);
	d->schema = nsx_arena_strdup(d->arena, t->schema->schema_version);
	d->gpu_model = gpu ? cut_name(nsx_text(t, gpu->name), d->arena) : "";
	if (gpu && gpu->uuid)
		d->gpu = nsx_hash(nsx_text(t, gpu->uuid), strlen(nsx_text(t, gpu->uuid)));
	d->peak_bytes = -1;
	d->first_ns = has_device ? INT64_MAX : t->first_ns;
	d->last_ns = has_device ? INT64_MIN : t->last_ns;
	if (has_device)
		rc = list_steps(m, x, d, err) || digest_make_sum_idle(m, x, d, err) ||
		     sum_ops(m, x, d, err) || find_peak(m, x, d, err) ||
		     list_engine_steps(m, x, d, err);
	name_steps(m, x, d);
	digest_make_sum_calls(m, x, d);
	return rc || nsx_maker_channels(m, x, d, err) ? err->rc : 0;
}

/* Copies the findings of the whole trace; each rank gets them all. */
static void copy_findings(const struct nsx_report *r, struct nsx_digest *d)
{
	struct nsx_window w = nsx_judged(r->facts);
	double window_ns = (double)(w.end_ns - w.start_ns);

	d->nfindings = NSX_MIN(r->found.n, MOST_FINDINGS);
	d->findings = nsx_arena_get(d->arena, d->nfindings * sizeof(*d->findings));
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_finding *x = &r->found.v[i];
		bool has_price = x->price != NSX_PRICE_NONE && window_ns > 0;

		d->findings[i] = (struct nsx_dfinding){
			cut_name(x->key, d->arena), cut_name(x->title, d->arena),
			x->severity, x->confidence,
			has_price ? nsx_to_i64(1e6 * x->headroom_ns / window_ns) : -1,
			nsx_to_i64(1e6 * x->low_ns / NSX_MAX(window_ns, 1)),
			nsx_to_i64(1e6 * x->high_ns / NSX_MAX(window_ns, 1)), x->is_minor,
			x->place ? cut_name(x->place, d->arena) : ""};
	}
}

static int fill_all(struct nsx_maker *m, const struct nsx_member *x, size_t n,
		    struct nsx_digest **v, struct nsx_err *err)
{
	struct nsx_totals *whole;
	int rc = 0;

	for (size_t i = 0; i < n && !rc; i++) {
		struct nsx_arena *a = nsx_arena_new();

		v[i] = nsx_arena_get(a, sizeof(**v));
		v[i]->arena = a;
		v[i]->detail = m->o->detail;
		v[i]->pid = m->t->process[x[i].process].pid;
		v[i]->device = x[i].device == NSX_NONE ? -1 : m->t->device[x[i].device].device_id;
		v[i]->gpu_label = "";
		/* The process or host in a label is told anyway. */
		if (x[i].device != NSX_NONE && !strchr(nsx_gpu_label(m->t, x[i].device), '(') &&
		    strcmp(nsx_gpu_label(m->t, x[i].device), nsx_digest_gpu(v[i], a)) != 0)
			v[i]->gpu_label = cut_name(nsx_gpu_label(m->t, x[i].device), a);
		if (m->o->only_names)
			continue;
		copy_findings(m->r, v[i]);
		rc = fill_digest(m, &x[i], v[i], err);
		if (!i && !rc) {
			v[i]->whole = whole = nsx_arena_get(a, sizeof(*whole));
			rc = nsx_totals_measure(m->t, m->f, a, whole, err);
			v[i]->nwhole = whole->known;
		}
	}
	if (!rc)
		rc = nsx_maker_identify(m, x, v, n, err);
	for (size_t i = 0; i < n && !rc && !m->o->only_names; i++) {
		v[i]->damage = nsx_report_damage(m->r);
		v[i]->is_partial = v[i]->damage != NULL;
		if (v[i]->damage)
			v[i]->damage = nsx_arena_strdup(v[i]->arena, v[i]->damage);
		rc = nsx_digest_seal(v[i], err);
	}
	return rc;
}

int nsx_digest_make(const struct nsx_report *r, const struct nsx_digest_opts *o,
		    struct nsx_digest ***ret, size_t *ret_n, struct nsx_err *err)
{
	struct nsx_maker m = {.r = r, .t = r->trace, .f = r->facts,
			      .path = r->path, .o = o, .a = nsx_arena_new()};
	struct nsx_member *x = NULL;
	struct nsx_digest **v = NULL;
	size_t n = 0;
	int rc = nsx_maker_read_mpi(&m, err) || nsx_maker_read_nccl(&m, err) ||
		 digest_make_list_members(&m, &x, &n, err) ? err->rc : 0;

	if (!rc && !n)
		rc = nsx_fail(err, NSX_E_DATA, "cannot digest '%s': it has neither GPU work nor "
			      "MPI collectives%s%s", m.path, nsx_report_damage(r) ? "; " : "",
			      nsx_report_damage(r) ?: "");
	if (!rc) {
		v = nsx_try_alloc(n, sizeof(*v), "ranks", err);
		rc = v ? fill_all(&m, x, n, v, err) : err->rc;
	}
	nsx_arena_free(m.a);
	free(m.mpi);
	free(x);
	if (rc) {
		nsx_digests_free(v, v ? n : 0);
		return rc;
	}
	*ret = v;
	*ret_n = n;
	return 0;
}

int nsx_digest_read_trace(const char *path, const struct nsx_digest_opts *o,
			  struct nsx_digest ***ret, size_t *ret_n, struct nsx_err *err)
{
	const struct nsx_opts opts = {NSX_OPTS_DEFAULT, .path = path,
				      .only = "", .purpose = NSX_FOR_FINDINGS,
				      .threads = o->threads, .held_rows = NSX_MAX_CSV_ROWS,
				      .steps_from = o->steps_from};
	const struct nsx_report *r = o->at_hand ? o->at_hand->find(o->at_hand->ctx, path) : NULL;
	struct nsx_report *own = NULL;
	int rc = r ? 0 : nsx_report_open(&opts, &own, err);

	if (!rc)
		rc = nsx_digest_make(r ? r : own, o, ret, ret_n, err);
	nsx_report_free(own);
	return rc;
}
