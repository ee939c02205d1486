/* ask_names.c - questions about a range, a kernel, a stream or a thread. */
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "agent/ask.h"
#include "base/group.h"
#include "report/words.h"

enum { NEAREST = 5 };

/* Names that hold the text, for who typed one that is not there. */
static const char *nearest(struct nsx_answer *a, const nsx_str *names, size_t n)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_buf b = {0};
	const char *text;
	unsigned found = 0;

	for (unsigned pass = 0; pass < 2 && !found; pass++)
		for (size_t i = 0; i < n && found < NEAREST; i++)
			if (pass || strcasestr(nsx_text(t, names[i]),
					       a->argument))
				nsx_buf_printf(&b, "%s'%.80s'",
					       found++ ? ", " : "",
					       nsx_text(t, names[i]));
	text = nsx_say(a->out, "%s", b.p ? b.p : "none");
	nsx_buf_done(&b);
	return text;
}

/* range ---------------------------------------------------------------------------*/

struct range_sum {
	int64_t host_ns, gpu_ns, longest_ns, longest_at;
	size_t n, ops;
};

/* Names of ranges, each once. Owner: the answer's arena. */
static size_t range_names(struct nsx_answer *a, const nsx_str **ret)
{
	const struct nsx_trace *t = a->r->trace;
	size_t bound = nsx_strings_bound(t->strings), n = 0;
	nsx_str *v = nsx_arena_get(a->out->arena, bound * sizeof(*v));
	uint8_t *seen = nsx_arena_get(a->out->arena, bound);

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (!seen[t->nvtx.name[i]]) {
			seen[t->nvtx.name[i]] = 1;
			v[n++] = t->nvtx.name[i];
		}
	*ret = v;
	return n;
}

static int sum_range(struct nsx_answer *a, nsx_str name, struct range_sum *s,
		     struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	const struct nsx_nvtx_facts *x = &a->r->facts->nvtx;
	struct nsx_tally *tally = nsx_tally_new(a);
	uint8_t *inside = nsx_arena_get(a->out->arena, t->nvtx.n + 1);

	for (size_t i = 0; i < t->nvtx.n; i++) {
		int64_t ns = nsx_range_ns(&t->nvtx, i);

		/* A parent stands before its children. */
		inside[i] = t->nvtx.name[i] == name ||
			    (x->parent[i] != NSX_NONE && inside[x->parent[i]]);
		if (t->nvtx.name[i] != name || x->nested[i])
			continue;
		s->n++;
		s->host_ns += ns;
		if (ns > s->longest_ns) {
			s->longest_ns = ns;
			s->longest_at = nsx_range_start(&t->nvtx, i);
		}
	}
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t range = x->op_range[i];

		if (range == NSX_NONE || !inside[range] || !nsx_op_counts(t, i))
			continue;
		s->ops++;
		s->gpu_ns += nsx_op_ns(&t->ops, i);
		if (!nsx_tally_more(tally, t->ops.kind[i], nsx_op_name(t, i),
				    nsx_op_ns(&t->ops, i)) &&
		    nsx_tally_add(tally, t->ops.kind[i], nsx_op_name(t, i),
				  "operation", nsx_answer_op(a, i),
				  nsx_op_ns(&t->ops, i), err)) {
			nsx_tally_free(tally);
			return err->rc;
		}
	}
	return nsx_tally_end(tally, "operations", s->host_ns, err);
}

int nsx_ask_range(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct range_sum s = {0};
	struct nsx_window w;
	const nsx_str *names;
	size_t n = range_names(a, &names), i = 0;

	while (i < n && strcmp(nsx_text(t, names[i]), a->argument))
		i++;
	if (i == n)
		return nsx_fail(err, NSX_E_USAGE, "no NVTX range '%s' in this "
				"trace; there are %s", a->argument,
				nearest(a, names, n));
	a->window = t->window;
	if (sum_range(a, names[i], &s, err))
		return err->rc;
	nsx_put(a->out, "count", nsx_int((int64_t)s.n));
	nsx_put(a->out, "host_ns", nsx_int(s.host_ns));
	nsx_put(a->out, "operations_launched", nsx_int((int64_t)s.ops));
	nsx_put(a->out, "gpu_ns", nsx_int(s.gpu_ns));
	nsx_md_bullet(a->out, "%s of host time; %s of GPU time launched inside, "
		      "in %s",
		      nsx_text_ns(a->out->arena, (double)s.host_ns),
		      nsx_text_ns(a->out->arena, (double)s.gpu_ns),
		      nsx_text_n(a->out->arena, s.ops, "operation", NULL));
	if (!s.n)
		return 0;
	w = (struct nsx_window){s.longest_at, s.longest_at + s.longest_ns};
	nsx_md_bullet(a->out, "it was open %s; the longest time, %s, from %s",
		      nsx_text_n(a->out->arena, s.n, "time", NULL),
		      nsx_text_ns(a->out->arena, (double)s.longest_ns),
		      nsx_answer_at(a, w.start_ns));
	nsx_answer_next(a, "window", nsx_text_window(a->out->arena, &w),
			"what ran in the longest one");
	return 0;
}

/* kernel --------------------------------------------------------------------------*/

#define SHAPE_COLUMNS(X)                                                      \
	X(K_NAME, "kernel", STR, "label")                                     \
	X(K_GRID, "grid", STR, "blocks")                                      \
	X(K_BLOCK, "block", STR, "threads of a block")                        \
	X(K_REGISTERS, "registers", I64, "of a thread")                       \
	X(K_SHARED, "shared_bytes", I64, "of a block")                        \
	X(K_CALLS, "calls", I64, "executions")                                \
	X(K_TOTAL, "total_ns", I64, "time in all")                            \
	X(K_MEAN, "mean_ns", F64, "total / calls")
NSX_COLUMNS(shape_cols, SHAPE_COLUMNS);
static const struct nsx_layout shape_layout = {.key = "shapes",
					       NSX_COLS(shape_cols)};

static const char *dims(struct nsx_answer *a, const uint32_t *v)
{
	return nsx_say(a->out, "%u×%u×%u", v[0], v[1], v[2]);
}

static int show_shapes(struct nsx_answer *a, const int64_t *ns,
		       const int64_t *calls, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_table *table = nsx_add_table(a->out, &shape_layout);

	for (uint32_t i = 0; i < t->nshapes; i++) {
		const struct nsx_shape *s = &t->shape[i];
		struct nsx_cell *row = calls[i] ? nsx_row(table, err) : NULL;

		if (!calls[i])
			continue;
		if (!row)
			return err->rc;
		row[K_NAME] = nsx_string(
			nsx_kernel_name(&a->r->facts->kernels, s->name)->label);
		row[K_CALLS] = nsx_int(calls[i]);
		row[K_TOTAL] = nsx_int(ns[i]);
		row[K_MEAN] = nsx_real((double)ns[i] / (double)calls[i]);
		if (!s->known)
			continue;
		row[K_GRID] = nsx_string(dims(a, s->grid));
		row[K_BLOCK] = nsx_string(dims(a, s->block));
		row[K_REGISTERS] = nsx_int(s->registers);
		row[K_SHARED] = nsx_int((int64_t)s->static_shared_bytes +
					s->dynamic_shared_bytes);
	}
	nsx_table_sort(table, NSX_DESC(K_TOTAL), K_NAME, K_GRID, K_BLOCK);
	nsx_answer_show(a, table);
	return 0;
}

/* Which kernels the expression finds, in the full name or the label. */
static int match_kernels(struct nsx_answer *a, uint8_t *wanted, size_t *ret_n,
			 struct nsx_err *err)
{
	const struct nsx_kernel_names *k = &a->r->facts->kernels;
	regex_t re;
	char why[128];
	int bad = regcomp(&re, a->argument, REG_EXTENDED | REG_NOSUB);

	if (bad) {
		regerror(bad, &re, why, sizeof(why));
		return nsx_fail(err, NSX_E_USAGE, "cannot read the expression "
				"'%s': %s", a->argument, why);
	}
	for (size_t i = 0; i < k->n; i++) {
		wanted[k->v[i].name] =
			!regexec(&re, nsx_text(a->r->trace, k->v[i].name), 0,
				 NULL, 0) ||
			!regexec(&re, k->v[i].label, 0, NULL, 0);
		*ret_n += wanted[k->v[i].name];
	}
	regfree(&re);
	return 0;
}

static const char *some_labels(struct nsx_answer *a)
{
	const struct nsx_kernel_names *k = &a->r->facts->kernels;
	struct nsx_buf b = {0};
	const char *text;

	for (size_t i = 0; i < k->n && i < NEAREST; i++)
		nsx_buf_printf(&b, "%s'%s'", i ? ", " : "", k->v[i].label);
	text = nsx_say(a->out, "%s", b.p ? b.p : "none");
	nsx_buf_done(&b);
	return text;
}

int nsx_ask_kernel(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_arena *arena = a->out->arena;
	uint8_t *wanted = nsx_arena_get(arena, nsx_strings_bound(t->strings));
	int64_t *ns = nsx_arena_get(arena, (t->nshapes + 1) * sizeof(*ns));
	int64_t *calls = nsx_arena_get(arena, (t->nshapes + 1) * sizeof(*ns));
	struct nsx_tally *tally = nsx_tally_new(a);
	int64_t total = 0, longest = -1, longest_at = 0;
	size_t n = 0;
	int rc = match_kernels(a, wanted, &n, err);

	if (!rc && !n)
		rc = nsx_fail(err, NSX_E_USAGE, "no kernel matches '%s'; some "
			      "that there are: %s", a->argument,
			      some_labels(a));
	a->window = t->window;
	for (size_t i = 0; i < t->ops.n && !rc; i++) {
		uint32_t call = t->ops.call[i], shape = t->ops.detail[i];

		if (t->ops.kind[i] != NSX_OP_KERNEL || !nsx_op_counts(t, i) ||
		    !wanted[t->shape[shape].name])
			continue;
		ns[shape] += nsx_op_ns(&t->ops, i);
		calls[shape]++;
		total += nsx_op_ns(&t->ops, i);
		if (nsx_op_ns(&t->ops, i) > longest) {
			longest = nsx_op_ns(&t->ops, i);
			longest_at = nsx_op_start(&t->ops, i);
		}
		if (nsx_tally_more(tally,
				   call == NSX_NONE ?
					   0 : 1 + nsx_call_thread(t, call),
				   call == NSX_NONE ? 0 : t->calls.name[call],
				   nsx_op_ns(&t->ops, i)))
			continue;
		rc = call == NSX_NONE ?
			     nsx_tally_add(tally, 0, 0, "launched by",
					   "a launch that was not recorded",
					   nsx_op_ns(&t->ops, i), err) :
			     nsx_tally_add(
				     tally, 1 + nsx_call_thread(t, call),
				     t->calls.name[call], "launched by",
				     nsx_say(a->out, "%s of thread %lld",
					     nsx_text_api(arena, nsx_text(t, t->calls.name[call])),
					     (long long)t->thread[nsx_call_thread(t, call)].tid),
				     nsx_op_ns(&t->ops, i), err);
	}
	if (rc) {
		nsx_tally_free(tally);
		return rc;
	}
	nsx_put(a->out, "kernels", nsx_int((int64_t)n));
	nsx_put(a->out, "total_ns", nsx_int(total));
	if (show_shapes(a, ns, calls, err))
		return err->rc;
	nsx_answer_next(a, "at", nsx_answer_exactly(a, longest_at),
			"what ran beside the longest one");
	nsx_answer_next(a, "what-if",
			nsx_say(a->out, "kernel:/%s/:2x", a->argument),
			"what twice as fast would win");
	return nsx_tally_end(tally, "launchers", total, err);
}

/* stream --------------------------------------------------------------------------*/

int nsx_ask_stream(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);
	long long id = strtoll(a->argument, NULL, 10);
	bool any = false;

	a->window = t->window;
	for (size_t i = 0; i < t->ops.n; i++) {
		const struct nsx_stream *s = &t->stream[t->ops.stream[i]];

		if (s->stream_id != id || !nsx_op_counts(t, i))
			continue;
		any = true;
		if (!nsx_tally_more(tally,
				    (uint64_t)s->device << 8 | t->ops.kind[i],
				    nsx_op_name(t, i), nsx_op_ns(&t->ops, i)) &&
		    nsx_tally_add(tally, (uint64_t)s->device << 8 | t->ops.kind[i],
				  nsx_op_name(t, i),
				  nsx_say(a->out, "GPU %lld",
					  (long long)t->device[s->device].device_id),
				  nsx_answer_op(a, i), nsx_op_ns(&t->ops, i),
				  err)) {
			nsx_tally_free(tally);
			return err->rc;
		}
	}
	if (!any) {
		nsx_tally_free(tally);
		return nsx_fail(err, NSX_E_USAGE, "no work on a stream '%s'; "
				"'nsys-explain convert' shows all streams",
				a->argument);
	}
	return nsx_tally_end(tally, "operations",
			     t->window.end_ns - t->window.start_ns, err);
}

/* thread --------------------------------------------------------------------------*/

int nsx_ask_thread(struct nsx_answer *a, struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;
	struct nsx_tally *tally = nsx_tally_new(a);
	long long tid = strtoll(a->argument, NULL, 10);
	bool any = false;

	a->window = t->window;
	for (uint32_t k = 0; k < t->nthreads; k++) {
		const struct nsx_thread *th = &t->thread[k];

		if (th->tid != tid)
			continue;
		any = true;
		for (size_t i = th->calls_at;
		     i < (size_t)th->calls_at + th->ncalls; i++) {
			bool waits = t->calls.cls[i] == NSX_CALL_SYNC ||
				     nsx_call_blocks(a->r->facts, t, i);

			if (t->calls.flags[i] & NSX_CALL_NESTED)
				continue;
			if (!nsx_tally_more(tally, (uint64_t)k << 1 | waits,
					    t->calls.name[i],
					    nsx_call_ns(&t->calls, i)) &&
			    nsx_tally_add(tally, (uint64_t)k << 1 | waits,
					  t->calls.name[i],
					  waits ? "wait" : "call",
					  nsx_text_api(a->out->arena, nsx_text(t, t->calls.name[i])),
					  nsx_call_ns(&t->calls, i), err)) {
				nsx_tally_free(tally);
				return err->rc;
			}
		}
	}
	if (!any) {
		nsx_tally_free(tally);
		return nsx_fail(err, NSX_E_USAGE, "no thread '%s' made CUDA "
				"calls or ranges in this trace", a->argument);
	}
	return nsx_tally_end(tally, "calls",
			     t->window.end_ns - t->window.start_ns, err);
}
