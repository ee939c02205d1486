/* late_replays.c - a GPU that starts its CUDA graphs late, and others that wait for it inside
 * theirs.
 *
 * Where graphs were traced as a whole the collectives in them are not in the trace. Still,
 * replays that end together on several GPUs, though one of them always starts last and is
 * done sooner, met inside: what the last start is later than that before it, all have waited.
 */
#include <stdlib.h>
#include "detect/detect.h"

enum {
	MANY = 10,     /* replays of a GPU in the window                     */
	MAX_GPUS = 64, /* each is held against each                          */
	TOGETHER = 16, /* part of a replay, within which ends meet           */
	SURE = 4,      /* times what ends differ by, that starts must        */
};
#define MOST 0.8 /* of a GPU's replays meet, and start last */
#define LEAST_SHARE 0.01 /* of the window, that they start late */

struct replays { /* of one GPU, in the judged window, in order of start */
	const uint32_t *op;
	uint32_t n;
};
struct late { /* one GPU against the others, by its replays */
	uint32_t device, npeers;
	int64_t *wait_ns; /* start after the last of the others; <= 0: not last */
	int64_t *apart_ns; /* the most that their ends differ by             */
	int64_t sum_ns, sum_apart_ns;
	uint32_t nlast;
};

static int list_replays(const struct nsx_detect *d, uint32_t device,
			struct replays *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[device];
	uint32_t *op;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		ret->n += t->ops.kind[i] == NSX_OP_GRAPH &&
			  nsx_is_judged(d, nsx_op_start(&t->ops, i));
	if (!nsx_new_array(op, d->scratch, ret->n, "graph replays", err))
		return err->rc;
	ret->op = op;
	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
		if (t->ops.kind[i] == NSX_OP_GRAPH &&
		    nsx_is_judged(d, nsx_op_start(&t->ops, i)))
			*op++ = (uint32_t)i;
	return 0;
}

static int64_t end_apart(const struct nsx_ops *o, uint32_t a, uint32_t b)
{
	return llabs(nsx_op_end(o, a) - nsx_op_end(o, b));
}

/* Holds the replays x of a GPU against those y of another: each against that which ends
 * nearest to it.  Where most of them meet, the other is a peer.
 */
static void hold_against(const struct nsx_ops *o, const struct replays *x,
			 const struct replays *y, bool counts, uint32_t *ret_nmet,
			 struct late *z)
{
	uint32_t k = 0;

	*ret_nmet = 0;
	for (uint32_t i = 0; i < x->n; i++) {
		int64_t apart_ns, wait_ns;

		while (k + 1 < y->n && end_apart(o, y->op[k + 1], x->op[i]) <=
					       end_apart(o, y->op[k], x->op[i]))
			k++;
		apart_ns = end_apart(o, y->op[k], x->op[i]);
		if (apart_ns > nsx_op_ns(o, x->op[i]) / TOGETHER)
			continue;
		++*ret_nmet;
		if (!counts)
			continue;
		wait_ns = nsx_op_start(o, x->op[i]) - nsx_op_start(o, y->op[k]);
		z->wait_ns[i] = NSX_MIN(z->wait_ns[i], wait_ns);
		z->apart_ns[i] = NSX_MAX(z->apart_ns[i], apart_ns);
	}
}

static int measure(const struct nsx_detect *d, const struct replays *all,
		   struct late *z, struct nsx_err *err)
{
	const struct nsx_ops *o = &d->trace->ops;
	const struct replays *x = &all[z->device];
	uint32_t nmet;

	if (nsx_new_arrays(d->scratch, x->n, "graph replays", err, z->wait_ns,
			   z->apart_ns))
		return err->rc;
	for (uint32_t i = 0; i < x->n; i++)
		z->wait_ns[i] = INT64_MAX;
	for (uint32_t e = 0; e < d->trace->ndevices; e++) {
		if (e == z->device || all[e].n < MANY)
			continue;
		hold_against(o, x, &all[e], false, &nmet, z);
		if (nmet < MOST * x->n)
			continue;
		hold_against(o, x, &all[e], true, &nmet, z);
		z->npeers++;
	}
	for (uint32_t i = 0; i < x->n; i++) {
		if (z->wait_ns[i] == INT64_MAX) /* it met nobody              */
			z->wait_ns[i] = 0;
		z->nlast += z->wait_ns[i] > 0;
		nsx_add_to(&z->sum_ns, NSX_MAX(0, z->wait_ns[i]));
		nsx_add_to(&z->sum_apart_ns, z->apart_ns[i]);
	}
	return 0;
}

/* What a GPU idles by before its late starts. */
struct causes {
	struct nsx_groups keys; /* (cause, detail)                           */
	int64_t *ns, all_ns;
};

static int add_idle(struct causes *c, const struct nsx_idle *idle, int64_t start_ns,
		    int64_t end_ns, struct nsx_err *err)
{
	for (size_t k = nsx_idle_from(idle, start_ns); k < idle->n; k++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, k);
		int64_t ns = NSX_MIN(p.end_ns, end_ns) - NSX_MAX(p.start_ns, start_ns);
		int64_t *sum;

		if (p.start_ns >= end_ns)
			break;
		if (ns <= 0)
			continue;
		sum = nsx_group_value(&c->keys, &c->ns, p.cause, p.detail, "causes",
				      err);
		if (!sum)
			return err->rc;
		nsx_add_to(sum, ns);
		nsx_add_to(&c->all_ns, ns);
	}
	return 0;
}

static void tell_cause(const struct nsx_detect *d, const struct causes *c,
		       const struct late *z, struct nsx_finding *f)
{
	struct nsx_group_key key;
	const char *name;
	size_t top = 0;

	if (c->all_ns * 2 < z->sum_ns) {
		nsx_add_evidence(f, "its GPU still does other work then");
		return;
	}
	for (size_t g = 1; g < c->keys.n; g++)
		if (c->ns[g] > c->ns[top])
			top = g;
	key = nsx_group_key(&c->keys, top);
	name = nsx_fact_text(d->facts, (nsx_str)key.b);
	nsx_add_evidence(f, nsx_tell(
		d->found, "until then its GPU idles, %s of it by %s%s%s",
		nsx_tell_ns(d->found, c->ns[top]), nsx_cause_words[key.a],
		key.b && *name ? " in " : "",
		key.b && *name ? nsx_tell_name(d->found, name) : ""));
	if (key.a == NSX_CAUSE_HOST_CODE && key.b && *name)
		f->place = nsx_tell(d->found, "%s", name);
}

static int propose(struct nsx_detect *d, const struct replays *x,
		   const struct late *z, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	const char *gpu = nsx_gpu_label(d->trace, z->device);
	struct nsx_finding f = {
		.id = NSX_ID_late_replays, .subject = nsx_tell(l, "GPU %s", gpu),
		.device = z->device, .confidence = NSX_CONF_MEDIUM,
		.title = nsx_tell(l, "GPU %s starts its CUDA graphs late, and others "
				  "wait for it inside theirs", gpu),
		.evidence = {
			nsx_tell(l, "it starts last in %u of %u replays, %s after all "
				 "others on average, yet they end within %s of each "
				 "other", z->nlast, x->n,
				 nsx_text_ns(l->arena, (double)z->sum_ns / x->n),
				 nsx_text_ns(l->arena, (double)z->sum_apart_ns / x->n))},
		.recommendation = {
			nsx_tell(l, "look at what the process of GPU %s does before it "
				 "starts a graph: its peers do that sooner", gpu),
			"capture a short stretch with graphs traced node by node: it shows "
			"the collectives in which they wait"},
		.guess_ns = (double)z->sum_ns, .is_rule = true, .is_bound = true};

	struct causes c = {0};
	int rc = 0;

	for (uint32_t i = 0; i < x->n && !rc; i++) {
		int64_t at_ns = nsx_op_start(&d->trace->ops, x->op[i]);

		rc = add_idle(&c, &d->facts->idle[z->device],
			      at_ns - NSX_MAX(0, z->wait_ns[i]), at_ns, err);
	}
	if (!rc) {
		tell_cause(d, &c, z, &f);
		nsx_found(l, &f);
	}
	free(c.ns);
	nsx_groups_done(&c.keys);
	return rc;
}

int nsx_detect_late_replays(struct nsx_detect *d, struct nsx_err *err)
{
	uint32_t n = d->trace->ndevices, nused = 0;
	int64_t least_ns = (int64_t)(LEAST_SHARE *
				     (double)(d->w.end_ns - d->w.start_ns));
	struct replays *all;
	struct late most = {0};

	if (n < 2 || n > MAX_GPUS)
		return 0;
	if (!nsx_new_array(all, d->scratch, n, "GPUs", err))
		return err->rc;
	for (uint32_t i = 0; i < n; i++) {
		if (list_replays(d, i, &all[i], err))
			return err->rc;
		nused += all[i].n >= MANY;
	}
	for (uint32_t i = 0; i < n && nused > 1; i++) {
		struct late z = {.device = i};

		if (all[i].n < MANY)
			continue;
		if (measure(d, all, &z, err))
			return err->rc;
		if (z.npeers && z.nlast >= MOST * all[i].n && z.sum_ns >= least_ns &&
		    z.sum_ns >= SURE * z.sum_apart_ns && z.sum_ns > most.sum_ns)
			most = z;
	}
	return most.npeers ? propose(d, &all[most.device], &most, err) : 0;
}
