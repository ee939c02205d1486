/* rank.c - what was found, priced and in order.
 *
 * A finding's headroom is what its spans cover of the judged window times the
 * share a remedy can give back.  The best is taken, its spans are taken out of
 * all others, and so on: since spans only shrink, a price that is out of date
 * is an upper bound, and only the best needs a new one.  Spans of all GPUs lie
 * on one time axis here: two GPUs that lose the same instants lose them once.
 */
#include <stdlib.h>
#include <string.h>
#include "detect/detect.h"

/* Below this share of the window a finding is noise, and goes to the minor. */
#define MIN_SHARE 0.005
#define MIN_REST 0.02 /* the same for what takes the rest */
#define HIGH_SHARE 0.1
#define MEDIUM_SHARE 0.03
#define MANY_SHARE 0.6 /* of a single kernel: no alarm, but to be looked at */
enum { MAX_QUALITY = 3, MAX_LINES = 12 };

struct item {
	struct nsx_finding *f;
	size_t order;		 /* of appearance                            */
	struct nsx_spans left;	 /* in the window, as of `priced` findings   */
	size_t priced;		 /* how many findings were taken out of it   */
	bool has_spans, taken, merged; /* has_spans: in the window           */
};

struct pricing {
	const struct nsx_trace *t;
	const struct nsx_facts *facts;
	struct nsx_findings *l;
	struct nsx_arena *scratch;
	struct nsx_window w;
	double length_ns;
	struct item *v;
	size_t n;
	struct nsx_spans priced; /* union of what was taken                  */
	size_t npriced;
};

static bool is_priced(const struct item *x)
{
	return x->f->device != NSX_NONE && x->has_spans &&
	       nsx_finding_category(x->f) != NSX_CAT_CAPTURE;
}

static void name_key(struct pricing *p, struct nsx_finding *f)
{
	f->key = f->subject ? nsx_tell(p->l, "%s:%s", nsx_finding_name(f),
				       f->subject) : nsx_finding_name(f);
}

/* Collecting ------------------------------------------------------------------*/

static int clip(struct pricing *p, struct item *x, struct nsx_err *err)
{
	struct nsx_span whole = {p->w.start_ns, p->w.end_ns};
	struct nsx_spans window = {&whole, p->w.start_ns < p->w.end_ns};
	struct nsx_spans all = x->f->spans;
	struct nsx_span *copy = nsx_arena_try_array(
		p->scratch, all.n, sizeof(*copy), "finding spans", err);

	if (!copy)
		return err->rc;
	if (all.n)
		memcpy(copy, all.v, all.n * sizeof(*copy));
	all.v = copy;
	nsx_spans_normalise(&all);
	if (nsx_spans_intersect(p->scratch, &all, &window, &x->left, err))
		return err->rc;
	nsx_arena_drop(p->scratch, copy);
	x->has_spans = x->left.n > 0;
	if (!is_priced(x))
		return 0;
	x->f->headroom_ns = (double)nsx_spans_total(&x->left) *
			    x->f->recoverable;
	x->f->disjoint_ns = x->f->headroom_ns;
	x->f->has_disjoint = true;
	x->f->low_ns = x->f->high_ns = x->f->headroom_ns;
	x->f->price = nsx_finding_category(x->f) == NSX_CAT_COMPUTE ?
			      NSX_PRICE_ASSUMED : NSX_PRICE_MEASURED;
	return 0;
}

static int collect(struct pricing *p, struct nsx_err *err)
{
	p->v = nsx_arena_try_array(p->scratch, p->l->n, sizeof(*p->v),
				   "findings", err);
	if (!p->v)
		return err->rc;
	for (size_t i = 0; i < p->l->n; i++) {
		struct item *x = &p->v[p->n];

		x->f = &p->l->v[i];
		x->order = p->n++;
		name_key(p, x->f);
		if (clip(p, x, err))
			return err->rc;
	}
	return 0;
}

/* The same on several GPUs -------------------------------------------------------*/

/* Findings of one key side by side; the limiting GPU's first, then the dearest. */
static int cmp_kin(const void *a, const void *b, void *ctx)
{
	const struct item *x = a, *y = b;
	uint32_t limiting = *(uint32_t *)ctx;
	int c = strcmp(x->f->key, y->f->key);

	if (!c && (x->f->device == limiting) != (y->f->device == limiting))
		c = x->f->device == limiting ? -1 : 1;
	if (!c && x->f->headroom_ns != y->f->headroom_ns)
		c = x->f->headroom_ns > y->f->headroom_ns ? -1 : 1;
	return c ? c : (x->order > y->order) - (x->order < y->order);
}

static bool are_kin(const struct item *x, const struct item *y)
{
	return is_priced(x) && is_priced(y) && x->f->device != y->f->device &&
	       !strcmp(x->f->key, y->f->key);
}

static void add_evidence(struct nsx_finding *f, const char *line)
{
	for (size_t i = 0; i + 1 < ARRAY_LEN(f->evidence); i++)
		if (!f->evidence[i]) {
			f->evidence[i] = line;
			return;
		}
}

static void merge_kin(struct pricing *p)
{
	const struct nsx_device *dev = p->t->device;
	uint32_t limiting = p->facts->limiting;

	if (p->n)
		qsort_r(p->v, p->n, sizeof(*p->v), cmp_kin, &limiting);
	for (size_t i = 0, next; i < p->n; i = next) {
		struct nsx_buf b = {0};

		for (next = i + 1; next < p->n && are_kin(&p->v[i], &p->v[next]);
		     next++) {
			p->v[next].merged = true;
			if (next - i <= MAX_LINES)
				nsx_buf_printf(
					&b, "%s GPU %lld (%.3f ms)",
					b.n ? "," : "The same on",
					(long long)dev[p->v[next].f->device]
						.device_id,
					p->v[next].f->headroom_ns / 1e6);
		}
		if (next - i > MAX_LINES + 1)
			nsx_buf_printf(&b, " and %zu more",
				       next - i - MAX_LINES - 1);
		if (b.n)
			add_evidence(p->v[i].f, nsx_tell(p->l, "%s", b.p));
		nsx_buf_done(&b);
	}
}

/* Pricing -----------------------------------------------------------------------*/

static int reprice(struct pricing *p, struct item *x, struct nsx_err *err)
{
	struct nsx_spans left;

	if (nsx_spans_minus(p->scratch, &x->left, &p->priced, &left, err))
		return err->rc;
	nsx_arena_drop(p->scratch, x->left.v);
	x->left = left;
	x->priced = p->npriced;
	x->f->disjoint_ns = (double)nsx_spans_total(&left) * x->f->recoverable;
	return 0;
}

static bool is_dearer(const struct item *x, const struct item *y)
{
	if (!y || x->f->disjoint_ns != y->f->disjoint_ns)
		return !y || x->f->disjoint_ns > y->f->disjoint_ns;
	return x->order < y->order;
}

/* The item with the greatest disjoint headroom; NULL: none is left. */
static int take_best(struct pricing *p, bool rest, struct item **ret,
		     struct nsx_err *err)
{
	for (;;) {
		struct item *best = NULL;

		for (size_t i = 0; i < p->n; i++)
			if (is_priced(&p->v[i]) && !p->v[i].taken &&
			    !p->v[i].merged && p->v[i].f->is_rest == rest &&
			    is_dearer(&p->v[i], best))
				best = &p->v[i];
		*ret = best;
		if (!best || best->priced == p->npriced)
			return 0;
		if (reprice(p, best, err))
			return err->rc;
	}
}

static int take_all(struct pricing *p, bool rest, struct nsx_err *err)
{
	struct item *x;

	while (!take_best(p, rest, &x, err)) {
		struct nsx_spans all;

		if (!x || x->f->disjoint_ns < p->length_ns *
					      (rest ? MIN_REST : MIN_SHARE))
			return 0;
		x->taken = true;
		if (nsx_spans_union(p->scratch, &p->priced, &x->left, &all,
				    err))
			return err->rc;
		nsx_arena_drop(p->scratch, p->priced.v);
		p->priced = all;
		p->npriced++;
	}
	return err->rc;
}

/* Ranking ------------------------------------------------------------------------*/

/* What is assumed raises no alarm, but for a kernel that is most of the work. */
static enum nsx_severity severity_of(const struct pricing *p,
				     const struct item *x)
{
	double share = x->f->disjoint_ns / p->length_ns;

	if (x->f->is_set)
		return x->f->severity;
	if (!is_priced(x))
		return NSX_SEV_LOW;
	if (x->f->price == NSX_PRICE_ASSUMED)
		return x->f->id == NSX_ID_top_kernel &&
				       (double)nsx_spans_total(&x->f->spans) >=
					       MANY_SHARE * p->length_ns ?
			       NSX_SEV_MEDIUM : NSX_SEV_LOW;
	return share >= HIGH_SHARE ? NSX_SEV_HIGH :
	       share >= MEDIUM_SHARE ? NSX_SEV_MEDIUM : NSX_SEV_LOW;
}

/* The dearest first; then what is only assumed, then what has no price, then
 * what concerns the capture; at the end what costs next to nothing.
 */
static int cmp_rank(const void *a, const void *b)
{
	const struct item *x = a, *y = b;
	bool capture_x = nsx_finding_category(x->f) == NSX_CAT_CAPTURE;
	bool capture_y = nsx_finding_category(y->f) == NSX_CAT_CAPTURE;
	int kind_x = NSX_MIN((int)x->f->price, (int)NSX_PRICE_MEASURED);
	int kind_y = NSX_MIN((int)y->f->price, (int)NSX_PRICE_MEASURED);

	if (x->f->is_minor != y->f->is_minor)
		return x->f->is_minor ? 1 : -1;
	if (capture_x != capture_y)
		return capture_x ? 1 : -1;
	if (x->f->severity != y->f->severity)
		return x->f->severity > y->f->severity ? -1 : 1;
	if (kind_x != kind_y)
		return kind_x > kind_y ? -1 : 1;
	if (x->f->disjoint_ns != y->f->disjoint_ns)
		return x->f->disjoint_ns > y->f->disjoint_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

/* At most ten, three of them on the capture; the others are minor. */
static void cap(struct pricing *p)
{
	size_t n = 0, nquality = 0;

	for (size_t i = 0; i < p->n; i++) {
		struct nsx_finding *f = p->v[i].f;

		if (nsx_finding_category(f) == NSX_CAT_CAPTURE)
			f->is_minor |= nquality++ >= MAX_QUALITY;
		f->is_minor |= !f->is_minor && n++ >= NSX_MAX_FINDINGS;
	}
}

static int write_back(struct pricing *p, struct nsx_err *err)
{
	struct nsx_finding *v = nsx_arena_try_array(
		p->scratch, p->n, sizeof(*v), "findings", err);
	size_t n = 0;

	if (!v)
		return err->rc;
	for (size_t i = 0; i < p->n; i++)
		if (!p->v[i].merged)
			v[n++] = *p->v[i].f;
	if (n)
		memcpy(p->l->v, v, n * sizeof(*v));
	p->l->n = n;
	return 0;
}

static int rank(struct pricing *p, struct nsx_err *err)
{
	if (collect(p, err))
		return err->rc;
	merge_kin(p);
	if (take_all(p, false, err) || take_all(p, true, err))
		return err->rc;
	for (size_t i = 0; i < p->n; i++) {
		p->v[i].f->severity = severity_of(p, &p->v[i]);
		p->v[i].f->is_minor = is_priced(&p->v[i]) && !p->v[i].taken;
	}
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), cmp_rank);
	cap(p);
	if (p->n)
		qsort(p->v, p->n, sizeof(*p->v), cmp_rank);
	return write_back(p, err);
}

int nsx_rank_findings(const struct nsx_trace *t, const struct nsx_facts *f,
		      struct nsx_findings *l, struct nsx_err *err)
{
	struct pricing p = {.t = t, .facts = f, .l = l, .w = nsx_judged(f),
			    .scratch = nsx_arena_new()};
	int rc;

	p.length_ns = (double)(p.w.end_ns - p.w.start_ns);
	rc = rank(&p, err);
	nsx_arena_free(p.scratch);
	return rc;
}
