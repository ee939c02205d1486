/* spanlist.h - lists of disjoint time spans of threads, sorted by thread and start. */
#pragma once

#include "base/span.h"

struct span_list {
	struct thread_span {
		uint32_t thread; /* index of the trace */
		struct nsx_span span;
	} *v;
	size_t n, cap;
};

/* Adds spans in any order. span_list_sort then merges spans of a thread that touch or overlap. */
int span_list_add(struct span_list *s, uint32_t thread, int64_t start_ns,
		  int64_t end_ns, struct nsx_err *err) NSX_CHECKED;
void span_list_sort(struct span_list *s);
void span_list_done(struct span_list *s);

/* Whether a span of the thread contains at_ns. From here on lists must be sorted. O(log n). */
bool span_list_has(const struct span_list *s, uint32_t thread, int64_t at_ns);
/* The index of the thread's first span that ends after at_ns; else of the next thread's first span.
 */
size_t span_list_find(const struct span_list *s, uint32_t thread, int64_t at_ns);
/* Iterates over the parts of a thread's span `in` that the list covers. *at begins at
 * span_list_find(s, thread, in.start_ns).
 */
bool span_list_next(const struct span_list *s, uint32_t thread,
		    struct nsx_span in, size_t *at, struct nsx_span *ret);
/* The length of a thread's span that the list covers. */
int64_t span_list_within(const struct span_list *s, uint32_t thread, struct nsx_span span);
/* The length of a thread's span that both lists cover. */
int64_t span_list_common(const struct span_list *s, const struct span_list *t,
			 uint32_t thread, struct nsx_span span);
