/* spanlist.h - stretches of threads: unions, by thread and start. */
#ifndef NSX_REPLAY_SPANLIST_H
#define NSX_REPLAY_SPANLIST_H

#include "base/span.h"

struct span_list {
	struct thread_span {
		uint32_t thread; /* of the trace */
		struct nsx_span span;
	} *v;
	size_t n, cap;
};

/* In any order, then sorted once: what touches or overlaps is merged. */
int span_list_add(struct span_list *s, uint32_t thread, int64_t start_ns,
		  int64_t end_ns, struct nsx_err *err) NSX_CHECKED;
void span_list_sort(struct span_list *s);
void span_list_done(struct span_list *s);

/* Sorted lists; O(log n). */
bool span_list_has(const struct span_list *s, uint32_t thread, int64_t at_ns);
/* The first stretch of the thread, or of a later one, that ends after. */
size_t span_list_find(const struct span_list *s, uint32_t thread,
		      int64_t at_ns);
/* What of a span of a thread is in the list, one part after the other; *at
 * begins where its start is found.
 */
bool span_list_next(const struct span_list *s, uint32_t thread,
		    struct nsx_span in, size_t *at, struct nsx_span *ret);
/* How much of a span of a thread the list covers. */
int64_t span_list_within(const struct span_list *s, uint32_t thread,
			 struct nsx_span span);
/* ... and how much both lists do. */
int64_t span_list_common(const struct span_list *s, const struct span_list *t,
			 uint32_t thread, struct nsx_span span);

#endif
