/* totals.c - a trace as a whole: kernels, copies, gaps of start-up, the rest. */
#include "base/group.h"
#include "base/stat.h"
#include "fleet/totals.h"
#include "report/words.h"

enum {
	MOST_OF_A_CALL = 1 << 14, /* timed calls per name, enough for a median */
	LEAST_CALLS = 20,
};
#define ONE_TIME_GAP_NS 500000
#define SLOW_LAUNCH_NS 1000000 /* a first launch that loads its kernel takes longer */

struct measure {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_arena *keep; /* of what is returned */
};

/* All GPUs together --------------------------------------------------------------*/

static void totals_collect(const struct nsx_spans *s, struct nsx_spans *ret)
{
	for (size_t i = 0; i < s->n; i++)
		ret->v[ret->n++] = nsx_span_at(s, i);
}

/* Unites the times in which any GPU works; copies: include copies. */
static int unite(const struct measure *s, bool copies, struct nsx_arena *a,
		 struct nsx_spans *ret, struct nsx_err *err)
{
	size_t n = 0;

	for (uint32_t i = 0; i < s->t->ndevices; i++)
		n += s->f->device[i].compute.n + s->f->device[i].comm.n + s->f->device[i].copy.n;
	*ret = (struct nsx_spans){0};
	if (!nsx_new_array(ret->v, a, n, "spans", err))
		return err->rc;
	for (uint32_t i = 0; i < s->t->ndevices; i++) {
		totals_collect(&s->f->device[i].compute, ret);
		totals_collect(&s->f->device[i].comm, ret);
		if (copies)
			totals_collect(&s->f->device[i].copy, ret);
	}
	nsx_spans_normalise(ret);
	return 0;
}

/* Calls --------------------------------------------------------------------------*/

struct named { /* calls of one name */
	nsx_str name;
	bool is_start_up, waits;
	size_t n, cap;
	int64_t *ns; /* owner: struct names */
};
struct names {
	struct nsx_groups groups;
	struct named *v;
};

static bool has_any(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

static const char *const start_up[] = {
	"ModuleLoad", "LibraryLoad", "StreamCreate", "CtxCreate", "DevicePrimary",
	"HostRegister", "HostAlloc", "MallocHost", NULL};
static const char *const not_alike[] = {
	"Create", "Destroy", "Load", "Register", "Alloc", "Free", "Memcpy",
	"Graph", NULL};

static bool totals_waits(const struct nsx_trace *t, size_t call, const char *name)
{
	switch (t->calls.cls[call]) {
	case NSX_CALL_SYNC:
	case NSX_CALL_COPY:
	case NSX_CALL_COPY_ASYNC:
	case NSX_CALL_IMPLICIT_SYNC:
	case NSX_CALL_MODULE:
		return true;
	default:
		return has_any(name, not_alike);
	}
}

static struct named *totals_name_of(const struct measure *s, size_t call,
					  struct names *names, struct nsx_err *err)
{
	nsx_str id = nsx_call_name(&s->t->calls, call);
	struct named *x = nsx_group_value(&names->groups, &names->v, id, 0, "names of calls", err);

	if (x && !x->name) {
		const char *name = nsx_text(s->t, id);

		x->name = id;
		x->is_start_up = has_any(name, start_up);
		x->waits = totals_waits(s->t, call, name);
	}
	return x;
}

/* Whether a call is the first launch of a kernel by a process, or the first allocation or
 * release of memory under its name.
 */
static int totals_is_first(const struct measure *s, struct nsx_groups *met, size_t call,
				 uint32_t process, bool *ret, struct nsx_err *err)
{
	const struct nsx_calls *c = &s->t->calls;
	uint32_t op = nsx_call_op(c, call), group;
	bool launches = c->cls[call] == NSX_CALL_LAUNCH;
	size_t n = met->n;
	uint64_t what = nsx_call_name(c, call);

	*ret = false;
	if (launches && (op == NSX_NONE || nsx_call_ns(c, call) < SLOW_LAUNCH_NS))
		return 0;
	if (launches && s->t->ops.kind[op] == NSX_OP_KERNEL)
		what = (1ull << 32) + s->t->shape_name[nsx_op_detail(&s->t->ops, op)];
	if (nsx_group(met, what, process, &group, err))
		return err->rc;
	*ret = group == n;
	return 0;
}

/* Collects start-up calls as spans; ret_calls: the calls. */
static int find_start_up(const struct measure *s, struct names *names,
			 struct nsx_arena *a, struct nsx_spans *ret,
			 uint32_t **ret_calls, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	struct nsx_groups met = {0};
	int rc = 0;

	*ret = (struct nsx_spans){0};
	if (!nsx_new_array(*ret_calls, a, t->calls.n, "calls", err) ||
	    !nsx_new_array(ret->v, a, t->calls.n, "calls", err))
		return err->rc;
	for (uint32_t th = 0; !rc && th < t->nthreads; th++)
		for (size_t k = 0; !rc && k < t->thread[th].ncalls; k++) {
			size_t i = t->thread[th].calls_at + k;
			struct named *x = totals_name_of(s, i, names, err);
			bool is = x && x->is_start_up;
			bool may = t->calls.cls[i] == NSX_CALL_LAUNCH ||
				   t->calls.cls[i] == NSX_CALL_IMPLICIT_SYNC ||
				   t->calls.flags[i] & NSX_CALL_MALLOC;

			if (!x || (!is && may && totals_is_first(s, &met, i,
						t->thread[th].process, &is, err))) {
				rc = err->rc;
			} else if (is) {
				(*ret_calls)[ret->n] = (uint32_t)i;
				ret->v[ret->n++] = (struct nsx_span){
					nsx_call_start(&t->calls, i),
					nsx_call_end(&t->calls, i)};
			}
		}
	nsx_groups_done(&met);
	return rc;
}

/* Name of the longest call in a gap. */
static const char *longest_in(const struct measure *s, const uint32_t *calls,
			      size_t n, const struct nsx_span *gap)
{
	const struct nsx_calls *c = &s->t->calls;
	int64_t most_ns = 0;
	const char *name = "";

	for (size_t i = 0; i < n; i++) {
		int64_t ns = NSX_MIN(nsx_call_end(c, calls[i]), gap->end_ns) -
			     NSX_MAX(nsx_call_start(c, calls[i]), gap->start_ns);

		if (ns > most_ns) {
			most_ns = ns;
			name = nsx_text(s->t, nsx_call_name(c, calls[i]));
		}
	}
	return nsx_text_api(s->keep, name);
}

/* Adds gaps that are more than half start-up. */
static int add_one_time(const struct measure *s, const struct nsx_spans *busy,
			struct names *names, struct nsx_arena *a,
			struct nsx_totals *ret, struct nsx_err *err)
{
	struct nsx_spans calls;
	struct nsx_span longest = {0, 0};
	uint32_t *which;
	size_t cursor = 0, n;

	if (find_start_up(s, names, a, &calls, &which, err))
		return err->rc;
	n = calls.n;
	nsx_spans_normalise(&calls);
	for (size_t i = 0; i + 1 < busy->n; i++) {
		struct nsx_span gap = {busy->v[i].end_ns, busy->v[i + 1].start_ns};
		int64_t ns = gap.end_ns - gap.start_ns;

		if (ns <= ONE_TIME_GAP_NS ||
		    2 * nsx_spans_covered(&calls, &cursor, gap.start_ns, gap.end_ns) <= ns)
			continue;
		ret->ns[NSX_TOTAL_ONE_TIME] += ns;
		if (ns > longest.end_ns - longest.start_ns)
			longest = gap;
	}
	ret->one_time_ns = longest.end_ns - longest.start_ns;
	if (ret->one_time_ns)
		ret->one_time = longest_in(s, which, n, &longest);
	return 0;
}

/* Records the median time of calls that wait for nothing. */
static int time_calls(const struct measure *s, struct names *names, struct nsx_totals *ret,
		      struct nsx_err *err)
{
	const struct nsx_calls *c = &s->t->calls;

	for (size_t i = 0; i < c->n; i++) {
		struct named *x = totals_name_of(s, i, names, err);

		if (!x)
			return err->rc;
		if (x->waits || x->n == MOST_OF_A_CALL ||
		    c->flags[i] & (NSX_CALL_FAILED | NSX_CALL_NESTED))
			continue;
		if (nsx_push(x->ns, x->n, x->cap, "calls", err, nsx_call_ns(c, i)))
			return err->rc;
	}
	if (!nsx_new_array(ret->calls, s->keep, names->groups.n, "calls", err))
		return err->rc;
	for (size_t i = 0; i < names->groups.n; i++) {
		const struct named *x = &names->v[i];
		const char *name = nsx_text(s->t, x->name);

		if (x->n >= LEAST_CALLS)
			ret->calls[ret->ncalls++] = (struct nsx_call_speed){
				nsx_text_api(s->keep, name),
				(int64_t)x->n, nsx_to_i64(nsx_quantile(x->ns, x->n, 0.5))};
	}
	return 0;
}

/* Work ---------------------------------------------------------------------------*/

static enum nsx_direction direction_of(const struct nsx_copy *c)
{
	switch (c->copy_kind) {
	case NSX_COPY_HTOD:
	case NSX_COPY_HTOA:
	case NSX_COPY_UVM_HTOD:
		return NSX_TO_GPU;
	case NSX_COPY_DTOH:
	case NSX_COPY_ATOH:
	case NSX_COPY_UVM_DTOH:
		return NSX_FROM_GPU;
	default:
		return NSX_OTHER_WAY;
	}
}

/* Numbers each shape by its kernel's name, alike in all traces. */
static uint64_t *hash_names(const struct measure *s, struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	uint64_t *ret = nsx_arena_try_array(a, t->nshapes, sizeof(*ret), "kernels", err);

	for (uint32_t i = 0; ret && i < t->nshapes; i++) {
		const char *name = nsx_text(t, t->shape[i].base_name);

		ret[i] = nsx_hash(name, strlen(name));
	}
	return ret;
}

static void totals_add_kernel(const struct measure *s, size_t op, struct nsx_totals *ret)
{
	const struct nsx_shape *shape = nsx_op_shape(s->t, op);
	const struct nsx_launch *l = nsx_shape_launch(s->t, shape);
	double threads = 1;
	uint32_t grid[3];

	nsx_shape_grid(s->t, shape, grid);
	for (unsigned i = 0; l->known && i < 3; i++)
		threads *= (double)grid[i] * l->block[i];
	ret->launches++;
	nsx_add_to(&ret->threads, nsx_to_i64(threads));
	nsx_add_to(&ret->kernel_ns, nsx_op_ns(&s->t->ops, op));
}

static void totals_add_copy(const struct measure *s, size_t op, struct nsx_totals *ret)
{
	const struct nsx_copy *c = nsx_op_copy(s->t, op);

	nsx_add_to(&ret->bytes[direction_of(c)], c->bytes);
	nsx_add_to(&ret->copy_ns[direction_of(c)], nsx_op_ns(&s->t->ops, op));
	ret->migrates |= nsx_copy_is_migration(c->copy_kind);
}

/* Cuts the launches into blocks. */
static int sum_blocks(const struct measure *s, struct nsx_arena *a, struct nsx_totals *ret,
		      struct nsx_err *err)
{
	const struct nsx_ops *o = &s->t->ops;
	const uint64_t *names = hash_names(s, a, err);
	int64_t n = 0;

	if (!names || !nsx_new_array(ret->blocks, s->keep, NSX_NBLOCKS, "launches", err))
		return err->rc;
	for (size_t i = 0; i < o->n && ret->launches >= NSX_NBLOCKS; i++) {
		if (o->kind[i] != NSX_OP_KERNEL)
			continue;
		ret->sequence = nsx_hash_u64(ret->sequence ^ names[nsx_op_detail(o, i)]);
		nsx_add_to(&ret->blocks[n++ * NSX_NBLOCKS / ret->launches].ns, nsx_op_ns(o, i));
	}
	ret->nblocks = n ? NSX_NBLOCKS : 0;
	return 0;
}

static int totals_sum_work(const struct measure *s, struct nsx_arena *a, struct nsx_totals *ret,
			   struct nsx_err *err)
{
	const struct nsx_ops *o = &s->t->ops;

	for (size_t i = 0; i < o->n; i++) {
		if (o->kind[i] == NSX_OP_KERNEL)
			totals_add_kernel(s, i, ret);
		else if (o->kind[i] == NSX_OP_MEMCPY && !(o->flags[i] & NSX_OP_PEER))
			totals_add_copy(s, i, ret);
	}
	return sum_blocks(s, a, ret, err);
}

int nsx_totals_measure(const struct nsx_trace *t, const struct nsx_facts *f,
		       struct nsx_arena *keep, struct nsx_totals *ret, struct nsx_err *err)
{
	const struct measure s = {t, f, keep};
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_spans kernels, busy;
	struct names names = {0};
	int rc = 0;

	*ret = (struct nsx_totals){.one_time = ""};
	if (unite(&s, false, a, &kernels, err) || unite(&s, true, a, &busy, err) ||
	    totals_sum_work(&s, a, ret, err)) {
		rc = err->rc;
	} else if (busy.n) {
		ret->known = true;
		ret->recorded_ns = t->window.end_ns - t->window.start_ns;
		ret->judged_ns = nsx_judged(f).end_ns - nsx_judged(f).start_ns;
		ret->span_ns = busy.v[busy.n - 1].end_ns - busy.v[0].start_ns;
		ret->ns[NSX_TOTAL_KERNELS] = nsx_spans_total(&kernels);
		ret->ns[NSX_TOTAL_COPIES] = nsx_spans_total(&busy) - ret->ns[NSX_TOTAL_KERNELS];
		rc = add_one_time(&s, &busy, &names, a, ret, err) ||
		     time_calls(&s, &names, ret, err) ? err->rc : 0;
		ret->ns[NSX_TOTAL_IDLE] = ret->span_ns - nsx_spans_total(&busy) -
					  ret->ns[NSX_TOTAL_ONE_TIME];
	}
	for (size_t i = 0; i < names.groups.n; i++)
		free(names.v[i].ns);
	free(names.v);
	nsx_groups_done(&names.groups);
	nsx_arena_free(a);
	return rc;
}
