/* span.c - interval arithmetic: each set operation sweeps once over both lists. */
#include "base/span.h"

void nsx_spans_push(struct nsx_spans *s, int64_t start_ns, int64_t end_ns)
{
	struct nsx_span *last = s->n ? &s->v[s->n - 1] : NULL;

	if (start_ns >= end_ns)
		return;
	if (last && start_ns <= last->end_ns)
		last->end_ns = NSX_MAX(last->end_ns, end_ns);
	else
		s->v[s->n++] = (struct nsx_span){start_ns, end_ns};
}

int nsx_spans_pack(struct nsx_arena *a, struct nsx_spans *s, struct nsx_err *err)
{
	_Static_assert(sizeof(*s->v) == 2 * sizeof(int64_t), "spans are pairs");
	if (nsx_pack_pairs(a, &s->v->start_ns, s->n, "spans", &s->start, &s->length, err))
		return err->rc;
	nsx_arena_drop(a, s->v);
	s->v = NULL;
	return 0;
}

void nsx_spans_drop(struct nsx_arena *a, struct nsx_spans *s)
{
	nsx_pack_drop(a, &s->start);
	nsx_pack_drop(a, &s->length);
	s->n = 0;
}

static int64_t span_length_at(const struct nsx_spans *s, size_t i)
{
	return s->v ? s->v[i].end_ns - s->v[i].start_ns : nsx_unpack(&s->length, i);
}

int64_t nsx_spans_total(const struct nsx_spans *s)
{
	int64_t sum = 0;

	for (size_t i = 0; i < s->n; i++)
		sum += span_length_at(s, i);
	return sum;
}

/* The set operations hand their pieces, in order, to a sink. Inputs can be huge and results
 * small, so each operation runs twice: it counts, then fills an array of that size.
 */
struct sink {
	struct nsx_spans out; /* v NULL: counting */
	int64_t last_end_ns;  /* end of the last piece counted */
	int64_t total_ns;
};

static void hand_piece_to_sink(struct sink *k, int64_t a, int64_t b)
{
	if (a >= b)
		return;
	if (k->out.v) {
		nsx_spans_push(&k->out, a, b);
		return;
	}
	k->total_ns += b - a;
	k->out.n += !k->out.n || a > k->last_end_ns;
	k->last_end_ns = NSX_MAX(k->last_end_ns, b);
}

typedef void (*set_op)(const struct nsx_spans *x, const struct nsx_spans *y, struct sink *k);

static struct nsx_span span_or_empty(const struct nsx_spans *s, size_t i)
{
	return i < s->n ? nsx_span_at(s, i) : (struct nsx_span){0, 0};
}

static void op_intersect(const struct nsx_spans *x, const struct nsx_spans *y, struct sink *k)
{
	struct nsx_span p = span_or_empty(x, 0), q = span_or_empty(y, 0);

	for (size_t i = 0, j = 0; i < x->n && j < y->n;) {
		hand_piece_to_sink(k, NSX_MAX(p.start_ns, q.start_ns), NSX_MIN(p.end_ns, q.end_ns));
		if (p.end_ns < q.end_ns)
			p = span_or_empty(x, ++i);
		else
			q = span_or_empty(y, ++j);
	}
}

static void op_union(const struct nsx_spans *x, const struct nsx_spans *y, struct sink *k)
{
	struct nsx_span p = span_or_empty(x, 0), q = span_or_empty(y, 0);

	for (size_t i = 0, j = 0; i < x->n || j < y->n;) {
		if (j == y->n || (i < x->n && p.start_ns <= q.start_ns)) {
			hand_piece_to_sink(k, p.start_ns, p.end_ns);
			p = span_or_empty(x, ++i);
		} else {
			hand_piece_to_sink(k, q.start_ns, q.end_ns);
			q = span_or_empty(y, ++j);
		}
	}
}

static void op_minus(const struct nsx_spans *x, const struct nsx_spans *y, struct sink *k)
{
	struct nsx_span q = span_or_empty(y, 0);

	for (size_t i = 0, j = 0; i < x->n; i++) {
		struct nsx_span p = nsx_span_at(x, i);
		int64_t at = p.start_ns;

		while (j < y->n && q.end_ns <= at)
			q = span_or_empty(y, ++j);
		for (; j < y->n && q.start_ns < p.end_ns; q = span_or_empty(y, ++j)) {
			hand_piece_to_sink(k, at, q.start_ns);
			at = NSX_MAX(at, q.end_ns);
			if (q.end_ns > p.end_ns)
				break; /* this span may overlap the next span of x */
		}
		hand_piece_to_sink(k, at, p.end_ns);
	}
}

static int run_set_op(set_op op, struct nsx_arena *a, const struct nsx_spans *x,
		      const struct nsx_spans *y, struct nsx_spans *ret, struct nsx_err *err)
{
	struct sink count = {.last_end_ns = INT64_MIN}, fill = {.total_ns = 0};

	op(x, y, &count);
	if (!nsx_new_array(fill.out.v, a, count.out.n, "spans", err))
		return err->rc;
	op(x, y, &fill);
	*ret = fill.out;
	return 0;
}

int64_t nsx_spans_overlap(const struct nsx_spans *a, const struct nsx_spans *b)
{
	struct sink count = {.last_end_ns = INT64_MIN};

	op_intersect(a, b, &count);
	return count.total_ns;
}

int64_t nsx_spans_minus_total(const struct nsx_spans *a, const struct nsx_spans *b)
{
	return nsx_spans_total(a) - nsx_spans_overlap(a, b);
}

int nsx_spans_union(struct nsx_arena *a, const struct nsx_spans *x,
		    const struct nsx_spans *y, struct nsx_spans *ret, struct nsx_err *err)
{
	return run_set_op(op_union, a, x, y, ret, err);
}

int nsx_spans_intersect(struct nsx_arena *a, const struct nsx_spans *x,
			const struct nsx_spans *y, struct nsx_spans *ret, struct nsx_err *err)
{
	return run_set_op(op_intersect, a, x, y, ret, err);
}

int nsx_spans_minus(struct nsx_arena *a, const struct nsx_spans *x,
		    const struct nsx_spans *y, struct nsx_spans *ret, struct nsx_err *err)
{
	return run_set_op(op_minus, a, x, y, ret, err);
}

int nsx_spans_gaps(struct nsx_arena *a, const struct nsx_spans *s,
		   int64_t start_ns, int64_t end_ns, struct nsx_spans *ret, struct nsx_err *err)
{
	struct nsx_span whole = {start_ns, end_ns};
	struct nsx_spans x = {.v = &whole, .n = start_ns < end_ns};

	return nsx_spans_minus(a, &x, s, ret, err);
}

NSX_ORDER(cmp_start, struct nsx_span, UP(start_ns));

void nsx_spans_normalise(struct nsx_spans *s)
{
	struct nsx_spans out = {.v = s->v};

	nsx_sort(s->v, s->n, sizeof(*s->v), cmp_start);
	for (size_t i = 0; i < s->n; i++) {
		struct nsx_span one = s->v[i];

		nsx_spans_push(&out, one.start_ns, one.end_ns);
	}
	s->n = out.n;
}

size_t nsx_spans_find(const struct nsx_spans *s, int64_t t)
{
	size_t lo = 0, hi = s->n, block = 0;
	size_t nblocks = s->v ? 0 : (s->n + NSX_PACK_BLOCK - 1) / NSX_PACK_BLOCK;

	/* The least start of a block is its first one. */
	NSX_BISECT(block, nblocks, mid, s->start.blocks[mid].least <= t);
	if (!s->v) {
		hi = NSX_MIN(block * NSX_PACK_BLOCK, s->n);
		lo = block ? (block - 1) * NSX_PACK_BLOCK : 0;
	}
	NSX_BISECT(lo, hi, mid, nsx_span_start(s, mid) <= t);
	return lo && nsx_span_at(s, lo - 1).end_ns > t ? lo - 1 : lo;
}

int64_t nsx_spans_covered(const struct nsx_spans *s, size_t *cursor,
			  int64_t start_ns, int64_t end_ns)
{
	int64_t sum = 0;

	while (*cursor < s->n && nsx_span_at(s, *cursor).end_ns <= start_ns)
		++*cursor;
	for (size_t i = *cursor; i < s->n; i++) {
		struct nsx_span x = nsx_span_at(s, i);

		if (x.start_ns >= end_ns)
			break;
		sum += NSX_MIN(end_ns, x.end_ns) - NSX_MAX(start_ns, x.start_ns);
	}
	return sum;
}

enum { PREFIX_STEP = 8 };

int nsx_spans_prefix(struct nsx_arena *a, const struct nsx_spans *s,
		     int64_t **ret, struct nsx_err *err)
{
	int64_t *p = nsx_arena_try_array(a, s->n / PREFIX_STEP + 1, sizeof(*p), "span sums", err);
	int64_t sum_ns = 0;

	if (!p)
		return err->rc;
	for (size_t i = 0; i < s->n; i++) {
		if (i % PREFIX_STEP == 0)
			p[i / PREFIX_STEP] = sum_ns;
		sum_ns += span_length_at(s, i);
	}
	if (s->n % PREFIX_STEP == 0)
		p[s->n / PREFIX_STEP] = sum_ns;
	*ret = p;
	return 0;
}

int64_t nsx_spans_first(const struct nsx_spans *s, const int64_t *prefix, size_t n)
{
	int64_t ns = prefix[n / PREFIX_STEP];

	for (size_t k = n / PREFIX_STEP * PREFIX_STEP; k < n; k++)
		ns += span_length_at(s, k);
	return ns;
}

/* The total length of s before time t. */
static int64_t length_before(const struct nsx_spans *s, const int64_t *prefix, int64_t t)
{
	size_t i = nsx_spans_find(s, t);
	int64_t ns = nsx_spans_first(s, prefix, i);

	if (i < s->n && nsx_span_start(s, i) < t)
		ns += t - nsx_span_start(s, i);
	return ns;
}

int64_t nsx_spans_within(const struct nsx_spans *s, const int64_t *prefix,
			 int64_t start_ns, int64_t end_ns)
{
	size_t i = start_ns < end_ns ? nsx_spans_find(s, start_ns) : s->n;
	struct nsx_span first;

	if (i == s->n)
		return 0;
	first = nsx_span_at(s, i);
	if (end_ns <= first.end_ns) /* most queries are short */
		return NSX_MAX(0, end_ns - NSX_MAX(start_ns, first.start_ns));
	return length_before(s, prefix, end_ns) - length_before(s, prefix, start_ns);
}

void nsx_latest_add(struct nsx_latest *l, uint32_t group, int64_t end_ns)
{
	if (group == l->group[0]) {
		l->end_ns[0] = NSX_MAX(l->end_ns[0], end_ns);
	} else if (end_ns > l->end_ns[0]) {
		l->group[1] = l->group[0];
		l->end_ns[1] = l->end_ns[0];
		l->group[0] = group;
		l->end_ns[0] = end_ns;
	} else if (end_ns > l->end_ns[1]) {
		l->group[1] = group;
		l->end_ns[1] = end_ns;
	}
}

/* From the second latest end to the latest end, the latest group runs alone, because no other span
 * that has begun ends later than the second.
 */
void nsx_group_times(const struct nsx_packed *start,
		     const struct nsx_packed *length, const uint32_t *group,
		     size_t at, size_t n, struct nsx_group_time *by_group, int64_t *end_ns)
{
	size_t end = at + n;
	struct nsx_latest l = NSX_LATEST;

	for (size_t i = at; i < end; i++)
		if (group[i] != NSX_NONE)
			end_ns[group[i]] = INT64_MIN;
	for (size_t i = at; i < end; i++) {
		int64_t a = nsx_unpack(start, i);
		int64_t b = a + nsx_unpack(length, i);
		int64_t next = i + 1 < end ? nsx_unpack(start, i + 1) : INT64_MAX;
		int64_t from, to;

		if (group[i] != NSX_NONE && b > end_ns[group[i]]) {
			by_group[group[i]].busy_ns += b - NSX_MAX(a, end_ns[group[i]]);
			end_ns[group[i]] = b;
		}
		if (b > a)
			nsx_latest_add(&l, group[i], b);
		from = NSX_MAX(a, l.end_ns[1]);
		to = NSX_MIN(next, l.end_ns[0]);
		if (l.group[0] != NSX_NONE && from < to)
			by_group[l.group[0]].exclusive_ns += to - from;
	}
}
