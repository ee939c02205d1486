/* steps_text.c - describes a kind of steps in words. */
#include <inttypes.h>
#include "passes/gpu/steps.h"

/* Says "; 400 tokens a second". A request that decodes several in a step decodes drafts, too. */
static const char *say_tokens(struct steps_work *w, const struct nsx_cell *row)
{
	double s = (double)row[TOTAL].u.i / 1e9, tokens, requests;

	if (row[TOKENS].type == NSX_T_NULL || !row[TOKENS].u.i || !(s > 0))
		return "";
	tokens = (double)row[TOKENS].u.i;
	requests = row[REQUESTS].type == NSX_T_NULL ? 0 : (double)row[REQUESTS].u.i;
	return nsx_say(w->out, "; %.0f tokens a second%s", tokens / s,
		       row[KIND].u.s != nsx_step_kinds[NSX_STEP_DECODE] || !(requests > 0) ||
		       tokens <= requests ? "" :
		       nsx_say(w->out, " with drafts (%.2g for a request in a step)",
			       tokens / requests));
}

/* " (1.2 ms instead of 1 ms)" if steps without a replay take longer, else "". */
static const char *say_time_of_misses(struct steps_work *w, const struct nsx_cell *row)
{
	const char *missed, *replayed;

	if (row[MISSED_P50].type == NSX_T_NULL || row[REPLAYED_P50].type == NSX_T_NULL ||
	    row[MISSED_P50].u.f <= row[REPLAYED_P50].u.f)
		return "";
	missed = nsx_say_ms(w->out, row[MISSED_P50].u.f);
	replayed = nsx_say_ms(w->out, row[REPLAYED_P50].u.f);
	return strcmp(missed, replayed) ?
		       nsx_say(w->out, " (%s instead of %s)", missed, replayed) : "";
}

/* Says "10 % ran without a CUDA graph: 2 of 3 of size 17-18 (1.2 ms instead of 1 ms)". The sizes'
 * rows begin at `from`.
 */
static const char *say_graph_misses(struct steps_work *w, const struct nsx_cell *row, size_t from)
{
	enum { MOST = 3 };
	const struct nsx_table *sizes = w->table[SIZES];
	const char *of = "", *most;
	unsigned n = 0;

	for (size_t i = from; i < sizes->nrows; i++) {
		const struct nsx_cell *x = nsx_row_at(sizes, i);

		if (x[MISSED_LEAST].type == NSX_T_NULL || n++ >= MOST)
			continue;
		most = x[MISSED_MOST].u.i == x[MISSED_LEAST].u.i ? "" :
			nsx_say(w->out, "-%" PRId64, x[MISSED_MOST].u.i);
		of = nsx_say(w->out, "%s%s %" PRId64 " of %" PRId64 " of size %" PRId64 "%s%s", of,
			     *of ? "," : ":", x[MISSED].u.i, x[MISSED_OF].u.i,
			     x[MISSED_LEAST].u.i, most, say_time_of_misses(w, x));
	}
	return nsx_say(w->out, "%.0f %% ran without a CUDA graph%s%s",
		       100 * (double)row[MISSED].u.i / (double)row[COUNT].u.i, of,
		       n > MOST ? " and more" : "");
}

/* Says "decoding waits for 10 ms (44 % of all steps) for the prefills beside it", by which these
 * steps take longer than the median decode step; NULL: they do not, or there is none.
 */
static const char *say_mixed(struct steps_work *w, const struct nsx_cell *row)
{
	const struct nsx_table *kinds = w->table[KINDS];

	if (row[KIND].u.s != nsx_step_kinds[NSX_STEP_MIXED])
		return NULL;
	for (size_t i = 0; i < kinds->nrows; i++) {
		const struct nsx_cell *x = nsx_row_at(kinds, i);
		double wait_ns = (double)row[TOTAL].u.i -
				 (double)row[COUNT].u.i * x[P50].u.f * 1e6;

		if (x[KIND].u.s == nsx_step_kinds[NSX_STEP_DECODE] &&
		    !strcmp(x[ENGINE].u.s, row[ENGINE].u.s) && wait_ns > 0)
			return nsx_say(w->out, "decoding waits for %s (%s of all steps) for the "
				       "prefills beside it", nsx_say_ms(w->out, wait_ns / 1e6),
				       nsx_text_share(w->out->arena, wait_ns,
						      (double)w->total_ns));
	}
	return NULL;
}

/* Describes steps that ran without a CUDA graph or that delayed others; NULL: there are none. */
static const char *say_lost_time(struct steps_work *w, const struct nsx_cell *row,
				 size_t from)
{
	if (row[STALL].u.i)
		return nsx_say(w->out, "decoding waits for prefills for %s (%s of all steps)",
			       nsx_say_time(w->out, row[STALL].u.i),
			       nsx_text_share(w->out->arena, (double)row[STALL].u.i,
					      (double)w->total_ns));
	return row[MISSED].type != NSX_T_NULL && row[MISSED].u.i ? say_graph_misses(w, row, from) :
								   say_mixed(w, row);
}

/* "0.1 % MFU, 6.1 % of memory bandwidth, so a step takes 60 µs at least"; NULL if no share of the
 * GPU's peak is known.
 */
static const char *say_peak_shares(struct steps_work *w, const struct nsx_cell *row)
{
	static const struct {
		unsigned col;
		const char *of;
	} shares[] = {{MFU, "MFU"}, {BANDWIDTH, "of memory bandwidth"}};
	const char *text = "";
	double most = 0;

	for (size_t i = 0; i < ARRAY_LEN(shares); i++) {
		const struct nsx_cell *x = &row[shares[i].col];

		if (x->type == NSX_T_NULL)
			continue;
		text = nsx_say(w->out, "%s%s%s %s", text, *text ? ", " : "",
			       nsx_text_share(w->out->arena, x->u.f, 100), shares[i].of);
		most = NSX_MAX(most, x->u.f);
	}
	return !*text ? NULL :
		nsx_say(w->out, "%s, so a step takes %s at least", text,
			nsx_say_ms(w->out, most / 100 * (double)row[TOTAL].u.i / 1e6 /
						   (double)row[COUNT].u.i));
}

/* Whether these are steps of a loop that no engine or framework named. */
static bool is_unnamed_loop(const struct nsx_cell *row)
{
	return !strcmp(row[ENGINE].u.s, "loop");
}

/* "vLLM " if another engine runs, too, else "". */
static const char *say_engine_of(struct steps_work *w, const struct nsx_cell *row)
{
	const struct nsx_table *kinds = w->table[KINDS];

	return NSX_ANY(i, kinds->nrows,
		       strcmp(nsx_row_at(kinds, i)[ENGINE].u.s, row[ENGINE].u.s) != 0) ?
		       nsx_say(w->out, "%s ", row[ENGINE].u.s) : "";
}

static const char *say_step(struct steps_work *w, const struct nsx_cell *row)
{
	return is_unnamed_loop(row) ? "step" :
		nsx_say(w->out, "%s%s step", say_engine_of(w, row), row[KIND].u.s);
}

/* "10 decode steps", "10 decode steps on each of 2 GPUs" or "21 decode steps on 2 GPUs" */
static const char *steps_text_say_count(struct steps_work *w, const struct nsx_cell *row)
{
	int64_t n = row[COUNT].u.i, gpus = row[GPUS].u.i;
	bool is_even = n % gpus == 0;
	const char *what = nsx_text_n(w->out->arena, (size_t)(is_even ? n / gpus : n),
				      say_step(w, row), NULL);

	return gpus == 1 ? what : nsx_say(w->out, "%s on %s%" PRId64 " GPUs", what,
					  is_even ? "each of " : "", gpus);
}

static const char *steps_text_say_kind(struct steps_work *w, const struct nsx_cell *row)
{
	const char *p50 = nsx_say_ms(w->out, row[P50].u.f), *p95 = nsx_say_ms(w->out, row[P95].u.f);

	return nsx_say(w->out, "**%s**%s, p50 %s%s%s, %.0f %% GPU busy",
		       steps_text_say_count(w, row), row[TOTAL].u.i == w->total_ns ? "" :
		       nsx_say(w->out, " (%s of the time)", nsx_text_share(w->out->arena,
				(double)row[TOTAL].u.i, (double)w->total_ns)),
		       p50, strcmp(p50, p95) ? ", p95 " : "", strcmp(p50, p95) ? p95 : "",
		       row[BUSY].u.f);
}

/* Says "3 ms idle between steps (2.9 ms in the scheduler); 400 tokens a second". */
static const char *say_between(struct steps_work *w, const struct nsx_cell *row)
{
	int64_t n = row[COUNT].u.i, scheduler_ns = row[SCHEDULER].u.i / n;
	bool has_scheduler = row[KIND].u.s != nsx_step_kinds[NSX_STEP_TRAINING] && scheduler_ns;

	return nsx_say(w->out, "%s idle between steps%s%s",
		       nsx_say_time(w->out, row[BETWEEN].u.i / n), !has_scheduler ? "" :
		       nsx_say(w->out, " (%s in the scheduler)",
			       nsx_say_time(w->out, scheduler_ns)),
		       say_tokens(w, row));
}

/* Says "of decode steps 55 % gemm, 18 % idle between steps, ...", for one kind. */
static const char *say_time_by_layer(struct steps_work *w, const struct steps_layer *v, size_t n,
				     const struct nsx_cell *kind)
{
	enum { MOST = 6 };
	const char *text = nsx_say(w->out, "of %ss", say_step(w, kind));

	for (size_t i = 0; i < n && i < MOST && v[i].ns; i++)
		text = nsx_say(w->out, "%s%s %s %s", text, i ? "," : "",
			       nsx_text_share(w->out->arena, (double)v[i].ns,
					      (double)kind[TOTAL].u.i), v[i].name);
	return text;
}

void steps_tell_kind(struct steps_work *w, const struct nsx_cell *kind, size_t sizes_at,
		     const struct steps_layer *v, size_t n)
{
	const char *told[] = {steps_text_say_kind(w, kind), say_between(w, kind),
			      say_peak_shares(w, kind), say_lost_time(w, kind, sizes_at),
			      say_time_by_layer(w, v, n, kind)};
	const char *text = "";

	for (size_t i = 0; i < ARRAY_LEN(told); i++) {
		if (!told[i])
			continue;
		text = nsx_say(w->out, "%s%s%s", text, i ? "; " : "", told[i]);
		/* The first page describes other loops by their iterations. */
		if (!is_unnamed_loop(kind))
			w->page[w->npage++] = told[i];
	}
	nsx_md_bullet(w->out, "%s%s.", *say_engine_of(w, kind) ? "" :
		      nsx_say(w->out, "%s: ", kind[ENGINE].u.s), text);
}
