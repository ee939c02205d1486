/* spanlist.c - stretches of threads. */
#include <stdlib.h>
#include "facts/replay/spanlist.h"

int span_list_add(struct span_list *s, uint32_t thread, int64_t start_ns,
		  int64_t end_ns, struct nsx_err *err)
{
	if (end_ns <= start_ns)
		return 0;
	if (nsx_grow(&s->v, &s->cap, s->n + 1, sizeof(*s->v),
		     "stretches of threads", err))
		return err->rc;
	s->v[s->n++] = (struct thread_span){thread, {start_ns, end_ns}};
	return 0;
}

NSX_ORDER(cmp_stretches, struct thread_span, UP(thread), UP(span.start_ns));

void span_list_sort(struct span_list *s)
{
	size_t n = 0;

	nsx_sort(s->v, s->n, sizeof(*s->v), cmp_stretches);
	for (size_t i = 0; i < s->n; i++) {
		struct thread_span *last = n ? &s->v[n - 1] : NULL;

		if (last && last->thread == s->v[i].thread &&
		    s->v[i].span.start_ns <= last->span.end_ns)
			last->span.end_ns = NSX_MAX(last->span.end_ns,
						    s->v[i].span.end_ns);
		else
			s->v[n++] = s->v[i];
	}
	s->n = n;
}

void span_list_done(struct span_list *s)
{
	free(s->v);
	*s = (struct span_list){0};
}

size_t span_list_find(const struct span_list *s, uint32_t thread,
		      int64_t at_ns)
{
	size_t lo = 0, hi = s->n;

	NSX_BISECT(lo, hi, mid,
		   s->v[mid].thread < thread ||
		   (s->v[mid].thread == thread && s->v[mid].span.end_ns <= at_ns));
	return lo;
}

bool span_list_has(const struct span_list *s, uint32_t thread, int64_t at_ns)
{
	size_t i = span_list_find(s, thread, at_ns);

	return i < s->n && s->v[i].thread == thread &&
	       s->v[i].span.start_ns <= at_ns;
}

int64_t span_list_within(const struct span_list *s, uint32_t thread,
			 struct nsx_span span)
{
	int64_t ns = 0;

	for (size_t i = span_list_find(s, thread, span.start_ns);
	     i < s->n && s->v[i].thread == thread &&
	     s->v[i].span.start_ns < span.end_ns; i++)
		ns += NSX_MIN(s->v[i].span.end_ns, span.end_ns) -
		      NSX_MAX(s->v[i].span.start_ns, span.start_ns);
	return ns;
}

int64_t span_list_common(const struct span_list *s, const struct span_list *t,
			 uint32_t thread, struct nsx_span span)
{
	int64_t ns = 0;

	for (size_t i = span_list_find(s, thread, span.start_ns);
	     i < s->n && s->v[i].thread == thread &&
	     s->v[i].span.start_ns < span.end_ns; i++)
		ns += span_list_within(
			t, thread,
			(struct nsx_span){
				NSX_MAX(s->v[i].span.start_ns, span.start_ns),
				NSX_MIN(s->v[i].span.end_ns, span.end_ns)});
	return ns;
}
