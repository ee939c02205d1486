/* spanlist.c - unions of time spans of threads. */
#include "facts/replay/spanlist.h"

int span_list_add(struct span_list *s, uint32_t thread, int64_t start_ns,
		  int64_t end_ns, struct nsx_err *err)
{
	return end_ns <= start_ns ? 0 :
	       nsx_push(s->v, s->n, s->cap, "stretches of threads", err,
			(struct thread_span){thread, {start_ns, end_ns}});
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
			last->span.end_ns = NSX_MAX(last->span.end_ns, s->v[i].span.end_ns);
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

size_t span_list_find(const struct span_list *s, uint32_t thread, int64_t at_ns)
{
	return NSX_SEARCH(0, s->n, mid, s->v[mid].thread < thread ||
			  (s->v[mid].thread == thread &&
			   s->v[mid].span.end_ns <= at_ns));
}

bool span_list_has(const struct span_list *s, uint32_t thread, int64_t at_ns)
{
	size_t i = span_list_find(s, thread, at_ns);

	return i < s->n && s->v[i].thread == thread && s->v[i].span.start_ns <= at_ns;
}

bool span_list_next(const struct span_list *s, uint32_t thread,
		    struct nsx_span in, size_t *at, struct nsx_span *ret)
{
	const struct thread_span *x;

	if (*at == s->n)
		return false;
	x = &s->v[*at];
	if (x->thread != thread || x->span.start_ns >= in.end_ns)
		return false;
	*ret = (struct nsx_span){NSX_MAX(x->span.start_ns, in.start_ns),
				 NSX_MIN(x->span.end_ns, in.end_ns)};
	++*at;
	return true;
}

int64_t span_list_within(const struct span_list *s, uint32_t thread, struct nsx_span span)
{
	struct nsx_span part;
	int64_t ns = 0;

	for (size_t at = span_list_find(s, thread, span.start_ns);
	     span_list_next(s, thread, span, &at, &part);)
		ns += part.end_ns - part.start_ns;
	return ns;
}

int64_t span_list_common(const struct span_list *s, const struct span_list *t,
			 uint32_t thread, struct nsx_span span)
{
	struct nsx_span part;
	int64_t ns = 0;

	for (size_t at = span_list_find(s, thread, span.start_ns);
	     span_list_next(s, thread, span, &at, &part);)
		ns += span_list_within(t, thread, part);
	return ns;
}
