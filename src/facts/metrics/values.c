/* values.c - bins of a counter's values.
 *
 * Most counters are whole percents and need 101 bins. Others (clocks in Hz, requests) may have a
 * few hundred distinct values, which are kept one by one, or a million, which are put into steps of
 * 1.6 %. The choice depends only on the number of distinct values.
 */
#include "facts/metrics/values.h"

static void add_bin(struct fold_bin *to, const struct fold_bin *from)
{
	for (unsigned i = 0; i < NSX_NSCOPES; i++)
		to->w_ns[i] += from->w_ns[i];
	for (unsigned i = 0; i < NSX_NSCOPES; i++)
		to->n[i] += from->n[i];
	to->all += from->all;
}

static uint64_t step_of_value(int64_t value)
{
	unsigned octave = 63 - (unsigned)__builtin_clzll((uint64_t)value);

	return (uint64_t)octave * FOLD_STEPS + (uint64_t)(value >> (octave - 6)) % FOLD_STEPS;
}

static int add_wide(struct fold_values *v, const struct fold_wide *w, struct nsx_err *err);

/* Moves the values that are kept one by one into steps. */
static int move_to_steps(struct fold_values *v, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups keys = v->keys;
	NSX_AT_EXIT(nsx_free_at) struct fold_wide *large = v->large;

	v->keys = (struct nsx_groups){0};
	v->large = NULL;
	v->many = true;
	for (size_t i = 0; i < keys.n; i++)
		if (add_wide(v, &large[i], err))
			return err->rc;
	return 0;
}

static int add_wide(struct fold_values *v, const struct fold_wide *w, struct nsx_err *err)
{
	struct fold_wide *to = nsx_group_value(
		&v->keys, &v->large, v->many ? step_of_value(w->lo) : (uint64_t)w->lo, 0,
		"values of GPU metrics", err);

	if (!to)
		return err->rc;
	to->lo = to->bin.all ? NSX_MIN(to->lo, w->lo) : w->lo;
	to->hi = NSX_MAX(to->hi, w->hi);
	add_bin(&to->bin, &w->bin);
	return !v->many && v->keys.n > FOLD_KNOWN ? move_to_steps(v, err) : 0;
}

/* The lesser of two values. 0 stands for no value, because the values counted here are never 0. */
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
	for (size_t i = 0; !rc && i < from->keys.n; i++)
		rc = add_wide(v, &from->large[i], err);
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
	nsx_groups_done(&v->keys);
	free(v->large);
}

NSX_ORDER(cmp_wide, struct fold_wide, UP(lo));

int fold_list_values(const struct fold_values *v, struct fold_wide **ret,
		     size_t *ret_n, struct nsx_err *err)
{
	size_t at = 0;

	*ret = nsx_try_alloc(FOLD_SMALL + v->keys.n, sizeof(**ret), "values of GPU metrics", err);
	if (!*ret)
		return err->rc;
	for (int64_t i = 0; i < FOLD_SMALL; i++)
		if (v->small[i].all)
			(*ret)[at++] = (struct fold_wide){i, i, v->small[i]};
	if (v->keys.n)
		memcpy(*ret + at, v->large, v->keys.n * sizeof(*v->large));
	nsx_sort(*ret + at, v->keys.n, sizeof(**ret), cmp_wide);
	*ret_n = at + v->keys.n;
	return 0;
}
