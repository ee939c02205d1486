/* calls.c - CUDA calls that wait, allocate, load code or are slow.
 *
 * Calls that overlap the judged window are grouped by API. A call counts as a wait if it keeps the
 * host waiting for a small copy, or asks in a loop whether the GPU is done. A wait and the one
 * directly after it, such as a small copy and a synchronisation, form one group: without the first
 * the second would wait as long.
 */
#include <math.h>
#include "detect/detect.h"
#include "facts/profiler.h"
#include "facts/replay/replay.h"
#include "trace/nvtx_walk.h"

/* waits form one group if removing all of them wins at least this many times the sum of the single
 * gains
 */
#define TOGETHER 1.1
/* calls that free memory and win more than this share of the window are judged on their own */
#define OWN_SHARE 0.01
#define REFILLS 10.0 /* an allocation from an empty pool takes this many times as long */
enum {
	SMALL_BYTES = 64 << 10, /* a smaller copy costs its wait, not its bytes */
	LATER_NS = 100000,   /* the longest time from a launch to the start of its work */
	VALUE_BYTES = 64,    /* a larger copy holds a step's results, not a few values */
	START_NS = 50000000, /* an allocation this long with the GPU idle starts CUDA */
	FEW = 20,	    /* a case is mentioned if at least one call in 20 shows it */
	MOST_NAMES = 4,	    /* API names in a title                          */
	NAMES_LENGTH = 44,  /* most bytes of the API names in a title        */
	/* Allocating from a pool that has memory is faster: 500 ns on an H200, and 217000 ns once
	 * the pool has given its memory back (tests/measured).
	 */
	REFILL_NS = 20000,
	OFTEN = 10, /* fewer calls are never "too often" */
};

enum kind { WAIT, POLL, SMALL_COPY, ALLOCATE, LOAD, START, SLOW, NONE };
static bool is_wait(enum kind kind)
{
	return kind == WAIT || kind == POLL || kind == SMALL_COPY;
}
/* The direction of a small copy that a wait waits for. */
enum way { TO_GPU, TO_HOST, NWAYS };
/* Known effects of an API call. */
enum { OTHER = 1, ALLOCATES, QUERIES };

struct group { /* calls of one API with one effect */
	const char *api;
	enum kind kind;
	uint32_t process;    /* process of all its calls, or NSX_SEVERAL if they differ */
	/* after: calls directly after a wait of group `behind`               */
	size_t count, after;
	uint32_t behind;     /* index of the group before the calls `after`  */
	uint32_t lead;	     /* the group that represents all groups joined with this one */
	bool frees;	     /* calls that free memory, and so first wait for the GPU */
	bool is_pool;	     /* ALLOCATE: from a memory pool                 */
	size_t nrefills;     /* pool allocations right after a wait of this group */
	int64_t refill_ns;
	int64_t idle_ns;     /* the GPU's idle time during the calls         */
	int64_t ns, cost_ns;
	int64_t profiled_ns; /* the part of ns that is the profiler's own */
	/* how long GPU work at the window's ends waits for the calls; 0 for waits */
	int64_t edge_ns;
	int64_t between_ns;  /* POLL: time between consecutive calls         */
	size_t copies[NWAYS]; /* small copies that the calls wait for        */
	int64_t bytes[NWAYS]; /* size of the largest of these copies         */
	/* POLL: calls that follow another call of the group. Other kinds: all calls, if the
	 * API has calls of several kinds
	 */
	struct nsx_row_list rows;
};

struct calls {
	struct nsx_detect *d;
	struct nsx_groups keys; /* (kind, name of the API without version)   */
	struct group *v;
	struct nsx_places *places; /* places of the calls' time, by group */
	struct nsx_places *costs; /* places of the idle time right after the calls, by group */
	nsx_str *base;	/* by raw name: first raw name of the same API       */
	uint8_t *does;	/* by raw name: effects of the API; 0: not looked up yet */
	uint32_t thread; /* the thread whose calls are read                  */
	int64_t ended_ns;  /* end of the thread's last call                  */
	/* the last small copy, unless another operation or a wait came since; otherwise NSX_NONE */
	uint32_t copied;
	uint32_t emptied; /* group of the last wait until a pool allocation follows; NSX_NONE: none */
	size_t nserved;	  /* pool allocations of all threads that follow no wait */
	int64_t served_ns;
	size_t barrier, barriers_end; /* the thread's range of barriers that may matter */
	/* by barrier: idle time after it that it does not cause (find_later); NULL: not needed,
	 * because the replay gives prices
	 */
	int64_t *later_ns;
	struct nsx_edge edge[2]; /* both ends of the window the user asked for */
	int64_t idle_ns; /* idle time of the limiting GPU while the host is busy */
	int64_t all_idle_ns; /* idle time of the limiting GPU                */
};

/* Grouping --------------------------------------------------------------------*/

/* Whether the GPU has little else to do during a call. */
static bool is_starved(const struct calls *c, size_t call)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t start_ns = nsx_call_start(&t->calls, call);
	int64_t end_ns = nsx_call_end(&t->calls, call);
	uint32_t op = nsx_call_op(&t->calls, call);

	return op == NSX_NONE ||
	       nsx_idle_within(&c->d->facts->idle[nsx_stream_of(t, op)->device],
			       start_ns, end_ns) >= (end_ns - start_ns) / 2;
}

/* Whether the judged window may be a start-up. A window that the user asked for may be one unless
 * something repeats in it.
 */
static bool may_start(const struct nsx_detect *d)
{
	return d->facts->run_kind == NSX_RUN_START_UP ||
	       (nsx_has_window(d->trace) && !d->facts->niterations);
}

/* Whether an allocation or free starts CUDA or a library: on an idle GPU it would not take so long
 * by itself.
 */
static bool is_start(const struct calls *c, size_t call)
{
	const struct nsx_trace *t = c->d->trace;

	return may_start(c->d) && is_starved(c, call) &&
	       nsx_call_end(&t->calls, call) - nsx_call_start(&t->calls, call) >= START_NS &&
	       !strstr(nsx_text(t, nsx_call_name(&t->calls, call)), "Host");
}

static bool is_small_copy(const struct nsx_trace *t, uint32_t op)
{
	return op != NSX_NONE && t->ops.kind[op] == NSX_OP_MEMCPY &&
	       nsx_op_copy(t, op)->bytes < SMALL_BYTES;
}

static enum kind calls_kind_of(struct calls *c, size_t call)
{
	const struct nsx_trace *t = c->d->trace;
	uint32_t op = nsx_call_op(&t->calls, call);
	uint8_t does = c->does[nsx_call_name(&t->calls, call)];

	if (nsx_is_librarys(c->d, call))
		return NONE;
	if ((does == ALLOCATES || t->calls.cls[call] == NSX_CALL_IMPLICIT_SYNC) &&
	    is_start(c, call))
		return START;
	if (does == ALLOCATES)
		return ALLOCATE;
	if (does == QUERIES)
		return POLL;
	switch (t->calls.cls[call]) {
	case NSX_CALL_SYNC:
		return WAIT;
	case NSX_CALL_COPY:
	case NSX_CALL_COPY_ASYNC:
		return nsx_call_blocks(c->d->facts, t, call) &&
		       is_small_copy(t, op) ? SMALL_COPY : NONE;
	case NSX_CALL_MODULE:
		return LOAD;
	case NSX_CALL_LAUNCH:
		return nsx_call_loads(c->d->facts, call) && is_starved(c, call) ? LOAD : NONE;
	case NSX_CALL_IMPLICIT_SYNC:
		return ALLOCATE;
	default:
		return op == NSX_NONE ? SLOW : NONE; /* other calls queue work */
	}
}

/* Notes the effect and the base name of an API at its first call. Versions of one API differ in the
 * suffix of their raw names.
 */
static void learn_name(struct calls *c, nsx_str raw)
{
	char buf[256];
	const char *api = nsx_api_base(nsx_text(c->d->trace, raw), buf, sizeof(buf));

	c->does[raw] = nsx_api_allocates(api) ? ALLOCATES :
		       nsx_api_is_query(api) ? QUERIES : OTHER; /* a loop of queries waits */
	c->base[raw] = raw;
	for (size_t g = 0; g < c->keys.n; g++)
		if (!strcmp(c->v[g].api, api))
			c->base[raw] = (nsx_str)nsx_group_key(&c->keys, g).b;
}

static bool is_pool(const char *api)
{
	return strstr(api, "MallocAsync") || strstr(api, "MemAllocAsync") ||
	       strstr(api, "FromPoolAsync");
}

/* Finds or adds a group. Errors: NULL, NSX_E_NOMEM. */
static struct group *calls_group_of(struct calls *c, enum kind kind, nsx_str raw,
				    struct nsx_err *err)
{
	struct group *x = nsx_group_value(&c->keys, &c->v, kind, c->base[raw],
					  "kinds of call", err);

	if (x && !x->api)
		*x = (struct group){
			.api = nsx_text_api(c->d->found->arena, nsx_text(c->d->trace, raw)),
			.kind = kind, .behind = NSX_NONE, .lead = (uint32_t)(x - c->v),
			.is_pool = is_pool(nsx_text(c->d->trace, raw))};
	return x;
}

/* Counts the first pool allocation after a wait separately, because the wait may have emptied the
 * pool.
 */
static void count_refill(struct calls *c, int64_t ns)
{
	struct group *x = c->emptied == NSX_NONE ? NULL : &c->v[c->emptied];

	++*(x ? &x->nrefills : &c->nserved);
	nsx_add_to(x ? &x->refill_ns : &c->served_ns, ns);
	c->emptied = NSX_NONE;
}

/* Counts the copy that a wait waits for: the call's own, or the one queued before it. */
static void count_copy(struct calls *c, struct group *x, size_t call)
{
	const struct nsx_trace *t = c->d->trace;
	const struct nsx_copy *y;
	uint32_t op = nsx_call_op(&t->calls, call);

	if (op != NSX_NONE)
		c->copied = is_small_copy(t, op) ? op : NSX_NONE;
	if (!x || !is_wait(x->kind) || c->copied == NSX_NONE)
		return;
	y = nsx_op_copy(t, c->copied);
	if (y->copy_kind == NSX_COPY_HTOD || y->copy_kind == NSX_COPY_DTOH) {
		enum way way = y->copy_kind == NSX_COPY_HTOD ? TO_GPU : TO_HOST;

		x->copies[way]++;
		x->bytes[way] = NSX_MAX(x->bytes[way], y->bytes);
	}
	if (x->kind == WAIT)
		c->copied = NSX_NONE;
}

/* Whether the kind depends on the call's rows rather than on the API's name: only small copies
 * count as waits, and a first allocation may start CUDA.
 */
static bool is_told_by_rows(const struct calls *c, enum kind kind)
{
	return kind == SMALL_COPY || kind == LOAD || kind == START ||
	       (kind == ALLOCATE && may_start(c->d));
}

/* Finds, for each wait, the part of the idle time after it that lies between the end of a launch
 * and the start of its work: the wait does not cause it. Needed only if nothing can be replayed,
 * because then the idle time is the price.
 */
static int find_later(struct calls *c, struct nsx_err *err)
{
	const struct nsx_facts *f = c->d->facts;
	const struct nsx_trace *t = c->d->trace;
	struct nsx_gap gap;

	if (nsx_model_closure(f->model)->cls != NSX_CONF_NONE)
		return 0;
	if (!nsx_new_array(c->later_ns, c->d->scratch, f->nbarriers, "waits", err))
		return err->rc;
	for (uint32_t d = 0; d < f->ndevices; d++)
		for (size_t at = 0; nsx_next_gap(&f->idle[d], &at, &gap);) {
			uint32_t call = gap.op == NSX_NONE ?
						NSX_NONE : nsx_op_call(&t->ops, gap.op);
			int64_t ns = call == NSX_NONE ? 0 : gap.end_ns - NSX_MAX(
				gap.start_ns, nsx_call_end(&t->calls, call));
			uint32_t b = ns >= LATER_NS ? nsx_gap_barrier(f, t, &gap) : NSX_NONE;

			if (b != NSX_NONE)
				nsx_add_to(&c->later_ns[b], ns);
		}
	return 0;
}

/* Adds the idle time after a call to its group, as evidence. */
static int add_cost(struct calls *c, struct group *x, size_t call, uint32_t range,
		    struct nsx_err *err)
{
	const struct nsx_barrier *b = c->d->facts->barriers;
	int64_t all_ns = 0;
	int64_t start_ns = nsx_call_start(&c->d->trace->calls, call);
	nsx_str name = nsx_call_name(&c->d->trace->calls, call);

	while (c->barrier < c->barriers_end && b[c->barrier].start_ns < start_ns)
		c->barrier++;
	for (size_t i = c->barrier; i < c->barriers_end && b[i].start_ns == start_ns; i++)
		if (b[i].name == name && nsx_is_judged(c->d, start_ns)) {
			nsx_add_to(&all_ns, b[i].cost_ns - (c->later_ns ? c->later_ns[i] : 0));
			nsx_add_to(&x->idle_ns, NSX_MAX(0, b[i].gpu_idle_ns));
		}
	nsx_add_to(&x->cost_ns, all_ns);
	return all_ns > 0 ? nsx_places_add(c->costs, (uint32_t)(x - c->v), range, (uint32_t)call,
					   all_ns, err) : 0;
}

/* Counts a call of the current thread in its group. ns: its time in the window. */
static void count_call(struct calls *c, struct group *x, size_t call, int64_t ns)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t start_ns = nsx_call_start(&t->calls, call);
	uint32_t process = t->thread[c->thread].process;

	x->process = !x->count++ || x->process == process ? process : NSX_SEVERAL;
	x->frees |= t->calls.cls[call] == NSX_CALL_IMPLICIT_SYNC &&
		    !(t->calls.flags[call] & NSX_CALL_MALLOC);
	nsx_add_to(&x->ns, ns);
	nsx_add_to(&x->profiled_ns, nsx_profiled_ns(
		c->d->facts, c->thread, (struct nsx_span){start_ns, start_ns + ns}));
}

static int calls_add_call(struct calls *c, size_t call, struct nsx_nvtx_walk *ranges,
			  uint32_t *last_wait, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	nsx_str raw = nsx_call_name(&t->calls, call);
	int64_t ns = NSX_MIN(nsx_call_end(&t->calls, call), c->d->w.end_ns) -
		     nsx_call_start(&t->calls, call);
	struct group *x;
	enum kind kind;
	uint32_t g, range;

	if (!c->does[raw])
		learn_name(c, raw);
	kind = calls_kind_of(c, call);
	if (kind == NONE) {
		count_copy(c, NULL, call);
		*last_wait = NSX_NONE;
		return 0;
	}
	x = calls_group_of(c, kind, raw, err);
	if (!x)
		return err->rc;
	count_copy(c, x, call);
	g = (uint32_t)(x - c->v);
	range = nsx_nvtx_walk_to(ranges, nsx_call_start(&t->calls, call));
	if (nsx_places_add(c->places, g, range, (uint32_t)call, ns, err))
		return err->rc;
	count_call(c, x, call, ns);
	if (kind == WAIT)
		c->emptied = g;
	if (x->is_pool)
		count_refill(c, ns);
	if (!is_wait(kind))
		nsx_add_to(&x->edge_ns, nsx_at_edges(c->edge, c->thread, (struct nsx_span){
			nsx_call_start(&t->calls, call), nsx_call_end(&t->calls, call)}));
	/* the idle time after such a call is its cost */
	if ((is_wait(kind) || kind == ALLOCATE || kind == LOAD) &&
	    add_cost(c, x, call, range, err))
		return err->rc;
	if (kind == POLL && *last_wait == g)
		nsx_add_to(&x->between_ns, NSX_MAX(0, nsx_call_start(&t->calls, call) -
							      c->ended_ns));
	if ((is_told_by_rows(c, kind) || (kind == POLL && *last_wait == g)) &&
	    nsx_list_row(c->d, &x->rows, call, err))
		return err->rc;
	if (!is_wait(kind)) {
		*last_wait = NSX_NONE;
		return 0;
	}
	if (*last_wait != NSX_NONE && *last_wait != g) {
		if (x->behind == NSX_NONE)
			x->behind = *last_wait;
		x->after += x->behind == *last_wait;
	}
	*last_wait = g;
	return 0;
}

static int collect_thread(struct calls *c, uint32_t thread, uint32_t *below, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	uint32_t last_wait = NSX_NONE;
	struct nsx_nvtx_walk walk;

	c->barrier = c->d->facts->thread_barriers[thread].at;
	c->barriers_end = c->barrier + c->d->facts->thread_barriers[thread].n;
	c->copied = c->emptied = NSX_NONE;
	nsx_nvtx_walk_begin(&walk, t, thread, true, false, below);
	for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i);

		if (start_ns >= c->d->w.end_ns)
			break;
		if (nsx_call_end(&t->calls, i) <= c->d->w.start_ns ||
		    (t->calls.flags[i] & NSX_CALL_NESTED))
			continue;
		if (calls_add_call(c, i, &walk, &last_wait, err))
			return err->rc;
		c->ended_ns = nsx_call_end(&t->calls, i);
	}
	return 0;
}

/* Joins a group of waits that mostly come right after those of another group with that one. */
static void join_waits(struct calls *c)
{
	for (uint32_t g = 0; g < c->keys.n; g++) {
		struct group *x = &c->v[g];

		if (x->behind != NSX_NONE && x->after * 2 >= x->count)
			x->lead = c->v[x->behind].lead;
	}
}

static int calls_collect(struct calls *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	size_t n = nsx_strings_bound(t->strings);
	uint32_t *below;

	if (!nsx_new_array(below, c->d->scratch, t->nvtx.n, "ranges", err) ||
	    nsx_new_arrays(c->d->scratch, n, "names", err, c->base, c->does))
		return err->rc;
	nsx_find_edges(c->d, c->edge);
	for (c->thread = 0; c->thread < t->nthreads; c->thread++)
		if (collect_thread(c, c->thread, below, err))
			return err->rc;
	join_waits(c);
	for (unsigned i = 0; i < NSX_NCAUSES; i++) {
		if (i < NSX_CAUSE_LAUNCH_TO_START)
			nsx_add_to(&c->idle_ns, c->d->idle_ns[i]);
		nsx_add_to(&c->all_idle_ns, c->d->idle_ns[i]);
	}
	return 0;
}

/* Findings --------------------------------------------------------------------*/

static const struct words {
	enum nsx_finding_id id;
	enum nsx_change_verb verb;
	const char *title; /* text before the names of the calls             */
	const char *barrier; /* barrier_kind in tables/barriers.csv; NULL: none */
	/* advice before and after the names; rest NULL: advice without names */
	const char *act, *rest;
	/* advice for all programs, and advice for PyTorch; NULL: none */
	const char *advice, *pytorch;
} words[] = {
	[WAIT] = {NSX_ID_idle_after_sync, NSX_NO_WAIT, say_host_waits_gpu, "sync_api",
		say_launch_next_work_before, say_or_wait_on_an_event, NULL,
		say_look_item_cpu_print_tensor},
	[POLL] = {NSX_ID_idle_after_sync, NSX_NO_COST, say_host_waits_gpu_loop_around, NULL,
		say_launch_next_work_before_2, say_ask_where_host_first_reads, NULL, NULL},
	[SMALL_COPY] = {NSX_ID_idle_after_blocking_copy, NSX_NO_WAIT, say_host_waits_small_copies,
		"blocking_memcpy", say_do_not_read_back_single, say_collect_on_gpu_copy_once, NULL,
		say_look_item_cpu_tensors_made},
	[ALLOCATE] = {NSX_ID_idle_by_allocation, NSX_NO_COST, say_memory_allocated_or_freed,
		"implicit_sync", "take ", say_out_loop_allocate_before, NULL, NULL},
	[LOAD] = {NSX_ID_idle_by_module_load, NSX_NO_COST, say_code_loaded_or_compiled, NULL,
		say_warm_up_before_part, NULL, say_build_gpu_architecture_so, NULL},
	[START] = {NSX_ID_idle_by_module_load, NSX_NO_COST, say_cuda_or_one_libraries, NULL,
		say_paid_once_create_context, NULL, NULL, NULL},
	[SLOW] = {NSX_ID_idle_by_slow_call, NSX_NO_COST, say_time_goes_calls, NULL, "call ",
		say_less_often_or_before_loop, NULL, NULL},
}, once[] = { /* wording for windows in which nothing repeats */
	[ALLOCATE] = {NSX_ID_idle_by_allocation, NSX_NO_COST, say_memory_allocated_or_freed_2,
		"implicit_sync", "call ", say_less_often_take_what, NULL, NULL},
	[SLOW] = {NSX_ID_idle_by_slow_call, NSX_NO_COST, say_time_goes_calls, NULL, "call ",
		" less often", NULL, NULL},
};

static const struct words *words_of_kind(const struct calls *c, enum kind kind)
{
	return nsx_repeats(c->d) || kind >= ARRAY_LEN(once) ||
			       !once[kind].title ?
		       &words[kind] : &once[kind];
}

/* Advice for groups whose calls mostly wait for small copies. */
static const struct {
	const char *copies, *act, *rest, *pytorch;
} of_copies[NWAYS] = {
	[TO_GPU] = {"to the GPU", say_create_small_values_on_gpu, "", say_non_blocking_true_on},
	[TO_HOST] = {"to the host", say_do_not_read_back_single, say_collect_on_gpu_copy_once,
		say_look_item_cpu_nonzero},
};

/* "cudaMalloc and cudaFree", "cudaMalloc, cudaFree and 2 more": APIs of joined groups, the longest
 * first, as many as fit a line of the first page.
 */
static const char *say_names(struct calls *c, const uint32_t *list, size_t n, bool *ret_all)
{
	const char *names = c->v[list[0]].api;
	size_t i = 1;

	for (; i < NSX_MIN(n, (size_t)MOST_NAMES); i++) {
		const char *api = c->v[list[i]].api;

		if (i > 1 && strlen(names) + strlen(api) > NAMES_LENGTH)
			break;
		names = nsx_tell(c->d->found, "%s%s%s", names, i + 1 == n ? " and " : ", ", api);
	}
	*ret_all = i >= n;
	return *ret_all ? names : nsx_tell(c->d->found, "%s and %zu more", names, n - i);
}

/* The remedy of these groups. A loop of queries loses the time between its calls as well. */
static struct nsx_plan calls_plan_of(struct calls *c, const uint32_t *list, size_t n)
{
	struct nsx_plan p = {NULL, 0};

	for (size_t i = 0; i < n; i++) {
		struct group *x = &c->v[list[i]];
		struct nsx_change change = {.verb = words[x->kind].verb, .name = x->api};

		if (x->kind != POLL && x->rows.n)
			change.rows = nsx_keep_rows(c->d, x->rows.v, x->rows.n);
		nsx_plan_add(c->d, &p, change);
		if (x->kind == POLL)
			nsx_plan_rows(c->d, &p, &x->rows, (struct nsx_change){
				.verb = NSX_FASTER_HOST, .amount = INFINITY});
	}
	return p;
}

/* Lists groups of waits and of calls that free memory whose lead is `lead`, or NSX_NONE for any. */
static size_t calls_list_waits(const struct calls *c, uint32_t lead, uint32_t *ret)
{
	size_t n = 0;

	for (uint32_t g = 0; g < c->keys.n; g++)
		if ((is_wait(c->v[g].kind) || c->v[g].frees) &&
		    (lead == NSX_NONE || c->v[g].lead == lead))
			ret[n++] = g;
	return n;
}

/* Joins waits that win more together than each alone: as long as one of two waits of a loop stays,
 * it may wait for the same work as the other did. Groups that free memory are joined too if they
 * win next to nothing alone.
 */
static int join_by_price(struct calls *c, struct nsx_err *err)
{
	const struct nsx_model *m = c->d->facts->model;
	uint32_t n = (uint32_t)c->keys.n;
	uint32_t *list;
	double sum = 0;
	uint32_t first = NSX_NONE;
	struct nsx_gain g;
	size_t leads = 0;

	if (!nsx_new_array(list, c->d->scratch, n, "kinds of call", err))
		return err->rc;
	for (uint32_t lead = n; lead-- > 0;) {
		size_t k = calls_list_waits(c, lead, list);
		struct nsx_plan p = calls_plan_of(c, list, k);

		if (!k)
			continue;
		if (nsx_replay_price(m, p.v, p.n, &g, err))
			return err->rc;
		if (is_wait(c->v[lead].kind)) {
			first = lead;
		} else if ((double)g.gain_ns >= OWN_SHARE * c->d->length_ns) {
			c->v[lead].frees = false;
			continue;
		}
		sum += (double)g.gain_ns;
		leads++;
	}
	if (leads < 2 || first == NSX_NONE)
		return 0;
	size_t nall = calls_list_waits(c, NSX_NONE, list);
	struct nsx_plan all = calls_plan_of(c, list, nall);

	if (nsx_replay_price(m, all.v, all.n, &g, err))
		return err->rc;
	if ((double)g.gain_ns < NSX_MAX(TOGETHER * sum, NSX_LEAST_SHARE * c->d->length_ns))
		return 0;
	for (size_t i = 0; i < nall; i++)
		c->v[list[i]].lead = first;
	return 0;
}

static void calls_advise(const struct calls *c, const struct group *x,
			 const struct words *say, const char *names, enum way way,
			 bool empties, bool is_result, struct nsx_finding *f)
{
	const char *act = say->act, *rest = say->rest, *pytorch = say->pytorch;
	size_t k = 0;

	if (way != NWAYS) {
		act = of_copies[way].act;
		rest = of_copies[way].rest;
		pytorch = of_copies[way].pytorch;
	}

	if (is_result)
		f->recommendation[k++] = say_launch_next_work_before_3;
	if (x->is_pool || empties)
		f->recommendation[k++] = say_raise_pool_release;
	if (say == &once[ALLOCATE] && nsx_api_pins(x->api))
		f->recommendation[k++] = nsx_tell(c->d->found, say_pin_less, x->api);
	else if (say >= once && say < once + ARRAY_LEN(once) && x->count < OFTEN)
		f->recommendation[k++] = nsx_tell(c->d->found, say_call_before_what_matters, names);
	else if (!is_result)
		f->recommendation[k++] = rest ?
			nsx_tell(c->d->found, "%s%s%s%s", act, names, rest,
				 say->id == NSX_ID_idle_by_allocation &&
				 !x->is_pool ? ", or use a pool" : "") : act;
	if (say->advice)
		f->recommendation[k++] = say->advice;
	if (pytorch && c->d->is_pytorch)
		f->recommendation[k++] = nsx_tell(c->d->found, "%s%s", pytorch,
			nsx_repeats(c->d) ? " in the loop" : "");
}

/* The sums over groups that were joined. */
static struct group calls_total_of(const struct calls *c, const uint32_t *list, size_t n)
{
	struct group ret = {.process = c->v[list[0]].process};

	for (size_t i = 0; i < n; i++) {
		const struct group *x = &c->v[list[i]];

		if (x->process != ret.process)
			ret.process = NSX_SEVERAL;
		ret.count += x->count;
		for (unsigned way = 0; way < NWAYS; way++) {
			ret.copies[way] += x->copies[way];
			ret.bytes[way] = NSX_MAX(ret.bytes[way], x->bytes[way]);
		}
		nsx_add_to(&ret.ns, x->ns);
		nsx_add_to(&ret.profiled_ns, x->profiled_ns);
		nsx_add_to(&ret.between_ns, x->between_ns);
		nsx_add_to(&ret.cost_ns, x->cost_ns);
		nsx_add_to(&ret.edge_ns, x->edge_ns);
		ret.nrefills += x->nrefills;
		nsx_add_to(&ret.refill_ns, x->refill_ns);
		nsx_add_to(&ret.idle_ns, x->idle_ns);
	}
	return ret;
}

/* The direction of the small copies for which most calls wait or, if these go to the host, more
 * than one call in `part`; NWAYS: neither.
 */
static enum way calls_direction_of(const struct group *x, size_t part)
{
	return x->copies[TO_GPU] * 2 > x->count ? TO_GPU :
	       x->copies[TO_HOST] * part > x->count ? TO_HOST : NWAYS;
}

/* "26 calls, 255 ms in all, 24 of them for a copy of at most 8 B to the GPU". For a loop of queries
 * also the time between its calls.
 */
static const char *calls_say_calls(struct nsx_findings *l, const struct group *x, enum way way)
{
	const char *text = nsx_tell(l, "%s, %s in all%s%s",
		nsx_text_n(l->arena, x->count, "call", NULL), nsx_tell_ns(l, x->ns),
		nsx_text_profiled(l->arena, x->profiled_ns, x->ns),
		x->between_ns * 10 < x->ns ? "" :
		nsx_tell(l, ", and %s between them", nsx_tell_ns(l, x->between_ns)));

	return way == NWAYS ? text :
			      nsx_tell(l, say_copy_at_most, text,
				      x->copies[way] == x->count ?
					      "each" :
					      nsx_tell(l, "%zu of them", x->copies[way]),
				      nsx_tell_bytes(l, x->bytes[way]), of_copies[way].copies);
}

/* Evidence that most of these waits empty a memory pool; NULL: none. */
static const char *say_refills(const struct calls *c, const struct group *x)
{
	struct nsx_findings *l = c->d->found;
	double ns = (double)x->refill_ns / (double)NSX_MAX(x->nrefills, 1);
	double usual_ns = (double)c->served_ns / (double)NSX_MAX(c->nserved, 1);

	if (x->nrefills * 2 < x->count || ns < REFILL_NS || ns < REFILLS * usual_ns)
		return NULL;
	return nsx_tell(l, say_each_time_memory_pool, nsx_text_ns(l->arena, ns),
		!c->nserved ? "" : nsx_tell(l, ", others %s", nsx_text_ns(l->arena, usual_ns)));
}

/* Adds the most expensive call as evidence: its barrier and the idle time after it. */
static void calls_prove(const struct calls *c, uint32_t group, const char *barrier,
			struct nsx_finding *f)
{
	struct nsx_cell api = nsx_string(nsx_text(
		c->d->trace, (nsx_str)nsx_group_key(&c->keys, group).b));

	f->proof[0] = (struct nsx_evidence){.csv = "barriers", .column = "total_time_ms",
		.at = {{"barrier_kind", nsx_string(barrier)}, {"api_name", api}}};
	f->proof[barrier ? 1 : 0] = (struct nsx_evidence){
		.csv = "gpu_idle_by_cause", .column = "total_ms", .at = {{"detail", api}}};
}

static void calls_propose(struct calls *c, const uint32_t *list, size_t n)
{
	const struct group *x = &c->v[list[0]];
	enum kind kind = is_wait(x->kind) ? x->kind : c->v[x->lead].kind;
	const struct words *say = words_of_kind(c, kind);
	struct nsx_findings *l = c->d->found;
	bool has_all;
	const char *names = say_names(c, list, n, &has_all);
	struct group all = calls_total_of(c, list, n);
	enum way way = calls_direction_of(&all, 2);
	const char *refills = say_refills(c, &all);
	bool reads = all.bytes[TO_HOST] > VALUE_BYTES; /* results, no single values */
	bool empties = refills && /* the GPU waits because the pool is refilled */
		       2 * (all.refill_ns + all.idle_ns) >= all.cost_ns;
	struct nsx_finding f = {
		.id = kind == WAIT && way == TO_HOST ? NSX_ID_waits_for_results : say->id,
		.subject = kind == ALLOCATE || kind == LOAD ? NULL : x->api,
		.title = nsx_tell(l, "%s%s%s%s", say->title, names,
			empties ? say_which_empties_memory_pool : "",
			nsx_say_alone(c->d, all.process)),
		.confidence = NSX_CONF_HIGH,
		.device = NSX_NONE,
		.remedy = calls_plan_of(c, list, n)};
	size_t k = 0;

	f.guess_ns = (double)(is_wait(kind) ?
				      NSX_MIN(all.cost_ns, c->all_idle_ns) :
				      NSX_MIN(all.ns, c->idle_ns));
	f.most_ns = NSX_MAX(1, (double)(all.ns - all.profiled_ns) + (double)all.between_ns);
	f.guess_ns = NSX_MIN(f.guess_ns, f.most_ns);
	f.measured_ns = c->d->trace->ops.n ? (double)all.edge_ns : 0;
	/* Copies of results are reported even if few calls wait for them: the host may need just
	 * these.
	 */
	f.evidence[k++] = calls_say_calls(l, &all, calls_direction_of(&all, FEW));
	f.is_bound = calls_direction_of(&all, FEW) == TO_HOST;
	if (f.is_bound && reads)
		f.surely = nsx_nothing;
	f.idle_after_ns = all.cost_ns;
	if (all.cost_ns)
		f.idle_after = nsx_tell(l, nsx_on_several_gpus(c->d->trace, all.process) ?
			say_gpus_idle_all_right_after : say_gpu_idles_right_after,
			nsx_tell_ns(l, all.cost_ns), all.count == 1 ? "it" : "them");
	f.evidence[k] = refills;
	/* Long waits may cost little: report the place with most cost. */
	nsx_places_tell(is_wait(kind) && x->cost_ns ? c->costs : c->places, list[0], &f);
	calls_advise(c, x, say, has_all ? names : "these functions", way, empties,
		     way == TO_HOST && reads, &f);
	calls_prove(c, list[0], say->barrier, &f);
	f.harmless =
		!is_wait(kind) ? NULL : nsx_tell(l, say_host_waits, nsx_tell_ns(l, all.ns), names);
	nsx_found(l, &f);
}

static int cmp_groups(const void *a, const void *b, void *ctx)
{
	const struct group *v = ctx;
	const struct group *x = &v[*(const uint32_t *)a];
	const struct group *y = &v[*(const uint32_t *)b];

	return NSX_CMP(y->ns, x->ns) ?: strcmp(x->api, y->api);
}

/* Whether two groups share a remedy: joined waits, all allocations, all loading, slow calls. Group h
 * takes no longer than g; little time of other slow calls is not worth their names.
 */
static bool calls_belong_together(const struct calls *c, uint32_t g, uint32_t h)
{
	const struct group *x = &c->v[g], *y = &c->v[h];

	if (is_wait(c->v[x->lead].kind) || is_wait(c->v[y->lead].kind))
		return x->lead == y->lead;
	return x->kind == y->kind &&
	       (g == h || x->kind != SLOW ||
		(double)y->ns >= NSX_LEAST_SHARE * c->d->length_ns);
}

static int calls_propose_all(struct calls *c, struct nsx_err *err)
{
	uint32_t n = (uint32_t)c->keys.n;
	uint32_t *order, *list;
	bool *done;

	if (nsx_new_arrays(c->d->scratch, n, "kinds of call", err, order, list, done))
		return err->rc;
	nsx_sort_indices(order, n, cmp_groups, c->v);
	for (uint32_t i = 0; i < n; i++) {
		size_t k = 0;
		int64_t ns = 0;

		for (uint32_t j = i; j < n && !done[order[i]]; j++)
			if (!done[order[j]] && calls_belong_together(c, order[i], order[j])) {
				list[k++] = order[j];
				nsx_add_to(&ns, c->v[order[j]].ns);
			}
		for (size_t j = 0; j < k; j++)
			done[list[j]] = true;
		if (k && (double)ns >= NSX_LEAST_SHARE * c->d->length_ns)
			calls_propose(c, list, k);
	}
	return 0;
}

int nsx_detect_calls(struct nsx_detect *d, struct nsx_err *err)
{
	struct calls *c = nsx_arena_get(d->scratch, sizeof(*c));

	*c = (struct calls){.d = d, .places = nsx_new_places(d), .costs = nsx_new_places(d)};
	nsx_keep_groups(d, &c->keys, &c->v);
	return find_later(c, err) ?: calls_collect(c, err) ?: join_by_price(c, err) ?:
	       calls_propose_all(c, err);
}
