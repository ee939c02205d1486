/* desync.c - finds ranks that call other collectives than the rest of their communicator. */
#include "fleet/match.h"

enum {
	LOOK_AHEAD = 32, /* collectives to compare after a difference */
	MOST_SLIPS = 4,	 /* collectives that can be left out at once */
	MOST_NOTED = 3,	 /* differences recorded per member */
};

static const char *op_name(const struct nsx_fmember *m, size_t k)
{
	size_t i = nsx_member_at(m, k);

	return i == SIZE_MAX ? NULL : nsx_coll_op(m->c, i)->name;
}

/* The operation of most members at k, in a tie the first member's; NULL if no member has one.
 * *ret_differ: whether some member has another one; may be NULL.
 */
static const char *vote_op(const struct nsx_fcomm *c, size_t k, bool *ret_differ)
{
	const char *name = NULL;
	size_t votes = 0, there = 0;

	for (uint32_t i = 0; i < c->n; i++) { /* Boyer-Moore majority vote */
		const char *s = op_name(&c->m[i], k);

		if (s && !votes)
			name = s;
		votes += s ? s == name ? 1 : -1 : 0;
		there += s != NULL;
	}
	if (ret_differ)
		*ret_differ = votes != there;
	return name;
}

/* Whether at most half of the members that are there do that operation at k. */
static bool desync_is_even(const struct nsx_fcomm *c, size_t k, const char *name)
{
	int64_t ahead = 0;

	for (uint32_t i = 0; i < c->n; i++) {
		const char *s = op_name(&c->m[i], k);

		ahead += s == name ? 1 : s ? -1 : 0;
	}
	return ahead <= 0;
}

/* Number of collectives after k that would differ from the others' if the member continued `slip`
 * places further.
 */
static size_t wrong_after(const struct nsx_fcomm *c, const struct nsx_fmember *m, size_t k,
			  int64_t slip)
{
	struct nsx_fmember moved = *m;
	size_t wrong = 0;

	for (unsigned p = 0; p < moved.npieces; p++)
		moved.piece[p].shift += slip;
	for (size_t j = k + 1; j < k + 1 + LOOK_AHEAD && j < c->end; j++) {
		const char *want = vote_op(c, j, NULL);
		const char *got = op_name(&moved, j);

		wrong += want && got && want != got;
	}
	return wrong;
}

/* Makes the member's collectives at k that were left out, or differ, match nothing. From there on
 * the member is `slip` places further.
 */
static void goes_on(struct nsx_fmember *m, size_t k, int64_t slip)
{
	int64_t shift = m->piece[m->npieces - 1].shift + slip;
	size_t hole = slip < 0 ? 0 : slip > 0 ? (size_t)slip : 1;

	if (m->npieces + 2 > ARRAY_LEN(m->piece))
		return;
	if (hole)
		m->piece[m->npieces++] = (struct nsx_fpiece){k, INT64_MAX / 2};
	m->piece[m->npieces++] = (struct nsx_fpiece){k + hole, shift};
}

/* Records that a member does something else at k, and finds where its sequence matches again. */
static int note_difference(struct nsx_fleet *f, struct nsx_fcomm *c,
			   struct nsx_fmember *m, size_t k, const char *want, struct nsx_err *err)
{
	struct nsx_desync d = {NSX_DESYNC_OTHER, (uint32_t)(c - f->comm), m->rank, k, want,
			       op_name(m, k), desync_is_even(c, k, want)};
	size_t best = wrong_after(c, m, k, 0);
	int64_t slip = 0;

	for (int64_t s = 1; s <= MOST_SLIPS && best; s++)
		for (int sign = -1; sign <= 1; sign += 2) {
			size_t wrong = wrong_after(c, m, k, sign * s);

			if (wrong < best) {
				best = wrong;
				slip = sign * s;
			}
		}
	if (slip)
		d.kind = slip > 0 ? NSX_DESYNC_LEFT_OUT : NSX_DESYNC_EXTRA;
	if (nsx_push(f->desync, f->ndesyncs, f->cap_desyncs, "differences", err, d))
		return err->rc;
	goes_on(m, k, slip);
	return 0;
}

static int compare_ops(struct nsx_fleet *f, struct nsx_fcomm *c, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) uint32_t *noted =
		nsx_try_alloc(c->n, sizeof(*noted), "members", err);
	int rc = noted ? 0 : err->rc;

	for (size_t k = c->first; k < c->end && !rc; k++) {
		bool differ;
		const char *want = vote_op(c, k, &differ);

		for (uint32_t i = 0; differ && i < c->n && !rc; i++) {
			const char *got = op_name(&c->m[i], k);

			if (got && got != want && noted[i]++ < MOST_NOTED)
				rc = note_difference(f, c, &c->m[i], k, want, err);
		}
	}
	return rc;
}

/* Finds ranks that never arrive: the others' last collective runs to the end of their traces and
 * takes ten times as long as usual, and these ranks lack it.
 */
static int find_missing(struct nsx_fleet *f, struct nsx_fcomm *c, struct nsx_err *err)
{
	size_t k = c->end - 1, n = 0;
	double usual[NSX_SAMPLES], usual_ns;
	uint32_t there = 0, stuck = 0;
	struct nsx_coll x;

	for (size_t j = c->first; j < k && n < NSX_SAMPLES; j++)
		if (nsx_coll_at(c->m, j, &x))
			usual[n++] = (double)x.ns;
	usual_ns = nsx_median_of(usual, n);
	for (const struct nsx_fmember *m = c->m; m < c->m + c->n; m++)
		if (nsx_coll_at(m, k, &x)) {
			there++;
			stuck += nsx_member_at(m, k) + 1 == m->c->n && n &&
				 (double)x.ns > 10 * usual_ns &&
				 f->rank[m->rank].d->last_ns - nsx_end_of(&x) < 1000000;
		}
	if (there == c->n || stuck < there || there * 2 < c->n)
		return 0;
	for (const struct nsx_fmember *m = c->m; m < c->m + c->n; m++) {
		struct nsx_desync d = {NSX_DESYNC_NOT_ENTERED, (uint32_t)(c - f->comm), m->rank, k,
				       vote_op(c, k, NULL), NULL, false};

		if (nsx_member_at(m, k) == SIZE_MAX &&
		    nsx_push(f->desync, f->ndesyncs, f->cap_desyncs, "differences", err, d))
			return err->rc;
	}
	return 0;
}

int nsx_find_desyncs(struct nsx_fleet *f, struct nsx_fcomm *c, struct nsx_err *err)
{
	if (c->end == c->first)
		return 0;
	return compare_ops(f, c, err) ?: c->m->c->has_times ? find_missing(f, c, err) : 0;
}
