/* match.c - finds the collectives of different ranks that are one.
 *
 * Traces begin and end anywhere, and sequences repeat with every step, so operations alone match at
 * many places. The times of the ends identify the right place (match_place.c), and the
 * communicators of a family if payloads do not (match_split.c).
 */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/match.h"

/* greatest difference that may remain between clocks that were compared */
#define KNOWN_BOUND_NS INT64_C(500000)
/* placements agree equally well if their ends spread by less than this many times the least
 * spread
 */
#define NEARLY 2.0
/* a channel is of the same communicator if its ends spread by less than this part of the others'
 * spread
 */
#define MUCH_NEARER 0.25

/* Orders the most informative channels first: more kinds of operations match at fewer places, and
 * well aligned channels show how far the clocks are apart. Sends and receives come last, because
 * the k-th of one rank need not be the k-th of another.
 */
static int cmp_channel(const void *a, const void *b)
{
	const struct nsx_mchannel *x = a, *y = b;

	return NSX_CMP(nsx_is_of_pairs(x->c), nsx_is_of_pairs(y->c)) ?:
	       NSX_CMP(y->c->nops, x->c->nops) ?: NSX_CMP(y->c->n, x->c->n) ?:
	       NSX_CMP(x->rank, y->rank) ?: NSX_CMP(x->c, y->c);
}

/* Makes equal names of operations equal pointers. */
static int name_ops(struct nsx_groups *g, const char ***names,
		    struct nsx_dchannel *c, struct nsx_err *err)
{
	for (size_t i = 0; i < c->nops; i++) {
		struct nsx_dop *op = &c->ops[i];
		const char **name = nsx_group_value(g, names, nsx_hash(op->name, strlen(op->name)),
						    0, "operations", err);

		if (!name)
			return err->rc;
		*name = *name ?: op->name;
		op->name = *name;
		op->holds = nsx_op_holds(op->name);
	}
	return 0;
}

/* Whether a channel without a communicator lies on a stream whose other collectives have one. Its
 * collectives were launched before the capture began, and may belong to any of these communicators.
 */
static bool is_left_over(const struct nsx_digest *d, const struct nsx_dchannel *c)
{
	for (const struct nsx_dchannel *x = d->channels; x < d->channels + d->nchannels; x++)
		if (!c->comm && !c->is_mpi && x->comm && !x->is_mpi && x->stream == c->stream)
			return true;
	return false;
}

NSX_POINTER_ORDER(cmp_sides, struct nsx_mchannel, UP(c->comm), UP(rank));

/* Lists the channels of sends and receives, with the other sides of MPI messages, or all other
 * channels.
 */
static int list_channels(struct nsx_matcher *m, bool of_pairs, struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	struct nsx_groups g = {0};
	const char **names = NULL;
	size_t most = 0, n = 0;
	int rc = 0;

	for (uint32_t r = 0; r < f->nranks; r++)
		most += f->rank[r].d->nchannels;
	m->fits = nsx_arena_get(m->a, (NSX_MOST_PLACES + 3) * sizeof(*m->fits));
	if (nsx_new_arrays(m->a, most, "channels", err, m->v, m->in))
		return err->rc;
	for (uint32_t r = 0; r < f->nranks; r++)
		for (uint32_t c = 0; c < f->rank[r].d->nchannels && !rc; c++) {
			struct nsx_mchannel *x = &m->v[m->n];

			x->rank = r;
			x->c = &f->rank[r].d->channels[c];
			x->utc_ns = f->rank[r].d->utc_ns < 0 ? -1 :
				    f->utc_ns + (int64_t)f->rank[r].zero_ns;
			x->c->is_rest = x->c->is_rest || is_left_over(f->rank[r].d, x->c);
			rc = name_ops(&g, &names, x->c, err);
			m->n += x->c->n > 0 && !x->c->is_rest && !nsx_is_of_messages(x->c) &&
				nsx_is_of_pairs(x->c) == of_pairs;
		}
	nsx_groups_done(&g);
	free(names);
	nsx_sort(m->v, m->n, sizeof(*m->v), cmp_channel);
	for (size_t i = 0; i < m->n; i++)
		if (m->v[i].c->comm && of_pairs)
			m->in[n++] = &m->v[i];
	nsx_sort(m->in, n, sizeof(*m->in), cmp_sides);
	NSX_EACH_RUN(i, next, n, m->in[i]->c->comm == m->in[next]->c->comm)
		if (next - i == 2) {
			m->in[i]->other = m->in[i + 1];
			m->in[i + 1]->other = m->in[i];
		}
	return rc;
}

/* Sets the clock of y's host, for all its channels, so that y's ends agree with x's. Does
 * so only if x's host has a clock and y's has not.
 */
static void set_clock(struct nsx_matcher *m, const struct nsx_mchannel *x,
		      const struct nsx_mchannel *y)
{
	const struct nsx_frank *rank = m->f->rank;
	uint32_t host = rank[y->rank].host;
	int64_t from = NSX_MAX(0, y->shift), by_ns;
	int64_t n = NSX_MIN((int64_t)x->c->n, (int64_t)y->c->n + y->shift) - from;
	double diff[NSX_SAMPLES];
	size_t k = 0;

	if (m->has_clock[host] || !m->has_clock[rank[x->rank].host] ||
	    !x->c->has_times || !y->c->has_times || x->utc_ns < 0 || y->utc_ns < 0)
		return;
	for (; k < NSX_SAMPLES && (int64_t)k < n; k++) {
		size_t i = (size_t)(from + n * (int64_t)k / NSX_SAMPLES);

		diff[k] = (double)(x->utc_ns - y->utc_ns + nsx_coll_end(x->c, i) -
				   nsx_coll_end(y->c, i - (size_t)y->shift));
	}
	by_ns = (int64_t)nsx_median_of(diff, k);
	m->has_clock[host] = true;
	for (size_t i = 0; i < m->n; i++)
		if (rank[m->v[i].rank].host == host && m->v[i].utc_ns >= 0)
			m->v[i].utc_ns += by_ns;
}

static bool may_differ(const struct nsx_mchannel *x, const struct nsx_mchannel *y)
{
	return x->c->comm && y->c->comm != x->c->comm;
}

/* How far the clocks of two ranks may be apart. */
static int64_t bound_ns(const struct nsx_matcher *m, const struct nsx_mchannel *x,
			const struct nsx_mchannel *y)
{
	uint32_t a = m->f->rank[x->rank].host, b = m->f->rank[y->rank].host;

	return a == b || (m->has_clock[a] && m->has_clock[b]) ? KNOWN_BOUND_NS : NSX_CLOCK_BOUND_NS;
}

/* Whether y is compared with z, a channel of the rank `by` ranks before. Either both have the same
 * communicator, or both have an unknown one and `by` is a power of two, as in meshes: 1, or more if
 * both clocks are known, because then few places need to be searched.
 */
static bool may_be_own(const struct nsx_matcher *m, const struct nsx_mchannel *y,
		       const struct nsx_mchannel *z, uint32_t by)
{
	if (!z || z->c->comm != y->c->comm)
		return false;
	return y->c->comm ||
	       (!(by & (by - 1)) && (by == 1 || bound_ns(m, z, y) <= KNOWN_BOUND_NS));
}

/* Aligns a channel with an earlier one of its own communicator, instead of with x. A channel whose
 * ends disagree with those of x belongs to another communicator of the family, so its place on x
 * is uncertain.
 */
static void lay_on_own(struct nsx_matcher *m, const struct nsx_mchannel *x,
		       struct nsx_mchannel *const *best, uint32_t rank)
{
	struct nsx_mchannel *y = best[rank];

	bool is_done = false;

	for (uint32_t by = 1; by <= rank && !is_done; by++) {
		const struct nsx_mchannel *z = best[rank - by];
		struct nsx_mchannel on_z = *y;

		if (z == x || !may_be_own(m, y, z, by))
			continue;
		if (!nsx_lay(z, &on_z, bound_ns(m, z, y), m->fits) ||
		    (!y->c->comm &&
		     on_z.spread > NSX_MIN(NSX_TOGETHER_NS, MUCH_NEARER * y->spread)))
			continue;
		y->shift = z->shift + on_z.shift;
		is_done = true;
	}
}

/* Finds, for each other rank, the free channel that fits x best. One that agrees with x sets its
 * host's clock for those that follow.
 */
static void lay_all(struct nsx_matcher *m, const struct nsx_mchannel *x, struct nsx_mchannel **best)
{
	for (size_t i = 0; i < m->n; i++) {
		struct nsx_mchannel *y = &m->v[i], **b = &best[y->rank];

		if (y->is_taken || y->rank == x->rank || y->c->is_mpi != x->c->is_mpi ||
		    !nsx_lay(x, y, bound_ns(m, x, y), m->fits) ||
		    (*b && !nsx_fits_better(x, y, *b)))
			continue;
		*b = y;
		if (y->spread <= NSX_END_NOISE_NS && !may_differ(x, y))
			set_clock(m, x, y);
	}
	for (uint32_t r = 0; r < m->f->nranks; r++)
		if (best[r] && best[r] != x && best[r]->spread > NSX_END_NOISE_NS)
			lay_on_own(m, x, best, r);
}

/* Finds, for each host, the channel that agrees best with x. Only ranks at x's place within their
 * host are considered, because the members of data-parallel groups are at equal places. With `all`,
 * hosts that already have a clock are included.
 */
static struct nsx_mchannel **lay_hosts(struct nsx_matcher *m, const struct nsx_mchannel *x,
				       const uint32_t *place, bool all)
{
	const struct nsx_frank *rank = m->f->rank;
	struct nsx_mchannel **ret = nsx_arena_get(m->a, m->f->nhosts * sizeof(*ret));

	for (size_t i = 0; i < m->n; i++) {
		struct nsx_mchannel *y = &m->v[i], **b = &ret[rank[y->rank].host];

		if (place[y->rank] == place[x->rank] && y->c->is_mpi == x->c->is_mpi &&
		    (all || !m->has_clock[rank[y->rank].host]) &&
		    !may_differ(x, y) && y->rank != x->rank &&
		    nsx_lay(x, y, NSX_CLOCK_BOUND_NS, m->fits) &&
		    (!*b || nsx_fits_better(x, y, *b)))
			*b = y;
	}
	return ret;
}

/* Whether a channel of a host's first rank can set clocks. */
static bool tells_clocks(const struct nsx_mchannel *x, uint32_t rank)
{
	return x->rank == rank && x->c->has_times && !nsx_is_of_pairs(x->c);
}

/* Sets the clocks of hosts that have a channel whose ends agree with those of one of the rank's
 * channels to near_ns. The channel that agrees best sets the clock: those of other pipeline stages,
 * which end alike step by step, agree nearly as well. Appends these hosts' first ranks to the list,
 * and returns its new length.
 */
static uint32_t match_reach(struct nsx_matcher *m, uint32_t rank, const uint32_t *place,
			    double near_ns, uint32_t *list, uint32_t n)
{
	struct nearest {
		const struct nsx_mchannel *x;
		struct nsx_mchannel y;
	} *best = nsx_arena_get(m->a, m->f->nhosts * sizeof(*best));

	for (size_t i = 0; i < m->n; i++) {
		const struct nsx_mchannel *x = &m->v[i];
		struct nsx_mchannel **of_host;

		if (!tells_clocks(x, rank))
			continue;
		of_host = lay_hosts(m, x, place, false);
		for (uint32_t h = 0; h < m->f->nhosts; h++)
			if (of_host[h] && of_host[h]->spread <= NSX_MIN(near_ns, NSX_TOGETHER_NS) &&
			    (!best[h].x || of_host[h]->spread < best[h].y.spread))
				best[h] = (struct nearest){x, *of_host[h]};
	}
	for (uint32_t h = 0; h < m->f->nhosts; h++) {
		if (!best[h].x)
			continue;
		set_clock(m, best[h].x, &best[h].y);
		if (m->has_clock[h])
			list[n++] = best[h].y.rank;
	}
	return n;
}

/* Sets the hosts' clocks. It begins at the first rank's host, and goes on to hosts with a channel
 * in common, from the host found last. Ends agree about equally well in all communicators of a job;
 * near_ns follows from that. Channels within one host, such as tensor-parallel groups, match those
 * of another host at any distance, but less well.
 */
static void find_clocks(struct nsx_matcher *m)
{
	enum { MOST_IN_VAIN = 8 };
	const struct nsx_fleet *f = m->f;
	uint32_t *place = nsx_arena_get(m->a, f->nranks * sizeof(*place));
	uint32_t *next = nsx_arena_get(m->a, f->nhosts * sizeof(*next));
	uint32_t *list = nsx_arena_get(m->a, (f->nhosts + 1) * sizeof(*list));
	uint32_t n = 0, nset = 1, in_vain = 0;
	double least = INFINITY;

	if (!m->n)
		return;
	for (uint32_t r = 0; r < f->nranks; r++)
		place[r] = next[f->rank[r].host]++;
	for (size_t i = 0; i < m->n && f->nhosts > 1; i++)
		if (tells_clocks(&m->v[i], m->v[0].rank)) {
			struct nsx_mchannel **v = lay_hosts(m, &m->v[i], place, true);

			for (uint32_t h = 0; h < f->nhosts; h++)
				if (v[h])
					least = NSX_MIN(least, v[h]->spread);
		}
	least = NSX_MAX(NEARLY * least, NSX_END_NOISE_NS / MUCH_NEARER);
	m->has_clock[f->rank[m->v[0].rank].host] = true;
	list[n++] = m->v[0].rank;
	while (n && nset < f->nhosts && in_vain < MOST_IN_VAIN) {
		uint32_t before = --n;

		n = match_reach(m, list[before], place, least, list, before);
		nset += n - before;
		in_vain = n > before ? 0 : in_vain + 1;
	}
}

/* How many ranks the two sides of messages are apart, on a ring of all ranks. */
static int64_t sides_apart(const struct nsx_fleet *f, const struct nsx_mchannel *x)
{
	int64_t n = llabs(f->rank[x->rank].number - f->rank[x->other->rank].number);

	return NSX_MIN(n, nsx_fleet_world(f) - n);
}

/* Adds a channel and its other side to a family. Leaves them out if their ranks are already in it,
 * or are not as far apart as the two sides of the family's first channel: neighbours exchange other
 * data than stages of a pipeline. The two sides are aligned with each other by their ends, but with
 * the first channel only roughly.
 */
static void add_sides(struct nsx_matcher *m, const struct nsx_mchannel *x, struct nsx_mchannel *y,
		      struct nsx_mchannel **best)
{
	struct nsx_mchannel *other = y->other;

	if (!other || y->is_taken || best[y->rank] || best[other->rank] ||
	    sides_apart(m->f, y) != sides_apart(m->f, x) || (y != x && !nsx_lay(x, y, 0, m->fits)))
		return;
	if (!nsx_lay(y, other, bound_ns(m, y, other), m->fits))
		other->shift = 0;
	other->shift += y->shift;
	best[y->rank] = y;
	best[other->rank] = other;
}

/* Starts a family with a free channel and, for every other rank, the channel that fits it best. */
static void start_family(struct nsx_matcher *m, struct nsx_mchannel *x)
{
	struct nsx_mchannel **best = nsx_arena_get(m->a, m->f->nranks * sizeof(*best));

	x->shift = 0;
	x->spread = 0;
	if (x->other) {
		add_sides(m, x, x, best);
		/* Equal stages may have a stream for each direction. */
		for (unsigned of_any = 0; of_any < 2; of_any++)
			for (size_t i = 0; i < m->n; i++)
				if (of_any || m->v[i].c->stream == x->c->stream)
					add_sides(m, x, &m->v[i], best);
	} else {
		best[x->rank] = x;
		lay_all(m, x, best);
	}
	m->nin = 0;
	for (uint32_t r = 0; r < m->f->nranks; r++)
		if (best[r]) {
			best[r]->is_taken = true;
			m->in[m->nin++] = best[r];
		}
}

/* Finds the range in which at least two members are present. */
static void find_range(struct nsx_fcomm *c)
{
	size_t first = SIZE_MAX, second = SIZE_MAX, last = 0, before = 0;

	for (size_t i = 0; i < c->n; i++) {
		const struct nsx_fmember *m = &c->m[i];
		size_t from = (size_t)NSX_MAX(0, m->piece[0].shift);
		size_t to = (size_t)(m->piece[0].shift + (int64_t)m->c->n);

		second = NSX_MIN(second, NSX_MAX(first, from));
		first = NSX_MIN(first, from);
		before = NSX_MAX(before, NSX_MIN(last, to));
		last = NSX_MAX(last, to);
	}
	c->first = c->n < 2 ? 0 : second;
	c->end = c->n < 2 ? 0 : NSX_MAX(second, before);
}

static int make_family(struct nsx_matcher *m, struct nsx_mchannel *x, struct nsx_err *err)
{
	struct nsx_fleet *f = m->f;
	struct nsx_family *fam = nsx_one_more(f->arena, f->family, f->nfamilies,
					      sizeof(*fam), "families of communicators", err);
	int64_t least = INT64_MAX, most = 0;
	int rc;

	if (!fam)
		return err->rc;
	start_family(m, x);
	f->family = fam;
	fam += f->nfamilies;
	for (size_t i = 0; i < m->nin; i++)
		least = NSX_MIN(least, m->in[i]->shift);
	for (size_t i = 0; i < m->nin; i++) { /* k counts from the family's first collective */
		m->in[i]->shift -= least;
		most = NSX_MAX(most, m->in[i]->shift + (int64_t)m->in[i]->c->n);
	}
	*fam = (struct nsx_family){.is_mpi = x->c->is_mpi, .at = f->ncomms,
				   .nranks = (uint32_t)m->nin, .length = (size_t)most};
	rc = nsx_match_split(m, err);
	fam->n = f->ncomms - fam->at;
	f->nfamilies++;
	for (uint32_t i = fam->at; i < f->ncomms && !rc; i++) {
		struct nsx_fcomm *c = &f->comm[i];

		fam->most = NSX_MAX(fam->most, c->n);
		find_range(c);
		rc = nsx_find_desyncs(f, c, err);
	}
	return rc;
}

/* Takes over the clocks that collectives have shown. */
static void take_clocks(struct nsx_matcher *m)
{
	const struct nsx_fleet *f = m->f;

	for (size_t i = 0; i < m->n; i++) {
		struct nsx_mchannel *x = &m->v[i];
		const struct nsx_frank *r = &f->rank[x->rank];
		int64_t middle = r->d->first_ns + (r->d->last_ns - r->d->first_ns) / 2;

		if (x->utc_ns < 0 || f->clock[r->clock].component)
			continue;
		x->utc_ns = f->utc_ns - middle + (int64_t)nsx_common_ns(f, x->rank, middle);
		m->has_clock[r->host] = true;
	}
}

static int match_channels(struct nsx_fleet *f, bool of_pairs, struct nsx_err *err)
{
	struct nsx_matcher m = {.f = f, .a = nsx_arena_new(),
				.scratch = nsx_arena_new()};
	int rc = list_channels(&m, of_pairs, err);

	m.has_clock = nsx_arena_get(m.a, f->nhosts);
	if (of_pairs)
		take_clocks(&m);
	else
		find_clocks(&m);
	for (size_t i = 0; i < m.n && !rc; i++)
		if (!m.v[i].is_taken)
			rc = make_family(&m, &m.v[i], err);
	nsx_arena_free(m.a);
	nsx_arena_free(m.scratch);
	return rc;
}

int nsx_fleet_match(struct nsx_fleet *f, struct nsx_err *err)
{
	return nsx_fleet_list_clocks(f, err) ?: match_channels(f, false, err);
}

static bool has_channels(const struct nsx_fleet *f, bool (*are_these)(const struct nsx_dchannel *c))
{
	for (uint32_t r = 0; r < f->nranks; r++)
		for (size_t c = 0; c < f->rank[r].d->nchannels; c++)
			if (are_these(&f->rank[r].d->channels[c]))
				return true;
	return false;
}

static bool is_exchange(const struct nsx_dchannel *c)
{
	return c->is_exchange;
}

int nsx_fleet_match_pairs(struct nsx_fleet *f, struct nsx_err *err)
{
	bool has_pairs;

	if (nsx_join_messages(f, err))
		return err->rc;
	has_pairs = has_channels(f, nsx_is_of_pairs);
	f->has_messages = has_channels(f, nsx_is_of_messages) || has_channels(f, is_exchange);
	if (has_pairs && (nsx_pair_up(f, err) || match_channels(f, true, err)))
		return err->rc;
	for (uint32_t i = 0; i < f->ncomms; i++)
		f->has_messages |= nsx_is_of_unknown_pairs(&f->comm[i]) ||
				   nsx_is_of_neighbours(&f->comm[i]);
	return has_pairs && nsx_has_unknown_clocks(f) ? nsx_fleet_clocks(f, err) : 0;
}
