/* sort.c - sorts almost sorted arrays by merging their runs: often an array holds the rows of a few
 * threads or streams one after the other, each in order of time. Sorts large arrays by radix sort
 * of a key.
 */
#include "base/keyed.h"

enum {
	MAX_RUNS = 1024, /* with more runs, libc's sort needs few more comparisons */
	FEW = 256,     /* with fewer elements, radix sort does not pay */
};

struct order {
	int (*cmp)(const void *, const void *, void *);
	void *context;
	size_t size; /* size of an element, in bytes */
};

static int sort_compare(const struct order *o, const char *a, const char *b)
{
	return o->cmp(a, b, o->context);
}

/* Finds where the ascending runs of v end, in bytes. Returns their number; 0 if there are too many.
 */
static size_t sort_find_runs(const struct order *o, const char *v, size_t bytes,
			     size_t ends[MAX_RUNS])
{
	size_t n = 0;

	for (size_t at = o->size; at < bytes; at += o->size) {
		if (sort_compare(o, v + at - o->size, v + at) <= 0)
			continue;
		if (n + 1 == MAX_RUNS)
			return 0;
		ends[n++] = at;
	}
	ends[n++] = bytes;
	return n;
}

static char *sort_append(char *to, const char *from, const char *end)
{
	memcpy(to, from, (size_t)(end - from));
	return to + (end - from);
}

/* Stable merge of the runs [a, b) and [b, end). */
static void sort_merge(const struct order *o, const char *a, const char *b,
		       const char *end, char *to)
{
	const char *a_end = b;

	while (a < a_end && b < end) {
		const char *from = a;

		while (a < a_end && sort_compare(o, a, b) <= 0)
			a += o->size;
		to = sort_append(to, from, a);
		from = b;
		while (a < a_end && b < end && sort_compare(o, a, b) > 0)
			b += o->size;
		to = sort_append(to, from, b);
	}
	to = sort_append(to, a, a_end);
	sort_append(to, b, end);
}

/* Merges runs from v to spare and back until one is left; returns the array that holds it. */
static char *sort_merge_runs(const struct order *o, char *v, char *spare, size_t *ends, size_t n)
{
	while (n > 1) {
		size_t out = 0, begin = 0;
		char *swap = v;

		for (size_t r = 0; r < n; r += 2) {
			size_t mid = ends[r], end = r + 1 < n ? ends[r + 1] : mid;

			sort_merge(o, v + begin, v + mid, v + end, spare + begin);
			begin = ends[out++] = end;
		}
		n = out;
		v = spare;
		spare = swap;
	}
	return v;
}

void nsx_sort_r(void *v, size_t n, size_t size,
		int (*cmp)(const void *, const void *, void *), void *context)
{
	struct order o = {cmp, context, size};
	size_t ends[MAX_RUNS], nruns;
	char *spare, *sorted;

	if (n < 2)
		return;
	nruns = sort_find_runs(&o, v, n * size, ends);
	if (nruns == 1)
		return;
	spare = nruns ? malloc(n * size) : NULL;
	if (!spare) {
		qsort_r(v, n, size, cmp, context);
		return;
	}
	sorted = sort_merge_runs(&o, v, spare, ends, nruns);
	if (sorted != v)
		memcpy(v, sorted, n * size);
	free(spare);
}

struct plain {
	int (*cmp)(const void *, const void *);
};

static int compare_plain(const void *a, const void *b, void *plain)
{
	return ((const struct plain *)plain)->cmp(a, b);
}

void nsx_sort(void *v, size_t n, size_t size, int (*cmp)(const void *, const void *))
{
	struct plain plain = {cmp};

	nsx_sort_r(v, n, size, compare_plain, &plain);
}

/* Moves element v[order[i].at] to v[i] for all i. spare: room for one element. */
static void sort_permute(char *v, size_t size, struct nsx_brief *order, size_t n, char *spare)
{
	if (size == sizeof(order->at)) { /* faster, because no step waits for the one before */
		for (size_t i = 0; i < n; i++)
			memcpy(&order[i].at, v + order[i].at * size, size);
		for (size_t i = 0; i < n; i++)
			memcpy(v + i * size, &order[i].at, size);
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint32_t to = i, from = order[i].at;

		if (from == i)
			continue;
		memcpy(spare, v + i * size, size);
		for (; from != i; to = from, from = order[to].at) {
			memcpy(v + to * size, v + from * size, size);
			order[to].at = to;
		}
		memcpy(v + to * size, spare, size);
		order[to].at = to;
	}
}

struct by_key {
	int64_t (*key)(const void *, void *);
	void *context;
	size_t size; /* size of an element, in bytes */
	uint64_t least;
	unsigned rest; /* number of low bits that the 32-bit key leaves out */
	unsigned shift; /* number of low bits that do not choose the part */
};

static uint64_t key_at(const struct by_key *k, const char *v, size_t i)
{
	return ((uint64_t)k->key(v + i * k->size, k->context) ^ UINT64_C(1) << 63) - k->least;
}

/* Elements are divided by the leading bits of their keys into parts, which are sorted one by one,
 * so that scratch memory is needed only for the largest part.
 */
enum { PART_BITS = 11, NPARTS = 1 << PART_BITS, LEAST_PART = 1 << 12 };

/* Sets at[p + 1] to the end of part p. */
static void count_parts(struct by_key *k, const char *v, size_t n, uint32_t at[NPARTS + 1])
{
	uint64_t least = UINT64_MAX, most = 0;

	for (size_t i = 0; i < n; i++) {
		uint64_t key = key_at(k, v, i);

		least = NSX_MIN(least, key);
		most = NSX_MAX(most, key);
	}
	k->least = least;
	while ((most - least) >> k->rest > UINT32_MAX)
		k->rest++;
	while ((most - least) >> k->shift >= NPARTS)
		k->shift++;
	for (size_t i = 0; i < n; i++)
		at[(key_at(k, v, i) >> k->shift) + 1]++;
	for (size_t i = 0; i < NPARTS; i++)
		at[i + 1] += at[i];
}

/* Moves the parts that hold the first `most` elements to the front and reduces `at` to
 * them. Returns their number of elements.
 */
static size_t move_first_parts(const struct by_key *k, char *v, size_t n, size_t most,
			       uint32_t at[NPARTS + 1])
{
	uint32_t last = NSX_SEARCH(0, NPARTS, mid, at[mid + 1] < most);
	size_t kept = at[last + 1], i = 0, behind = kept;
	char *spare = kept < n ? malloc(k->size) : NULL;

	if (!spare)
		return n;
	for (; behind < n; behind++) {
		if (key_at(k, v, behind) >> k->shift > last)
			continue;
		while (key_at(k, v, i) >> k->shift <= last)
			i++;
		memcpy(spare, v + i * k->size, k->size);
		memcpy(v + i * k->size, v + behind * k->size, k->size);
		memcpy(v + behind * k->size, spare, k->size);
	}
	free(spare);
	for (size_t p = last + 1; p < NPARTS; p++)
		at[p + 1] = (uint32_t)kept;
	return kept;
}

/* Sorts the elements by 32 bits of their keys into order; false if memory is out. */
static bool order_by_key(const struct by_key *k, const char *v, size_t n,
			 uint32_t at[NPARTS + 1], struct nsx_brief *order)
{
	size_t most = LEAST_PART, begin = 0;
	struct nsx_brief *spare;

	for (size_t p = 0; p < NPARTS; p++)
		most = NSX_MAX(most, (size_t)at[p + 1] - at[p]);
	spare = malloc(most * sizeof(*spare));
	if (!spare)
		return false;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = key_at(k, v, i);

		order[at[key >> k->shift]++] = (struct nsx_brief){(uint32_t)(key >> k->rest), i};
	}
	for (size_t p = 0; p < NPARTS; p++) /* at[p] is the end of part p from here on */
		if (p + 1 == NPARTS || at[p + 1] - begin > most) {
			nsx_brief_sort(order + begin, spare, at[p] - begin);
			begin = at[p];
		}
	free(spare);
	return true;
}

void nsx_sort_by_key_r(void *v, size_t n, size_t most, size_t size,
		       int64_t (*key)(const void *, void *),
		       int (*cmp)(const void *, const void *, void *), void *context)
{
	struct by_key by = {.key = key, .context = context, .size = size};
	uint32_t at[NPARTS + 1] = {0};
	struct nsx_brief *order = NULL;

	if (n > FEW && n < UINT32_MAX) {
		count_parts(&by, v, n, at);
		if (most < n)
			n = move_first_parts(&by, v, n, most, at);
		order = malloc(n * sizeof(*order) + size);
	}
	if (!order || !order_by_key(&by, v, n, at, order)) {
		free(order);
		nsx_sort_r(v, n, size, cmp, context);
		return;
	}
	sort_permute(v, size, order, n, (char *)(order + n));
	NSX_EACH_RUN(i, next, n, order[next].key == order[i].key) {
		char *run = (char *)v + i * size;

		if (i >= most)
			break;
		if (by.rest && next - i > 1)
			nsx_sort_by_key_r(run, next - i, most - i, size, key, cmp, context);
		else
			nsx_sort_r(run, next - i, size, cmp, context);
	}
	free(order);
}

void nsx_sort_indices(uint32_t *v, size_t n, int (*cmp)(const void *, const void *, void *),
		      void *context)
{
	for (size_t i = 0; i < n; i++)
		v[i] = (uint32_t)i;
	nsx_sort_r(v, n, sizeof(*v), cmp, context);
}
