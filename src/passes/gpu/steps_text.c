/* steps_text.c - describes a kind of steps in words. */
#include <inttypes.h>
#include "passes/gpu/steps.h"

static const char *say_tokens(struct steps_work *w, const struct nsx_cell *row)
{
	double s = (double)row[TOTAL].u.i / 1e9;

	return row[TOKENS].type == NSX_T_NULL || !(s > 0) ? "" :
		nsx_say(w->out, "; %.0f tokens a second", (double)row[TOKENS].u.i / s);
}

/* "10 % missed the graph, of sizes 4-7 (1 of 10)"; the sizes' rows begin at `from`. */
static const char *say_graphs(struct steps_work *w, const struct nsx_cell *row, size_t from)
{
	enum { MOST = 3 };
	const struct nsx_table *sizes = w->table[SIZES];
	const char *of = "";
	unsigned n = 0;

	for (size_t i = from; i < sizes->nrows; i++) {
		const struct nsx_cell *x = nsx_row_at(sizes, i);

		if (x[MISSED].u.i && x[SIZE].type == NSX_T_STR && n++ < MOST)
			of = nsx_say(w->out, "%s%s %s (%" PRId64 " of %" PRId64 ")", of,
				     *of ? "," : ", of sizes", x[SIZE].u.s,
				     x[MISSED].u.i, x[COUNT].u.i);
	}
	return nsx_say(w->out, "%.0f %% missed the graph%s%s",
		       100 * (double)row[MISSED].u.i / (double)row[COUNT].u.i, of,
		       n > MOST ? " and more" : "");
}

/* Describes steps that missed the graph or delayed others; NULL: none. */
static const char *steps_text_say_lost(struct steps_work *w, const struct nsx_cell *row,
				       size_t from)
{
	if (row[STALL].u.i)
		return nsx_say(w->out, "decoding waits for prefills for %s (%s of all steps)",
			       nsx_say_time(w->out, row[STALL].u.i),
			       nsx_text_share(w->out->arena, (double)row[STALL].u.i,
					      (double)w->total_ns));
	return row[MISSED].type != NSX_T_NULL && row[MISSED].u.i ? say_graphs(w, row, from) : NULL;
}

static const char *say_limits(struct steps_work *w, const struct nsx_cell *row)
{
	const char *text = "";

	if (row[MFU].type != NSX_T_NULL)
		text = nsx_say(w->out, "; %s MFU", nsx_text_share(w->out->arena,
							     row[MFU].u.f, 100));
	if (row[BANDWIDTH].type != NSX_T_NULL)
		text = nsx_say(w->out, "%s; %s of memory bandwidth", text,
			       nsx_text_share(w->out->arena, row[BANDWIDTH].u.f, 100));
	return text;
}

static const char *steps_text_say_kind(struct steps_work *w, const struct nsx_cell *row)
{
	double between = (double)row[BETWEEN].u.i / 1e6 / (double)row[COUNT].u.i;

	return nsx_say(w->out, "%s, p50 %s, p95 %s, %.0f %% GPU busy; %s idle between steps%s%s",
		       nsx_text_n(w->out->arena, (size_t)row[COUNT].u.i,
				  nsx_say(w->out, "%s step", row[KIND].u.s), NULL),
		       nsx_say_ms(w->out, row[P50].u.f),
		       nsx_say_ms(w->out, row[P95].u.f), row[BUSY].u.f,
		       nsx_say_ms(w->out, between), say_tokens(w, row), say_limits(w, row));
}

/* "of decode steps 55 % gemm, 18 % idle between steps, ...", for one kind. */
static const char *say_layers(struct steps_work *w, const struct steps_layer *v, size_t n,
			      const struct nsx_cell *kind)
{
	enum { MOST = 6 };
	const char *text = nsx_say(w->out, "of %s steps", kind[KIND].u.s);

	for (size_t i = 0; i < n && i < MOST && v[i].ns; i++)
		text = nsx_say(w->out, "%s%s %s %s", text, i ? "," : "",
			       nsx_text_share(w->out->arena, (double)v[i].ns,
					      (double)kind[TOTAL].u.i), v[i].name);
	return text;
}

void steps_tell_kind(struct steps_work *w, const struct nsx_cell *kind, size_t sizes_at,
		     const struct steps_layer *v, size_t n)
{
	const char *what = steps_text_say_kind(w, kind), *lost = steps_text_say_lost(w, kind,
										     sizes_at);
	const char *layers = say_layers(w, v, n, kind);

	nsx_md_bullet(w->out, "%s: %s%s%s; %s.", kind[ENGINE].u.s, what, lost ? "; " : "",
		      lost ?: "", layers);
	w->page[w->npage++] = what;
	if (lost)
		w->page[w->npage++] = lost;
	w->page[w->npage++] = layers;
}
