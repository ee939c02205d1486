/* replay.c - what the steps would save if some ranks had not been slow.
 *
 * Each step is walked collective by collective, in order of time, with how much
 * earlier things would happen instead of when.  A rank that is mended runs
 * ahead of its old self by its excess over the others' median, in proportion to
 * the own work it has done.  A collective can begin on a rank no earlier than
 * its data are ready and the one before it on its channel has ended; it ends
 * when its last rank has come and the data have moved.  A rank that was held by
 * it (the exposed part) goes on that much earlier, one that was not does not.
 *
 * When data were ready is seen only where nothing else held the collective
 * back; so of all ranks the one that did least own work before it tells.
 */
#include <math.h>
#include <stdlib.h>
#include "base/stat.h"
#include "fleet/fleet.h"

/* A collective that begins so soon after the one before it on its channel was
 * held back by that.
 */
#define AT_ONCE_NS 10000

struct place { /* a collective of a step */
	int64_t at_ns; /* after the step's begin                             */
	uint32_t comm;
	size_t k;
};
struct rank_now {
	double own_ns, total_ns; /* work done of this step, and all of it    */
	double cut; /* share of own work that falls away                     */
	double ahead_ns; /* of its old self                                  */
	int64_t since_ns; /* own clock: up to where own_ns counts            */
};
struct channel_now { /* of a communicator's member */
	double ahead_ns; /* of its last end                                  */
	int64_t end_ns;
};
struct replay {
	const struct nsx_fleet *f;
	const uint32_t *ranks;
	size_t n;
	const struct nsx_fslow_link *links;
	size_t nlinks;
	struct place *v;
	size_t nplaces, cap;
	struct rank_now *rank;
	struct channel_now **channel; /* by comm, member                     */
	size_t *at;		      /* by comm: the next collective        */
};

static const int64_t *bounds(const struct nsx_fleet *f, uint32_t r, size_t s)
{
	return &f->bound_ns[r * (f->nsteps + 1) + s];
}

static int cmp_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return x->k < y->k ? -1 : x->k > y->k;
}

/* The first member that has both the step and the collective tells when; false:
 * none has, or it is not yet of this step (*ret_later) .
 */
static bool place_of(const struct nsx_fleet *f, const struct nsx_fcomm *c,
		     size_t k, size_t s, int64_t *ret_ns, bool *ret_later)
{
	*ret_later = false;
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		const int64_t *b = bounds(f, c->m[m].rank, s);
		size_t i = nsx_member_at(&c->m[m], ch, k);

		if (i == SIZE_MAX || b[0] == INT64_MIN || b[1] == INT64_MIN)
			continue;
		*ret_ns = nsx_coll_start(ch, i) + nsx_coll_ns(ch, i) - b[0];
		*ret_later = *ret_ns > b[1] - b[0];
		return !*ret_later && *ret_ns > 0;
	}
	return false;
}

static int list_places(struct replay *p, size_t s, struct nsx_err *err)
{
	const struct nsx_fleet *f = p->f;

	p->nplaces = 0;
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];
		struct place x = {0, i, 0};
		bool later = false;

		if (c->n < 2)
			continue;
		for (; p->at[i] < c->end; p->at[i]++) {
			x.k = p->at[i];
			if (!place_of(f, c, x.k, s, &x.at_ns, &later)) {
				if (later)
					break;
				continue;
			}
			if (nsx_grow(&p->v, &p->cap, p->nplaces + 1,
				     sizeof(*p->v), "collectives", err))
				return err->rc;
			p->v[p->nplaces++] = x;
		}
	}
	if (p->nplaces)
		qsort(p->v, p->nplaces, sizeof(*p->v), cmp_place);
	return 0;
}

/* The share of own work that mended ranks lose: down to the others' median. */
static void mend(struct replay *p, size_t s, double *scratch)
{
	const struct nsx_fleet *f = p->f;
	const double *own = &f->own_ns[s * f->nranks];
	size_t n = 0, at = 0;
	double median;

	for (uint32_t r = 0; r < f->nranks; r++) {
		while (at < p->n && p->ranks[at] < r)
			at++;
		if (!isnan(own[r]) && !(at < p->n && p->ranks[at] == r))
			scratch[n++] = own[r];
	}
	median = nsx_median_of(scratch, n);
	for (uint32_t r = 0; r < f->nranks; r++)
		p->rank[r] = (struct rank_now){
			.total_ns = isnan(own[r]) ? 0 : own[r],
			.since_ns = *bounds(f, r, s)};
	for (size_t i = 0; i < p->n && n; i++) {
		struct rank_now *r = &p->rank[p->ranks[i]];

		if (r->total_ns > median)
			r->cut = 1 - median / r->total_ns;
	}
}

/* The rank works on up to t, on its own clock. */
static void work(struct rank_now *r, int64_t t)
{
	double ns = (double)(t - r->since_ns);

	if (ns <= 0)
		return;
	r->own_ns += ns;
	r->ahead_ns += ns * r->cut;
	r->since_ns = t;
}

/* By how much less its transfer takes. */
static double faster(const struct replay *p, uint32_t comm)
{
	for (size_t i = 0; i < p->nlinks; i++)
		if (p->links[i].comm == comm)
			return p->links[i].excess_ns;
	return 0;
}

/* Own work without what falls away, when the collective begins. */
static double mended_work(const struct rank_now *r)
{
	return r->own_ns * (1 - r->cut);
}

static double step_over(struct replay *p, const struct place *x)
{
	const struct nsx_fleet *f = p->f;
	const struct nsx_fcomm *c = &f->comm[x->comm];
	double ready = INFINITY, least = INFINITY, was = INFINITY, ahead;

	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		struct rank_now *r = &p->rank[c->m[m].rank];
		size_t i = nsx_member_at(&c->m[m], ch, x->k);

		if (i == SIZE_MAX || r->since_ns == INT64_MIN)
			continue;
		work(r, nsx_coll_start(ch, i));
		ready = NSX_MIN(ready, mended_work(r));
	}
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		struct rank_now *r = &p->rank[c->m[m].rank];
		struct channel_now *now = &p->channel[x->comm][m];
		size_t i = nsx_member_at(&c->m[m], ch, x->k);
		double by_data, by_channel, ns;

		if (i == SIZE_MAX || r->since_ns == INT64_MIN)
			continue;
		ns = (double)nsx_coll_ns(ch, i);
		by_data = r->ahead_ns;
		by_channel = INFINITY;
		if (now->end_ns != INT64_MIN) {
			int64_t gap = nsx_coll_start(ch, i) - now->end_ns;

			by_channel = now->ahead_ns + (double)gap;
			if (gap <= AT_ONCE_NS) /* it was the channel */
				by_data += mended_work(r) - ready;
		}
		least = NSX_MIN(least, ns + NSX_MIN(by_data, by_channel));
		was = NSX_MIN(was, ns);
	}
	if (isinf(was))
		return NAN;
	ahead = least - was + faster(p, x->comm);
	for (uint32_t m = 0; m < c->n; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, &c->m[m]);
		struct rank_now *r = &p->rank[c->m[m].rank];
		size_t i = nsx_member_at(&c->m[m], ch, x->k);
		int64_t end_ns, exposed_ns;

		if (i == SIZE_MAX || r->since_ns == INT64_MIN)
			continue;
		end_ns = nsx_coll_start(ch, i) + nsx_coll_ns(ch, i);
		exposed_ns = nsx_coll_ns(ch, i) * ch->exposed[i] / 255;
		p->channel[x->comm][m] = (struct channel_now){ahead, end_ns};
		work(r, end_ns - exposed_ns);
		if (exposed_ns > 1000) {
			r->ahead_ns = NSX_MIN(ahead, r->ahead_ns +
						     (double)exposed_ns);
			r->since_ns = NSX_MAX(r->since_ns, end_ns);
		}
	}
	return ahead;
}

/* Of the main family's last collective. */
static double replay_step(struct replay *p, size_t s, double *scratch,
			  struct nsx_err *err)
{
	double saved = 0;

	if (list_places(p, s, err))
		return NAN;
	mend(p, s, scratch);
	for (uint32_t i = 0; i < p->f->ncomms; i++)
		for (uint32_t m = 0; m < p->f->comm[i].n; m++)
			p->channel[i][m].end_ns = INT64_MIN;
	for (size_t i = 0; i < p->nplaces; i++) {
		double ahead = step_over(p, &p->v[i]);

		if (p->f->comm[p->v[i].comm].family == p->f->main &&
		    !isnan(ahead))
			saved = ahead;
	}
	return saved;
}

int nsx_fleet_replay(const struct nsx_fleet *f, const uint32_t *ranks, size_t n,
		     const struct nsx_fslow_link *links, size_t nlinks,
		     double *ret_ns, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct replay p = {.f = f, .ranks = ranks, .n = n, .links = links,
			   .nlinks = nlinks};
	double *scratch = nsx_arena_get(a, f->nranks * sizeof(*scratch)), sum = 0;
	int rc = 0;

	p.rank = nsx_arena_get(a, f->nranks * sizeof(*p.rank));
	p.channel = nsx_arena_get(a, f->ncomms * sizeof(*p.channel));
	p.at = nsx_arena_get(a, f->ncomms * sizeof(*p.at));
	for (uint32_t i = 0; i < f->ncomms; i++) {
		p.channel[i] = nsx_arena_get(a, f->comm[i].n *
							sizeof(**p.channel));
		p.at[i] = f->comm[i].first;
	}
	for (size_t s = 0; s < f->nsteps && !rc; s++) {
		double saved = replay_step(&p, s, scratch, err);

		if (isnan(saved))
			rc = err->rc;
		sum += saved;
	}
	free(p.v);
	nsx_arena_free(a);
	if (!rc)
		*ret_ns = f->nsteps ? sum / (double)f->nsteps : 0;
	return rc;
}
