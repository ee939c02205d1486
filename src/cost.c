/* cost.c - one walk over a device's gaps a remedy; see the header. */
#include <stdlib.h>
#include <string.h>
#include "nsx/cost.h"
#include "nsx/group.h"

enum { LONG_GAP_NS = 1000000 };

/* Overheads that are loading or compiling: JIT, module load, lazy load. */
static bool is_load(uint8_t type)
{
	return type == 2 || type == 6 || type == 7;
}

struct pricing {
	const struct nsx_facts *f;
	const struct nsx_trace *t;
	const struct nsx_window *w;
	enum nsx_remedy remedy;
	struct nsx_spans *loads; /* by thread: NULL v until asked for        */
	struct nsx_spans spans;
	size_t cap;
	struct nsx_groups names;
	int64_t *name_ns; /* by group of names */
	size_t cap_names;
	struct nsx_span longest;
};

/* Adds [start, end), cut to the window. */
static int add(struct pricing *p, nsx_str name, int64_t start_ns,
	       int64_t end_ns, struct nsx_err *err)
{
	int64_t a = NSX_MAX(start_ns, p->w->start_ns);
	int64_t b = NSX_MIN(end_ns, p->w->end_ns);
	uint32_t g;

	if (a >= b)
		return 0;
	if (nsx_grow(&p->spans.v, &p->cap, p->spans.n + 1,
		     sizeof(*p->spans.v), "idle spans", err) ||
	    nsx_group(&p->names, name, 0, &g, err) ||
	    nsx_grow(&p->name_ns, &p->cap_names, p->names.n,
		     sizeof(*p->name_ns), "idle causes", err))
		return err->rc;
	nsx_spans_push(&p->spans, a, b);
	p->name_ns[g] += b - a;
	if (b - a > p->longest.end_ns - p->longest.start_ns)
		p->longest = (struct nsx_span){a, b};
	return 0;
}

/* What removing a wait is called; -1: a launcher gap. */
static int remedy_of_barrier(const struct nsx_trace *t,
			     const struct nsx_barrier *b)
{
	uint8_t flags = 0;

	switch (b->kind) {
	case NSX_BARRIER_SYNC_API:
		return NSX_R_SYNC;
	case NSX_BARRIER_BLOCKING_MEMCPY:
		return NSX_R_COPY;
	case NSX_BARRIER_IMPLICIT_SYNC:
		return nsx_classify_call(nsx_text(t, b->name), &flags) ==
				       NSX_CALL_MODULE ?
			       NSX_R_MODULE : NSX_R_IMPLICIT;
	case NSX_BARRIER_HOST_WAIT:
		return NSX_R_OS_WAIT;
	default:
		return -1;
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
		loads_of(p, p->t->calls.thread[piece->call]);
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

static int price_gap(struct pricing *p, const struct nsx_gap *gap,
		     struct nsx_err *err)
{
	bool is_long = gap->end_ns - gap->start_ns >= LONG_GAP_NS;
	uint32_t b = nsx_gap_barrier(p->f, p->t, gap);
	int whole = b != NSX_NONE &&
				    p->f->barriers[b].start_ns <=
					    gap->start_ns ?
			    remedy_of_barrier(p->t, &p->f->barriers[b]) : -1;

	if (whole >= 0)
		return (int)p->remedy == whole ?
			       add(p, p->f->barriers[b].name, gap->start_ns,
				   gap->end_ns, err) : 0;
	for (size_t i = 0; i < gap->npieces; i++) {
		const struct nsx_idle_piece *x = &gap->pieces[i];
		int remedy = remedy_of_piece(x, is_long);

		if (x->cause == NSX_CAUSE_OTHER_API ||
		    x->cause == NSX_CAUSE_LAUNCH_CALL) {
			if (price_call(p, x, remedy, err))
				return err->rc;
		} else if (remedy == (int)p->remedy &&
			   add(p, x->detail, x->start_ns, x->end_ns, err)) {
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
		n += is_load(o->type[i]);
	if (!n)
		return 0;
	v = nsx_arena_try_array(a, n, sizeof(*v), "overheads", err);
	p->loads = nsx_arena_try_array(a, p->t->nthreads, sizeof(*p->loads),
				       "threads", err);
	if (!v || !p->loads)
		return err->rc;
	for (size_t i = 0; i < o->n; i++) {
		struct nsx_spans *s = &p->loads[o->thread[i]];

		if (!is_load(o->type[i]))
			continue;
		if (!s->v)
			s->v = v;
		nsx_spans_push(s, o->start_ns[i], o->end_ns[i]);
		v = s->v + s->n;
	}
	return 0;
}

static int finish(struct pricing *p, struct nsx_arena *a,
		  struct nsx_price *ret, struct nsx_err *err)
{
	size_t n = p->spans.n;

	*ret = (struct nsx_price){.longest = p->longest};
	ret->spans.v = nsx_arena_try_array(a, n, sizeof(*ret->spans.v),
					   "idle spans", err);
	if (!ret->spans.v)
		return err->rc;
	if (n)
		memcpy(ret->spans.v, p->spans.v, n * sizeof(*ret->spans.v));
	ret->spans.n = n;
	ret->ns = nsx_spans_total(&ret->spans);
	for (size_t g = 0; g < p->names.n; g++) {
		nsx_str name = (nsx_str)p->names.keys[g].a;
		int64_t ns = p->name_ns[g];

		if (ns > ret->top_ns ||
		    (ns == ret->top_ns &&
		     nsx_str_cmp(p->t->strings, name, ret->top) < 0)) {
			ret->top = name;
			ret->top_ns = ns;
		}
	}
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
		    gap.start_ns < w->end_ns)
			rc = price_gap(&p, &gap, err);
	if (!rc)
		rc = finish(&p, a, ret, err);
	free(p.spans.v);
	free(p.name_ns);
	nsx_groups_done(&p.names);
	nsx_arena_free(scratch);
	return rc;
}
