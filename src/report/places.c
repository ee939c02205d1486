/* places.c - finds when a finding costs time: the spans that its remedy would change. */
#include "facts/outside.h"
#include "report/timeline.h"

struct places {
	const struct nsx_trace *t;
	const struct nsx_kernel_names *kernels;
	const struct nsx_window *w;
	struct nsx_span *v; /* the longest spans so far, longest first */
	size_t n;
};

static int places_cmp_length(const void *a, const void *b, void *ctx NSX_UNUSED)
{
	const struct nsx_span *x = a, *y = b;
	int64_t n = x->end_ns - x->start_ns, m = y->end_ns - y->start_ns;

	return NSX_CMP(m, n) ?: NSX_CMP(x->start_ns, y->start_ns);
}

static void add_place(struct places *p, int64_t start_ns, int64_t end_ns)
{
	struct nsx_span x = {NSX_MAX(start_ns, p->w->start_ns), NSX_MIN(end_ns, p->w->end_ns)};

	if (x.start_ns < x.end_ns)
		nsx_keep_first(p->v, &p->n, NSX_MAX_PLACES, &x, sizeof(x), places_cmp_length, NULL);
}

/* Adds the time on its thread before a call. */
static void places_add_gap(struct places *p, size_t i)
{
	const struct nsx_calls *c = &p->t->calls;
	size_t before = i;

	if (p->t->thread[nsx_call_thread(p->t, i)].calls_at == i)
		return;
	while (before && c->flags[--before] & NSX_CALL_NESTED)
		;
	add_place(p, nsx_call_end(c, before), nsx_call_start(c, i));
}

static void places_add_call(struct places *p, size_t i, enum nsx_change_verb verb)
{
	if (verb == NSX_FASTER_HOST)
		places_add_gap(p, i);
	else
		add_place(p, nsx_call_start(&p->t->calls, i), nsx_call_end(&p->t->calls, i));
}

static void places_add_op(struct places *p, size_t i)
{
	add_place(p, nsx_op_start(&p->t->ops, i), nsx_op_end(&p->t->ops, i));
}

static bool is_kernel_of(const struct places *p, const struct nsx_change *c, uint32_t shape)
{
	const struct nsx_kernel_words *words = nsx_kernel_of_shape(p->kernels, shape)->words;

	return c->family ? !strcmp(words->family, c->family) :
			   !strcmp(nsx_text(p->t, p->t->shape_name[shape]), c->name);
}

/* Adds all calls of an API, all kernels of a name or family, or all waits outside CUDA of a name,
 * for changes without rows.
 */
static int places_add_named(struct places *p, const struct nsx_change *c, struct nsx_err *err)
{
	enum { UNSEEN, IS, IS_NOT };
	const struct nsx_trace *t = p->t;
	bool calls = !c->op && c->verb <= NSX_NO_COST;
	NSX_AT_EXIT(nsx_free_at) uint8_t *named =
		nsx_try_alloc(NSX_MAX(nsx_strings_bound(t->strings), t->nshapes), 1, "names", err);
	struct nsx_outside o;
	char buf[256];

	if (!named)
		return err->rc;
	for (size_t i = 0; calls && i < t->calls.n; i++) {
		uint8_t *is = &named[nsx_call_name(&t->calls, i)];

		if (*is == UNSEEN)
			*is = strcmp(nsx_api_base(nsx_call_text(t, i), buf, sizeof(buf)),
				     c->name) ? IS_NOT : IS;
		if (*is == IS)
			places_add_call(p, i, c->verb);
	}
	for (size_t i = 0; c->op == NSX_ON_KERNELS && i < t->ops.n; i++) {
		uint8_t *is;

		if (t->ops.kind[i] != NSX_OP_KERNEL)
			continue;
		is = &named[nsx_op_detail(&t->ops, i)];
		if (*is == UNSEEN)
			*is = is_kernel_of(p, c, nsx_op_detail(&t->ops, i)) ? IS : IS_NOT;
		if (*is == IS)
			places_add_op(p, i);
	}
	for (size_t at = 0; c->verb == NSX_NO_OS_WAIT && nsx_outside_next(t, &at, &o);)
		if (o.end_ns - o.start_ns >= c->least_ns && !strcmp(nsx_text(t, o.name), c->name))
			add_place(p, o.start_ns, o.end_ns);
	return 0;
}

/* Adds the spans in which the finding's host call or range runs while the GPU is idle, or in which
 * the thread waits for what sets the pace.
 */
static void add_host(struct places *p, const struct nsx_finding *f)
{
	const struct nsx_nvtx *x = &p->t->nvtx;
	const struct nsx_calls *c = &p->t->calls;
	struct nsx_outside o;

	for (size_t i = 0; f->id == NSX_ID_host_ranges && i < x->n; i++)
		if (x->kind[i] == NSX_NVTX_STACK && nsx_range_label(p->t, x->name[i]) == f->host)
			add_place(p, nsx_range_start(x, i), nsx_range_end(x, i));
	for (size_t i = 0; f->id == NSX_ID_host_calls && i < c->n; i++)
		if (nsx_call_name(c, i) == f->host && !(c->flags[i] & NSX_CALL_NESTED))
			add_place(p, nsx_call_start(c, i), nsx_call_end(c, i));
	for (size_t at = 0; f->id == NSX_ID_paced && nsx_outside_next(p->t, &at, &o);)
		if (o.name == f->host)
			add_place(p, o.start_ns, o.end_ns);
}

int nsx_finding_places(const struct nsx_report *r, const struct nsx_finding *f,
		       const struct nsx_window *w, struct nsx_arena *a,
		       struct nsx_spans *ret, struct nsx_err *err)
{
	struct places p = {r->trace, &r->facts->kernels,
			   w->start_ns < w->end_ns ? w : &r->trace->window,
			   nsx_arena_get(a, NSX_MAX_PLACES * sizeof(*p.v)), 0};

	for (size_t i = 0; i < f->spans.n; i++) {
		struct nsx_span x = nsx_span_at(&f->spans, i);

		add_place(&p, x.start_ns, x.end_ns);
	}
	for (size_t i = 0; !f->spans.n && i < f->remedy.n; i++) {
		const struct nsx_change *c = &f->remedy.v[i];

		NSX_EACH_ROW(&c->rows, row)
			if (nsx_changes_calls(c->verb))
				places_add_call(&p, row, c->verb);
			else
				places_add_op(&p, row);
		if (!c->rows.only && (c->name || c->family) && !c->is_pattern &&
		    places_add_named(&p, c, err))
			return err->rc;
	}
	if (f->host)
		add_host(&p, f);
	if (!p.n && f->remedy.n && f->remedy.v->verb == NSX_FASTER_LAUNCH)
		for (size_t i = 0; i < r->trace->calls.n; i++)
			if (r->trace->calls.cls[i] == NSX_CALL_LAUNCH)
				places_add_call(&p, i, NSX_FASTER_LAUNCH);
	*ret = (struct nsx_spans){.v = p.v, .n = p.n};
	return 0;
}
