/* kinds.c - steps of an inference engine on both sides, by kind and size, from the section
 * Steps of each capture's report.
 */
#include <math.h>
#include "base/stat.h"
#include "diff/emit.h"
#include "passes/pass.h"

enum { FEWEST = 5, /* steps on each side; with fewer the median proves nothing */
       MOST = 3 }; /* most sizes in a sentence */
#define SAME 0.9 /* least share of common steps if both sides run the same ones */

/* The sum of the sizes by which a row's steps are grouped, as nsx_step_size; 0: unknown. */
static double kinds_sizes_of(const struct nsx_table *t, size_t row, enum nsx_step_kind kind)
{
	double tokens = nsx_table_number(t, row, "token_count");
	double requests = nsx_table_number(t, row, "request_count");
	double n = kind == NSX_STEP_DECODE || isnan(tokens) ? requests : tokens;

	return isnan(n) ? 0 : n;
}

void nsx_side_keep_kinds(struct nsx_side *s, const struct nsx_report *r)
{
	const struct nsx_section *steps = nsx_report_section(r, "steps");
	const struct nsx_table *t = steps && steps->status == NSX_S_ANSWERED ?
					    nsx_section_table(steps, "sizes") : NULL;
	size_t n = t ? t->nrows : 0;

	s->kinds = nsx_arena_get(s->arena, n * sizeof(*s->kinds));
	for (; s->nkinds < n; s->nkinds++) {
		const char *size = nsx_table_text(t, s->nkinds, "size");
		const char *name = nsx_table_text(t, s->nkinds, "kind");
		enum nsx_step_kind kind = NSX_FIRST(k, NSX_NSTEP_KINDS,
						    !strcmp(nsx_step_kinds[k], name), k, NSX_STEP_IDLE);

		s->kinds[s->nkinds] = (struct nsx_side_kind){
			.kind = kind,
			.size = nsx_arena_strdup(s->arena, size ?: ""),
			.count = nsx_to_i64(nsx_table_number(t, s->nkinds, "count")),
			.p50_ms = nsx_table_number(t, s->nkinds, "p50_ms"),
			.sizes = kinds_sizes_of(t, s->nkinds, kind)};
	}
}

/* Adds a capture's steps to a side; captures are weighted by their number of steps. */
static void add_side(struct nsx_kind_row *row, unsigned side, const struct nsx_side_kind *k)
{
	double n = (double)(row->count[side] + k->count);

	row->p50_ms[side] += (k->p50_ms - row->p50_ms[side]) * (double)k->count / n;
	row->count[side] += k->count;
	row->sizes[side] += k->sizes;
}

static int kinds_cmp_row(const void *a, const void *b)
{
	const struct nsx_kind_row *x = a, *y = b;

	return NSX_CMP(x->kind, y->kind) ?: NSX_CMP(atoll(x->size), atoll(y->size));
}

struct nsx_kind_rows nsx_diff_kinds(const struct nsx_diff *d, struct nsx_arena *a)
{
	struct nsx_kind_rows r = {0};
	size_t most = 0;

	for (size_t i = 0; i < d->nall; i++)
		most += d->all[i]->nkinds;
	r.v = nsx_arena_get(a, most * sizeof(*r.v));
	for (unsigned s = 0; s < 2; s++)
		for (size_t i = 0; i < d->nsides[s]; i++)
			for (size_t k = 0; k < d->sides[s][i]->nkinds; k++) {
				const struct nsx_side_kind *x = &d->sides[s][i]->kinds[k];
				size_t at = 0;

				while (at < r.n && (r.v[at].kind != x->kind ||
						    strcmp(r.v[at].size, x->size) != 0))
					at++;
				r.n += at == r.n;
				r.v[at].kind = x->kind;
				r.v[at].size = x->size;
				add_side(&r.v[at], s, x);
			}
	nsx_sort(r.v, r.n, sizeof(*r.v), kinds_cmp_row);
	r.n = r.n > 1 ? r.n : 0;
	return r;
}

bool nsx_has_same_steps(const struct nsx_diff *d)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_kind_rows r = nsx_diff_kinds(d, a);
	int64_t common = 0, all = 0;

	for (size_t i = 0; i < r.n; i++) {
		common += NSX_MIN(r.v[i].count[0], r.v[i].count[1]);
		all += NSX_MAX(r.v[i].count[0], r.v[i].count[1]);
	}
	return common > 0 && (double)common >= SAME * (double)all;
}

static bool is_told(const struct nsx_kind_row *r)
{
	return r->count[0] >= FEWEST && r->count[1] >= FEWEST && r->p50_ms[0] > 0;
}

double nsx_kind_change(const struct nsx_kind_row *r)
{
	return is_told(r) ? r->p50_ms[1] / r->p50_ms[0] - 1 : NAN;
}

/* Says " (size +24 %)" if the steps of a class are larger or smaller on average, which may be why
 * they take longer or less long.
 */
static const char *kinds_say_larger(const struct nsx_kind_row *r, struct nsx_arena *a)
{
	double more = r->sizes[1] / (double)r->count[1] / (r->sizes[0] / (double)r->count[0]) - 1;

	return isfinite(more) && r->sizes[1] > 0 && fabs(more) >= NSX_NOISE ?
		       nsx_arena_printf(a, " (size %s)", nsx_text_ratio(a, more)) : "";
}

/* Says "decode +4 % at 32-63" or "prefill the same", or nothing if no size has enough steps. */
static void say_kind(struct nsx_buf *b, const struct nsx_kind_row *v, size_t n, struct nsx_arena *a)
{
	size_t before = b->n, told = 0, known = 0;

	for (size_t i = 0; i < n; i++) {
		double change = nsx_kind_change(&v[i]);

		known += is_told(&v[i]);
		if (!is_told(&v[i]) || fabs(change) < NSX_NOISE || told++ >= MOST)
			continue;
		nsx_buf_printf(b, "%s%s %s%s%s%s", told > 1 ? "," : before ? "; " : "",
			       told > 1 ? "" : nsx_step_kinds[v->kind], nsx_text_ratio(a, change),
			       *v[i].size ? " at " : "", v[i].size, kinds_say_larger(&v[i], a));
	}
	if (told > MOST)
		nsx_buf_printf(b, " and %zu more sizes", told - MOST);
	if (known && !told)
		nsx_buf_printf(b, "%s%s the same", before ? "; " : "",
			       nsx_step_kinds[v->kind]);
}

const char *nsx_kinds_line(const struct nsx_diff *d, struct nsx_arena *a)
{
	struct nsx_kind_rows r = nsx_diff_kinds(d, a);
	struct nsx_buf b = {0};
	const char *text;

	NSX_EACH_RUN(i, next, r.n, r.v[next].kind == r.v[i].kind)
		say_kind(&b, r.v + i, next - i, a);
	text = nsx_buf_keep(&b, a);
	return *text ? nsx_arena_printf(a, "Steps by kind, p50: %s", text) : "";
}
