/* findings.c - findings of both sides, paired by key.
 *
 * A share of the judged window is what two captures of another length have in
 * common; less than a point of it is no change.
 */
#include <math.h>
#include <string.h>
#include "diff/diff.h"

const char *const nsx_appearance_names[] = {"appeared", "gone", "changed"};

#define A_POINT 0.01

static const struct nsx_side_finding *
find(const struct nsx_side *s, const struct nsx_side_finding *like)
{
	for (size_t i = 0; i < s->nfindings; i++)
		if (!strcmp(s->findings[i].key, like->key))
			return &s->findings[i];
	return NULL;
}

static bool is_changed(const struct nsx_side_finding *x,
		       const struct nsx_side_finding *y)
{
	return x->severity != y->severity || isnan(x->share) != isnan(y->share) ||
	       fabs(x->share - y->share) >= A_POINT;
}

static void add(struct nsx_diff *d, enum nsx_appearance change,
		const struct nsx_side_finding *before,
		const struct nsx_side_finding *after)
{
	d->findings[d->nfindings++] =
		(struct nsx_finding_row){change, before, after};
}

void nsx_compare_findings(struct nsx_diff *d)
{
	const struct nsx_side *b = d->sides[0][0], *a = d->sides[1][0];
	size_t most = b->nfindings + a->nfindings + 1;

	d->findings = nsx_arena_get(d->arena, most * sizeof(*d->findings));
	for (size_t i = 0; i < a->nfindings; i++)
		if (!find(b, &a->findings[i]))
			add(d, NSX_APPEARED, NULL, &a->findings[i]);
	for (size_t i = 0; i < b->nfindings; i++)
		if (!find(a, &b->findings[i]))
			add(d, NSX_GONE, &b->findings[i], NULL);
	for (size_t i = 0; i < a->nfindings; i++) {
		const struct nsx_side_finding *x = find(b, &a->findings[i]);

		if (x && is_changed(x, &a->findings[i]))
			add(d, NSX_CHANGED_FINDING, x, &a->findings[i]);
	}
}
