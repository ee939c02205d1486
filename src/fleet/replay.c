/* replay.c - what the steps would save if some ranks had not been slow.
 *
 * Each step is walked collective by collective, in order of time. The walk tracks how much earlier
 * things would happen, not when. A mended rank has done as much own work before each collective as
 * the others, so it is ahead of its old self by the work it did more. A collective can begin on a
 * rank once its data are ready and the one before it on the channel has ended. It ends when its
 * last rank has come and the data have moved. A rank held by it (the exposed part) goes on that
 * much earlier; a rank that was not held does not.
 *
 * The own work that a collective needs is the mean over members that waited only for their data. A
 * communicator's own members count first, as pipeline stages do different work before the n-th
 * collective. If the channel held back all of them, two bounds apply: the member that had done
 * least, and the mended rank's work less its share of the step's excess.
 *
 * If members of a communicator are missing, nobody knows whether the others waited for them. Its
 * time beyond the family's shortest transfer may then shrink by as much as the family's other
 * communicators end earlier. The senders of MPI messages are not known either: waiting for messages
 * may shrink by as much as the late ranks come earlier. The same holds for MPI exchanges between several
 * ranks, in which each side sends before it waits.
 */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/fleet.h"

/* A collective that begins this soon after the one before it on its channel was held back
 * by that one.
 */
#define AT_ONCE_NS 10000
/* A shorter exposed time is the gap between two kernels and holds nobody back. */
#define LEAST_EXPOSED_NS 5000

struct place { /* a collective of a step */
	double at_ns; /* its end, on the common clock */
	uint32_t comm;	  /* NSX_NONE: one rank's wait for messages */
	uint32_t of;	  /* index in messages of such waits */
	uint32_t need[2]; /* index of its need, for even and for odd members */
	size_t k, nth; /* index in the family, and within the step in its communicator */
	size_t of_n;   /* number of places of that communicator in the step */
	/* own work before the collective, summed over the members that waited only for their
	 * data
	 */
	double peers_ns;
	size_t npeers; /* number of these members */
	size_t visits; /* index of its members' visits */
};
struct need { /* own work before the n-th collective of a step, over equals */
	double sum, least;
	double transfer; /* shortest duration */
	size_t n; /* number of ranks that waited only for their data */
};
struct rank_now {
	double own_ns;	 /* own work done in this step */
	double held_ns;	 /* time held by collectives since it last did own work */
	double more_ns;	 /* a mended rank's part of own_ns beyond what was needed */
	double ahead_ns; /* lead over the rank's recorded self */
	/* ahead_ns and more_ns at the time when more_ns turned from a measure into a bound */
	double sure_ahead_ns, sure_more_ns;
	bool is_guess; /* more_ns is a bound */
	int64_t since_ns; /* instant on its own clock up to which own_ns counts */
	double cut; /* share of a mended rank's own work in the step above the others' median */
	bool is_mended;
};
struct channel_now { /* state of a communicator's member */
	double ahead_ns; /* how much earlier its last collective ends */
	int64_t end_ns;	 /* INT64_MIN: none in this step */
};
struct visit { /* a member at a collective */
	int64_t start_ns, end_ns, exposed_ns; /* start_ns INT64_MIN: takes no part */
	double own_ns, held_ns;		      /* of the rank at that start */
};
struct messages { /* messages that a rank waits for */
	struct nsx_fmember m; /* the rank, as the only member of a communicator */
	uint32_t with;	/* the sender; NSX_NONE: unknown */
	uint64_t alike; /* ranks of equal numbers need the same work before */
	size_t at;	/* index of the next one */
};
struct replay {
	const struct nsx_fleet *f;
	const struct nsx_mended *mended;
	struct place *v;
	size_t nplaces, cap;
	struct visit *visit; /* by place and member */
	size_t nvisits, cap_visits;
	struct need *need;
	struct nsx_groups needs; /* by family and side, and nth */
	struct rank_now *rank;
	struct channel_now **channel; /* by comm and member */
	size_t *at;		      /* by comm: next collective */
	struct messages *messages;
	size_t nmessages;
	double most_more_ns; /* greatest excess of a mended rank in this step */
	double most_ahead_ns; /* greatest lead of a rank in this step */
	uint32_t *holder; /* by comm: the member waited for last */
	double *ahead_ns;	      /* by family: how much earlier its last collective ends */
	const struct nsx_passed *passed; /* NULL: not asked for */
	double saved_ns; /* time saved at the main family's last collective */
};

NSX_ORDER(cmp_place, struct place, UP(at_ns), UP(comm), UP(k), UP(of));

/* Finds when a collective of step s ends, by the first member that has both. False: no
 * member has them, or the collective is of a later step (*ret_later).
 */
static bool replay_place_of(const struct nsx_fleet *f, const struct nsx_fmember *m, uint32_t n,
			    size_t k, size_t s, double *ret_ns, bool *ret_later)
{
	*ret_later = false;
	for (; n--; m++) {
		const struct nsx_dchannel *ch = nsx_channel_of(f, m);
		const int64_t *b = nsx_bounds_of(f, m->rank, s);
		size_t i = nsx_timed_at(m, ch, k);
		int64_t end_ns;

		if (i == SIZE_MAX)
			continue;
		*ret_later = b[0] == INT64_MIN || b[1] == INT64_MIN;
		if (*ret_later)
			continue;
		end_ns = nsx_coll_end(ch, i);
		*ret_ns = nsx_common_ns(f, m->rank, end_ns);
		*ret_later = end_ns > b[1];
		return !*ret_later && end_ns > b[0];
	}
	return false;
}

/* Lists the visits of n members to places, member by member, as a rank's collectives are
 * neighbours in memory.
 */
static int list_visits(struct replay *p, const struct nsx_fmember *m, uint32_t n,
		       struct place *v, size_t nplaces, size_t s, struct nsx_err *err)
{
	if (nsx_grow(&p->visit, &p->cap_visits, p->nvisits + nplaces * n,
		     sizeof(*p->visit), "collectives", err))
		return err->rc;
	for (uint32_t j = 0; j < n; j++) {
		const struct nsx_dchannel *ch = nsx_channel_of(p->f, &m[j]);
		bool is_there = *nsx_bounds_of(p->f, m[j].rank, s) != INT64_MIN;

		for (size_t k = 0; k < nplaces; k++) {
			size_t i = nsx_timed_at(&m[j], ch, v[k].k);
			struct visit *x = &p->visit[p->nvisits + k * n + j];

			*x = (struct visit){.start_ns = INT64_MIN};
			if (i == SIZE_MAX || !is_there)
				continue;
			x->start_ns = nsx_coll_start(ch, i);
			x->end_ns = nsx_coll_end(ch, i);
			x->exposed_ns = nsx_coll_exposed_ns(ch, i);
		}
	}
	for (size_t k = 0; k < nplaces; k++, p->nvisits += n)
		v[k].visits = p->nvisits;
	return 0;
}

/* Whether to treat a communicator's operations as messages. If the other side of some ranks' sends
 * and receives is unknown, apparent matches are not trusted either.
 */
static bool is_of_messages(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	return (f->has_one_sides && nsx_is_of_unknown_pairs(f, c)) ||
	       nsx_channel_of(f, c->m)->is_exchange;
}

/* Whether another rank is there to wait for. */
static bool is_of_many(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	return !is_of_messages(f, c) && (c->n > 1 || f->family[c->family].n > 1);
}

/* Lists the collectives [*at, end) of n members that are in step s. x: what their places have in
 * common.
 */
static int list_places_of(struct replay *p, const struct nsx_fmember *m, uint32_t n, size_t *at,
			  size_t end, struct place x, size_t s, struct nsx_err *err)
{
	size_t from = p->nplaces;
	bool later = false;

	for (; *at < end; ++*at) {
		x.k = *at;
		x.nth = p->nplaces - from;
		if (!replay_place_of(p->f, m, n, x.k, s, &x.at_ns, &later)) {
			if (later)
				break;
			continue;
		}
		if (nsx_push(p->v, p->nplaces, p->cap, "collectives", err, x))
			return err->rc;
	}
	for (size_t k = from; k < p->nplaces; k++)
		p->v[k].of_n = p->nplaces - from;
	return list_visits(p, m, n, p->v + from, p->nplaces - from, s, err);
}

static int list_places(struct replay *p, size_t s, struct nsx_err *err)
{
	const struct nsx_fleet *f = p->f;
	int rc = 0;

	p->nplaces = p->nvisits = 0;
	for (uint32_t i = 0; i < f->ncomms && !rc; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		if (is_of_many(f, c))
			rc = list_places_of(p, c->m, c->n, &p->at[i], c->n > 1 ? c->end :
					    f->family[c->family].length,
					    (struct place){.comm = i}, s, err);
	}
	for (uint32_t i = 0; i < p->nmessages && !rc; i++) {
		struct messages *m = &p->messages[i];

		rc = list_places_of(p, &m->m, 1, &m->at, nsx_channel_of(f, &m->m)->n,
				    (struct place){.comm = NSX_NONE, .of = i}, s, err);
	}
	nsx_sort(p->v, p->nplaces, sizeof(*p->v), cmp_place);
	return rc;
}

static void find_cuts(struct replay *p, size_t s, double *scratch)
{
	const double *own = &p->f->own_ns[s * p->f->nranks];
	size_t n = 0;
	double median;

	for (uint32_t r = 0; r < p->f->nranks; r++)
		if (!isnan(own[r]) && !p->rank[r].is_mended)
			scratch[n++] = own[r];
	median = nsx_median_of(scratch, n);
	p->most_more_ns = 0;
	for (uint32_t r = 0; r < p->f->nranks; r++) {
		bool is_cut = p->rank[r].is_mended && n && own[r] > median;

		p->rank[r].cut = is_cut ? 1 - median / own[r] : 0;
		if (is_cut)
			p->most_more_ns = NSX_MAX(p->most_more_ns, own[r] - median);
	}
}

/* Resets ranks and channels to the start of a step. A rank that was not in the step before
 * is as far ahead as the others.
 */
static void begin_step(struct replay *p, size_t s)
{
	const struct nsx_fleet *f = p->f;

	p->most_ahead_ns = p->saved_ns;
	for (uint32_t r = 0; r < f->nranks; r++)
		p->rank[r] = (struct rank_now){
			.since_ns = *nsx_bounds_of(f, r, s), .cut = p->rank[r].cut,
			.ahead_ns = s && *nsx_bounds_of(f, r, s - 1) == INT64_MIN ?
					    p->saved_ns : p->rank[r].ahead_ns,
			.is_mended = p->rank[r].is_mended};
	for (uint32_t i = 0; i < f->ncomms; i++)
		for (uint32_t m = 0; m < f->comm[i].n; m++)
			p->channel[i][m].end_ns = INT64_MIN;
}

static bool is_held_by_channel(const struct visit *v, const struct channel_now *now)
{
	return now->end_ns != INT64_MIN && v->start_ns - now->end_ns <= AT_ONCE_NS;
}

/* Advances a rank that does its own work up to time t of its own clock. */
static void work(struct rank_now *r, int64_t t)
{
	if (t <= r->since_ns)
		return;
	r->own_ns += (double)(t - r->since_ns);
	if (t - r->since_ns > AT_ONCE_NS)
		r->held_ns = 0;
	r->since_ns = t;
}

/* Advances a rank over a collective: own work continues while the collective is hidden, then the
 * rank waits for the end.
 */
static void pass_over(const struct visit *v, struct rank_now *r)
{
	work(r, v->end_ns - v->exposed_ns);
	if (v->exposed_ns > LEAST_EXPOSED_NS && r->since_ns < v->end_ns) {
		r->held_ns += (double)(v->end_ns - r->since_ns);
		r->since_ns = v->end_ns;
	}
}

/* The need before the nth operation of equal members; `what` identifies the operation. NULL without
 * memory.
 */
static struct need *need_of(struct replay *p, uint64_t what, size_t nth, struct nsx_err *err)
{
	struct need *need = nsx_group_value(&p->needs, &p->need, what, nth, "collectives", err);

	if (need && need->least == 0)
		need->least = need->transfer = INFINITY;
	return need;
}

/* Records the own work with which a rank arrived at v. */
static void note_need(const struct rank_now *r, const struct visit *v,
		      bool is_free, struct need *need)
{
	need->least = NSX_MIN(need->least, v->own_ns * (1 - r->cut));
	need->transfer = NSX_MIN(need->transfer, (double)(v->end_ns - v->start_ns));
	if (!r->is_mended && is_free) {
		need->sum += v->own_ns;
		need->n++;
	}
}

/* First walk for a wait for messages. Equals are ranks of one kind with equally many waits in the
 * step.
 */
static int measure_messages(struct replay *p, struct place *x, struct nsx_err *err)
{
	struct visit *v = &p->visit[x->visits];
	struct rank_now *r = &p->rank[p->messages[x->of].m.rank];
	/* One need for the work before it, one for its least duration. */
	const uint64_t keys[2] = {nsx_hash_u64(p->messages[x->of].alike + 1),
				  nsx_hash_u64(0)};

	work(r, v->start_ns);
	v->own_ns = r->own_ns;
	v->held_ns = r->held_ns;
	for (unsigned i = 0; i < 2; i++) {
		struct need *need = need_of(p, nsx_hash_u64(keys[i] + x->of_n),
					    i ? 0 : x->nth, err);

		if (!need)
			return err->rc;
		x->need[i] = (uint32_t)(need - p->need);
		note_need(r, v, true, need);
	}
	pass_over(v, r);
	return 0;
}

/* First walk: notes the own work of all ranks when each collective begins. */
static int replay_measure(struct replay *p, struct place *x, struct nsx_err *err)
{
	const struct nsx_fcomm *c = &p->f->comm[x->comm];
	/* Sender and receiver are at different places of their work. */
	bool is_pair = c->n == 2 && nsx_holds_all(p->f, c, x->k) &&
		       nsx_op_at(p->f, c, x->k)->holds == 2;

	for (unsigned side = 0; side < 2; side++) {
		struct need *need = need_of(p, 2ULL * c->family + (is_pair && side), x->nth, err);

		if (!need)
			return err->rc;
		x->need[side] = (uint32_t)(need - p->need);
	}
	for (uint32_t m = 0; m < c->n; m++) {
		struct visit *v = &p->visit[x->visits + m];
		struct rank_now *r = &p->rank[c->m[m].rank];
		struct channel_now *now = &p->channel[x->comm][m];
		bool is_free;

		if (v->start_ns == INT64_MIN)
			continue;
		work(r, v->start_ns);
		v->own_ns = r->own_ns;
		v->held_ns = r->held_ns;
		is_free = !is_held_by_channel(v, now);
		note_need(r, v, is_free, &p->need[x->need[m & 1]]);
		if (is_free && !r->is_mended && !is_pair) {
			x->peers_ns += v->own_ns;
			x->npeers++;
		}
		pass_over(v, r);
		now->end_ns = v->end_ns;
	}
	return 0;
}

static double needed(const struct replay *p, const struct place *x, uint32_t m)
{
	const struct need *n = &p->need[x->need[m & 1]];

	return x->npeers ? x->peers_ns / (double)x->npeers :
	       n->n ? n->sum / (double)n->n : n->least;
}

/* Updates how much less a mended rank has to do: a bound is no less than the measure before it.
 * When a measure follows a bound, the bound's effect is corrected, except the part that a
 * collective has used up since.
 */
static void do_less(struct rank_now *r, double more, bool is_guess)
{
	double ahead;

	if (is_guess && !r->is_guess) {
		r->sure_ahead_ns = r->ahead_ns;
		r->sure_more_ns = r->more_ns;
	}
	more = is_guess ? NSX_MAX(more, r->sure_more_ns) : more;
	ahead = r->ahead_ns + more - r->more_ns;
	if (!is_guess && r->is_guess)
		ahead = NSX_MAX(ahead, NSX_MIN(r->ahead_ns, r->sure_ahead_ns +
							    more - r->sure_more_ns));
	r->is_guess = is_guess;
	r->ahead_ns = ahead;
	r->more_ns = more;
}

/* How much earlier a member's part could begin. */
static double ahead_of(const struct visit *v, struct rank_now *r,
		       const struct channel_now *now, double need, bool is_guess)
{
	double by_data, by_channel;

	if (r->is_mended && !isinf(need))
		do_less(r, NSX_MAX(0, v->own_ns - need), is_guess);
	by_data = r->ahead_ns;
	if (now->end_ns == INT64_MIN)
		return by_data;
	by_channel = now->ahead_ns + (double)(v->start_ns - now->end_ns);
	if (is_held_by_channel(v, now) && !r->is_mended)
		by_data += v->own_ns >= need ? v->own_ns - need + v->held_ns : 0;
	return NSX_MIN(by_data, by_channel);
}

/* Finds the member for which a collective waited: the last to arrive or, if the channel held that
 * one back, the same as before.
 */
static void find_holder(struct replay *p, const struct place *x)
{
	const struct visit *v = &p->visit[x->visits];
	uint32_t n = p->f->comm[x->comm].n, last = NSX_NONE;

	for (uint32_t m = 0; m < n; m++)
		if (v[m].start_ns != INT64_MIN &&
		    (last == NSX_NONE || v[m].end_ns - v[m].start_ns <
						 v[last].end_ns - v[last].start_ns))
			last = m;
	if (!is_held_by_channel(&v[last], &p->channel[x->comm][last]))
		p->holder[x->comm] = last;
}

/* A member that was held continues `ahead` of its old self: it has waited that much less for the
 * holder.
 */
static void go_on(struct replay *p, const struct place *x, uint32_t m, double ahead)
{
	struct rank_now *r = &p->rank[p->f->comm[x->comm].m[m].rank];
	double less = ahead - r->ahead_ns;

	r->ahead_ns = ahead;
	p->most_ahead_ns = NSX_MAX(p->most_ahead_ns, ahead);
	if (!p->passed || less <= 0 || r->is_mended)
		return;
	p->passed->wait_ns[x->comm][m] += less;
	p->passed->held_ns[x->comm][p->holder[x->comm]] += less;
}

/* Second walk. Returns how much earlier the collective ends; NAN: nobody took part. */
static double step_over(struct replay *p, const struct place *x)
{
	const struct nsx_fcomm *c = &p->f->comm[x->comm];
	double least = INFINITY, was = INFINITY, ahead;
	bool holds_all = nsx_holds_all(p->f, c, x->k);

	for (uint32_t m = 0; m < c->n; m++) {
		const struct visit *v = &p->visit[x->visits + m];
		double ns;

		if (v->start_ns == INT64_MIN)
			continue;
		ns = (double)(v->end_ns - v->start_ns);
		least = NSX_MIN(least, ns + ahead_of(v, &p->rank[c->m[m].rank],
						     &p->channel[x->comm][m], needed(p, x, m),
						     !x->npeers && !p->need[x->need[m & 1]].n));
		was = NSX_MIN(was, ns);
	}
	if (isinf(was))
		return NAN;
	ahead = least - was + (x->comm == p->mended->comm ? p->mended->link_ns : 0);
	if (c->n < p->f->family[c->family].most)
		ahead = NSX_MAX(ahead, NSX_MIN(p->ahead_ns[c->family], least -
					       p->need[x->need[0]].transfer));
	p->ahead_ns[c->family] = ahead;
	if (p->passed)
		find_holder(p, x);
	for (uint32_t m = 0; m < c->n; m++) {
		const struct visit *v = &p->visit[x->visits + m];
		struct rank_now *r = &p->rank[c->m[m].rank];
		double mine = ahead;

		if (v->start_ns == INT64_MIN)
			continue;
		/* in a broadcast, a rank that did not wait had nobody to wait for */
		if (!holds_all && (double)(v->end_ns - v->start_ns) - was < AT_ONCE_NS)
			mine = r->ahead_ns;
		if (v->exposed_ns > LEAST_EXPOSED_NS)
			go_on(p, x, m, NSX_MIN(mine, r->ahead_ns + (double)v->exposed_ns));
		p->channel[x->comm][m] = (struct channel_now){mine, v->end_ns};
	}
	return ahead;
}

/* How much earlier messages may come. Clocks known to some ten microseconds do not tell which message
 * came before which, so a late rank may have sent after all that it gains in the step.
 */
static double most_ahead(const struct replay *p, const struct messages *m)
{
	const struct rank_now *with = &p->rank[m->with == NSX_NONE ? m->m.rank : m->with];

	return m->with == NSX_NONE ? NSX_MAX(p->saved_ns + p->most_more_ns, p->most_ahead_ns) :
	       with->ahead_ns + (with->is_mended ? p->most_more_ns : 0);
}

/* Second walk for a wait for messages. A late rank has less to do before it; any other rank waits
 * less, up to what the senders gain.
 */
static void step_over_messages(struct replay *p, const struct place *x)
{
	const struct visit *v = &p->visit[x->visits];
	const struct need *need = &p->need[x->need[0]];
	struct rank_now *r = &p->rank[p->messages[x->of].m.rank];
	double waited = NSX_MIN((double)v->exposed_ns, (double)(v->end_ns - v->start_ns) -
							       p->need[x->need[1]].transfer);

	if (r->is_mended) {
		do_less(r, NSX_MAX(0, v->own_ns - needed(p, x, 0)), !need->n);
		return;
	}
	r->ahead_ns = NSX_MAX(r->ahead_ns, NSX_MIN(most_ahead(p, &p->messages[x->of]),
						   r->ahead_ns + waited));
}

static int replay_step(struct replay *p, size_t s, double *scratch, struct nsx_err *err)
{
	if (list_places(p, s, err))
		return err->rc;
	find_cuts(p, s, scratch);
	begin_step(p, s);
	nsx_groups_done(&p->needs);
	for (size_t i = 0; i < p->nplaces; i++)
		if (p->v[i].comm == NSX_NONE ?
			    measure_messages(p, &p->v[i], err) :
			    replay_measure(p, &p->v[i], err))
			return err->rc;
	begin_step(p, s);
	for (size_t i = 0; i < p->nplaces; i++) {
		double ahead;

		if (p->v[i].comm == NSX_NONE) {
			step_over_messages(p, &p->v[i]);
			continue;
		}
		ahead = step_over(p, &p->v[i]);
		if (p->f->comm[p->v[i].comm].family == p->f->main && !isnan(ahead))
			p->saved_ns = ahead;
	}
	return 0;
}

/* Without times of collectives a step lasts as long as its slowest rank. */
static void replay_totals(struct replay *p, double *scratch)
{
	for (size_t s = 0; s < p->f->nsteps; s++) {
		const double *own = &p->f->own_ns[s * p->f->nranks];
		double was = 0, is = 0;

		find_cuts(p, s, scratch);
		for (uint32_t r = 0; r < p->f->nranks; r++) {
			if (isnan(own[r]))
				continue;
			was = NSX_MAX(was, own[r]);
			is = NSX_MAX(is, own[r] * (1 - p->rank[r].cut));
		}
		p->saved_ns += was - is;
	}
}

static void add_waits_of(struct replay *p, uint32_t rank, uint32_t channel, uint32_t with,
			 uint64_t alike)
{
	p->messages[p->nmessages++] = (struct messages){
		{.rank = rank, .channel = channel, .npieces = 1}, with, alike, 0};
}

/* Lists waits for messages, of MPI and NCCL. Pipeline stages that wait as often are not equal. */
static void replay_list_waits(struct replay *p, struct nsx_arena *a)
{
	const struct nsx_fleet *f = p->f;
	size_t most = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		most += f->rank[r].d->nchannels;
	p->messages = nsx_arena_get(a, most * sizeof(*p->messages));
	for (uint32_t r = 0; r < f->nranks; r++)
		for (uint32_t c = 0; c < f->rank[r].d->nchannels; c++) {
			const struct nsx_dchannel *x = &f->rank[r].d->channels[c];

			if (nsx_is_of_messages(x) && x->has_times)
				add_waits_of(p, r, c, NSX_NONE, 0);
		}
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		for (uint32_t m = 0; m < c->n; m++)
			if (is_of_messages(f, c) && nsx_channel_of(f, &c->m[m])->has_times)
				add_waits_of(p, c->m[m].rank, c->m[m].channel,
					     c->n == 2 && c->is_sure ? c->m[!m].rank : NSX_NONE,
					     f->family[c->family].is_mpi ? 0 : i + 1);
	}
}

size_t nsx_fleet_steps_of(const struct nsx_fleet *f, const uint32_t *ranks, size_t n)
{
	size_t there = 0;

	for (size_t s = 0; s < f->nsteps; s++)
		for (size_t i = 0; i < n; i++)
			if (!isnan(f->own_ns[s * f->nranks + ranks[i]])) {
				there++;
				break;
			}
	return there;
}

int nsx_fleet_replay(const struct nsx_fleet *f, const struct nsx_mended *mended,
		     const struct nsx_passed *passed, double *ret_ns, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct replay p = {.f = f, .mended = mended, .passed = passed};
	double *scratch = nsx_arena_get(a, f->nranks * sizeof(*scratch));
	int rc = 0;

	p.rank = nsx_arena_get(a, f->nranks * sizeof(*p.rank));
	for (size_t i = 0; i < mended->n; i++)
		p.rank[mended->ranks[i]].is_mended = true;
	p.channel = nsx_arena_get(a, f->ncomms * sizeof(*p.channel));
	p.at = nsx_arena_get(a, f->ncomms * sizeof(*p.at));
	replay_list_waits(&p, a);
	p.holder = nsx_arena_get(a, f->ncomms * sizeof(*p.holder));
	p.ahead_ns = nsx_arena_get(a, f->nfamilies * sizeof(*p.ahead_ns));
	for (uint32_t i = 0; i < f->ncomms; i++) {
		p.channel[i] = nsx_arena_get(a, f->comm[i].n * sizeof(**p.channel));
		p.at[i] = f->comm[i].first;
	}
	if (f->by_totals)
		replay_totals(&p, scratch);
	for (size_t s = 0; s < f->nsteps && !f->by_totals && !rc; s++)
		rc = replay_step(&p, s, scratch, err);
	free(p.v);
	free(p.visit);
	free(p.need);
	nsx_groups_done(&p.needs);
	nsx_arena_free(a);
	if (!rc)
		*ret_ns = p.saved_ns / NSX_MAX(1, (double)(mended->n ?
			nsx_fleet_steps_of(f, mended->ranks, mended->n) :
			f->nsteps));
	return rc;
}
