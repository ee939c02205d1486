/* totals.c - a trace as a whole: kernels, copies, gaps of start-up, the rest. */
#include "base/group.h"
#include "base/stat.h"
#include "fleet/totals.h"
#include "report/words.h"

enum {
	MOST_OF_A_CALL = 1 << 14, /* timed calls per name, enough for a median */
	LEAST_CALLS = 20,
	RECURS = 3, /* this many gaps before one kernel are part of a loop, and not paid once */
};
#define ONE_TIME_GAP_NS 500000
#define SLOW_LAUNCH_NS 1000000 /* a first launch that loads its kernel takes longer */

struct named { /* calls of one name */
	nsx_str name;
	bool is_start_up, waits;
	size_t n, cap;
	int64_t *ns; /* owner: struct measure */
};
struct measure {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_totals *ret;
	struct nsx_arena *keep; /* arena of the result */
	struct nsx_arena *a;
	struct nsx_groups groups; /* numbers of the names */
	struct named *names;
};

/* All GPUs together --------------------------------------------------------------*/

enum work { COMPUTE = 1, COMM = 2, COPY = 4 };

/* Unites the times in which any of n GPUs does some kinds of work. */
static int unite(const struct measure *s, const struct nsx_device_facts *d, uint32_t n,
		 unsigned kinds, struct nsx_spans *ret, struct nsx_err *err)
{
	size_t most = 0;

	for (uint32_t i = 0; i < n; i++)
		most += d[i].compute.n + d[i].comm.n + d[i].copy.n;
	*ret = (struct nsx_spans){0};
	if (!nsx_new_array(ret->v, s->a, most, "spans", err))
		return err->rc;
	for (; n--; d++) {
		const struct nsx_spans *const work[] = {&d->compute, &d->comm, &d->copy};

		for (unsigned k = 0; k < ARRAY_LEN(work); k++)
			for (size_t i = 0; kinds >> k & 1 && i < work[k]->n; i++)
				ret->v[ret->n++] = nsx_span_at(work[k], i);
	}
	nsx_spans_normalise(ret);
	return 0;
}

/* Calls --------------------------------------------------------------------------*/

static bool has_any(const char *name, const char *const *words)
{
	for (; *words; words++)
		if (strstr(name, *words))
			return true;
	return false;
}

static bool totals_waits(const struct nsx_trace *t, size_t call, const char *name)
{
	static const char *const not_alike[] = {
		"Create", "Destroy", "Load", "Register", "Alloc", "Free", "Memcpy",
		"Graph", NULL};

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

static struct named *totals_name_of(struct measure *s, size_t call, struct nsx_err *err)
{
	static const char *const start_up[] = {
		"ModuleLoad", "LibraryLoad", "StreamCreate", "CtxCreate", "DevicePrimary",
		"HostRegister", "HostAlloc", "MallocHost", NULL};
	nsx_str id = nsx_call_name(&s->t->calls, call);
	struct named *x = nsx_group_value(&s->groups, &s->names, id, 0, "names of calls", err);

	if (x && !x->name) {
		x->name = id;
		x->is_start_up = has_any(nsx_text(s->t, id), start_up);
		x->waits = totals_waits(s->t, call, nsx_text(s->t, id));
	}
	return x;
}

/* Whether a call is the first slow launch of a kernel by a process, or the first allocation or
 * release of memory under its name.
 */
static int totals_is_first(const struct measure *s, struct nsx_groups *met, size_t call,
				 uint32_t process, bool *ret, struct nsx_err *err)
{
	const struct nsx_calls *c = &s->t->calls;
	uint32_t op = nsx_call_op(c, call), group;
	size_t n = met->n;
	uint64_t what = nsx_call_name(c, call);

	if (c->cls[call] == NSX_CALL_LAUNCH) {
		if (op == NSX_NONE || nsx_call_ns(c, call) < SLOW_LAUNCH_NS)
			return 0;
		if (s->t->ops.kind[op] == NSX_OP_KERNEL)
			what = (1ull << 32) + s->t->shape_name[nsx_op_detail(&s->t->ops, op)];
	} else if (c->cls[call] != NSX_CALL_IMPLICIT_SYNC && !(c->flags[call] & NSX_CALL_MALLOC)) {
		return 0;
	}
	if (nsx_group(met, what, process, &group, err))
		return err->rc;
	*ret = group == n;
	return 0;
}

/* Collects start-up calls as spans; ret_calls: the calls. */
static int find_start_up(struct measure *s, struct nsx_spans *ret, uint32_t **ret_calls,
			 struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups met = {0};
	int rc = 0;

	*ret = (struct nsx_spans){0};
	if (!nsx_new_array(*ret_calls, s->a, t->calls.n, "calls", err) ||
	    !nsx_new_array(ret->v, s->a, t->calls.n, "calls", err))
		return err->rc;
	for (uint32_t th = 0; !rc && th < t->nthreads; th++)
		for (size_t k = 0; !rc && k < t->thread[th].ncalls; k++) {
			size_t i = t->thread[th].calls_at + k;
			struct named *x = totals_name_of(s, i, err);
			bool is = x && x->is_start_up;

			if (!x || (!is && totals_is_first(s, &met, i, t->thread[th].process, &is,
							  err))) {
				rc = err->rc;
			} else if (is) {
				(*ret_calls)[ret->n] = (uint32_t)i;
				ret->v[ret->n++] = (struct nsx_span){
					nsx_call_start(&t->calls, i), nsx_call_end(&t->calls, i)};
			}
		}
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

struct gap {
	struct nsx_span at;
	int64_t ns;   /* length of start-up in the gap */
	uint32_t end; /* number of the kernel and process that end it, or a number of its own */
};

static int number_end(const struct measure *s, int64_t end_ns, struct nsx_groups *ends,
		      uint32_t *ret, struct nsx_err *err)
{
	const struct nsx_ops *o = &s->t->ops;

	for (uint32_t d = 0; d < s->t->ndevices; d++) {
		size_t op = s->t->device[d].ops_at, end = op + s->t->device[d].nops, hi = end;

		NSX_BISECT(op, hi, mid, nsx_op_start(o, mid) < end_ns);
		if (op < end && nsx_op_start(o, op) == end_ns && o->kind[op] == NSX_OP_KERNEL)
			return nsx_group(ends, s->t->shape_name[nsx_op_detail(o, op)],
					 s->t->stream[nsx_op_stream(o, op)].process, ret, err);
	}
	return nsx_group(ends, (uint64_t)end_ns, UINT64_MAX, ret, err);
}

/* Lists gaps with start-up. The rest of such a gap is ordinary time of the host: it stays if the
 * start-up goes. ends: numbers of what ends them.
 */
static int list_gaps(const struct measure *s, const struct nsx_spans *busy,
		     const struct nsx_spans *calls, struct nsx_groups *ends,
		     struct gap *ret, size_t *ret_n, struct nsx_err *err)
{
	size_t cursor = 0, n = 0;

	for (size_t i = 0; i + 1 < busy->n; i++) {
		struct nsx_span at = {busy->v[i].end_ns, busy->v[i + 1].start_ns};
		int64_t ns = nsx_spans_covered(calls, &cursor, at.start_ns, at.end_ns);

		if (ns <= ONE_TIME_GAP_NS)
			continue;
		ret[n].at = at;
		ret[n].ns = ns;
		if (number_end(s, at.end_ns, ends, &ret[n++].end, err))
			return err->rc;
	}
	*ret_n = n;
	return 0;
}

/* Finds the longest gaps of a GPU. calls: start-up. */
static int totals_find_pauses(const struct measure *s, uint32_t gpu, const struct nsx_spans *calls,
		       struct nsx_pause *ret, struct nsx_err *err)
{
	const struct nsx_ops *o = &s->t->ops;
	size_t op = s->t->device[gpu].ops_at, end = op + s->t->device[gpu].nops, cursor = 0, nkernels = 0;
	struct nsx_spans work;

	if (unite(s, &s->f->device[gpu], 1, COMPUTE | COPY, &work, err))
		return err->rc;
	for (size_t i = 0; i + 1 < work.n; i++) {
		int64_t from = work.v[i].end_ns, to = work.v[i + 1].start_ns;
		int64_t ns = to - from - nsx_spans_covered(calls, &cursor, from, to);
		size_t k = NSX_NPAUSES - 1;

		for (; op < end && nsx_op_start(o, op) < to; op++)
			nkernels += o->kind[op] == NSX_OP_KERNEL;
		if (ns <= ret[k].ns)
			continue;
		for (; k && ret[k - 1].ns < ns; k--)
			ret[k] = ret[k - 1];
		ret[k] = (struct nsx_pause){ns, nkernels};
	}
	return 0;
}

/* Adds start-up, except in gaps that recur before the same kernel; the first of those still counts.
 */
static int add_one_time(struct measure *s, const struct nsx_spans *busy, struct nsx_err *err)
{
	struct nsx_groups ends = {0};
	struct nsx_spans calls;
	struct gap longest = {.ns = 0};
	uint32_t *which, *times, *met;
	struct gap *gaps;
	size_t n = 0, ncalls;
	int rc;

	if (find_start_up(s, &calls, &which, err) ||
	    !nsx_new_array(gaps, s->a, busy->n, "gaps", err) ||
	    !nsx_new_array(s->ret->pauses, s->keep, s->t->ndevices, "gaps", err))
		return err->rc;
	s->ret->ngpus = s->t->ndevices;
	ncalls = calls.n;
	nsx_spans_normalise(&calls);
	for (uint32_t g = 0; g < s->t->ndevices; g++)
		if (totals_find_pauses(s, g, &calls, s->ret->pauses[g], err))
			return err->rc;
	rc = list_gaps(s, busy, &calls, &ends, gaps, &n, err);
	times = nsx_arena_get(s->a, ends.n * sizeof(*times));
	met = nsx_arena_get(s->a, ends.n * sizeof(*met));
	for (size_t i = 0; i < n; i++)
		times[gaps[i].end]++;
	for (size_t i = 0; i < n; i++) {
		if (met[gaps[i].end]++ && times[gaps[i].end] >= RECURS)
			continue;
		s->ret->ns[NSX_TOTAL_ONE_TIME] += gaps[i].ns;
		if (gaps[i].ns > longest.ns)
			longest = gaps[i];
	}
	nsx_groups_done(&ends);
	s->ret->one_time_ns = longest.ns;
	if (longest.ns)
		s->ret->one_time = longest_in(s, which, ncalls, &longest.at);
	return rc;
}

/* Records the median time of calls that wait for nothing. */
static int time_calls(struct measure *s, struct nsx_err *err)
{
	const struct nsx_calls *c = &s->t->calls;

	for (size_t i = 0; i < c->n; i++) {
		struct named *x = totals_name_of(s, i, err);

		if (!x)
			return err->rc;
		if (x->waits || x->n == MOST_OF_A_CALL ||
		    c->flags[i] & (NSX_CALL_FAILED | NSX_CALL_NESTED))
			continue;
		if (nsx_push(x->ns, x->n, x->cap, "calls", err, nsx_call_ns(c, i)))
			return err->rc;
	}
	if (!nsx_new_array(s->ret->calls, s->keep, s->groups.n, "calls", err))
		return err->rc;
	for (size_t i = 0; i < s->groups.n; i++) {
		const struct named *x = &s->names[i];

		if (x->n >= LEAST_CALLS)
			s->ret->calls[s->ret->ncalls++] = (struct nsx_call_speed){
				nsx_text_api(s->keep, nsx_text(s->t, x->name)), (int64_t)x->n,
				nsx_to_i64(nsx_quantile(x->ns, x->n, 0.5))};
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

static void totals_add_kernel(const struct measure *s, size_t op)
{
	const struct nsx_shape *shape = nsx_op_shape(s->t, op);
	const struct nsx_launch *l = nsx_shape_launch(s->t, shape);
	double threads = 1;
	uint32_t grid[3];

	nsx_shape_grid(s->t, shape, grid);
	for (unsigned i = 0; l->known && i < 3; i++)
		threads *= (double)grid[i] * l->block[i];
	s->ret->launches++;
	nsx_add_to(&s->ret->threads, nsx_to_i64(threads));
	nsx_add_to(&s->ret->kernel_ns, nsx_op_ns(&s->t->ops, op));
}

static void totals_add_copy(const struct measure *s, size_t op)
{
	const struct nsx_copy *c = nsx_op_copy(s->t, op);

	nsx_add_to(&s->ret->bytes[direction_of(c)], c->bytes);
	nsx_add_to(&s->ret->copy_ns[direction_of(c)], nsx_op_ns(&s->t->ops, op));
	s->ret->migrates |= nsx_copy_is_migration(c->copy_kind);
}

/* Sums the work, and cuts the launches into blocks. The names are numbered alike in all traces. */
static int totals_sum_work(const struct measure *s, struct nsx_err *err)
{
	const struct nsx_ops *o = &s->t->ops;
	struct nsx_totals *ret = s->ret;
	uint64_t *names;
	int64_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		if (o->kind[i] == NSX_OP_KERNEL)
			totals_add_kernel(s, i);
		else if (o->kind[i] == NSX_OP_MEMCPY && !(o->flags[i] & NSX_OP_PEER))
			totals_add_copy(s, i);
	if (!nsx_new_array(names, s->a, s->t->nshapes, "kernels", err) ||
	    !nsx_new_array(ret->blocks, s->keep, NSX_NBLOCKS, "launches", err))
		return err->rc;
	for (uint32_t i = 0; i < s->t->nshapes; i++) {
		const char *name = nsx_text(s->t, s->t->shape[i].base_name);

		names[i] = nsx_hash(name, strlen(name));
	}
	for (size_t i = 0; i < o->n && ret->launches >= NSX_NBLOCKS; i++) {
		if (o->kind[i] != NSX_OP_KERNEL)
			continue;
		ret->sequence = nsx_hash_u64(ret->sequence ^ names[nsx_op_detail(o, i)]);
		nsx_add_to(&ret->blocks[n++ * NSX_NBLOCKS / ret->launches].ns, nsx_op_ns(o, i));
	}
	ret->nblocks = n ? NSX_NBLOCKS : 0;
	return 0;
}

int nsx_totals_measure(const struct nsx_trace *t, const struct nsx_facts *f,
		       struct nsx_arena *keep, struct nsx_totals *ret, struct nsx_err *err)
{
	struct measure s = {.t = t, .f = f, .ret = ret, .keep = keep, .a = nsx_arena_new()};
	struct nsx_spans kernels, busy;
	int rc = 0;

	*ret = (struct nsx_totals){.one_time = ""};
	if (unite(&s, f->device, t->ndevices, COMPUTE | COMM, &kernels, err) ||
	    unite(&s, f->device, t->ndevices, COMPUTE | COMM | COPY, &busy, err) ||
	    totals_sum_work(&s, err)) {
		rc = err->rc;
	} else if (busy.n) {
		ret->known = true;
		ret->recorded_ns = nsx_has_window(t) ? t->window.end_ns - t->window.start_ns :
						       t->last_ns - t->first_ns;
		ret->judged_ns = nsx_judged(f).end_ns - nsx_judged(f).start_ns;
		ret->span_ns = busy.v[busy.n - 1].end_ns - busy.v[0].start_ns;
		ret->ns[NSX_TOTAL_KERNELS] = nsx_spans_total(&kernels);
		ret->ns[NSX_TOTAL_COPIES] = nsx_spans_total(&busy) - ret->ns[NSX_TOTAL_KERNELS];
		rc = add_one_time(&s, &busy, err) || time_calls(&s, err) ? err->rc : 0;
		ret->ns[NSX_TOTAL_IDLE] = ret->span_ns - nsx_spans_total(&busy) -
					  ret->ns[NSX_TOTAL_ONE_TIME];
	}
	for (size_t i = 0; i < s.groups.n; i++)
		free(s.names[i].ns);
	free(s.names);
	nsx_groups_done(&s.groups);
	nsx_arena_free(s.a);
	return rc;
}
