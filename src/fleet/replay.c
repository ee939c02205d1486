/* replay.c - what the steps would save if some ranks had not been slow.
 *
 * Each step is walked collective by collective, in order of time. The walk tracks how much earlier
 * things would happen, not when. A mended rank has done as much own work before each collective as
 * the others, so it is ahead of its old self by the work it did more. A collective can begin on a
 * rank once its data are ready and the one before it on the channel has ended. It ends when its
 * last rank has come and the data have moved. A rank held by it (the exposed part) goes on that
 * much earlier; a rank that was not held does not.
 *
 * The own work that a collective needs is the mean over equals that waited only for their data:
 * ranks of the same stage at the n-th collective of the family in the step. If the channel held back
 * all of them, two bounds apply: the member that had done least, and the mended rank's work less its
 * share of the step's excess.
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
/* Shorter exposed times, or smaller shares of the length, are gaps between kernels and hold nobody
 * back.
 */
#define LEAST_EXPOSED_NS 5000
#define LEAST_EXPOSED_SHARE 0.01

struct line { /* a communicator, or a rank's waits for messages */
	const struct nsx_fmember *m;
	uint32_t n;
	const struct nsx_fcomm *c; /* NULL: waits for messages */
	uint32_t comm; /* index of c; NSX_NONE: none */
	size_t at, end; /* next collective, and behind the last one */
	struct channel_now { /* state of a member */
		double ahead_ns; /* how much earlier its last collective ends */
		int64_t end_ns;	 /* end of that collective; INT64_MIN: none in this step */
	} *now;
	uint32_t holder; /* the member waited for last */
	uint32_t with;	 /* sender of the messages; NSX_NONE: unknown */
	uint64_t alike;	 /* lines with the same value need equal own work before their messages */
};
struct place { /* a collective of a step */
	double at_ns; /* when it ends, on the common clock */
	struct line *line;
	uint32_t need[2]; /* index of its need, for even and for odd members */
	/* k: index in the family; nth: index among the collectives of its line in this step */
	size_t k, nth;
	size_t of_n;   /* number of collectives of its line in the step */
	size_t npeers; /* number of members that waited only for their data */
	size_t visits; /* index of its members' visits */
};
/* own work that ranks with equal work have done before the n-th collective of a step */
struct need {
	double sum, least;
	double transfer; /* shortest duration */
	size_t n; /* number of ranks that waited only for their data */
};
struct rank_now {
	double own_ns;	 /* own work done in this step */
	double held_ns;	 /* time held by collectives since it last did own work */
	double more_ns;	 /* a mended rank's part of own_ns beyond what was needed */
	double ahead_ns; /* lead over the rank's recorded self */
	double begun_ns; /* ahead_ns at the start of the step */
	uint32_t last; /* its latest visit in this step; NSX_NONE: none */
	int64_t last_ns; /* end of the latest visit */
	int64_t begin_ns; /* start of the step */
	int64_t since_ns; /* instant on its own clock up to which own_ns counts */
	double cut; /* a mended rank's own work in the step above the others' median, as a share */
	bool is_mended;
};
struct visit { /* a member at a collective */
	struct nsx_coll at;	/* start_ns INT64_MIN: takes no part */
	double own_ns;		/* own work that the rank has done when it arrives */
	float held_ns;
	uint32_t before;	/* the visit of its rank that ended before; NSX_NONE: none */
	union { /* state of the rank after the visit: `did` in the first walk, `is` in the second */
		struct {
			double own_ns;
			int64_t since_ns;
		} did;
		struct {
			double ahead_ns, more_ns;
		} is;
	};
};
struct replay {
	const struct nsx_fleet *f;
	const struct nsx_mended *mended;
	struct line *line;
	size_t nlines;
	struct place *v;
	size_t nplaces, cap;
	struct visit *visit; /* by place and member */
	size_t nvisits, cap_visits;
	struct need *need;
	struct nsx_groups needs; /* by family and side, and nth */
	struct rank_now *rank;
	double most_more_ns; /* greatest excess of a mended rank in this step */
	double most_ahead_ns; /* greatest lead of a rank in this step */
	double *ahead_ns;	      /* by family: how much earlier its last collective ends */
	const struct nsx_passed *passed; /* NULL: not asked for */
	double saved_ns; /* time saved at the main family's last collective */
	double *scratch; /* room for all ranks */
};

NSX_ORDER(cmp_place, struct place, UP(at_ns), UP(line->comm), UP(k), UP(line));

/* Lines --------------------------------------------------------------------------------*/

/* Whether it is unknown who waits for whom in a communicator's operations, as in a ring. */
static bool is_of_messages(const struct nsx_fcomm *c)
{
	return nsx_is_of_unknown_pairs(c) || c->m->c->is_exchange || nsx_is_of_neighbours(c);
}

static struct line *add_line(struct replay *p, const struct nsx_fmember *m, uint32_t n,
			     struct nsx_arena *a)
{
	struct line *x = &p->line[p->nlines++];

	*x = (struct line){.m = m, .n = n, .comm = NSX_NONE, .end = m->c->n, .with = NSX_NONE,
			   .now = nsx_arena_get(a, n * sizeof(*x->now))};
	return x;
}

/* Adds a rank's waits for messages. */
static struct line *add_waits_of(struct replay *p, uint32_t rank, struct nsx_dchannel *c,
				 struct nsx_arena *a)
{
	struct nsx_fmember *m = nsx_arena_get(a, sizeof(*m));

	*m = (struct nsx_fmember){.rank = rank, .c = c, .npieces = 1};
	return add_line(p, m, 1, a);
}

/* Lists communicators in which another rank is there to wait for, and waits for messages, of MPI and
 * NCCL. Those of two NCCL communicators are not alike: stages of a pipeline do different work.
 */
static void list_lines(struct replay *p, struct nsx_arena *a)
{
	const struct nsx_fleet *f = p->f;
	size_t most = f->ncomms;

	for (uint32_t r = 0; r < f->nranks; r++)
		most += f->rank[r].d->nchannels;
	p->line = nsx_arena_get(a, most * sizeof(*p->line));
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];
		struct line *x;

		if (is_of_messages(c) || (c->n < 2 && f->family[c->family].n < 2))
			continue;
		x = add_line(p, c->m, c->n, a);
		x->c = c;
		x->comm = i;
		x->at = c->first;
		x->end = c->n > 1 ? c->end : f->family[c->family].length;
	}
	for (uint32_t r = 0; r < f->nranks; r++)
		for (uint32_t c = 0; c < f->rank[r].d->nchannels; c++) {
			struct nsx_dchannel *x = &f->rank[r].d->channels[c];

			if (nsx_is_of_messages(x) && x->has_times)
				add_waits_of(p, r, x, a);
		}
	for (uint32_t i = 0; i < f->ncomms; i++) {
		const struct nsx_fcomm *c = &f->comm[i];

		for (uint32_t m = 0; m < c->n && is_of_messages(c); m++) {
			struct line *x;

			if (!c->m[m].c->has_times)
				continue;
			x = add_waits_of(p, c->m[m].rank, c->m[m].c, a);
			x->with = c->n == 2 && c->is_sure ? c->m[!m].rank : NSX_NONE;
			x->alike = f->family[c->family].is_mpi ? 0 : i + 1;
		}
	}
}

/* Places -------------------------------------------------------------------------------*/

/* Finds when a collective of step s ends, by the first member that has both. False: no
 * member has them, or the collective is of a later step (*ret_later).
 */
static bool replay_place_of(const struct nsx_fleet *f, const struct line *l, size_t k, size_t s,
			    double *ret_ns, bool *ret_later)
{
	*ret_later = false;
	for (const struct nsx_fmember *m = l->m; m < l->m + l->n; m++) {
		const int64_t *b = nsx_bounds_of(f, m->rank, s);
		struct nsx_coll x;

		if (!nsx_coll_at(m, k, &x))
			continue;
		*ret_later = b[0] == INT64_MIN || b[1] == INT64_MIN;
		if (*ret_later)
			continue;
		*ret_ns = nsx_common_ns(f, m->rank, nsx_end_of(&x));
		*ret_later = nsx_end_of(&x) > b[1];
		return !*ret_later && nsx_end_of(&x) > b[0];
	}
	return false;
}

/* Lists the visits of a line's members to its places, member by member, as a rank's collectives are
 * neighbours in memory.
 */
static int list_visits(struct replay *p, const struct line *l, struct place *v, size_t nplaces,
		       size_t s, struct nsx_err *err)
{
	if (nsx_grow(&p->visit, &p->cap_visits, p->nvisits + nplaces * l->n,
		     sizeof(*p->visit), "collectives", err))
		return err->rc;
	for (uint32_t j = 0; j < l->n; j++) {
		bool is_there = *nsx_bounds_of(p->f, l->m[j].rank, s) != INT64_MIN;

		for (size_t k = 0; k < nplaces; k++) {
			struct visit *x = &p->visit[p->nvisits + k * l->n + j];

			if (!is_there || !nsx_coll_at(&l->m[j], v[k].k, &x->at))
				x->at.start_ns = INT64_MIN;
		}
	}
	for (size_t k = 0; k < nplaces; k++, p->nvisits += l->n) {
		v[k].of_n = nplaces;
		v[k].visits = p->nvisits;
	}
	return 0;
}

static int list_places(struct replay *p, size_t s, struct nsx_err *err)
{
	p->nplaces = p->nvisits = 0;
	for (struct line *l = p->line; l < p->line + p->nlines; l++) {
		size_t from = p->nplaces;
		bool later = false;

		for (; l->at < l->end; l->at++) {
			struct place x = {.line = l, .k = l->at, .nth = p->nplaces - from};

			if (!replay_place_of(p->f, l, l->at, s, &x.at_ns, &later)) {
				if (later)
					break;
				continue;
			}
			if (nsx_push(p->v, p->nplaces, p->cap, "collectives", err, x))
				return err->rc;
		}
		if (p->nplaces > from &&
		    list_visits(p, l, p->v + from, p->nplaces - from, s, err))
			return err->rc;
	}
	nsx_sort(p->v, p->nplaces, sizeof(*p->v), cmp_place);
	return 0;
}

/* Walks --------------------------------------------------------------------------------*/

/* Median own time in a step of the ranks of a stage that are not mended; if there are none, of all
 * stages. NAN: none.
 */
static double usual_own(const struct replay *p, const double *own, uint32_t stage)
{
	for (unsigned all = 0; all < 2; all++) {
		size_t n = 0;

		for (uint32_t r = 0; r < p->f->nranks; r++)
			if (!isnan(own[r]) && !p->rank[r].is_mended && (all || p->f->stage[r] == stage))
				p->scratch[n++] = own[r];
		if (n)
			return nsx_median_of(p->scratch, n);
	}
	return NAN;
}

static void find_cuts(struct replay *p, size_t s)
{
	const double *own = &p->f->own_ns[s * p->f->nranks];
	uint32_t stage = NSX_NONE;
	double usual = 0;

	p->most_more_ns = 0;
	for (uint32_t r = 0; r < p->f->nranks; r++) {
		double more_ns;

		if (p->rank[r].is_mended && p->f->stage[r] != stage) {
			stage = p->f->stage[r];
			usual = usual_own(p, own, stage);
		}
		more_ns = p->rank[r].is_mended && own[r] > usual ? own[r] - usual : 0;
		p->rank[r].cut = more_ns > 0 ? more_ns / own[r] : 0;
		p->most_more_ns = NSX_MAX(p->most_more_ns, more_ns);
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
			.since_ns = *nsx_bounds_of(f, r, s),
			.begin_ns = *nsx_bounds_of(f, r, s), .cut = p->rank[r].cut,
			.last = NSX_NONE,
			.ahead_ns = s && *nsx_bounds_of(f, r, s - 1) == INT64_MIN ?
					    p->saved_ns : p->rank[r].ahead_ns,
			.is_mended = p->rank[r].is_mended};
	for (uint32_t r = 0; r < f->nranks; r++)
		p->rank[r].begun_ns = p->rank[r].ahead_ns;
	for (size_t i = 0; i < p->nlines; i++)
		for (uint32_t m = 0; m < p->line[i].n; m++)
			p->line[i].now[m].end_ns = INT64_MIN;
}

/* Whether a collective began after the one before it on its channel ended. Transfers to one rank
 * may have several streams.
 */
static bool follows(const struct visit *v, const struct channel_now *now)
{
	return now->end_ns != INT64_MIN && now->end_ns - v->at.start_ns <= AT_ONCE_NS;
}

static bool is_held_by_channel(const struct visit *v, const struct channel_now *now)
{
	return follows(v, now) && v->at.start_ns - now->end_ns <= AT_ONCE_NS;
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

static bool is_exposed(const struct nsx_coll *x)
{
	return x->exposed_ns > LEAST_EXPOSED_NS &&
	       (double)x->exposed_ns > LEAST_EXPOSED_SHARE * (double)x->ns;
}

/* Own work that a rank had done by time t of its own clock. Collectives that run beside the rank's
 * work are visited when they end, and began before visits that ended earlier.
 */
static double own_until(const struct replay *p, const struct rank_now *r, int64_t t)
{
	double most = r->own_ns;

	for (uint32_t i = t < r->since_ns ? r->last : NSX_NONE; i != NSX_NONE; i = p->visit[i].before) {
		const struct visit *v = &p->visit[i];

		if (v->did.since_ns <= t)
			return NSX_MIN(most, v->did.own_ns + (double)(t - v->did.since_ns));
		most = v->did.own_ns;
	}
	return t < r->since_ns ? NSX_MIN(most, NSX_MAX(0, (double)(t - r->begin_ns))) : most;
}

/* Advances a rank over a collective: own work continues while the collective is hidden, then the
 * rank waits for the end. It did no work while collectives that ended since ran beside.
 */
static void pass_over(const struct replay *p, const struct visit *v, struct rank_now *r)
{
	int64_t end_ns = nsx_end_of(&v->at);
	double own_ns;

	work(r, end_ns - v->at.exposed_ns);
	if (!is_exposed(&v->at) || r->since_ns >= end_ns)
		return;
	own_ns = own_until(p, r, end_ns - v->at.exposed_ns);
	r->held_ns += (double)(end_ns - r->since_ns) + r->own_ns - own_ns;
	r->own_ns = own_ns;
	r->since_ns = end_ns;
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
	need->transfer = NSX_MIN(need->transfer, (double)v->at.ns);
	if (!r->is_mended && is_free) {
		need->sum += v->own_ns;
		need->n++;
	}
}

/* First walk: notes the own work of ranks when each collective begins. It is noted for members of a
 * family together. Before waits for messages it is noted for ranks of one kind with equally many
 * waits in the step; for these ranks the second need is the wait that takes the least time.
 */
static int replay_measure(struct replay *p, struct place *x, struct nsx_err *err)
{
	const struct line *l = x->line;
	/* Sender and receiver are at different places of their work. */
	bool is_pair = l->c && l->n == 2 && nsx_holds_all(l->c, x->k) &&
		       nsx_op_at(l->c, x->k)->holds == 2;

	for (unsigned side = 0; side < 2; side++) {
		uint64_t what = l->c ? nsx_hash_u64(2ULL * l->c->family + (is_pair && side)) +
					       p->f->stage[l->m[is_pair && side].rank] :
			/* the greatest bit distinguishes lines of messages from families */
			nsx_hash_u64(UINT64_C(1) << 63 |
				     (nsx_hash_u64(side ? 0 : l->alike + 1) + x->of_n));
		struct need *need = need_of(p, what, side && !l->c ? 0 : x->nth, err);

		if (!need)
			return err->rc;
		x->need[side] = (uint32_t)(need - p->need);
	}
	for (uint32_t m = 0; m < l->n; m++) {
		struct visit *v = &p->visit[x->visits + m];
		struct rank_now *r = &p->rank[l->m[m].rank];
		bool is_free;

		if (v->at.start_ns == INT64_MIN)
			continue;
		work(r, v->at.start_ns);
		v->own_ns = own_until(p, r, v->at.start_ns);
		v->held_ns = (float)r->held_ns;
		is_free = !is_held_by_channel(v, &l->now[m]);
		note_need(r, v, is_free, &p->need[x->need[m & 1]]);
		if (!l->c)
			note_need(r, v, is_free, &p->need[x->need[1]]);
		else
			x->npeers += is_free && !r->is_mended && !is_pair;
		pass_over(p, v, r);
		v->did.own_ns = r->own_ns;
		v->did.since_ns = r->since_ns;
		v->before = r->last;
		r->last = (uint32_t)x->visits + m;
		if (l->c)
			l->now[m].end_ns = nsx_end_of(&v->at);
	}
	return 0;
}

static double needed(const struct replay *p, const struct place *x, uint32_t m)
{
	const struct need *n = &p->need[x->need[m & 1]];

	return n->n ? n->sum / (double)n->n : n->least;
}

/* Updates how much less work a mended rank has. If the others did more work elsewhere in the step,
 * the rank loses only lead that it won in this step.
 */
static void do_less(struct rank_now *r, double more)
{
	r->ahead_ns = NSX_MAX(r->ahead_ns + more - r->more_ns, NSX_MIN(r->ahead_ns, r->begun_ns));
	r->more_ns = more;
}

/* The rank as it was when a collective began, before visits that ended since. */
static struct rank_now as_of(const struct replay *p, const struct rank_now *r, int64_t start_ns)
{
	struct rank_now ret = *r;

	while (ret.last != NSX_NONE && nsx_end_of(&p->visit[ret.last].at) > start_ns)
		ret.last = p->visit[ret.last].before;
	ret.ahead_ns = ret.last == NSX_NONE ? r->begun_ns : p->visit[ret.last].is.ahead_ns;
	ret.more_ns = ret.last == NSX_NONE ? 0 : p->visit[ret.last].is.more_ns;
	return ret;
}

/* How much earlier a member's part could begin, by its work and its channel. */
static double ahead_of(const struct replay *p, const struct visit *v, struct rank_now *r,
		       const struct channel_now *now, double need)
{
	struct rank_now then;
	double by_data, by_channel;

	if (r->last != NSX_NONE && r->last_ns > v->at.start_ns) {
		then = as_of(p, r, v->at.start_ns);
		r = &then;
	}
	if (r->is_mended)
		do_less(r, NSX_MAX(0, v->own_ns - need));
	by_data = r->ahead_ns;
	if (!follows(v, now))
		return by_data;
	by_channel = now->ahead_ns + (double)(v->at.start_ns - now->end_ns);
	if (is_held_by_channel(v, now) && !r->is_mended)
		by_data += v->own_ns >= need ? v->own_ns - need + v->held_ns : 0;
	return NSX_MIN(by_data, by_channel);
}

/* Finds the holder, the member for which a collective waited: the last one to arrive. If the
 * channel held that one back, the holder of the collective before remains.
 */
static void find_holder(const struct replay *p, const struct place *x)
{
	const struct visit *v = &p->visit[x->visits];
	uint32_t last = NSX_NONE;

	for (uint32_t m = 0; m < x->line->n; m++)
		if (v[m].at.start_ns != INT64_MIN &&
		    (last == NSX_NONE || v[m].at.ns < v[last].at.ns))
			last = m;
	if (!is_held_by_channel(&v[last], &x->line->now[last]))
		x->line->holder = last;
}

/* A member that was held continues `ahead` of its old self: it has waited that much less for the
 * holder.
 */
static void go_on(struct replay *p, const struct line *l, uint32_t m, double ahead)
{
	struct rank_now *r = &p->rank[l->m[m].rank];
	double less = ahead - r->ahead_ns;

	r->ahead_ns = ahead;
	p->most_ahead_ns = NSX_MAX(p->most_ahead_ns, ahead);
	if (!p->passed || less <= 0 || r->is_mended)
		return;
	p->passed->wait_ns[l->comm][m] += less;
	p->passed->held_ns[l->comm][l->holder] += less;
}

/* Notes the rank's state after a visit, and makes it the rank's last one. */
static void note_state(struct visit *v, struct rank_now *r, uint32_t at)
{
	v->is.ahead_ns = r->ahead_ns;
	v->is.more_ns = r->more_ns;
	v->before = r->last;
	r->last = at;
	r->last_ns = nsx_end_of(&v->at);
}

/* How much earlier a member would come, if it came with the last of its equals that are not mended;
 * -INFINITY: there are none.
 */
static double lead_to_equals(const struct replay *p, const struct place *x, uint32_t m)
{
	const struct nsx_fmember *member = x->line->m;
	const struct visit *v = &p->visit[x->visits];
	const uint32_t *stage = p->f->stage;
	double least = INFINITY;

	for (uint32_t k = 0; k < x->line->n && x->npeers; k++) {
		const struct rank_now *r = &p->rank[member[k].rank];

		if (v[k].at.start_ns != INT64_MIN && !r->is_mended &&
		    stage[member[k].rank] == stage[member[m].rank])
			least = NSX_MIN(least, (double)v[k].at.ns + r->ahead_ns);
	}
	return isinf(least) ? -INFINITY : least - (double)v[m].at.ns;
}

/* How much earlier a member's part could begin. Where between the transfers of stages a mended rank
 * does its work is a guess, but it comes to a collective no later than the last of its equals, as far
 * as its own work held it up.
 */
static double member_ahead_of(const struct replay *p, const struct place *x, uint32_t m)
{
	struct rank_now *r = &p->rank[x->line->m[m].rank];
	double by = ahead_of(p, &p->visit[x->visits + m], r, &x->line->now[m], needed(p, x, m));
	double lead = r->is_mended ? NSX_MIN(lead_to_equals(p, x, m), r->begun_ns + r->more_ns) :
				     -INFINITY;

	r->ahead_ns = NSX_MAX(r->ahead_ns, lead);
	return NSX_MAX(by, lead);
}

/* Second walk, over one collective: finds how much earlier it ends, and moves its members on. */
static void step_over(struct replay *p, const struct place *x)
{
	const struct line *l = x->line;
	const struct visit *v = &p->visit[x->visits];
	double least = INFINITY, was = INFINITY, ahead;
	bool holds_all = nsx_holds_all(l->c, x->k);

	for (uint32_t m = 0; m < l->n; m++)
		if (v[m].at.start_ns != INT64_MIN) {
			least = NSX_MIN(least, (double)v[m].at.ns + member_ahead_of(p, x, m));
			was = NSX_MIN(was, (double)v[m].at.ns);
		}
	if (isinf(was))
		return;
	ahead = least - was + (p->mended->link_ns ? p->mended->link_ns[l->comm] : 0);
	if (l->n < p->f->family[l->c->family].most)
		ahead = NSX_MAX(ahead, NSX_MIN(p->ahead_ns[l->c->family], least -
					       p->need[x->need[0]].transfer));
	p->ahead_ns[l->c->family] = ahead;
	if (p->passed)
		find_holder(p, x);
	for (uint32_t m = 0; m < l->n; m++) {
		const struct nsx_coll *at = &v[m].at;
		struct rank_now *r = &p->rank[l->m[m].rank];
		double mine = ahead;

		if (at->start_ns == INT64_MIN)
			continue;
		/* in a broadcast, a rank that did not wait had nobody to wait for */
		if (!holds_all && (double)at->ns - was < AT_ONCE_NS)
			mine = r->ahead_ns;
		if (is_exposed(at))
			go_on(p, l, m, NSX_MIN(mine, r->ahead_ns + (double)at->exposed_ns));
		l->now[m] = (struct channel_now){mine, nsx_end_of(at)};
		note_state(&p->visit[x->visits + m], r, (uint32_t)x->visits + m);
	}
	if (l->c->family == p->f->main)
		p->saved_ns = ahead;
}

/* How much earlier messages may come. Clocks are known only to some ten microseconds, which does
 * not tell whether a late rank sent before or after the work that it saves. So all that it saves in
 * the step may count.
 */
static double most_ahead(const struct replay *p, uint32_t sender)
{
	if (sender == NSX_NONE)
		return NSX_MAX(p->saved_ns + p->most_more_ns, p->most_ahead_ns);
	return p->rank[sender].ahead_ns + (p->rank[sender].is_mended ? p->most_more_ns : 0);
}

/* Second walk for a wait for messages. A late rank has less to do before it; any other rank waits
 * less, up to what the senders gain.
 */
static void step_over_messages(struct replay *p, const struct place *x)
{
	const struct visit *v = &p->visit[x->visits];
	struct rank_now *r = &p->rank[x->line->m->rank];
	double waited = NSX_MIN((double)v->at.exposed_ns,
				(double)v->at.ns - p->need[x->need[1]].transfer);

	if (r->is_mended)
		do_less(r, NSX_MAX(0, v->own_ns - needed(p, x, 0)));
	else
		r->ahead_ns = NSX_MAX(r->ahead_ns, NSX_MIN(most_ahead(p, x->line->with),
							   r->ahead_ns + waited));
}

static int replay_step(struct replay *p, size_t s, struct nsx_err *err)
{
	if (list_places(p, s, err))
		return err->rc;
	find_cuts(p, s);
	begin_step(p, s);
	nsx_groups_done(&p->needs);
	for (size_t i = 0; i < p->nplaces; i++)
		if (replay_measure(p, &p->v[i], err))
			return err->rc;
	begin_step(p, s);
	for (size_t i = 0; i < p->nplaces; i++)
		if (p->v[i].line->c)
			step_over(p, &p->v[i]);
		else
			step_over_messages(p, &p->v[i]);
	return 0;
}

/* Finds the time saved without times of collectives: a step lasts as long as its slowest rank. */
static void replay_totals(struct replay *p)
{
	for (size_t s = 0; s < p->f->nsteps; s++) {
		const double *own = &p->f->own_ns[s * p->f->nranks];
		double was = 0, is = 0;

		find_cuts(p, s);
		for (uint32_t r = 0; r < p->f->nranks; r++) {
			if (isnan(own[r]))
				continue;
			was = NSX_MAX(was, own[r]);
			is = NSX_MAX(is, own[r] * (1 - p->rank[r].cut));
		}
		p->saved_ns += was - is;
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
	int rc = 0;

	p.scratch = nsx_arena_get(a, f->nranks * sizeof(*p.scratch));
	p.rank = nsx_arena_get(a, f->nranks * sizeof(*p.rank));
	for (size_t i = 0; i < mended->n; i++)
		p.rank[mended->ranks[i]].is_mended = true;
	p.ahead_ns = nsx_arena_get(a, f->nfamilies * sizeof(*p.ahead_ns));
	list_lines(&p, a);
	if (f->by_totals)
		replay_totals(&p);
	for (size_t s = 0; s < f->nsteps && !f->by_totals && !rc; s++)
		rc = replay_step(&p, s, err);
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
