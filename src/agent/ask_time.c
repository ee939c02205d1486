/* ask_time.c - questions about an instant, a window or an iteration. */
#include "agent/ask.h"
#include "passes/gpu/gaps.h"
#include "report/words.h"

enum { MAX_THREADS = 16 }; /* greatest number of launching threads that an answer names */

static int64_t overlap_of_window(const struct nsx_window *w, int64_t start, int64_t end)
{
	int64_t a = NSX_MAX(start, w->start_ns), b = NSX_MIN(end, w->end_ns);

	return b > a ? b - a : 0;
}

static const char *gpu_name(struct nsx_answer *a, uint32_t device)
{
	return nsx_say(a->out, "GPU %s", nsx_gpu_label(a->r->trace, device));
}

static const char *window_text(struct nsx_answer *a, const struct nsx_window *w)
{
	return nsx_text_window(a->out->arena, w);
}

/* Says when GPU work ran, in an answer about a time without GPU work. */
static void say_when_gpu_worked(struct nsx_answer *a)
{
	const struct nsx_window *w = &a->r->trace->window;

	nsx_md_bullet(a->out, "all GPU work is in %s", window_text(a, w));
	nsx_answer_next(a, NSX_Q_window, window_text(a, w), "what ran in it");
}

static bool has_gpu_work(const struct nsx_answer *a)
{
	return a->r->trace->ndevices > 0;
}

/* at ------------------------------------------------------------------------------*/

#define AT_COLUMNS(X)                                                         \
	X(AT_WHERE, "where", STR, "GPU and stream, or thread")                \
	X(AT_WHAT, "what", STR, "operation, range or call")                   \
	X(AT_SINCE, "start_ns", I64, "start on the trace's clock")            \
	X(AT_FOR, "duration_ns", I64, "full duration")
NSX_COLUMNS(at_cols, AT_COLUMNS);
const struct nsx_layout nsx_at_layout = {.key = "running", NSX_COLS(at_cols)};

static void add_at(struct nsx_table *t, const char *where, const char *what,
		   int64_t start_ns, int64_t length_ns)
{
	struct nsx_cell *row = nsx_add_row(t);

	row[AT_WHERE] = nsx_string(where);
	row[AT_WHAT] = nsx_string(what);
	row[AT_SINCE] = nsx_int(start_ns);
	row[AT_FOR] = nsx_int(length_ns);
}

static void add_ops_at(struct nsx_answer *a, uint32_t device, int64_t at, struct nsx_table *table)
{
	const struct nsx_trace *t = a->r->trace;
	size_t n = 0, from = 0, i;

	while (nsx_next_op(a->r->facts, t, device, &a->window, &from, &i)) {
		const struct nsx_stream *s = nsx_stream_of(t, i);

		if (nsx_op_end(&t->ops, i) <= at)
			continue;
		n++;
		add_at(table, nsx_say(a->out, "GPU %s, stream %lld", nsx_gpu_label(t, device),
				      (long long)s->stream_id),
		       nsx_answer_op(a, i), nsx_op_start(&t->ops, i), nsx_op_ns(&t->ops, i));
	}
	if (!n)
		nsx_md_bullet(a->out, "%s ran nothing", gpu_name(a, device));
}

/* The outermost call of a thread at an instant; NSX_NONE: none. */
static uint32_t outer_call_at(const struct nsx_trace *t, const struct nsx_thread *th, int64_t at)
{
	size_t lo = th->calls_at, hi = lo + th->ncalls;

	/* This finds the first call that begins after the instant. */
	NSX_BISECT(lo, hi, mid, nsx_call_start(&t->calls, mid) <= at);
	while (lo > th->calls_at && t->calls.flags[lo - 1] & NSX_CALL_NESTED)
		lo--;
	return lo > th->calls_at && nsx_call_end(&t->calls, lo - 1) > at ?
		       (uint32_t)(lo - 1) : NSX_NONE;
}

/* Adds the outermost call of a thread at an instant, and the ranges around it. */
static void add_thread_at(struct nsx_answer *a, uint32_t thread, int64_t at,
			  struct nsx_table *table)
{
	const struct nsx_trace *t = a->r->trace;
	const struct nsx_thread *th = &t->thread[thread];
	const char *where = nsx_say(a->out, "thread %lld", (long long)th->tid);
	uint32_t call = outer_call_at(t, th, at);

	for (size_t i = th->nvtx_at; i < (size_t)th->nvtx_at + th->nnvtx; i++)
		if (t->nvtx.kind[i] == NSX_NVTX_STACK && nsx_range_start(&t->nvtx, i) <= at &&
		    nsx_range_end(&t->nvtx, i) > at)
			add_at(table, where, nsx_say(a->out, "range %s",
						     nsx_text(t, t->nvtx.name[i])),
			       nsx_range_start(&t->nvtx, i), nsx_range_ns(&t->nvtx, i));
	if (call == NSX_NONE)
		nsx_md_bullet(a->out, "%s is not in a CUDA call", where);
	else
		add_at(table, where, nsx_text_api(a->out->arena, nsx_call_text(t, call)),
		       nsx_call_start(&t->calls, call), nsx_call_ns(&t->calls, call));
}

int nsx_ask_at(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_table *table;
	struct nsx_window around;
	unsigned threads = 0;
	int64_t at;

	if (nsx_answer_instant(a, &at, err))
		return err->rc;
	table = nsx_add_table(a->out, &nsx_at_layout);
	a->window = (struct nsx_window){at, at + 1};
	nsx_put(a->out, "at_ns", nsx_int(at));
	for (uint32_t d = 0; d < t->ndevices; d++)
		add_ops_at(a, d, at, table);
	for (uint32_t i = 0; i < t->nthreads && threads < MAX_THREADS; i++)
		if (t->thread[i].launches) {
			threads++;
			add_thread_at(a, i, at, table);
		}
	nsx_answer_show(a, table);
	around = (struct nsx_window){at - 1000000, at + 1000000};
	nsx_answer_next(a, NSX_Q_window, window_text(a, &around),
			"what ran in the millisecond before and after");
	nsx_answer_next(a, NSX_Q_why, nsx_answer_exactly(a, at), "what the GPU waited for");
	return 0;
}

/* window --------------------------------------------------------------------------*/

static void describe_gpu_classes(struct nsx_answer *a)
{
	static const char *const words[NSX_NPARTS] = {
		[NSX_P_COMPUTE_ONLY] = "compute alone",
		[NSX_P_COMPUTE_COPY] = "compute beside copies",
		[NSX_P_COMPUTE_COMM] = "compute beside communication",
		[NSX_P_COMM_EXPOSED] = "communication without compute",
		[NSX_P_COPY_EXPOSED] = "copies without compute",
		[NSX_P_IDLE] = "idle"};
	const struct nsx_trace *t = a->r->trace;
	struct nsx_window in = {
		NSX_MAX(a->window.start_ns, t->window.start_ns),
		NSX_MIN(a->window.end_ns, t->window.end_ns)};

	if (in.start_ns >= in.end_ns)
		say_when_gpu_worked(a);
	for (uint32_t d = 0; d < t->ndevices && in.start_ns < in.end_ns; d++) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
		struct nsx_partition p;

		nsx_partition(&a->r->facts->device[d], in.start_ns, in.end_ns, &p);
		for (unsigned k = 0; k < NSX_NPARTS; k++) {
			if (!p.ns[k])
				continue;
			nsx_buf_printf(&b, "%s%s %s", b.n ? ", " : "", words[k],
				       nsx_say_time(a->out, p.ns[k]));
			nsx_put(a->out, nsx_say(a->out, "gpus.%s.%s_ns", gpu_name(a, d),
						nsx_part_names[k]), nsx_int(p.ns[k]));
		}
		nsx_md_bullet(a->out, "%s: %s", gpu_name(a, d), b.n ? b.p : "nothing");
	}
}

/* The GPU time in the window: its length times the number of GPUs. */
static int64_t gpu_time(const struct nsx_answer *a)
{
	int64_t sum_ns = 0;

	for (uint32_t d = 0; d < a->r->trace->ndevices; d++)
		nsx_add_to(&sum_ns, a->window.end_ns - a->window.start_ns);
	return sum_ns;
}

static void tally_ops(struct nsx_answer *a)
{
	static const char *const kinds[] = {
		[NSX_OP_KERNEL] = "kernel", [NSX_OP_MEMCPY] = "copy",
		[NSX_OP_MEMSET] = "memset", [NSX_OP_GRAPH] = "graph replay",
	};
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);

	for (uint32_t d = 0; d < t->ndevices; d++) {
		size_t from = 0, i;

		while (nsx_next_op(a->r->facts, t, d, &a->window, &from, &i))
			if (!(t->ops.flags[i] & NSX_OP_PEER))
				nsx_tally_op(tally, 0, i, kinds[t->ops.kind[i]],
					     NSX_MIN(nsx_op_end(&t->ops, i), a->window.end_ns) -
					     NSX_MAX(nsx_op_start(&t->ops, i), a->window.start_ns));
	}
	nsx_tally_end(tally, "operations", gpu_time(a), NSX_OF_WINDOW);
}

/* The detail of a piece of idle time: calls and kernels by short name, ranges in full. */
static const char *detail_text(struct nsx_answer *a, unsigned cause, nsx_str detail)
{
	const char *text = nsx_fact_text(a->r->facts, detail);

	switch (cause) {
	case NSX_CAUSE_HOST_CODE:
		return text;
	case NSX_CAUSE_STREAM_WAIT:
		return nsx_kernel_label(&a->r->facts->kernels, detail);
	default:
		return nsx_text_api(a->out->arena, text);
	}
}

/* Sums idle time of all GPUs in the window by cause. */
static void tally_idle(struct nsx_answer *a)
{
	struct nsx_tally *tally = nsx_tally_new(a);
	bool any = false;

	for (uint32_t d = 0; d < a->r->trace->ndevices; d++) {
		const struct nsx_idle *idle = &a->r->facts->idle[d];

		for (size_t i = nsx_idle_from(idle, a->window.start_ns);
		     i < idle->n && nsx_idle_start(idle, i) < a->window.end_ns; i++) {
			struct nsx_idle_piece p = nsx_idle_at(idle, i);
			int64_t ns = overlap_of_window(&a->window, p.start_ns, p.end_ns);
			struct nsx_tally_row *row = !ns ? NULL :
				nsx_tally_add(tally, p.cause, p.detail, 1, ns);

			any |= ns > 0;
			if (!row)
				continue;
			row->kind = nsx_cause_words[p.cause];
			row->name = p.detail ? detail_text(a, p.cause, p.detail) : "";
		}
	}
	if (any)
		nsx_md_text(a->out, "Idle time by cause:");
	nsx_tally_end(tally, "idle", gpu_time(a), NSX_OF_WINDOW);
}

static int describe_window(struct nsx_answer *a, struct nsx_err *err)
{
	nsx_put(a->out, "window.start_ns", nsx_int(a->window.start_ns));
	nsx_put(a->out, "window.end_ns", nsx_int(a->window.end_ns));
	describe_gpu_classes(a);
	tally_ops(a);
	tally_idle(a);
	return nsx_stopped(err);
}

/* Cuts the window to the recording, because shares refer to it. */
static void cut_to_recording(struct nsx_answer *a)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_window w = {NSX_MAX(a->window.start_ns, t->first_ns),
			       NSX_MIN(a->window.end_ns, t->last_ns)};

	if (w.start_ns < w.end_ns)
		a->window = w;
}

int nsx_ask_window(struct nsx_answer *a, struct nsx_err *err)
{
	if (nsx_answer_window(a, &a->window, err))
		return err->rc;
	if (!has_gpu_work(a))
		return nsx_cannot(a->out, "the trace has no GPU work");
	cut_to_recording(a);
	if (describe_window(a, err))
		return err->rc;
	nsx_answer_next(a, NSX_Q_gaps, window_text(a, &a->window), "the longest gaps in it");
	return 0;
}

/* gaps ----------------------------------------------------------------------------*/

#define GAP_COLUMNS(X)                                                                     \
	X(GAP_GPU, "gpu", STR, "GPU")                                                      \
	X(GAP_WINDOW, "window", STR, "window as an argument for --window")                 \
	X(GAP_START, "start_ns", I64, "start on the trace's clock")                        \
	X(GAP_NS, "duration_ns", I64, "length")                                            \
	X(GAP_CAUSE, "cause", STR, "cause of most of it")                                  \
	X(GAP_DETAIL, "detail", STR, "call, range or operation")                           \
	X(GAP_PYTHON, "python", STR,                                                       \
	  "Python code in which the thread that ends it spent most time; null: not known") \
	X(GAP_NEXT, "next_op", STR, "the operation that ends it")
NSX_COLUMNS(gap_cols, GAP_COLUMNS);
const struct nsx_layout nsx_gap_layout = {.key = "gaps", NSX_COLS(gap_cols)};

/* The Python function that ran most in the gap, on the thread that ends it; NULL: not known. */
static const char *python_function_in_gap(const struct nsx_trace *t, const struct nsx_gap *gap)
{
	uint32_t call = gap->op == NSX_NONE ? NSX_NONE : nsx_op_call(&t->ops, gap->op);
	const struct nsx_python_stack *most = call == NSX_NONE ? NULL :
		nsx_python_most(t, nsx_call_thread(t, call),
				(struct nsx_span){gap->start_ns, gap->end_ns});

	return most ? nsx_text(t, most->text) : NULL;
}

static void ask_time_add_gap(struct nsx_answer *a, struct nsx_table *table,
			     const struct nsx_long_gap *g)
{
	struct nsx_window w = {g->gap.start_ns, g->gap.end_ns};
	struct nsx_idle_piece p = nsx_longest_piece(&g->gap);
	struct nsx_cell *row = nsx_add_row(table);

	row[GAP_GPU] = nsx_string(gpu_name(a, g->device));
	row[GAP_WINDOW] = nsx_string(window_text(a, &w));
	row[GAP_START] = nsx_int(w.start_ns);
	row[GAP_NS] = nsx_int(w.end_ns - w.start_ns);
	row[GAP_CAUSE] = nsx_string(nsx_cause_words[p.cause]);
	row[GAP_DETAIL] = nsx_string(p.detail ? detail_text(a, p.cause, p.detail) : NULL);
	row[GAP_PYTHON] = nsx_string(python_function_in_gap(a->r->trace, &g->gap));
	row[GAP_NEXT] = nsx_string(g->gap.op == NSX_NONE ? NULL : nsx_answer_op(a, g->gap.op));
}

/* Finds the `limit` longest gaps of the window, longest first. *ret_all: the number of all gaps.
 * ret has room for 2 * limit, so that a sort is needed only once for `limit` gaps.
 */
static size_t longest_gaps(struct nsx_answer *a, struct nsx_long_gap *ret, size_t *ret_all)
{
	const struct nsx_window *w = &a->window;
	struct nsx_long_gap g;
	size_t n = 0;

	for (g.device = 0; g.device < a->r->trace->ndevices; g.device++) {
		const struct nsx_idle *idle = &a->r->facts->idle[g.device];
		size_t i = nsx_idle_from(idle, w->start_ns);

		while (nsx_next_gap(idle, &i, &g.gap) && g.gap.start_ns < w->end_ns)
			if (overlap_of_window(w, g.gap.start_ns, g.gap.end_ns)) {
				++*ret_all;
				ret[n++] = g;
				if (n < 2 * a->limit)
					continue;
				nsx_sort_gaps(ret, n);
				n = a->limit;
			}
	}
	nsx_sort_gaps(ret, n);
	return NSX_MIN(n, a->limit);
}

int nsx_ask_gaps(struct nsx_answer *a, struct nsx_err *err)
{
	struct nsx_long_gap *v;
	struct nsx_table *table;
	size_t n, all = 0;

	if (a->argument && nsx_answer_window(a, &a->window, err))
		return err->rc;
	if (!has_gpu_work(a))
		return nsx_cannot(a->out, "the trace has no GPU work");
	v = nsx_arena_get(a->out->arena, 2 * a->limit * sizeof(*v));
	n = longest_gaps(a, v, &all);
	nsx_put(a->out, "gaps_in_all", nsx_int((int64_t)all));
	table = nsx_add_table(a->out, &nsx_gap_layout);
	for (size_t i = 0; i < n; i++)
		ask_time_add_gap(a, table, &v[i]);
	if (a->r->trace->npython)
		nsx_md_table(a->out, table, a->limit, GAP_GPU, GAP_WINDOW, GAP_NS,
			     GAP_CAUSE, GAP_DETAIL, GAP_PYTHON, GAP_NEXT);
	else
		nsx_md_table(a->out, table, a->limit, GAP_GPU, GAP_WINDOW, GAP_NS,
			     GAP_CAUSE, GAP_DETAIL, GAP_NEXT);
	if (all > n)
		nsx_md_bullet(a->out, "the longest %zu of %zu gaps are listed", n, all);
	if (n)
		nsx_answer_next(a, NSX_Q_why, nsx_answer_exactly(a, v[0].gap.start_ns),
				"the events of the longest gap");
	return 0;
}

/* why -----------------------------------------------------------------------------*/

static void describe_next_op(struct nsx_answer *a, const struct nsx_gap *gap)
{
	const struct nsx_trace *t = a->r->trace;
	uint32_t call;

	if (gap->op == NSX_NONE) {
		nsx_md_bullet(a->out, "no work follows: the run is over");
		return;
	}
	nsx_md_bullet(a->out, "it ends at %s with %s", nsx_answer_at(a, gap->end_ns),
		      nsx_md_name(a->out, nsx_answer_op(a, gap->op)));
	call = nsx_op_call(&t->ops, gap->op);
	if (call == NSX_NONE) {
		nsx_md_bullet(a->out, "its launch was not recorded");
		a->confidence = NSX_CONF_LOW;
		return;
	}
	nsx_md_bullet(a->out, "this was launched by %s of thread %lld, from %s to %s",
		nsx_md_name(a->out, nsx_text_api(a->out->arena, nsx_call_text(t, call))),
		(long long)t->thread[nsx_call_thread(t, call)].tid,
		nsx_answer_at(a, nsx_call_start(&t->calls, call)),
		nsx_answer_at(a, nsx_call_end(&t->calls, call)));
}

static int64_t piece_ns(const struct nsx_gap *gap, size_t i)
{
	struct nsx_idle_piece p = nsx_idle_at(gap->idle, gap->at + i);

	return p.end_ns - p.start_ns;
}

/* The length of the shortest piece that is shown, if the `shown` longest are. */
static int64_t shortest_shown_piece(const struct nsx_gap *gap, size_t shown)
{
	int64_t least = INT64_MAX;

	for (size_t told = 0; told < shown && told < gap->npieces;) {
		int64_t next = -1;

		for (size_t i = 0; i < gap->npieces; i++)
			if (piece_ns(gap, i) < least)
				next = NSX_MAX(next, piece_ns(gap, i));
		for (size_t i = 0; i < gap->npieces; i++)
			told += piece_ns(gap, i) == next;
		least = next;
	}
	return least;
}

/* Writes a line for each of the longest pieces, in order of time, and the sum of the others. */
static void describe_pieces(struct nsx_answer *a, const struct nsx_gap *gap)
{
	enum { SHOWN = 8 };
	int64_t least = shortest_shown_piece(gap, SHOWN), rest_ns = 0;
	size_t told = 0, rest = 0;

	for (size_t i = 0; i < gap->npieces; i++) {
		struct nsx_idle_piece p = nsx_idle_at(gap->idle, gap->at + i);

		if (piece_ns(gap, i) < least || told == SHOWN) {
			rest++;
			rest_ns += piece_ns(gap, i);
			continue;
		}
		told++;
		nsx_md_bullet(a->out, "%s from %s: %s%s%s",
			      nsx_say_time(a->out, p.end_ns - p.start_ns),
			      nsx_answer_at(a, p.start_ns),
			      nsx_cause_words[p.cause], p.detail ? ", " : "",
			      p.detail ? nsx_md_name(a->out, detail_text(a, p.cause,
									 p.detail)) : "");
	}
	if (rest)
		nsx_md_bullet(a->out, "%s in total: %s", nsx_say_time(a->out, rest_ns),
			      nsx_text_n(a->out->arena, rest, "other piece", NULL));
}

int nsx_ask_why(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	int64_t at;
	bool any = false;

	if (nsx_answer_instant(a, &at, err))
		return err->rc;
	if (!has_gpu_work(a))
		return nsx_cannot(a->out, "the trace has no GPU work");
	nsx_put(a->out, "at_ns", nsx_int(at));
	a->window = (struct nsx_window){at, at + 1};
	if (at < t->window.start_ns || at >= t->window.end_ns) {
		say_when_gpu_worked(a);
		return 0;
	}
	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct nsx_window w;
		struct nsx_gap gap;
		const char *python;
		size_t i = nsx_idle_from(&a->r->facts->idle[d], at);

		if (!nsx_next_gap(&a->r->facts->idle[d], &i, &gap) || gap.start_ns > at) {
			nsx_md_bullet(a->out, "%s was working", gpu_name(a, d));
			continue;
		}
		any = true;
		w = a->window = (struct nsx_window){gap.start_ns, gap.end_ns};
		nsx_md_bullet(a->out, "%s waited %s, from %s", gpu_name(a, d),
			      nsx_say_time(a->out, w.end_ns - w.start_ns), window_text(a, &w));
		describe_pieces(a, &gap);
		python = python_function_in_gap(t, &gap);
		if (python)
			nsx_md_bullet(a->out, "Python was in %s", nsx_md_name(a->out, python));
		describe_next_op(a, &gap);
	}
	nsx_answer_next(a, any ? NSX_Q_window : NSX_Q_at,
			any ? window_text(a, &a->window) :
			      nsx_answer_exactly(a, at), "all that happened at that time");
	return nsx_stopped(err);
}

/* iteration -----------------------------------------------------------------------*/

/* The iteration with this window on the GPU that sets the pace; iterations are in order of process.
 */
static const struct nsx_iteration *ask_time_iteration_at(const struct nsx_facts *f,
							 const struct nsx_window *w)
{
	const struct nsx_iteration *it = f->iterations;

	while (it->device != f->limiting || it->start_ns != w->start_ns || it->end_ns != w->end_ns)
		it++;
	return it;
}

int nsx_ask_iteration(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_facts *f = a->r->facts;
	const struct nsx_iteration *it;
	int64_t *ns, length_ns, median_ns;
	size_t n = 0;

	if (!f->niterations)
		return nsx_cannot(a->out, "no repetition was found in this trace");
	if (nsx_named_window(f, a->r->trace, nsx_say(a->out, "iteration:%s", a->argument),
			     &a->window, err))
		return err->rc;
	it = ask_time_iteration_at(f, &a->window);
	length_ns = it->end_ns - it->start_ns;
	ns = nsx_arena_get(a->out->arena, f->niterations * sizeof(*ns));
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		if (x->device == it->device && x->process == it->process)
			ns[n++] = x->end_ns - x->start_ns;
	}
	n -= n > 1; /* the last iteration is cut by the end of the recording */
	median_ns = nsx_to_i64(nsx_quantile(ns, n, 0.5));
	nsx_md_bullet(a->out, "it took %s; the median of %zu is %s%s",
		      nsx_say_time(a->out, length_ns), n, nsx_say_time(a->out, median_ns),
		      it->slow ? "; it is slow" : "");
	nsx_put(a->out, "duration_ns", nsx_int(length_ns));
	nsx_put(a->out, "median_ns", nsx_int(median_ns));
	return describe_window(a, err);
}
