/* values.c - bins of a counter's values.
 *
 * Most counters are whole percents and need 101 bins. Others (clocks in Hz, requests) may have a
 * few hundred distinct values, which a hash table holds, or a million, which are put into steps of
 * 1.6 %. The choice depends only on the number of distinct values: a full hash table is moved into
 * steps.
 */
#include "base/str.h"
#include "facts/metrics/values.h"

static void add_bin(struct fold_bin *to, const struct fold_bin *from)
{
	for (unsigned i = 0; i < NSX_NSCOPES; i++)
		to->w_ns[i] += from->w_ns[i];
	for (unsigned i = 0; i < NSX_NSCOPES; i++)
		to->n[i] += from->n[i];
	to->all += from->all;
}

/* Steps --------------------------------------------------------------------*/

static int values_add_step(struct fold_values *v, const struct fold_wide *w, struct nsx_err *err)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll((uint64_t)w->lo);
	struct fold_wide **page = &v->octave[octave - FOLD_FIRST_OCTAVE], *to;

	if (!*page)
		*page = nsx_try_alloc(FOLD_STEPS, sizeof(**page), "values of GPU metrics", err);
	if (!*page)
		return err->rc;
	to = *page + (w->lo >> (octave - 6)) % FOLD_STEPS;
	to->lo = to->bin.all ? NSX_MIN(to->lo, w->lo) : w->lo;
	to->hi = NSX_MAX(to->hi, w->hi);
	add_bin(&to->bin, &w->bin);
	return 0;
}

/* Values one by one ---------------------------------------------------------*/

static struct fold_wide *values_slot_of(const struct fold_values *v, int64_t value)
{
	size_t mask = v->cap_known - 1;
	size_t i = nsx_hash_u64((uint64_t)value) & mask;

	while (v->known[i].bin.all && v->known[i].lo != value)
		i = (i + 1) & mask;
	return &v->known[i];
}

static int grow_known(struct fold_values *v, struct nsx_err *err)
{
	struct fold_values to = {.cap_known = v->cap_known ? 2 * v->cap_known : 64};

	to.known = nsx_try_alloc(to.cap_known, sizeof(*to.known), "values of GPU metrics", err);
	if (!to.known)
		return err->rc;
	for (size_t i = 0; i < v->cap_known; i++)
		if (v->known[i].bin.all)
			*values_slot_of(&to, v->known[i].lo) = v->known[i];
	free(v->known);
	v->known = to.known;
	v->cap_known = to.cap_known;
	return 0;
}

static int move_to_steps(struct fold_values *v, struct nsx_err *err)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < v->cap_known; i++)
		if (v->known[i].bin.all)
			rc = values_add_step(v, &v->known[i], err);
	free(v->known);
	v->known = NULL;
	v->cap_known = v->nknown = 0;
	v->many = true;
	return rc;
}

static int add_wide(struct fold_values *v, const struct fold_wide *w, struct nsx_err *err)
{
	struct fold_wide *slot;

	if (v->many)
		return values_add_step(v, w, err);
	if (v->nknown * 2 >= v->cap_known && grow_known(v, err))
		return err->rc;
	slot = values_slot_of(v, w->lo);
	if (!slot->bin.all && v->nknown == FOLD_KNOWN)
		return move_to_steps(v, err) ? err->rc : values_add_step(v, w, err);
	v->nknown += !slot->bin.all;
	slot->lo = slot->hi = w->lo;
	add_bin(&slot->bin, &w->bin);
	return 0;
}

/* Returns the lesser of two values. 0 stands for no value, because the values counted here are
 * never 0.
 */
static int64_t lesser_nonzero(int64_t a, int64_t b)
{
	return a && b ? NSX_MIN(a, b) : NSX_MAX(a, b);
}

int fold_add_value(struct fold_values *v, int64_t value,
		   const struct fold_bin *share, struct nsx_err *err)
{
	struct fold_wide w;

	if (value < FOLD_SMALL) {
		add_bin(&v->small[value], share);
		return 0;
	}
	w = (struct fold_wide){value, value, *share};
	v->sum += value;
	v->squares += (__int128)value * value;
	for (unsigned i = 0; i < NSX_NSCOPES; i++) {
		v->weighted[i] += (__int128)value * (__int128)share->w_ns[i];
		if (share->w_ns[i])
			v->max[i] = NSX_MAX(v->max[i], value);
		if (!share->n[i])
			continue;
		v->lo[i] = lesser_nonzero(v->lo[i], value);
		v->hi[i] = NSX_MAX(v->hi[i], value);
	}
	return add_wide(v, &w, err);
}

int fold_merge_values(struct fold_values *v, struct fold_values *from, struct nsx_err *err)
{
	int rc = 0;

	for (unsigned i = 0; i < FOLD_SMALL; i++)
		add_bin(&v->small[i], &from->small[i]);
	if (from->many && !v->many)
		rc = move_to_steps(v, err);
	for (size_t i = 0; !rc && i < from->cap_known; i++)
		if (from->known[i].bin.all)
			rc = add_wide(v, &from->known[i], err);
	for (unsigned o = 0; o < FOLD_OCTAVES; o++)
		for (unsigned i = 0; !rc && from->octave[o] && i < FOLD_STEPS; i++)
			if (from->octave[o][i].bin.all)
				rc = values_add_step(v, &from->octave[o][i], err);
	v->sum += from->sum;
	v->squares += from->squares;
	for (unsigned i = 0; i < NSX_NSCOPES; i++) {
		v->weighted[i] += from->weighted[i];
		v->max[i] = NSX_MAX(v->max[i], from->max[i]);
		v->lo[i] = lesser_nonzero(v->lo[i], from->lo[i]);
		v->hi[i] = NSX_MAX(v->hi[i], from->hi[i]);
	}
	return rc;
}

void fold_values_done(struct fold_values *v)
{
	for (unsigned o = 0; o < FOLD_OCTAVES; o++)
		free(v->octave[o]);
	free(v->known);
}

NSX_ORDER(cmp_wide, struct fold_wide, UP(lo));

int fold_list_values(const struct fold_values *v, struct fold_wide **ret,
		     size_t *ret_n, struct nsx_err *err)
{
	size_t n = FOLD_SMALL + v->nknown, at = 0, first;

	for (unsigned o = 0; o < FOLD_OCTAVES; o++)
		n += v->octave[o] ? FOLD_STEPS : 0;
	*ret = nsx_try_alloc(n, sizeof(**ret), "values of GPU metrics", err);
	if (!*ret)
		return err->rc;
	for (int64_t i = 0; i < FOLD_SMALL; i++)
		if (v->small[i].all)
			(*ret)[at++] = (struct fold_wide){i, i, v->small[i]};
	first = at;
	for (size_t i = 0; i < v->cap_known; i++)
		if (v->known[i].bin.all)
			(*ret)[at++] = v->known[i];
	nsx_sort(*ret + first, at - first, sizeof(**ret), cmp_wide);
	for (unsigned o = 0; o < FOLD_OCTAVES; o++)
		for (unsigned i = 0; v->octave[o] && i < FOLD_STEPS; i++)
			if (v->octave[o][i].bin.all)
				(*ret)[at++] = v->octave[o][i];
	*ret_n = at;
	return 0;
}
