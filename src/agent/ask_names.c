/* ask_names.c - questions about a range, a kernel, a stream or a thread. */
#include "base/regex.h"
#include "agent/ask.h"
#include "facts/occupancy.h"
#include "report/words.h"

enum { NEAREST = 5 };

/* Suggests names that contain the argument or, if there are none, any names. */
static const char *ask_names_nearest(struct nsx_answer *a, const nsx_str *names, size_t n)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_buf b = {0};
	unsigned found = 0;

	for (unsigned pass = 0; pass < 2 && !found; pass++)
		for (size_t i = 0; i < n && found < NEAREST; i++)
			if (pass || strcasestr(nsx_text(t, names[i]), a->argument))
				nsx_buf_printf(&b, "%s'%.80s'", found++ ? ", " : "",
					       nsx_text(t, names[i]));
	nsx_buf_adds(&b, found ? "" : "none");
	return nsx_buf_keep(&b, a->out->arena);
}

/* Cuts a span to the user's window. Returns false if it lies outside. */
static bool cut_to_window(const struct nsx_trace *t, struct nsx_span *span)
{
	bool is_inside = nsx_starts_inside(t, span->start_ns);
	int64_t ns = nsx_in_window(t, span->start_ns, span->end_ns);

	if (!is_inside)
		span->start_ns = t->window.start_ns;
	span->end_ns = span->start_ns + ns;
	return is_inside || ns;
}

/* range ---------------------------------------------------------------------------*/

/* Lists range names, each once, in order of their first range. Owner: the answer's arena. */
static size_t range_names(struct nsx_answer *a, const nsx_str **ret)
{
	const struct nsx_nvtx *x = &a->r->trace->nvtx;
	size_t bound = nsx_strings_bound(a->r->trace->strings), n = 0;
	nsx_str *v = nsx_arena_get(a->out->arena, NSX_MIN(bound, x->n) * sizeof(*v));
	uint8_t *seen = nsx_arena_get(a->out->arena, bound);

	for (size_t i = 0; i < x->n; i++) {
		nsx_str name = x->name[i];

		if (!seen[name])
			v[n++] = name;
		seen[name] = 1;
	}
	*ret = v;
	return n;
}

/* Marks the names that match a pattern, by their full text or, of kernels, by their label. */
static int match_names(struct nsx_answer *a, const char *pattern, const nsx_str *names, size_t n,
		       bool are_kernels, uint8_t *is_asked, size_t *ret_n, struct nsx_err *err)
{
	struct nsx_regex *re;
	int rc = 0;

	if (nsx_regex_new(pattern, &re, err))
		return nsx_wrap(err, "cannot read the expression '%s'", a->argument);
	for (size_t i = 0; i < n && !(rc = nsx_stopped(err)); i++) {
		is_asked[names[i]] = nsx_regex_matches(re, nsx_text(a->r->trace, names[i])) ||
			(are_kernels && nsx_regex_matches(
				re, nsx_kernel_label(&a->r->facts->kernels, names[i])));
		*ret_n += is_asked[names[i]];
	}
	nsx_regex_free(re);
	return rc;
}

/* Marks a name. If no range has it, all names that reports show as this one are marked: "step #".
 */
static size_t ask_names_find_name(const struct nsx_answer *a, const nsx_str *names, size_t n,
				  uint8_t *is_asked)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (!strcmp(nsx_text(a->r->trace, names[i]), a->argument)) {
			is_asked[names[i]] = true;
			return 1;
		}
	for (size_t i = 0; i < n; i++) {
		is_asked[names[i]] = nsx_is_shown_as(nsx_text(a->r->trace, names[i]), a->argument);
		found += is_asked[names[i]];
	}
	return found;
}

/* GPU work that other threads launched while a range was open. PyTorch's backward pass is launched
 * by a thread without ranges of its own, and start/end ranges are on no thread's stack.
 */
struct elsewhere {
	struct nsx_spans *open; /* for each process: when a marked range was open */
	struct nsx_count *by_thread, all;
};

struct ranges { /* the ranges that the question names */
	uint8_t *in; /* for each range: 1 if it is marked or inside a marked range */
	struct nsx_count count;
	int64_t longest_ns, longest_at; /* the longest range; of several, the first */
};

/* Sums ranges of the marked names. A range inside another marked range counts with that one. */
static int sum_named_ranges(struct nsx_answer *a, const uint8_t *is_asked, struct ranges *s,
		      struct nsx_err *err)
{
	const struct nsx_nvtx *x = &a->r->trace->nvtx;

	if (!nsx_new_array(s->in, a->out->arena, x->n + 1, "ranges", err))
		return err->rc;
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t parent = nsx_range_parent(&a->r->facts->nvtx, i);
		bool is_inside = parent != NSX_NONE && s->in[parent];
		struct nsx_span span = {nsx_range_start(x, i), nsx_range_end(x, i)};
		int64_t ns;

		s->in[i] = is_inside || is_asked[x->name[i]];
		if (is_inside || !s->in[i] || !cut_to_window(a->r->trace, &span))
			continue;
		ns = span.end_ns - span.start_ns;
		if (!s->count.n || ns > s->longest_ns ||
		    (ns == s->longest_ns && span.start_ns < s->longest_at)) {
			s->longest_ns = ns;
			s->longest_at = span.start_ns;
		}
		nsx_count_add(&s->count, 1, ns);
	}
	return nsx_stopped(err);
}

static int find_open_spans(struct nsx_answer *a, const uint8_t *is_asked,
			   struct elsewhere *e, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	const struct nsx_nvtx *x = &t->nvtx;
	struct nsx_arena *arena = a->out->arena;
	/* of: the marked ranges, process by process; at: where each process begins */
	uint32_t *at, *of;

	if (nsx_new_arrays(arena, x->n + 1, "ranges", err, of) ||
	    nsx_new_arrays(arena, t->nprocesses + 2, "ranges", err, at, e->open) ||
	    nsx_new_arrays(arena, (size_t)t->nthreads + 1, "threads", err, e->by_thread))
		return err->rc;
	NSX_DEAL(at, of, t->nprocesses, x->n, i, is_asked[x->name[i]] ?
		 t->thread[nsx_nvtx_thread(t, i)].process : NSX_NONE);
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		struct nsx_spans *s = &e->open[p];

		if (!nsx_new_array(s->v, arena, at[p + 1] - at[p] + 1, "ranges", err))
			return err->rc;
		for (uint32_t k = at[p]; k < at[p + 1]; k++)
			s->v[s->n++] = (struct nsx_span){
				nsx_range_start(x, of[k]),
				x->flags[of[k]] & NSX_NVTX_OPEN ?
					NSX_TIME_MAX : nsx_range_end(x, of[k])};
		nsx_spans_normalise(s);
	}
	return 0;
}

/* Sums the work launched inside a marked range, and that launched while one was open. */
static int sum_work(struct nsx_answer *a, const uint8_t *in, struct nsx_count *ret,
		    struct elsewhere *e, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);

	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t call = nsx_op_call(&t->ops, i), thread, process;
		uint32_t range = nsx_op_range(&a->r->facts->nvtx, i);
		size_t k;

		if (range != NSX_NONE && in[range]) {
			if (t->ops.flags[i] & NSX_OP_PEER)
				continue;
			nsx_count_add(ret, 1, nsx_op_ns(&t->ops, i));
			nsx_tally_op(tally, 0, i, "operation", nsx_op_ns(&t->ops, i));
			continue;
		}
		if (call == NSX_NONE || !nsx_op_counts(t, i))
			continue;
		thread = nsx_call_thread(t, call);
		process = t->thread[thread].process;
		k = nsx_spans_find(&e->open[process], nsx_call_start(&t->calls, call));
		if (k == e->open[process].n || nsx_span_start(&e->open[process], k) >
					       nsx_call_start(&t->calls, call))
			continue;
		nsx_count_add(&e->by_thread[thread], 1, nsx_op_ns(&t->ops, i));
		nsx_count_add(&e->all, 1, nsx_op_ns(&t->ops, i));
	}
	nsx_tally_end(tally, "operations", ret->ns, NSX_OF_THEM);
	return nsx_stopped(err);
}

static void describe_elsewhere(struct nsx_answer *a, const struct elsewhere *e)
{
	const struct nsx_trace *t = a->r->trace;
	uint32_t most = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < t->nthreads; i++) {
		n += e->by_thread[i].n > 0;
		if (e->by_thread[i].ns > e->by_thread[most].ns)
			most = i;
	}
	if (!n)
		return;
	nsx_put(a->out, "operations_meanwhile", nsx_int(e->all.n));
	nsx_put(a->out, "gpu_meanwhile_ns", nsx_int(e->all.ns));
	nsx_md_bullet(a->out, "while it was open, its process launched %s of %s outside of it, "
		      "%sby thread %s",
		      nsx_text_n(a->out->arena, (size_t)e->all.n, "operation", NULL),
		      nsx_say_time(a->out, e->all.ns), n > 1 ? "most " : "",
		      t->thread[most].name ?
			      nsx_md_name(a->out, nsx_text(t, t->thread[most].name)) :
			      nsx_say(a->out, "%lld", (long long)t->thread[most].tid));
}

/* A mark has a time but no length, so it is no window to ask about. */
static void suggest_longest_range(struct nsx_answer *a, const struct ranges *s)
{
	struct nsx_window w = {s->longest_at, s->longest_at + s->longest_ns};

	if (s->longest_ns)
		nsx_answer_next(a, NSX_Q_window, nsx_text_window(a->out->arena, &w),
				"what ran in the longest one");
	else
		nsx_answer_next(a, NSX_Q_at, nsx_answer_exactly(a, w.start_ns), "what ran then");
}

int nsx_ask_range(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct ranges s = {.in = NULL};
	struct nsx_count gpu = {0};
	struct elsewhere others = {.open = NULL};
	const nsx_str *names;
	size_t n = range_names(a, &names), length = strlen(a->argument), found = 0;
	uint8_t *is_asked;

	is_asked = nsx_arena_get(a->out->arena, nsx_strings_bound(t->strings));
	if (*a->argument == '/' && length > 2 && a->argument[length - 1] == '/') {
		if (match_names(a, nsx_say(a->out, "%.*s", (int)length - 2, a->argument + 1),
				names, n, false, is_asked, &found, err))
			return err->rc;
	} else {
		found = ask_names_find_name(a, names, n, is_asked);
	}
	if (!found)
		return nsx_fail(err, NSX_E_USAGE, "no NVTX range '%s' in this trace; there are %s",
				a->argument, ask_names_nearest(a, names, n));
	a->window = nsx_host_window(t);
	if (sum_named_ranges(a, is_asked, &s, err) || find_open_spans(a, is_asked, &others, err) ||
	    sum_work(a, s.in, &gpu, &others, err))
		return err->rc;
	nsx_put(a->out, "count", nsx_int(s.count.n));
	nsx_put(a->out, "host_ns", nsx_int(s.count.ns));
	nsx_put(a->out, "operations_launched", nsx_int(gpu.n));
	nsx_put(a->out, "gpu_ns", nsx_int(gpu.ns));
	nsx_md_bullet(a->out, "%s of host time; %s of GPU time launched inside, in %s",
		      nsx_say_time(a->out, s.count.ns), nsx_say_time(a->out, gpu.ns),
		      nsx_text_n(a->out->arena, (size_t)gpu.n, "operation", NULL));
	describe_elsewhere(a, &others);
	if (!s.count.n)
		return 0;
	nsx_md_bullet(a->out, "it was open %s; the longest time was %s, from %s",
		      nsx_text_n(a->out->arena, (size_t)s.count.n, "time", NULL),
		      nsx_say_time(a->out, s.longest_ns), nsx_answer_at(a, s.longest_at));
	suggest_longest_range(a, &s);
	return 0;
}

/* kernel --------------------------------------------------------------------------*/

#define SHAPE_COLUMNS(X)                                                      \
	X(K_NAME, "kernel", STR, "label")                                     \
	X(K_GRID, "grid", STR, "blocks")                                      \
	X(K_BLOCK, "block", STR, "threads of a block")                        \
	X(K_REGISTERS, "registers", I64, "registers per thread")              \
	X(K_SHARED, "shared_bytes", I64, "shared memory per block")           \
	X(K_CALLS, "calls", I64, "executions")                                \
	X(K_TOTAL, "total_ns", I64, "total time")                             \
	X(K_MEAN, "mean_ns", I64, "total / calls")
NSX_COLUMNS(shape_cols, SHAPE_COLUMNS);
const struct nsx_layout nsx_kernel_shape_layout = {.key = "shapes",
						   NSX_COLS(shape_cols)};

static const char *dimensions_text(struct nsx_answer *a, const uint32_t *v)
{
	return nsx_say(a->out, "%u×%u×%u", v[0], v[1], v[2]);
}

static void show_launch_shapes(struct nsx_answer *a, const struct nsx_count *v)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_table *table = nsx_add_table(a->out, &nsx_kernel_shape_layout);

	for (uint32_t i = 0; i < t->nshapes; i++) {
		const struct nsx_shape *s = &t->shape[i];
		const struct nsx_launch *l = nsx_shape_launch(t, s);
		struct nsx_cell *row;
		uint32_t grid[3];

		if (!v[i].n)
			continue;
		row = nsx_add_row(table);
		row[K_NAME] = nsx_string(nsx_kernel_label(&a->r->facts->kernels, t->shape_name[i]));
		row[K_CALLS] = nsx_int(v[i].n);
		row[K_TOTAL] = nsx_int(v[i].ns);
		row[K_MEAN] = nsx_int(v[i].ns / v[i].n);
		if (!l->known)
			continue;
		nsx_shape_grid(t, s, grid);
		row[K_GRID] = nsx_string(dimensions_text(a, grid));
		row[K_BLOCK] = nsx_string(dimensions_text(a, l->block));
		if (l->registers != NSX_NONE)
			row[K_REGISTERS] = nsx_int(l->registers);
		if (nsx_shape_shared(t, s) >= 0)
			row[K_SHARED] = nsx_int(nsx_shape_shared(t, s));
	}
	nsx_table_sort(table, NSX_DESC(K_TOTAL), K_NAME, K_GRID, K_BLOCK);
	nsx_answer_show(a, table);
}

static const char *list_some_kernel_labels(struct nsx_answer *a, const nsx_str *names)
{
	const struct nsx_kernel_names *k = &a->r->facts->kernels;
	struct nsx_buf b = {0};

	for (size_t i = 0; i < k->n && i < NEAREST; i++)
		nsx_buf_printf(&b, "%s'%s'", i ? ", " : "", nsx_kernel_label(k, names[i]));
	return nsx_buf_keep(&b, a->out->arena);
}

struct kernels { /* the kernels that the question names                      */
	struct nsx_count *by_shape, all;
	int64_t nnames;
	size_t longest; /* index of their longest operation; of equals the first */
	struct nsx_tally *launchers;
};

/* Adds the time of a kernel to those of the call and the thread that launched it. */
static void tally_launcher(struct nsx_answer *a, struct kernels *k, size_t op)
{
	const struct nsx_trace *t = a->r->trace;
	uint32_t call = nsx_op_call(&t->ops, op);
	uint32_t thread = call == NSX_NONE ? 0 : nsx_call_thread(t, call);
	struct nsx_tally_row *row =
		nsx_tally_add(k->launchers, call == NSX_NONE ? 0 : 1 + thread,
			      call == NSX_NONE ? 0 : nsx_call_name(&t->calls, call), 1,
			      nsx_op_ns(&t->ops, op));
	const char *pid; /* "1001 (host 2)" if the pid alone is ambiguous */
	uint32_t process;

	if (!row)
		return;
	row->kind = "launched by";
	process = call == NSX_NONE ? NSX_NONE : t->thread[thread].process;
	pid = process == NSX_NONE ? "" : nsx_pid_label(t, process);
	row->name = call == NSX_NONE ? "a launch that was not recorded" :
		nsx_say(a->out, "%s of thread %lld%s%s",
			nsx_text_api(a->out->arena, nsx_call_text(t, call)),
			(long long)t->thread[thread].tid,
			strchr(pid, '(') ? " of process " : "", strchr(pid, '(') ? pid : "");
}

enum { WANTED = 1, MET };

/* Sums the wanted kernels and marks their names as found. */
static void sum_kernels(struct nsx_answer *a, uint8_t *names, struct kernels *k)
{
	const struct nsx_trace *t = a->r->trace;

	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t ns = nsx_op_ns(&t->ops, i);
		uint8_t *name;

		if (t->ops.kind[i] != NSX_OP_KERNEL || !*(name = &names[nsx_op_name(t, i)]))
			continue;
		k->nnames += *name == WANTED;
		*name = MET;
		if (!k->all.n || ns > nsx_op_ns(&t->ops, k->longest))
			k->longest = i;
		nsx_count_add(&k->by_shape[nsx_op_detail(&t->ops, i)], 1, ns);
		nsx_count_add(&k->all, 1, ns);
		tally_launcher(a, k, i);
	}
}

int nsx_ask_kernel(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_arena *arena = a->out->arena;
	uint8_t *wanted = nsx_arena_get(arena, nsx_strings_bound(t->strings));
	struct kernels k = {.launchers = nsx_tally_new(a)};
	nsx_str *names;
	size_t n = 0;

	if (nsx_kernel_full_names(&a->r->facts->kernels, arena, &names, err) ||
	    match_names(a, a->argument, names, a->r->facts->kernels.n, true, wanted, &n, err))
		return err->rc;
	if (!n)
		return nsx_fail(err, NSX_E_USAGE, "no kernel matches '%s'; %s%s",
				a->argument, a->r->facts->kernels.n ?
				"some of its kernels: " : "this trace has none",
				list_some_kernel_labels(a, names));
	a->window = t->window;
	k.by_shape = nsx_arena_get(arena, (t->nshapes + 1) * sizeof(*k.by_shape));
	sum_kernels(a, wanted, &k);
	nsx_put(a->out, "kernels", nsx_int(k.nnames));
	nsx_put(a->out, "total_ns", nsx_int(k.all.ns));
	show_launch_shapes(a, k.by_shape);
	if (k.all.n)
		nsx_answer_next(a, NSX_Q_at, nsx_answer_exactly(a, nsx_op_start(&t->ops,
										k.longest)),
				"what ran beside the longest one");
	nsx_answer_next(a, NSX_Q_what_if, nsx_say(a->out, "kernel:/%s/:2x", a->argument),
			"what kernels twice as fast would save");
	nsx_tally_end(k.launchers, "launchers", k.all.ns, NSX_OF_THEM);
	return nsx_stopped(err);
}

/* Lists the first different ids, as a suggestion if the requested id does not exist. */
static const char *list_first_ids(struct nsx_answer *a, const int64_t *v, size_t n)
{
	struct nsx_buf b = {0};
	unsigned found = 0;

	for (size_t i = 0; i < n && found < 2 * NEAREST; i++) {
		size_t k = 0;

		while (k < i && v[k] != v[i])
			k++;
		if (k == i)
			nsx_buf_printf(&b, "%s%lld", found++ ? ", " : "", (long long)v[i]);
	}
	nsx_buf_adds(&b, found ? "" : "none");
	return nsx_buf_keep(&b, a->out->arena);
}

/* Reads a whole number. Returns false if the text is not a number. */
static bool read_id(const char *text, long long *ret)
{
	char *end;

	*ret = strtoll(text, &end, 10);
	return end > text && !*end;
}

/* stream --------------------------------------------------------------------------*/

static const char *list_some_streams(struct nsx_answer *a)
{
	const struct nsx_trace *t = a->r->trace;
	size_t n = NSX_MIN(t->nstreams, 64u);
	int64_t ids[64];

	for (size_t i = 0; i < n; i++)
		ids[i] = t->stream[i].stream_id;
	return list_first_ids(a, ids, n);
}

int nsx_ask_stream(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);
	const char **gpu = nsx_arena_get(a->out->arena, (t->ndevices + 1) * sizeof(*gpu));
	long long id;
	bool is_id = read_id(a->argument, &id), any = false;

	a->window = t->window;
	for (uint32_t d = 0; d < t->ndevices; d++)
		gpu[d] = nsx_say(a->out, "GPU %s", nsx_gpu_label(t, d));
	for (size_t i = 0; i < t->ops.n && is_id; i++) {
		const struct nsx_stream *s = nsx_stream_of(t, i);

		if (s->stream_id != id || t->ops.flags[i] & NSX_OP_PEER)
			continue;
		any = true;
		nsx_tally_op(tally, s->device, i, gpu[s->device], nsx_op_ns(&t->ops, i));
	}
	if (any) {
		nsx_tally_end(tally, "operations", t->window.end_ns - t->window.start_ns,
			      NSX_OF_WINDOW);
		return 0;
	}
	nsx_tally_free(tally);
	return nsx_fail(err, NSX_E_USAGE, "no work on a stream '%s'; some streams with work: %s",
			a->argument, list_some_streams(a));
}

/* thread --------------------------------------------------------------------------*/

/* Lists some threads as a suggestion; threads that launch come first. */
static const char *list_some_threads(struct nsx_answer *a)
{
	const struct nsx_trace *t = a->r->trace;
	int64_t ids[64];
	size_t n = 0;

	for (unsigned launches = 2; launches--;)
		for (uint32_t i = 0; i < t->nthreads && n < ARRAY_LEN(ids); i++)
			if (t->thread[i].launches == launches)
				ids[n++] = t->thread[i].tid;
	return list_first_ids(a, ids, n);
}

/* Sums a thread's ranges, which show its work besides CUDA calls. */
static void tally_ranges(struct nsx_answer *a, int64_t tid)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);

	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		for (size_t i = th->nvtx_at;
		     th->tid == tid && i < (size_t)th->nvtx_at + th->nnvtx; i++) {
			struct nsx_span span = {nsx_range_start(&t->nvtx, i),
						nsx_range_end(&t->nvtx, i)};
			struct nsx_tally_row *row = !cut_to_window(t, &span) ? NULL :
				nsx_tally_add(tally, h, t->nvtx.name[i], 1,
					      span.end_ns - span.start_ns);

			if (row)
				*row = (struct nsx_tally_row){
					"range", nsx_text(t, t->nvtx.name[i]), row->count};
		}
	}
	nsx_tally_end(tally, "ranges", a->window.end_ns - a->window.start_ns, NSX_OF_WINDOW);
}

static void tally_os_calls(struct nsx_answer *a, int64_t tid)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);

	for (size_t i = 0; i < t->nosrt_sums; i++) {
		const struct nsx_osrt_sum *x = &t->osrt_sum[i];
		uint32_t h = nsx_thread_find(t, x->global_tid);
		struct nsx_tally_row *row =
			h == NSX_NONE || t->thread[h].tid != tid || !x->count ? NULL :
			nsx_tally_add(tally, h, x->name, x->count, x->total_ns);

		if (row)
			*row = (struct nsx_tally_row){"call of the operating system",
						      nsx_text(t, x->name), row->count};
	}
	nsx_tally_end(tally, "os_calls", a->window.end_ns - a->window.start_ns, NSX_OF_WINDOW);
}

/* Sums a thread's outermost calls, those that wait apart from the others. */
static void tally_calls(struct nsx_answer *a, int64_t tid)
{
	const struct nsx_trace *t = a->r->trace;
	const struct nsx_calls *calls = &t->calls;
	struct nsx_tally *tally = nsx_tally_new(a);

	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];

		for (size_t i = th->calls_at;
		     th->tid == tid && i < (size_t)th->calls_at + th->ncalls; i++) {
			bool waits = calls->cls[i] == NSX_CALL_SYNC ||
				     nsx_call_blocks(a->r->facts, t, i);
			struct nsx_span span = {nsx_call_start(calls, i), nsx_call_end(calls, i)};
			struct nsx_tally_row *row =
				calls->flags[i] & NSX_CALL_NESTED || !cut_to_window(t, &span) ?
				NULL : nsx_tally_add(tally, (uint64_t)h << 1 | waits,
						     nsx_call_name(calls, i), 1,
						     span.end_ns - span.start_ns);

			if (row)
				*row = (struct nsx_tally_row){
					waits ? "wait" : "call",
					nsx_text_api(a->out->arena, nsx_call_text(t, i)),
					row->count};
		}
	}
	nsx_tally_end(tally, "calls", a->window.end_ns - a->window.start_ns, NSX_OF_WINDOW);
}

int nsx_ask_thread(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	long long tid = 0, asked;
	bool is_id = read_id(a->argument, &asked), any = false;

	a->window = nsx_host_window(t);
	for (uint32_t k = 0; k < t->nthreads; k++) {
		const struct nsx_thread *th = &t->thread[k];

		if (!(th->has_calls || th->has_ranges) ||
		    (is_id ? th->tid != asked : strcmp(nsx_text(t, th->name), a->argument)))
			continue;
		if (any && th->tid != tid)
			return nsx_fail(err, NSX_E_USAGE,
					"several threads are called '%s', such as %lld and %lld",
					a->argument, tid, (long long)th->tid);
		tid = th->tid;
		any = true;
	}
	if (!any)
		return nsx_fail(err, NSX_E_USAGE, "no thread '%s' made CUDA calls or ranges in "
				"this trace; some that did: %s", a->argument, list_some_threads(a));
	tally_calls(a, tid);
	tally_ranges(a, tid);
	tally_os_calls(a, tid);
	return nsx_stopped(err);
}
