/* even.c - makes a rank even: its operations, calls and gaps take the distribution of its peers. */
#include "base/keyed.h"
#include "facts/replay/compile.h"

/* Roles of an entry. OWN: of the rank that is made even. PEER: of a rank with which it is compared.
 * APART: of another rank that the same plan makes even, so it is no peer.
 */
enum role { OWN, PEER, APART };

struct evening { /* state of making one rank even */
	struct player *p;
	const struct nsx_model *m;
	struct nsx_plan plan; /* the plan of the change                       */
	const struct nsx_change *c;
	struct nsx_arena *a;
	size_t *touched;
	uint8_t *engine_role, *thread_role; /* enum role                     */
	struct measured *v; /* buffer for all entries of one kind             */
	double *share; /* buffer: share of each entry that remains           */
};

static enum role even_role_of(const struct evening *x, uint32_t process, uint32_t device)
{
	if (process == x->c->process && device == x->c->device)
		return OWN;
	for (size_t i = 0; i < x->plan.n; i++) {
		const struct nsx_change *c = &x->plan.v[i];

		if (c->verb == NSX_EVEN_RANK && c->process == process && c->device == device)
			return APART;
	}
	return PEER;
}

static bool find_engines(struct evening *x)
{
	bool has_peers = false;

	for (uint32_t i = 0; i < x->m->nengines; i++) {
		const struct model_rank *r = &x->m->engine_rank[i];

		x->engine_role[i] = (uint8_t)even_role_of(x, r->process, r->device);
		has_peers |= x->engine_role[i] == PEER;
	}
	return has_peers;
}

static int find_roles(struct evening *x, struct nsx_err *err)
{
	const struct nsx_model *m = x->m;
	uint32_t nthreads = m->thread_device ? m->t->nthreads : 0;

	if (nsx_new_arrays(x->a, m->nengines, "ranks", err, x->engine_role) ||
	    nsx_new_arrays(x->a, nthreads, "ranks", err, x->thread_role))
		return err->rc;
	if (!find_engines(x)) {
		x->plan.n = 0; /* the plan makes all ranks even: each is compared with the
				  others as recorded                          */
		find_engines(x);
	}
	for (uint32_t h = 0; h < nthreads; h++)
		x->thread_role[h] = (uint8_t)even_role_of(
			x, m->t->thread[h].process, m->thread_device[h]);
	return 0;
}

struct measured { /* an entry of the rank or a peer */
	int64_t ns;
	uint32_t at;
	bool begins; /* the first of its kind                                */
	bool is_peer;
	bool counts; /* lies between collectives, where ranks are comparable */
	uint32_t step; /* NSX_NONE: unknown                                  */
};

struct tally { /* number of entries of a kind in a step */
	size_t own, theirs, kept; /* theirs: of all peers; kept: own ones that remain */
};

/* The mean number of a peer's entries, as a share of the rank's; 1: not fewer, or unknown. */
static double fewer(const struct tally *x, size_t npeers)
{
	return x->theirs && x->own * npeers > x->theirs ?
		       (double)x->theirs / (double)(x->own * npeers) : 1;
}

static struct tally count_tallies(const struct measured *v, size_t n, struct tally *steps)
{
	struct tally all = {0};

	for (size_t i = 0; i < n; i++)
		if (v[i].step != NSX_NONE)
			steps[v[i].step] = (struct tally){0};
	for (size_t i = 0; i < n; i++) {
		struct tally *x = v[i].step == NSX_NONE ? NULL : &steps[v[i].step];

		if (!v[i].counts)
			continue;
		*(v[i].is_peer ? &all.theirs : &all.own) += 1;
		if (x)
			*(v[i].is_peer ? &x->theirs : &x->own) += 1;
	}
	return all;
}

struct leveling { /* buffers for all kinds */
	struct tally *steps;
	struct nsx_keyed *order; /* room for twice the rank's entries with a known step */
	double *share;
};

/* Sets the share of each entry that remains if the rank has more entries of a kind than its peers.
 * If most steps have as many entries as those of the peers, the surplus of the other steps is
 * removed at their end: what only one rank does occasionally, such as an evaluation, comes after
 * what all ranks do. Otherwise all entries shrink equally.
 */
static void even_share_out(const struct measured *v, size_t n, size_t npeers, struct leveling *x)
{
	struct tally all = count_tallies(v, n, x->steps);
	double part = fewer(&all, npeers);
	size_t k = 0, nsteps = 0, nmore = 0;

	for (size_t i = 0; i < n; i++) {
		struct tally *step = v[i].step == NSX_NONE ? NULL : &x->steps[v[i].step];

		x->share[i] = part;
		if (part >= 1 || v[i].is_peer || !step || !step->theirs)
			continue;
		x->order[k++] = (struct nsx_keyed){v[i].at, (uint32_t)i};
		nsteps += !step->kept;
		nmore += !step->kept && fewer(step, npeers) < 1;
		step->kept++;
	}
	if (2 * nmore > nsteps)
		return;
	nsx_keyed_sort(x->order, x->order + k, k);
	while (k-- > 0) {
		struct tally *step = &x->steps[v[x->order[k].at].step];
		double left = (double)step->theirs / (double)npeers - (double)--step->kept;

		x->share[x->order[k].at] = NSX_MIN(NSX_MAX(left, 0), 1);
	}
}

/* Gives the rank the distribution of its peers, kind by kind: its longest entry becomes as long as
 * the peers' longest, and so on. Surplus entries are removed. s->v is sorted by kind, then length.
 */
static int even_level(struct evening *s, size_t n, size_t nranks, int64_t *values,
		      bool lifts, struct nsx_err *err)
{
	const struct measured *v = s->v;
	struct leveling x = {.share = s->share};
	size_t nordered = 0;

	for (size_t i = 0; i < n; i++)
		nordered += !v[i].is_peer && v[i].step != NSX_NONE;
	if (nsx_new_arrays(s->a, 2 * nordered, "figures of ranks", err, x.order) ||
	    nsx_new_arrays(s->a, s->m->nsteps, "iterations", err, x.steps))
		return err->rc;
	for (size_t from = 0, to; from < n; from = to) {
		size_t npeers = 0, nown, own = 0, peer = 0, at = from;

		for (to = from; to < n && (to == from || !v[to].begins); to++)
			npeers += v[to].is_peer;
		even_share_out(v + from, to - from, nranks, &x);
		nown = to - from - npeers;
		for (size_t i = from; i < to && npeers; i++) {
			int64_t ns;
			size_t k;

			if (v[i].is_peer)
				continue;
			k = (2 * own++ + 1) * npeers / (2 * nown);
			while (!v[at].is_peer || peer < k)
				peer += v[at++].is_peer;
			ns = (int64_t)((double)NSX_MIN(v[at].ns, v[i].ns) * x.share[i - from]);
			if (ns >= v[i].ns)
				continue;
			compile_lower(&values[v[i].at], ns, s->touched);
			if (!lifts)
				continue;
			compile_lower(player_pause(s->p, v[i].at),
				      ns - values[v[i].at], s->touched);
			s->p->edit.call[v[i].at] |= EDIT_LIFTED;
		}
	}
	return 0;
}

/* The time in which each GPU is compared, by engine of its kernels. It lasts from the first to the
 * last collective that begins in the window on all ranks. *ret_peers: number of other GPUs.
 */
static struct nsx_span *between_teams(struct evening *s, size_t *ret_peers, struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	struct nsx_span *v;
	size_t n = 0;

	if (!nsx_new_array(v, s->a, m->nengines, "ranks", err))
		return NULL;
	for (uint32_t i = 0; i < m->nengines; i++)
		v[i] = (struct nsx_span){INT64_MAX, INT64_MIN};
	for (uint32_t k = 0; k < m->nteams; k++) {
		const struct model_team *x = &m->team[k];
		unsigned active = OP_ACTIVE;

		for (uint32_t i = x->at; i < x->at + x->n; i++)
			active &= m->op[m->member[i]].flags;
		for (uint32_t i = x->at; active && i < x->at + x->n; i++) {
			const struct model_op *o = &m->op[m->member[i]];
			struct nsx_span *w = &v[o->engine];

			if (s->engine_role[o->engine] == APART)
				continue;
			w->start_ns = NSX_MIN(w->start_ns, o->start_ns);
			w->end_ns = NSX_MAX(w->end_ns, o->start_ns);
		}
	}
	for (uint32_t i = 0; i < m->nengines; i++)
		n += v[i].start_ns <= v[i].end_ns;
	*ret_peers = n > 1 ? n - 1 : 1;
	return v;
}

/* Makes the first and the last step unknown, because only parts of them may lie in the window. */
static void forget_cut_steps(struct measured *v, size_t n)
{
	uint32_t first = NSX_NONE, last = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].step == NSX_NONE)
			continue;
		first = NSX_MIN(first, v[i].step);
		last = NSX_MAX(last, v[i].step);
	}
	for (size_t i = 0; i < n; i++)
		if (v[i].step == first || v[i].step == last)
			v[i].step = NSX_NONE;
}

static int even_work(struct evening *s, struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	size_t npeers, n = 0;
	bool begins = false;
	const struct nsx_span *alike = between_teams(s, &npeers, err);

	if (!alike || player_need_lengths(s->p, err))
		return err->rc;
	for (uint32_t k = 0; k < m->alike_ops.n; k++) {
		uint32_t of = (uint32_t)nsx_unpack(&m->alike_ops.of, k);
		uint32_t at = (uint32_t)nsx_unpack(&m->alike_ops.at, k);
		const struct nsx_span *w = &alike[of >> 1];
		enum role role = s->engine_role[of >> 1];
		int64_t start_ns = m->op[at].start_ns;

		begins |= of & 1;
		if (role == APART)
			continue;
		s->v[n++] = (struct measured){
			nsx_unpack(&m->alike_ops.ns, k), at, begins, role == PEER,
			start_ns >= w->start_ns && start_ns < w->end_ns,
			m->nsteps ? m->alike_step[k] : NSX_NONE};
		begins = false;
	}
	forget_cut_steps(s->v, n);
	return even_level(s, n, npeers, s->p->edit.length_ns, false, err);
}

/* Evens calls, or the gaps before them. */
static int even_host(struct evening *s, const struct model_alikes *all,
		     int64_t *values, bool lifts, struct nsx_err *err)
{
	bool begins = false;
	size_t n = 0;

	for (uint32_t k = 0; k < all->n; k++) {
		uint32_t of = (uint32_t)nsx_unpack(&all->of, k);
		enum role role = s->thread_role[of >> 1];

		begins |= of & 1;
		if (role == APART)
			continue;
		s->v[n++] = (struct measured){nsx_unpack(&all->ns, k),
					      (uint32_t)nsx_unpack(&all->at, k),
					      begins, role == PEER, false, NSX_NONE};
		begins = false;
	}
	return even_level(s, n, 1, values, lifts, err);
}

int compile_even_rank(struct player *p, struct nsx_plan plan,
		      const struct nsx_change *c, struct nsx_arena *a,
		      size_t *touched, struct nsx_err *err)
{
	const struct nsx_model *m = p->m;
	struct evening s = {.p = p, .m = m, .plan = plan, .c = c, .a = a,
			    .touched = touched};
	size_t most = NSX_MAX(m->alike_ops.n, NSX_MAX(m->alike_gaps.n, m->alike_calls.n));

	if (find_roles(&s, err) ||
	    nsx_new_arrays(a, most, "figures of ranks", err, s.v, s.share) ||
	    even_work(&s, err) || player_need_gaps(p, err) ||
	    even_host(&s, &m->alike_gaps, p->edit.gap_ns, true, err) ||
	    player_need_costs(p, err) ||
	    even_host(&s, &m->alike_calls, p->edit.own_ns, false, err))
		return err->rc;
	return 0;
}
