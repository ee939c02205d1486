/* late_replays.c - GPUs that start their CUDA graphs late, and others that wait for them inside
 * theirs.
 *
 * Where graphs were traced as a whole the collectives in them are not in the trace. Still,
 * replays that end together on several GPUs, though some of them always start last and are
 * done sooner, met inside: by as much as these start later than the others all have waited.
 */
#include <stdlib.h>
#include "detect/detect.h"

enum {
	MANY = 10,     /* replays of a GPU in the window                     */
	MAX_GPUS = 64, /* each is held against each                          */
	TOGETHER = 8,  /* part of a replay, within which ends meet           */
	SURE = 4,      /* times what ends differ by, that starts must        */
};
#define MOST 0.8 /* of a GPU's replays meet, and late ones start last */
#define LEAST_SHARE 0.01 /* of the window, that they start late */

struct replays { /* of one GPU, in the judged window, in order of start */
	const uint32_t *op;
	uint32_t n;
};
struct team { /* GPUs whose replays end together */
	uint32_t gpu[MAX_GPUS], n;
	uint32_t nsets;	     /* replays of the first that all others met     */
	int64_t *start_ns;   /* n of each, one after the other; room for all  */
	int64_t *apart_ns;   /* how far ends are from that of the first       */
	bool is_late[MAX_GPUS];
	uint32_t nlate, latest, nlast; /* latest: index of gpu                */
	int64_t sum_ns, sum_apart_ns;  /* of sets: from the start of the last
					  that is not late to that of all    */
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

/* When the replays y start that end with x; INT64_MIN for those that none does.  Returns how
 * many do: each is held against that which ends nearest to it.
 */
static uint32_t find_meeting(const struct nsx_ops *o, const struct replays *x,
			     const struct replays *y, int64_t *start_ns,
			     int64_t *apart_ns)
{
	uint32_t k = 0, nmet = 0;

	for (uint32_t i = 0; i < x->n; i++) {
		while (k + 1 < y->n && end_apart(o, y->op[k + 1], x->op[i]) <=
					       end_apart(o, y->op[k], x->op[i]))
			k++;
		apart_ns[i] = end_apart(o, y->op[k], x->op[i]);
		start_ns[i] = apart_ns[i] > nsx_op_ns(o, x->op[i]) / TOGETHER ?
				      INT64_MIN : nsx_op_start(o, y->op[k]);
		nmet += start_ns[i] != INT64_MIN;
	}
	return nmet;
}

/* The GPUs most of whose replays end with those of the first, which has no team yet. */
static int gather(const struct nsx_detect *d, const struct replays *all, uint32_t first,
		  bool *has_team, struct team *ret, struct nsx_err *err)
{
	const struct nsx_ops *o = &d->trace->ops;
	uint32_t n = all[first].n, ndevices = d->trace->ndevices;
	size_t most = 1; /* those with fewer replays meet too few            */
	int64_t *start_ns, *apart_ns;

	*ret = (struct team){.gpu = {first}, .n = 1};
	for (uint32_t e = first + 1; e < ndevices; e++)
		most += all[e].n >= MOST * n;
	if (nsx_new_arrays(d->scratch, n * most, "graph replays", err, start_ns,
			   ret->start_ns) ||
	    nsx_new_arrays(d->scratch, n, "graph replays", err, apart_ns,
			   ret->apart_ns))
		return err->rc;
	for (uint32_t i = 0; i < n; i++)
		start_ns[i] = nsx_op_start(o, all[first].op[i]);
	for (uint32_t e = first + 1; e < ndevices; e++) {
		if (has_team[e] || all[e].n < MOST * n ||
		    find_meeting(o, &all[first], &all[e], start_ns + (size_t)n * ret->n,
				 apart_ns) < MOST * n)
			continue;
		has_team[e] = true;
		ret->gpu[ret->n++] = e;
		for (uint32_t i = 0; i < n; i++)
			ret->apart_ns[i] = NSX_MAX(ret->apart_ns[i], apart_ns[i]);
	}
	for (uint32_t i = 0; i < n; i++) {
		int64_t *set = ret->start_ns + (size_t)ret->nsets * ret->n;
		bool is_whole = true;

		for (uint32_t g = 0; g < ret->n; g++) {
			set[g] = start_ns[(size_t)n * g + i];
			is_whole &= set[g] != INT64_MIN;
		}
		if (is_whole)
			ret->apart_ns[ret->nsets++] = ret->apart_ns[i];
	}
	return 0;
}

/* Late are those that start half as late as the latest at least, on average. */
static void find_late(struct team *x)
{
	int64_t lag_ns[MAX_GPUS] = {0};

	for (uint32_t i = 0; i < x->nsets; i++) {
		const int64_t *set = x->start_ns + (size_t)i * x->n;
		int64_t first_ns = set[0];

		for (uint32_t g = 1; g < x->n; g++)
			first_ns = NSX_MIN(first_ns, set[g]);
		for (uint32_t g = 0; g < x->n; g++)
			nsx_add_to(&lag_ns[g], set[g] - first_ns);
	}
	for (uint32_t g = 1; g < x->n; g++)
		if (lag_ns[g] > lag_ns[x->latest])
			x->latest = g;
	for (uint32_t g = 0; g < x->n; g++) {
		x->is_late[g] = lag_ns[g] > lag_ns[x->latest] / 2;
		x->nlate += x->is_late[g];
	}
}

/* How much later all of a set have started than those that are not late. */
static int64_t late_ns(const struct team *x, uint32_t set)
{
	const int64_t *start_ns = x->start_ns + (size_t)set * x->n;
	int64_t last_ns = INT64_MIN, usual_ns = INT64_MIN;

	for (uint32_t g = 0; g < x->n; g++) {
		last_ns = NSX_MAX(last_ns, start_ns[g]);
		if (!x->is_late[g])
			usual_ns = NSX_MAX(usual_ns, start_ns[g]);
	}
	return last_ns - usual_ns;
}

/* Whether some of a team, at most half, are late, and the others wait for them. */
static bool has_late(const struct nsx_detect *d, struct team *x)
{
	if (x->n < 2 || x->nsets < MANY)
		return false;
	find_late(x);
	if (!x->nlate || 2 * x->nlate > x->n)
		return false;
	for (uint32_t i = 0; i < x->nsets; i++) {
		int64_t ns = late_ns(x, i);

		x->nlast += ns > 0;
		nsx_add_to(&x->sum_ns, ns);
		nsx_add_to(&x->sum_apart_ns, x->apart_ns[i]);
	}
	return x->nlast >= MOST * x->nsets && x->sum_ns >= SURE * x->sum_apart_ns &&
	       (double)x->sum_ns >=
		       LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns);
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
		       const struct team *x, struct nsx_finding *f)
{
	const char *whose = x->nlate > 1 ? "the latest of them" : "its GPU";
	struct nsx_group_key key;
	const char *name;
	size_t top = 0;

	if (c->all_ns * 2 < x->sum_ns) {
		nsx_add_evidence(f, nsx_tell(d->found, "until then %s still does other "
						       "work", whose));
		return;
	}
	for (size_t g = 1; g < c->keys.n; g++)
		if (c->ns[g] > c->ns[top])
			top = g;
	key = nsx_group_key(&c->keys, top);
	name = nsx_fact_text(d->facts, (nsx_str)key.b);
	nsx_add_evidence(f, nsx_tell(
		d->found, "until then %s idles, %s of it by %s%s%s", whose,
		nsx_tell_ns(d->found, c->ns[top]), nsx_cause_words[key.a],
		*name ? " in " : "", *name ? nsx_tell_name(d->found, name) : ""));
	if (key.a == NSX_CAUSE_HOST_CODE && *name)
		f->place = name;
}

static int propose(struct nsx_detect *d, const struct team *x, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	uint32_t late[MAX_GPUS], n = 0;
	struct causes c = {0};
	int rc = 0;

	for (uint32_t g = 0; g < x->n; g++)
		if (x->is_late[g])
			late[n++] = x->gpu[g];
	const char *gpus = nsx_tell(l, "GPU%s %s", n > 1 ? "s" : "",
				    nsx_say_gpus(d, late, n));
	struct nsx_finding f = {
		.id = NSX_ID_late_replays, .subject = gpus,
		.device = n > 1 ? NSX_NONE : late[0], .confidence = NSX_CONF_MEDIUM,
		.title = nsx_tell(l, "%s %s CUDA graphs late, and others wait for %s "
				  "inside theirs", gpus, n > 1 ? "start their" :
				  "starts its", n > 1 ? "them" : "it"),
		.evidence = {
			nsx_tell(l, "%s last in %u of %u replays, %s after all others on "
				 "average, yet they end within %s of each other",
				 n > 1 ? "they start" : "it starts", x->nlast, x->nsets,
				 nsx_text_ns(l->arena, (double)x->sum_ns / x->nsets),
				 nsx_text_ns(l->arena,
					     (double)x->sum_apart_ns / x->nsets))},
		.recommendation = {
			nsx_tell(l, "look at what the host%s of %s %s a graph: those of "
				 "the others are done sooner", n > 1 ? "s" : "", gpus,
				 n > 1 ? "do before they start" :
					 "does before it starts"),
			"capture a short stretch with graphs traced node by node: it shows "
			"the collectives in which they wait"},
		.guess_ns = (double)x->sum_ns, .is_rule = true, .is_bound = true};

	for (uint32_t i = 0; i < x->nsets && !rc; i++) {
		int64_t at_ns = x->start_ns[(size_t)i * x->n + x->latest];

		rc = add_idle(&c, &d->facts->idle[x->gpu[x->latest]],
			      at_ns - late_ns(x, i), at_ns, err);
	}
	if (!rc) {
		tell_cause(d, &c, x, &f);
		nsx_found(l, &f);
	}
	free(c.ns);
	nsx_groups_done(&c.keys);
	return rc;
}

int nsx_detect_late_replays(struct nsx_detect *d, struct nsx_err *err)
{
	enum nsx_graph_mode mode = d->facts->graphs.mode;
	uint32_t n = d->trace->ndevices;
	struct replays *all;
	bool *has_team;

	if (n < 2 || n > MAX_GPUS ||
	    (mode != NSX_GRAPH_WHOLE && mode != NSX_GRAPH_MIXED))
		return 0;
	if (nsx_new_arrays(d->scratch, n, "GPUs", err, all, has_team))
		return err->rc;
	for (uint32_t i = 0; i < n; i++)
		if (list_replays(d, i, &all[i], err))
			return err->rc;
	for (uint32_t i = 0; i < n; i++) {
		struct team x;

		if (has_team[i] || all[i].n < MANY)
			continue;
		if (gather(d, all, i, has_team, &x, err) ||
		    (has_late(d, &x) && propose(d, &x, err)))
			return err->rc;
	}
	return 0;
}
