/* span.h - interval arithmetic on half-open spans [start, end).
 *
 * A list is sorted and disjoint and has no empty spans, unless a function says otherwise. Functions
 * are pure and take linear time.
 */
#pragma once

#include "base/pack.h"

struct nsx_span {
	int64_t start_ns, end_ns;
};
struct nsx_spans {
	struct nsx_span *v; /* NULL: packed, use nsx_span_at                 */
	size_t n;
	struct nsx_packed start, length;
};
static inline int64_t nsx_span_start(const struct nsx_spans *s, size_t i)
{
	return s->v ? s->v[i].start_ns : nsx_unpack(&s->start, i);
}
static inline struct nsx_span nsx_span_at(const struct nsx_spans *s, size_t i)
{
	int64_t start_ns;

	if (s->v)
		return s->v[i];
	start_ns = nsx_unpack(&s->start, i);
	return (struct nsx_span){start_ns,
				 start_ns + nsx_unpack(&s->length, i)};
}
/* Packs a long-lived list to a third of its size. Takes over v, which must be on the arena. */
int nsx_spans_pack(struct nsx_arena *a, struct nsx_spans *s, struct nsx_err *err) NSX_CHECKED;
/* Frees a list packed on the arena. */
void nsx_spans_drop(struct nsx_arena *a, struct nsx_spans *s);

/* Appends a span whose start is not before that of the last one; merges it if it touches or
 * overlaps. v must have room.
 */
void nsx_spans_push(struct nsx_spans *s, int64_t start_ns, int64_t end_ns);

int64_t nsx_spans_total(const struct nsx_spans *s);
/* Return the total length of the intersection, and of a without b. */
int64_t nsx_spans_overlap(const struct nsx_spans *a, const struct nsx_spans *b);
int64_t nsx_spans_minus_total(const struct nsx_spans *a, const struct nsx_spans *b);

/* Set operations into new lists on arena a. Errors: NSX_E_NOMEM. */
int nsx_spans_union(struct nsx_arena *a, const struct nsx_spans *x,
		    const struct nsx_spans *y, struct nsx_spans *ret,
		    struct nsx_err *err) NSX_CHECKED;
int nsx_spans_minus(struct nsx_arena *a, const struct nsx_spans *x,
		    const struct nsx_spans *y, struct nsx_spans *ret,
		    struct nsx_err *err) NSX_CHECKED;
int nsx_spans_intersect(struct nsx_arena *a, const struct nsx_spans *x,
			const struct nsx_spans *y, struct nsx_spans *ret,
			struct nsx_err *err) NSX_CHECKED;
/* Finds the gaps of s in [start, end): its maximal uncovered parts. */
int nsx_spans_gaps(struct nsx_arena *a, const struct nsx_spans *s,
		   int64_t start_ns, int64_t end_ns, struct nsx_spans *ret,
		   struct nsx_err *err) NSX_CHECKED;
/* Sorts and merges a list in any order, in place; n shrinks. Not for packed lists. */
void nsx_spans_normalise(struct nsx_spans *s);

/* The index of the first span that ends after t; s->n if there is none. O(log n). */
size_t nsx_spans_find(const struct nsx_spans *s, int64_t t);

/* The length of s inside [start, end), for queries whose starts do not decrease. *cursor begins at
 * 0. Linear over all queries as long as they overlap little.
 */
int64_t nsx_spans_covered(const struct nsx_spans *s, size_t *cursor,
			  int64_t start_ns, int64_t end_ns);

/* Computes prefix sums of the lengths, at every eighth span (one byte per span). Owner: the arena.
 */
int nsx_spans_prefix(struct nsx_arena *a, const struct nsx_spans *s,
		     int64_t **ret, struct nsx_err *err) NSX_CHECKED;
/* The length of s inside [start, end), for queries in any order. O(log n). */
int64_t nsx_spans_within(const struct nsx_spans *s, const int64_t *prefix,
			 int64_t start_ns, int64_t end_ns);
/* The total of the first n spans. */
int64_t nsx_spans_first(const struct nsx_spans *s, const int64_t *prefix, size_t n);

/* The two latest ends so far among different groups; an unused place holds NSX_NONE and INT64_MIN.
 */
struct nsx_latest {
	uint32_t group[2];
	int64_t end_ns[2];
};
#define NSX_LATEST {{NSX_NONE, NSX_NONE}, {INT64_MIN, INT64_MIN}}
void nsx_latest_add(struct nsx_latest *l, uint32_t group, int64_t end_ns);

/* Computes how long each group of spans ran, and how long it ran alone. Spans are the rows [at, at
 * + n) of the columns, in order of start. Spans of group NSX_NONE add no time, but others beside
 * them do not run alone. The times are added to by_group, so that several lists (devices) can be
 * summed. end_ns: scratch, one for each group.
 */
struct nsx_group_time {
	int64_t busy_ns, exclusive_ns;
};
void nsx_group_times(const struct nsx_packed *start,
		     const struct nsx_packed *length, const uint32_t *group,
		     size_t at, size_t n, struct nsx_group_time *by_group, int64_t *end_ns);
