/* match_pairs.c - finds who sends to whom if no payload names a communicator of the two.
 *
 * Pipeline stages pass data to the next stage, and a rank's part of a transfer ends when its
 * partner's does. Partners are equally far apart everywhere in the job. They share no communicator
 * except one of all ranks, unlike tensor- and data-parallel neighbours, which also end together. So
 * the distance at which most ends agree is taken, and the sends and receives of two partners become
 * a channel of the two.
 */
#include <math.h>
#include <strings.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/match.h"

#define NEAR_NS 50000.0 /* largest difference of ends that agree on the common clock */
#define LEAST_NS 1000.0 /* ends that spread less than this agree equally well */
#define MUCH_WORSE 1.5 /* relative spread of ends that are not of one transfer */
#define ABOUT 1.1 /* numbers of parts, or spreads, that differ by less are about equal */
#define LEAST_PAIRED 0.8 /* least share of ranks, and of messages, that have a partner */

#define LEAST_OF_PARTNER 0.25 /* least share of a channel's parts that one partner has */
#define LEAST_OF_MEMBER 0.75 /* least share of a channel's alltoalls that another member has */

enum { MOST_COMPARED = 256 }; /* parts of a channel */

struct part { /* one rank's part of a send and receive */
	double end_ns; /* on the common clock */
	size_t i;      /* index in its channel */
	uint32_t channel;
	uint32_t with; /* rank of the partner; NSX_NONE: nobody */
};
struct parts { /* the parts of a rank, in order of ends */
	struct part *v;
	size_t n;
	/* communicators that the rank shares with some but not all ranks, ascending */
	uint32_t *comm, ncomms;
};
struct pairs {
	struct nsx_fleet *f;
	struct parts *rank;
	const struct nsx_fcomm *of_all; /* a communicator of all ranks; NULL: none */
	struct nsx_groups named; /* communicators that payloads of sends and receives name */
	struct nsx_fcomm *of_name;
	int64_t world;
	struct nsx_arena *a;
};

NSX_ORDER(cmp_part, struct part, UP(end_ns), UP(channel), UP(i));

static int add_named(struct pairs *p, uint32_t r, struct nsx_dchannel *c, struct nsx_err *err)
{
	struct nsx_fcomm *x = nsx_group_value(&p->named, &p->of_name, c->comm, 0, "communicators",
					      err);
	struct nsx_fmember *m = x ? nsx_one_more(p->a, x->m, x->n, sizeof(*m), "members", err) :
				    NULL;

	if (!m)
		return err->rc;
	x->m = m;
	x->m[x->n++] = (struct nsx_fmember){.rank = r, .c = c};
	return 0;
}

static int list_named(struct pairs *p, struct nsx_err *err)
{
	int rc = 0;

	for (uint32_t r = 0; r < p->f->nranks; r++)
		for (size_t i = 0; i < p->f->rank[r].d->nchannels && !rc; i++) {
			struct nsx_dchannel *c = &p->f->rank[r].d->channels[i];

			if (nsx_is_of_pairs(c) && c->comm)
				rc = add_named(p, r, c, err);
		}
	return rc;
}

static const struct nsx_fcomm *named_of(const struct pairs *p, const struct nsx_dchannel *c)
{
	return &p->of_name[nsx_group_find(&p->named, c->comm, 0)];
}

/* Whether the partners of a channel's sends and receives are unknown: a communicator of more than
 * two ranks does not tell them.
 */
static bool is_unpaired(const struct pairs *p, const struct nsx_dchannel *c)
{
	return nsx_is_of_pairs(c) && c->has_times && !c->is_rest &&
	       (!c->comm || named_of(p, c)->n > 2);
}

static int match_pairs_list_parts(struct pairs *p, uint32_t r, struct nsx_err *err)
{
	const struct nsx_digest *d = p->f->rank[r].d;
	struct parts *x = &p->rank[r];
	size_t n = 0;

	for (size_t c = 0; c < d->nchannels; c++)
		n += is_unpaired(p, &d->channels[c]) ? d->channels[c].n : 0;
	if (!nsx_new_array(x->v, p->a, n, "sends and receives", err))
		return err->rc;
	for (uint32_t c = 0; c < d->nchannels; c++) {
		const struct nsx_dchannel *ch = &d->channels[c];

		for (size_t i = 0; is_unpaired(p, ch) && i < ch->n; i++)
			x->v[x->n++] = (struct part){
				nsx_common_ns(p->f, r, nsx_coll_end(ch, i)), i, c,
				NSX_NONE};
	}
	nsx_sort(x->v, x->n, sizeof(*x->v), cmp_part);
	return 0;
}

static void list_comms(struct pairs *p)
{
	const struct nsx_fleet *f = p->f;

	for (unsigned pass = 0; pass < 2; pass++) {
		for (uint32_t c = 0; c < f->ncomms; c++) {
			p->of_all = f->comm[c].n == f->nranks ? &f->comm[c] : p->of_all;
			for (uint32_t m = 0; f->comm[c].n < f->nranks && m < f->comm[c].n; m++) {
				struct parts *x = &p->rank[f->comm[c].m[m].rank];

				if (pass)
					x->comm[x->ncomms] = c;
				x->ncomms++;
			}
		}
		for (uint32_t r = 0; r < f->nranks && !pass; r++) {
			struct parts *x = &p->rank[r];

			x->comm = nsx_arena_get(p->a, x->ncomms * sizeof(*x->comm));
			x->ncomms = 0;
		}
	}
}

static bool are_of_one(const struct parts *x, const struct parts *y)
{
	uint32_t i = 0, k = 0;

	while (i < x->ncomms && k < y->ncomms && x->comm[i] != y->comm[k])
		if (x->comm[i] < y->comm[k])
			i++;
		else
			k++;
	return i < x->ncomms && k < y->ncomms;
}

NSX_ORDER(cmp_number, struct nsx_frank, UP(number));

/* The rank `by` numbers after r, wrapping around; NSX_NONE: that rank is missing. */
static uint32_t rank_at(const struct pairs *p, uint32_t r, int64_t by)
{
	const struct nsx_fleet *f = p->f;
	struct nsx_frank key = {.number = (f->rank[r].number + by) % p->world};
	const struct nsx_frank *x = bsearch(&key, f->rank, f->nranks, sizeof(key), cmp_number);

	return x && p->rank[x - f->rank].n ? (uint32_t)(x - f->rank) : NSX_NONE;
}

static bool may_be_partners(const struct pairs *p, uint32_t x, uint32_t y)
{
	const struct nsx_frank *rank = p->f->rank;
	const struct nsx_fclock *clock = p->f->clock;

	return !are_of_one(&p->rank[x], &p->rank[y]) &&
	       clock[rank[x].clock].component == clock[rank[y].clock].component;
}

/* Alltoalls ------------------------------------------------------------------------------*/

/* Spread of the distance between the ends of a channel's parts and those of another rank. INFINITY:
 * less than a share `least` of the parts end together.
 */
static double spread_with(const struct parts *x, uint32_t channel, const struct parts *y,
			  double least)
{
	double by[MOST_COMPARED], middle;
	size_t n = 0, all = 0, k = 0;

	for (size_t i = 0; i < x->n && all < MOST_COMPARED && y->n; i++) {
		double at = x->v[i].end_ns;

		if (x->v[i].channel != channel)
			continue;
		all++;
		while (k + 1 < y->n && fabs(y->v[k + 1].end_ns - at) <= fabs(y->v[k].end_ns - at))
			k++;
		if (fabs(y->v[k].end_ns - at) <= NEAR_NS)
			by[n++] = y->v[k].end_ns - at;
	}
	return n < 3 || (double)n < least * (double)all ? INFINITY : nsx_spread_of(by, n, &middle);
}

enum { MOST_DISTANCES = 256 };

/* Lists the distances at which nearly all ranks may have partners; ends with 0. */
static int64_t *list_distances(const struct pairs *p)
{
	int64_t *ret = nsx_arena_get(p->a, (MOST_DISTANCES + 1) * sizeof(*ret));
	size_t n = 0;

	for (int64_t by = 1; by < p->world && n < MOST_DISTANCES; by++) {
		uint32_t there = 0, may_be = 0;

		if (p->world % by && p->world % (p->world - by))
			continue;
		for (uint32_t r = 0; r < p->f->nranks; r++) {
			uint32_t k = rank_at(p, r, by);

			there += k != NSX_NONE;
			may_be += k != NSX_NONE && may_be_partners(p, r, k);
		}
		if (may_be > LEAST_PAIRED * there)
			ret[n++] = by;
	}
	return ret;
}

/* The least spread with a rank at one of the distances that shares no communicator with `but`
 * (NSX_NONE: no such rank). *ret: that rank.
 */
static double spread_of_partners(const struct pairs *p, uint32_t r, uint32_t channel,
				 const int64_t *distance, double least_share, uint32_t but,
				 uint32_t *ret)
{
	double least = INFINITY;

	for (*ret = NSX_NONE; *distance; distance++) {
		uint32_t k = rank_at(p, r, *distance);
		double spread;

		if (k == NSX_NONE || !may_be_partners(p, r, k) ||
		    (but != NSX_NONE && (k == but || are_of_one(&p->rank[k], &p->rank[but]))))
			continue;
		spread = spread_with(&p->rank[r], channel, &p->rank[k], least_share);
		*ret = spread < least ? k : *ret;
		least = NSX_MIN(least, spread);
	}
	return least;
}

/* Whether a channel's parts end together with those of two ranks about equally exactly, and these
 * share no communicator, as neighbours of the next stage do. In a ring they are the two neighbours.
 */
static bool ends_with_two(const struct pairs *p, uint32_t r, uint32_t channel,
			  const int64_t *distance)
{
	uint32_t first, second;
	double least = spread_of_partners(p, r, channel, distance, LEAST_OF_MEMBER, NSX_NONE,
					  &first);

	return !isinf(least) &&
	       spread_of_partners(p, r, channel, distance, LEAST_OF_MEMBER, first, &second) +
		       LEAST_NS < MUCH_WORSE * (least + LEAST_NS);
}

/* The spread with the members of a communicator that agree best, of which an alltoall has at least
 * two. Members at power-of-two distances are compared, as in meshes.
 */
static double spread_of_members(const struct pairs *p, uint32_t r, uint32_t channel,
				const struct nsx_fcomm *c)
{
	double v[64];
	uint32_t at = 0;
	size_t n = 0;

	while (c->m[at].rank != r)
		at++;
	for (uint32_t by = 1; by < c->n; by *= 2)
		for (unsigned back = 0; back < 1 + (2 * by < c->n); back++) {
			uint32_t k = c->m[(at + (back ? c->n - by : by)) % c->n].rank;

			v[n++] = spread_with(&p->rank[r], channel, &p->rank[k], LEAST_OF_MEMBER);
		}
	nsx_sort(v, n, sizeof(*v), nsx_cmp_double);
	return n ? v[NSX_MIN(1, n - 1)] : INFINITY;
}

/* Whether a channel's parts belong to alltoalls of a communicator: they end together with those of
 * other members more exactly than with those of any partner. Stages of a pipeline work in step,
 * too, but a transfer ends on both its sides at once. If all ranks share all communicators, it is
 * enough that parts end together with two other ranks, because a transfer of a stage ends together
 * with one neighbour only.
 */
static bool is_of_alltoalls(const struct pairs *p, uint32_t r, uint32_t channel,
			    const int64_t *distance)
{
	const struct nsx_dchannel *c = &p->f->rank[r].d->channels[channel];
	const struct parts *x = &p->rank[r];
	double least = INFINITY;
	uint32_t partner;

	if (c->comm)
		return !isinf(spread_of_members(p, r, channel, named_of(p, c)));
	if (!x->ncomms)
		return p->of_all && !isinf(spread_of_members(p, r, channel, p->of_all));
	for (uint32_t i = 0; i < x->ncomms; i++)
		least = NSX_MIN(least, spread_of_members(p, r, channel, &p->f->comm[x->comm[i]]));
	return (!isinf(least) && MUCH_WORSE * (least + LEAST_NS) <
		spread_of_partners(p, r, channel, distance, LEAST_OF_PARTNER, NSX_NONE, &partner) +
			LEAST_NS) || ends_with_two(p, r, channel, distance);
}

/* Takes the parts of alltoalls out of those that have partners. The channels of a stream decide
 * together, because programs that do the same number streams alike.
 */
static int drop_alltoalls(struct pairs *p, struct nsx_err *err)
{
	const struct nsx_fleet *f = p->f;
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups streams = {0};
	const int64_t *distance = list_distances(p);
	int *votes = NULL, *vote, rc = 0;

	for (uint32_t r = 0; r < f->nranks && !rc; r++)
		for (uint32_t c = 0; c < f->rank[r].d->nchannels && !rc; c++) {
			const struct nsx_dchannel *ch = &f->rank[r].d->channels[c];

			if (!is_unpaired(p, ch))
				continue;
			vote = nsx_group_value(&streams, &votes, (uint64_t)ch->stream,
					       ch->comm != 0, "streams", err);
			if (vote)
				*vote += is_of_alltoalls(p, r, c, distance) ? 1 : -1;
			else
				rc = err->rc;
		}
	for (uint32_t r = 0; r < f->nranks && !rc; r++) {
		struct parts *x = &p->rank[r];
		size_t n = x->n;

		x->n = 0;
		for (size_t i = 0; i < n; i++) {
			const struct nsx_dchannel *ch =
				&f->rank[r].d->channels[x->v[i].channel];

			if (votes[nsx_group_find(&streams, (uint64_t)ch->stream,
						 ch->comm != 0)] <= 0)
				x->v[x->n++] = x->v[i];
		}
	}
	free(votes);
	return rc;
}

/* Two ranks whose parts may end together; the channel of each: NSX_NONE: all. */
struct link {
	uint32_t x, y, of_x, of_y;
	double share; /* joined parts relative to those of the longer channel */
};

static bool is_free(const struct part *p, uint32_t channel)
{
	return p->with == NSX_NONE && (channel == NSX_NONE || channel == p->channel);
}

/* Counts free parts of two ranks that end together, and lists by how much their ends differ;
 * takes_them: also joins them.
 */
static size_t match_pairs_join(struct pairs *p, const struct link *l, bool takes_them, double *ret)
{
	struct part *a = p->rank[l->x].v, *a_end = a + p->rank[l->x].n;
	struct part *b = p->rank[l->y].v, *b_end = b + p->rank[l->y].n;
	size_t n = 0;

	while (a < a_end && b < b_end) {
		double by = b->end_ns - a->end_ns;

		if (by > NEAR_NS || !is_free(a, l->of_x)) {
			a++;
		} else if (by < -NEAR_NS || !is_free(b, l->of_y)) {
			b++;
		} else {
			a->with = takes_them ? l->y : NSX_NONE;
			b->with = takes_them ? l->x : NSX_NONE;
			a++;
			b++;
			ret[n++ % MOST_COMPARED] = by;
		}
	}
	return n;
}

/* Pipelines of ranks first + i * by, i < size. The last stage may be connected with the first. */
struct joined { /* the sends and receives that end together in such pipelines */
	int64_t by, size;
	size_t n;
	double apart; /* mean logarithm of the spread between their ends */
	/* parts of ranks that have both neighbours, and how many of these are joined */
	size_t nparts, njoined;
};

/* The next stage of a rank or, with `back`, the stage before it. */
static uint32_t next_stage(const struct pairs *p, uint32_t r, const struct joined *x, bool back)
{
	int64_t at = p->f->rank[r].number / x->by % x->size, by = (x->size - 1) * x->by;
	bool is_round = at == (back ? 0 : x->size - 1);

	return !p->rank[r].n ? NSX_NONE :
	       rank_at(p, r, is_round != back ? p->world - (is_round ? by : x->by) :
						(is_round ? by : x->by));
}

static void count_joined(const struct pairs *p, struct joined *x)
{
	for (uint32_t r = 0; r < p->f->nranks; r++) {
		bool lacks = next_stage(p, r, x, false) == NSX_NONE ||
			     next_stage(p, r, x, true) == NSX_NONE;

		for (size_t i = 0; i < p->rank[r].n && !lacks; i++) {
			x->nparts++;
			x->njoined += p->rank[r].v[i].with != NSX_NONE;
		}
	}
}

/* The next stage of a rank that may be its partner; NSX_NONE: none. Of two stages each is the next
 * of the other.
 */
static uint32_t partner_of(const struct pairs *p, uint32_t r, const struct joined *x)
{
	uint32_t k = next_stage(p, r, x, false);

	return k == NSX_NONE || (k < r && x->size == 2) || !may_be_partners(p, r, k) ? NSX_NONE : k;
}

/* Joins the parts of neighbours; few that agree are chance. A part has one partner. */
static struct joined join_all(struct pairs *p, int64_t by, int64_t size)
{
	struct joined ret = {.by = by, .size = size};
	double diff[MOST_COMPARED], middle;
	size_t npairs = 0;

	for (uint32_t r = 0; r < p->f->nranks; r++) {
		uint32_t k = partner_of(p, r, &ret);
		struct link l = {r, k, NSX_NONE, NSX_NONE, 0};
		size_t n;

		if (k == NSX_NONE)
			continue;
		n = match_pairs_join(p, &l, false, diff);
		if (n <= NSX_MIN(p->rank[r].n, p->rank[k].n) / 4)
			continue;
		match_pairs_join(p, &l, true, diff);
		ret.n += n;
		ret.apart += log(nsx_spread_of(diff, NSX_MIN(n, MOST_COMPARED), &middle) +
				 LEAST_NS);
		npairs++;
	}
	ret.apart /= (double)NSX_MAX(1, npairs);
	count_joined(p, &ret);
	return ret;
}

static void part_all(struct pairs *p)
{
	for (uint32_t r = 0; r < p->f->nranks; r++)
		for (size_t i = 0; i < p->rank[r].n; i++)
			p->rank[r].v[i].with = NSX_NONE;
}

NSX_ORDER(cmp_link, struct link, DOWN(share), UP(x), UP(y), UP(of_x), UP(of_y));

/* Joins the parts of neighbours channel by channel, first those of channels that agree best: of
 * stages that work in step, a rank's message from the one before it ends when it sends to the next.
 */
static int join_channels(struct pairs *p, const struct joined *x, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) struct link *v = NULL;
	double diff[MOST_COMPARED];
	size_t n = 0, cap = 0;

	for (uint32_t r = 0; r < p->f->nranks; r++) {
		struct link l = {.x = r, .y = partner_of(p, r, x)};
		const struct nsx_digest *a = p->f->rank[r].d;
		const struct nsx_digest *b = l.y == NSX_NONE ? NULL : p->f->rank[l.y].d;

		for (l.of_x = 0; b && l.of_x < a->nchannels; l.of_x++)
			for (l.of_y = 0; l.of_y < b->nchannels; l.of_y++) {
				const struct nsx_dchannel *c = &a->channels[l.of_x];
				const struct nsx_dchannel *d = &b->channels[l.of_y];

				if (!is_unpaired(p, c) || !is_unpaired(p, d))
					continue;
				l.share = (double)match_pairs_join(p, &l, false, diff) /
					  (double)NSX_MAX(c->n, d->n);
				if (4 * l.share > 1 && nsx_push(v, n, cap, "messages", err, l))
					return err->rc;
			}
	}
	nsx_sort(v, n, sizeof(*v), cmp_link);
	for (size_t i = 0; i < n; i++)
		match_pairs_join(p, &v[i], true, diff);
	return 0;
}

/* The pipelines that join most parts at a distance; the longest of those that join equally many. */
static struct joined join_most(struct pairs *p, int64_t by)
{
	struct joined best = {0};

	for (int64_t size = p->world / by; size > 1; size--) {
		struct joined x;

		if (p->world / by % size)
			continue;
		x = join_all(p, by, size);
		part_all(p);
		if (x.n > best.n)
			best = x;
	}
	return best;
}

/* Finds the pipelines of the job; n 0: there are none. Stages that work in step end together at
 * several distances. The right distance is that with the least spread, because a transfer ends on
 * both its sides at once.
 */
static struct joined find_pipelines(struct pairs *p)
{
	struct joined best = {0};
	size_t all = 0;

	for (uint32_t r = 0; r < p->f->nranks; r++)
		all += p->rank[r].n;
	for (int64_t by = 1; by < p->world && all; by++) {
		struct joined x = p->world % by ? best : join_most(p, by);
		double n = (double)x.n, most = (double)best.n;

		if ((double)x.njoined >= LEAST_PAIRED * (double)x.nparts && n * ABOUT > most &&
		    (x.apart < best.apart || n > ABOUT * most))
			best = x;
	}
	return best;
}

/* The number of stages: the longest chain of partners. */
static int64_t count_stages(const struct pairs *p, const struct joined *x)
{
	int64_t most = 1;

	for (uint32_t r = 0; r < p->f->nranks; r++) {
		uint32_t at = r, next;
		int64_t n = 1;

		for (; n < x->size; n++, at = next) {
			size_t i = 0;

			next = next_stage(p, at, x, false);
			while (next != NSX_NONE && i < p->rank[at].n && p->rank[at].v[i].with != next)
				i++;
			if (next == NSX_NONE || i == p->rank[at].n)
				break;
		}
		most = NSX_MAX(most, n);
	}
	return most;
}

/* Gives the rank a new channel that holds the parts v, of the communicator `comm`; 0: the parts
 * have no partner.
 */
static int match_pairs_add_channel(struct pairs *p, uint32_t r, struct part *const *v, size_t n,
				   uint64_t comm, struct nsx_err *err)
{
	struct nsx_digest *d = p->f->rank[r].d;
	struct nsx_dchannel *c = &d->channels[d->nchannels];
	const struct nsx_dchannel *first = &d->channels[v[0]->channel];
	int64_t *col[NSX_NCOLUMNS]; /* all have one operation, the first */
	int rc;

	*c = (struct nsx_dchannel){
		.number = (int64_t)d->nchannels, .comm = comm, .has_times = true,
		.stream = first->stream, .n = n, .is_rest = !comm, .nops = 1};
	c->ops = nsx_arena_get(d->arena, sizeof(*c->ops));
	*c->ops = *nsx_coll_op(first, v[0]->i);
	if (nsx_new_arrays(p->a, n, "sends and receives", err, col[0], col[1], col[2], col[3]))
		return err->rc;
	for (size_t i = 0; i < n; i++)
		for (unsigned k = NSX_START; k < NSX_NCOLUMNS; k++)
			col[k][i] = nsx_unpack(&d->channels[v[i]->channel].column[k], v[i]->i);
	d->nchannels++;
	rc = nsx_channel_set(c, col, d->arena, err);
	for (unsigned k = 0; k < NSX_NCOLUMNS; k++)
		nsx_arena_drop(p->a, col[k]);
	return rc;
}

/* A made-up hash of a communicator of two ranks, the same on both sides. */
static uint64_t comm_of(int64_t x, int64_t y)
{
	return nsx_hash_u64(nsx_hash_u64((uint64_t)NSX_MIN(x, y)) ^ (uint64_t)NSX_MAX(x, y)) | 1;
}

NSX_POINTER_ORDER(cmp_with, struct part, UP(with), UP(end_ns), UP(channel), UP(i));

/* Replaces a rank's channels of parts by one channel for each partner. */
static int split_channels(struct pairs *p, uint32_t r, struct nsx_err *err)
{
	struct nsx_digest *d = p->f->rank[r].d;
	struct parts *x = &p->rank[r];
	struct part **v = nsx_arena_get(p->a, x->n * sizeof(*v));
	size_t nold = d->nchannels, npaired = 0;
	bool *is_paired = nsx_arena_get(p->a, nold * sizeof(bool));
	int rc = 0;

	for (size_t i = 0; i < x->n; i++)
		is_paired[x->v[i].channel] |= x->v[i].with != NSX_NONE;
	for (size_t i = 0; i < x->n; i++)
		if (is_paired[x->v[i].channel])
			v[npaired++] = &x->v[i];
	nsx_sort(v, npaired, sizeof(*v), cmp_with);
	NSX_EACH_RUN(i, next, npaired, v[next]->with == v[i]->with)
		if (!rc)
			rc = match_pairs_add_channel(p, r, v + i, next - i,
						     v[i]->with == NSX_NONE ? 0 :
						     comm_of(p->f->rank[r].number,
							     p->f->rank[v[i]->with].number), err);
	for (size_t c = 0; c < nold; c++)
		if (is_paired[c])
			d->channels[c].n = 0;
	return rc;
}

/* Messages of MPI ---------------------------------------------------------------------*/

/* Whether some calls may also wait for other ranks. */
static bool waits_for_several(const struct nsx_dchannel *c)
{
	return NSX_ANY(i, c->nops, !strncasecmp(c->ops[i].name, "MPI_Wait", 8) ||
				   !strcasecmp(c->ops[i].name, NSX_SENDRECV_OF_TWO));
}

/* Turns a channel into an operation of two ranks: its n-th message is the n-th that the partner
 * receives.
 */
static void make_pair(struct nsx_dchannel *c, uint64_t comm, bool is_exchange)
{
	c->is_exchange = is_exchange;
	c->stream = -1;
	c->comm = comm;
	for (size_t i = 0; i < c->nops; i++)
		c->ops[i] = (struct nsx_dop){.name = "mpi_message", .bytes = -1, .holds = 2};
}

/* Joins both sides of messages. If one side does not wait in its calls, as with MPI_Isend, the
 * counts differ and it is unknown which messages belong together.
 */
static void join_sides(const struct nsx_fleet *f, uint32_t r, struct nsx_dchannel *c,
		       const struct nsx_groups *g, struct nsx_dchannel *const *of)
{
	int64_t number = nsx_other_side(c), tag = (int64_t)(c->comm >> 32) - 1;
	uint32_t at = nsx_group_find(g, (uint64_t)number,
				     nsx_messages_with(f->rank[r].number, tag));
	struct nsx_dchannel *other = at == NSX_NONE ? NULL : of[at];
	uint64_t comm;
	bool is_exchange;

	if (!other || !nsx_is_of_messages(other) || !other->has_times ||
	    (double)NSX_MIN(c->n, other->n) < LEAST_PAIRED * (double)NSX_MAX(c->n, other->n))
		return;
	comm = nsx_hash_u64(comm_of(f->rank[r].number, number) + (uint64_t)tag) | 1;
	is_exchange = waits_for_several(c) || waits_for_several(other);
	make_pair(c, comm, is_exchange);
	make_pair(other, comm, is_exchange);
}

int nsx_join_messages(struct nsx_fleet *f, struct nsx_err *err)
{
	struct nsx_groups g = {0}; /* by the number of the rank, and by the other rank and the tag */
	struct nsx_dchannel **of = NULL, **x;
	int rc = 0;

	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t r = 0; r < f->nranks && !rc; r++)
			for (size_t i = 0; i < f->rank[r].d->nchannels && !rc; i++) {
				struct nsx_dchannel *c = &f->rank[r].d->channels[i];

				if (!nsx_is_of_messages(c))
					continue;
				if (pass) {
					if (c->comm && c->has_times &&
					    nsx_other_side(c) > f->rank[r].number)
						join_sides(f, r, c, &g, of);
					continue;
				}
				x = nsx_group_value(&g, &of, (uint64_t)f->rank[r].number, c->comm,
						    "channels", err);
				if (x)
					*x = *x ?: c;
				else
					rc = err->rc;
			}
	nsx_groups_done(&g);
	free(of);
	return rc;
}

int nsx_pair_up(struct nsx_fleet *f, struct nsx_err *err)
{
	struct pairs p = {.f = f, .world = nsx_fleet_world(f), .a = nsx_arena_new()};
	struct joined x = {0};
	int rc = list_named(&p, err);

	p.rank = nsx_arena_get(p.a, f->nranks * sizeof(*p.rank));
	for (uint32_t r = 0; r < f->nranks && !rc; r++)
		rc = match_pairs_list_parts(&p, r, err);
	if (!rc) {
		list_comms(&p);
		rc = drop_alltoalls(&p, err);
	}
	if (!rc)
		x = find_pipelines(&p);
	if (x.n)
		rc = join_channels(&p, &x, err);
	if (x.n && !f->mesh.n)
		f->mesh = (struct nsx_mesh){
			.axis = {{.name = "pp", .size = count_stages(&p, &x), .stride = x.by}},
			.n = 1, .is_found = true};
	for (uint32_t r = 0; r < f->nranks && x.n && !rc; r++)
		rc = split_channels(&p, r, err);
	nsx_groups_done(&p.named);
	free(p.of_name);
	nsx_arena_free(p.a);
	return rc;
}
