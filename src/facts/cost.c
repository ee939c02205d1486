/* cost.c - one walk over a device's gaps a remedy; see the header. */
#include <stdlib.h>
#include <string.h>
#include "facts/cost.h"
#include "base/group.h"

enum { LONG_GAP_NS = 1000000 };

struct pricing {
	const struct nsx_facts *f;
	const struct nsx_trace *t;
	const struct nsx_window *w;
	enum nsx_remedy remedy;
	struct nsx_spans *loads; /* by thread: NULL v until asked for        */
	struct nsx_spans spans;
	size_t cap;
	uint32_t op; /* that ends the gap                                    */
	struct nsx_groups names; /* (enum what, name)                        */
	int64_t *name_ns;	 /* by group of names                        */
	size_t cap_names;
	struct nsx_span longest[3];
};

enum what { CAUSE, RANGE, AFTER };

/* [start, end) cut to the window. */
static struct nsx_span cut(const struct pricing *p, int64_t start_ns,
			   int64_t end_ns)
{
	return (struct nsx_span){NSX_MAX(start_ns, p->w->start_ns),
				 NSX_MIN(end_ns, p->w->end_ns)};
}

static int add_name(struct pricing *p, enum what what, nsx_str name, int64_t ns,
		    struct nsx_err *err)
{
	uint32_t g;

	if (nsx_group(&p->names, what, name, &g, err) ||
	    nsx_grow(&p->name_ns, &p->cap_names, p->names.n,
		     sizeof(*p->name_ns), "idle causes", err))
		return err->rc;
	p->name_ns[g] += ns;
	return 0;
}

/* Adds [start, end), cut to the window. */
static int add(struct pricing *p, nsx_str name, int64_t start_ns,
	       int64_t end_ns, struct nsx_err *err)
{
	struct nsx_span s = cut(p, start_ns, end_ns);
	int64_t ns = s.end_ns - s.start_ns;
	uint32_t range = p->f->nvtx.op_range[p->op];

	if (ns <= 0)
		return 0;
	if (nsx_grow(&p->spans.v, &p->cap, p->spans.n + 1,
		     sizeof(*p->spans.v), "idle spans", err) ||
	    add_name(p, CAUSE, name, ns, err) ||
	    (range != NSX_NONE &&
	     add_name(p, RANGE, p->t->nvtx.name[range], ns, err)))
		return err->rc;
	nsx_spans_push(&p->spans, s.start_ns, s.end_ns);
	for (unsigned i = 0; i < ARRAY_LEN(p->longest); i++) {
		struct nsx_span *at = &p->longest[i], shorter = *at;

		if (s.end_ns - s.start_ns <= at->end_ns - at->start_ns)
			continue;
		*at = s;
		s = shorter;
	}
	return 0;
}

/* Whether the remedy is to remove a wait of this kind; which implicit ones are
 * loading their names tell.
 */
static bool is_wait_of(enum nsx_remedy remedy, unsigned kind)
{
	switch (kind) {
	case NSX_BARRIER_SYNC_API:
		return remedy == NSX_R_SYNC;
	case NSX_BARRIER_BLOCKING_MEMCPY:
		return remedy == NSX_R_COPY;
	case NSX_BARRIER_IMPLICIT_SYNC:
		return remedy == NSX_R_IMPLICIT || remedy == NSX_R_MODULE;
	default:
		return remedy == NSX_R_OS_WAIT;
	}
}

static int remedy_of_piece(const struct nsx_idle_piece *p, bool is_long)
{
	switch (p->cause) {
	case NSX_CAUSE_SYNC:
		return NSX_R_SYNC;
	case NSX_CAUSE_BLOCKING_COPY:
		return NSX_R_COPY;
	case NSX_CAUSE_IMPLICIT_SYNC:
	case NSX_CAUSE_ALLOC:
		return NSX_R_IMPLICIT;
	case NSX_CAUSE_MODULE:
		return NSX_R_MODULE;
	case NSX_CAUSE_OSRT:
		return NSX_R_OS_WAIT;
	case NSX_CAUSE_OTHER_API:
	case NSX_CAUSE_LAUNCH_CALL:
		return is_long ? NSX_R_API : NSX_R_LAUNCH;
	case NSX_CAUSE_HOST_CODE:
		return is_long ? NSX_R_HOST_CODE : NSX_R_LAUNCH;
	default:
		return -1; /* not the host's, or not known */
	}
}

/* The loading inside calls of a thread, as spans. */
static const struct nsx_spans *loads_of(struct pricing *p, uint32_t thread)
{
	static const struct nsx_spans none;

	return p->loads ? &p->loads[thread] : &none;
}

/* A launch or API call is loading where CUDA says so, else slow by itself. */
static int price_call(struct pricing *p, const struct nsx_idle_piece *piece,
		      int other, struct nsx_err *err)
{
	const struct nsx_spans *loads =
		loads_of(p, nsx_call_thread(p->t, piece->call));
	int64_t at = piece->start_ns;

	for (size_t i = nsx_spans_find(loads, at);
	     i < loads->n && loads->v[i].start_ns < piece->end_ns; i++) {
		int64_t a = NSX_MAX(at, loads->v[i].start_ns);
		int64_t b = NSX_MIN(piece->end_ns, loads->v[i].end_ns);

		if (p->remedy == (enum nsx_remedy)other &&
		    add(p, piece->detail, at, a, err))
			return err->rc;
		if (p->remedy == NSX_R_MODULE &&
		    add(p, piece->detail, a, b, err))
			return err->rc;
		at = b;
	}
	return p->remedy == (enum nsx_remedy)other ?
		       add(p, piece->detail, at, piece->end_ns, err) : 0;
}

/* The whole gap follows from a wait; what it was spent on is worth knowing. */
static int price_whole(struct pricing *p, const struct nsx_gap *gap,
		       struct nsx_err *err)
{
	unsigned kind = gap->wait - 1u;
	uint8_t flags = 0;
	nsx_str wait;

	if (!is_wait_of(p->remedy, kind))
		return 0;
	wait = p->f->barriers[nsx_gap_barrier(p->f, p->t, gap)].name;
	if (kind == NSX_BARRIER_IMPLICIT_SYNC &&
	    (nsx_classify_call(nsx_text(p->t, wait), &flags) ==
	     NSX_CALL_MODULE) != (p->remedy == NSX_R_MODULE))
		return 0;
	for (size_t i = 0; i < gap->npieces; i++) {
		struct nsx_idle_piece x = nsx_idle_at(gap->idle, gap->at + i);
		struct nsx_span s = cut(p, x.start_ns, x.end_ns);

		if (x.detail && x.detail != wait && s.start_ns < s.end_ns &&
		    add_name(p, AFTER, x.detail, s.end_ns - s.start_ns, err))
			return err->rc;
	}
	return add(p, wait, gap->start_ns, gap->end_ns, err);
}

static int price_gap(struct pricing *p, const struct nsx_gap *gap,
		     struct nsx_err *err)
{
	bool is_long = gap->end_ns - gap->start_ns >= LONG_GAP_NS;

	if (gap->wait)
		return price_whole(p, gap, err);
	for (size_t i = 0; i < gap->npieces; i++) {
		struct nsx_idle_piece x = nsx_idle_at(gap->idle, gap->at + i);
		int remedy = remedy_of_piece(&x, is_long);

		if (x.cause == NSX_CAUSE_OTHER_API ||
		    x.cause == NSX_CAUSE_LAUNCH_CALL) {
			if (price_call(p, &x, remedy, err))
				return err->rc;
		} else if (remedy == (int)p->remedy &&
			   add(p, x.detail, x.start_ns, x.end_ns, err)) {
			return err->rc;
		}
	}
	return 0;
}

static int find_loads(struct pricing *p, struct nsx_arena *a,
		      struct nsx_err *err)
{
	const struct nsx_overheads *o = &p->t->overheads;
	struct nsx_span *v;
	size_t n = 0;

	for (size_t i = 0; i < o->n; i++)
		n += nsx_overhead_is_load(o->type[i]);
	if (!n)
		return 0;
	v = nsx_arena_try_array(a, n, sizeof(*v), "overheads", err);
	p->loads = nsx_arena_try_array(a, p->t->nthreads, sizeof(*p->loads),
				       "threads", err);
	if (!v || !p->loads)
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		struct nsx_spans *s = &p->loads[o->thread[i]];

		if (!nsx_overhead_is_load(o->type[i]))
			continue;
		if (!s->v)
			s->v = v;
		nsx_spans_push(s, o->start_ns[i], o->end_ns[i]);
		v = s->v + s->n;
	}
	return 0;
}

static void find_top(const struct pricing *p, enum what what, nsx_str *ret,
		     int64_t *ret_ns)
{
	for (size_t g = 0; g < p->names.n; g++) {
		nsx_str name = (nsx_str)p->names.keys[g].b;
		int64_t ns = p->name_ns[g];

		if (p->names.keys[g].a == what &&
		    (ns > *ret_ns ||
		     (ns == *ret_ns &&
		      nsx_str_cmp(p->f->strings, name, *ret) < 0))) {
			*ret = name;
			*ret_ns = ns;
		}
	}
}

static int finish(struct pricing *p, struct nsx_arena *a,
		  struct nsx_price *ret, struct nsx_err *err)
{
	size_t n = p->spans.n;

	*ret = (struct nsx_price){.ns = 0};
	memcpy(ret->longest, p->longest, sizeof(ret->longest));
	ret->spans.v = nsx_arena_try_array(a, n, sizeof(*ret->spans.v),
					   "idle spans", err);
	if (!ret->spans.v)
		return err->rc;
	if (n)
		memcpy(ret->spans.v, p->spans.v, n * sizeof(*ret->spans.v));
	ret->spans.n = n;
	ret->ns = nsx_spans_total(&ret->spans);
	find_top(p, CAUSE, &ret->top, &ret->top_ns);
	find_top(p, RANGE, &ret->range, &ret->range_ns);
	find_top(p, AFTER, &ret->after, &ret->after_ns);
	return 0;
}

int nsx_price_idle(const struct nsx_facts *f, const struct nsx_trace *t,
		   uint32_t device, enum nsx_remedy remedy,
		   const struct nsx_window *w, struct nsx_arena *a,
		   struct nsx_price *ret, struct nsx_err *err)
{
	struct pricing p = {.f = f, .t = t, .w = w, .remedy = remedy};
	struct nsx_arena *scratch = nsx_arena_new();
	int rc = find_loads(&p, scratch, err);
	struct nsx_gap gap;

	for (size_t at = 0; !rc && nsx_next_gap(&f->idle[device], &at, &gap);)
		if (!gap.is_edge && gap.end_ns > w->start_ns &&
		    gap.start_ns < w->end_ns) {
			p.op = gap.op;
			rc = price_gap(&p, &gap, err);
		}
	if (!rc)
		rc = finish(&p, a, ret, err);
	free(p.spans.v);
	free(p.name_ns);
	nsx_groups_done(&p.names);
	nsx_arena_free(scratch);
	return rc;
}
