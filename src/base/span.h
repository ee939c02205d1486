/* span.h - interval arithmetic on half-open spans [start, end).
 *
 * A list is sorted, disjoint and without empty spans unless said otherwise;
 * "hull", "union", "gap", "overlap" mean what they mean everywhere here.
 * Pure functions; linear in their input.
 */
#ifndef NSX_SPAN_H
#define NSX_SPAN_H

#include "base/pack.h"

struct nsx_span {
	int64_t start_ns, end_ns;
};
struct nsx_spans {
	struct nsx_span *v; /* NULL: packed, read with nsx_span_at           */
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
/* For long lists that stay: a third of the room.  v is on the arena, and gone. */
int nsx_spans_pack(struct nsx_arena *a, struct nsx_spans *s,
		   struct nsx_err *err) NSX_CHECKED;
/* Gives back a list that was packed on the arena. */
void nsx_spans_drop(struct nsx_arena *a, struct nsx_spans *s);

/* Collects spans that come in order of start and merges what touches or
 * overlaps, with a running maximum of the end. Room must suffice.
 */
void nsx_spans_push(struct nsx_spans *s, int64_t start_ns, int64_t end_ns);

int64_t nsx_spans_total(const struct nsx_spans *s);
/* |a n b|, |a \ b| */
int64_t nsx_spans_overlap(const struct nsx_spans *a, const struct nsx_spans *b);
int64_t nsx_spans_minus_total(const struct nsx_spans *a,
			      const struct nsx_spans *b);

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
/* Maximal parts of [start, end) that s does not cover. */
int nsx_spans_gaps(struct nsx_arena *a, const struct nsx_spans *s,
		   int64_t start_ns, int64_t end_ns, struct nsx_spans *ret,
		   struct nsx_err *err) NSX_CHECKED;
/* Sorts and merges any list that is not packed in place (n shrinks). */
void nsx_spans_normalise(struct nsx_spans *s);

/* Index of the first span that ends after t; s->n if none. O(log n). */
size_t nsx_spans_find(const struct nsx_spans *s, int64_t t);

/* |s n [start, end)| for queries whose start does not decrease: *cursor
 * begins at 0 and is advanced. Linear over a whole sequence of queries as long
 * as they do not overlap much.
 */
int64_t nsx_spans_covered(const struct nsx_spans *s, size_t *cursor,
			  int64_t start_ns, int64_t end_ns);

/* The same for queries in any order: O(log n) with prefix sums of the spans, of
 * every eighth, which costs a byte a span.  Build once.  Owner: arena.
 */
int nsx_spans_prefix(struct nsx_arena *a, const struct nsx_spans *s,
		     int64_t **ret, struct nsx_err *err) NSX_CHECKED;
int64_t nsx_spans_within(const struct nsx_spans *s, const int64_t *prefix,
			 int64_t start_ns, int64_t end_ns);
/* Total of the first n spans. */
int64_t nsx_spans_first(const struct nsx_spans *s, const int64_t *prefix,
			size_t n);

/* The two latest ends among distinct groups that have begun; who has none is
 * NSX_NONE at INT64_MIN.
 */
struct nsx_latest {
	uint32_t group[2];
	int64_t end_ns[2];
};
#define NSX_LATEST {{NSX_NONE, NSX_NONE}, {INT64_MIN, INT64_MIN}}
void nsx_latest_add(struct nsx_latest *l, uint32_t group, int64_t end_ns);

/* How long each group of spans ran, and how long alone.  Spans are the rows
 * [at, at + n) of the columns, in order of start; group NSX_NONE is counted
 * nowhere, but who runs beside it does not run alone.  Adds to what by_group
 * holds, so that several lists (devices) can be summed; end_ns: scratch, by group.
 * One sweep: a group's union needs only its running end.
 */
struct nsx_group_time {
	int64_t busy_ns, exclusive_ns;
};
void nsx_group_times(const struct nsx_packed *start,
		     const struct nsx_packed *length, const uint32_t *group,
		     size_t at, size_t n, struct nsx_group_time *by_group,
		     int64_t *end_ns);

#endif
