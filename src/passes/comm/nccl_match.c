/* nccl_match.c - finds the rank that comes last to the collectives of an operation, and
 * whether that is more than chance.
 *
 * Ranks that share collectives are judged together: each of two pairs of ranks has its own
 * late rank.
 */
#include <math.h>
#include "facts/teams.h"
#include "passes/comm/nccl.h"

#define CAUSE_SHARE 0.8
#define STEP_P 0.05
/* A step counts if it waits for at least this share of the longest step's wait. */
#define STEP_COUNTS 0.1

/* Ranks that share collectives ----------------------------------------------- */

/* Hashes a set of ranks; their order does not matter. */
static uint64_t ranks_hash(const struct nsx_run *run, const struct nsx_team *team)
{
	const uint32_t *op = run->facts->teams->member + team->at;
	uint64_t sum = team->n;

	for (uint32_t k = 0; k < team->n; k++) {
		const struct nsx_stream *s = nsx_stream_of(run->trace, op[k]);

		sum += nsx_hash_u64((uint64_t)s->process << 32 | s->device);
	}
	return sum;
}

/* Assigns each complete collective to its circle; NSX_NONE for others. */
static void group_teams(struct nccl_comm *c, uint32_t *of)
{
	const struct nsx_teams *teams = c->run->facts->teams;

	for (uint32_t k = 0; k < teams->n; k++) {
		const struct nsx_team *x = &teams->v[k];
		struct nccl_circle *circle;

		of[k] = NSX_NONE;
		if (!x->is_whole)
			continue;
		circle = nsx_group_few(&c->circle_keys, &c->circles,
				       nccl_kind(c, teams->member[x->at]), ranks_hash(c->run, x));
		if (!circle->n++)
			circle->kind = nccl_kind(c, teams->member[x->at]);
		of[k] = (uint32_t)(circle - c->circles);
	}
}

int nccl_find_circles(struct nccl_comm *c, struct nsx_err *err)
{
	struct nsx_arena *a = c->run->scratch;
	uint32_t n = c->run->facts->teams->n, *of, *team, *at;

	if (nsx_new_arrays(a, n, "collectives", err, of, team))
		return err->rc;
	group_teams(c, of);
	c->ncircles = c->circle_keys.n;
	nsx_few(at, a, c->ncircles + 2);
	NSX_DEAL(at, team, c->ncircles, n, i, of[i]);
	for (size_t k = 0; k < c->ncircles; k++)
		c->circles[k].team = team + at[k];
	return 0;
}

/* The group's rank to which an operation belongs. */
static uint32_t rank_of_op(const struct nccl_match *m, size_t nranks, uint32_t op)
{
	const struct nsx_stream *s = nsx_stream_of(m->run->trace, op);
	uint32_t i = 0;

	while (i + 1 < nranks && (m->ranks[i].process != s->process ||
				  m->ranks[i].device != s->device))
		i++;
	return i;
}

/* Lists the ranks, and the events of each instance, in the order of the group. */
static int list_instances(struct nccl_match *m, const struct nccl_circle *x,
			  const struct nccl_group *g, struct nsx_err *err)
{
	const struct nsx_teams *teams = m->run->facts->teams;
	struct nsx_arena *a = m->run->scratch;
	const struct nsx_team *first = &teams->v[x->team[0]];
	uint32_t *place; /* for each rank of the group: its index among matched ranks */

	m->nranks = first->n;
	m->n = x->n;
	if (!nsx_new_array(m->v, a, m->n, "matched collectives", err) ||
	    !nsx_new_array(m->member, a, m->n * m->nranks, "matched collectives", err))
		return err->rc;
	nsx_few(m->rank, a, g->nranks);
	nsx_few(place, a, g->nranks);
	for (uint32_t k = 0; k < first->n; k++)
		m->rank[k] = rank_of_op(m, g->nranks, teams->member[first->at + k]);
	nsx_sort(m->rank, m->nranks, sizeof(*m->rank), nsx_cmp_u32);
	for (uint32_t k = 0; k < m->nranks; k++) {
		m->ranks[m->rank[k]].is_matched = true;
		place[m->rank[k]] = k;
	}
	for (size_t i = 0; i < m->n; i++) {
		const struct nsx_team *team = &teams->v[x->team[i]];

		for (uint32_t k = 0; k < team->n; k++) {
			uint32_t op = teams->member[team->at + k];
			uint32_t r = rank_of_op(m, g->nranks, op);
			size_t at = m->ranks[r].at;

			m->member[i * m->nranks + place[r]] = NSX_SEARCH(
				at, at + m->ranks[r].n, mid, m->events[mid].op < op);
		}
	}
	return 0;
}

/* Lateness -------------------------------------------------------------*/

/* Fills instance i and adds it to the sums; scratch holds nranks values. An instance is evidence if
 * a rank is late and the instance lies in the judged window. The first instance there does not
 * count, because ranks start one after another.
 */
static void measure_instance(struct nccl_match *m, size_t i, const struct nsx_window *w,
			     int64_t *scratch)
{
	const size_t *member = m->member + i * m->nranks;
	struct nccl_instance *x = &m->v[i];
	int64_t end_ns = INT64_MIN, min_ns = INT64_MAX;
	size_t n = 0;

	x->last_ns = INT64_MIN;
	for (size_t k = 0; k < m->nranks; k++) {
		const struct nccl_event *e = &m->events[member[k]];

		if (e->start_ns > x->last_ns) {
			x->last_ns = e->start_ns;
			x->last = (uint32_t)k;
		}
		end_ns = NSX_MAX(end_ns, e->end_ns);
		min_ns = NSX_MIN(min_ns, e->end_ns - e->start_ns);
	}
	x->judged = i > 0 && x->last_ns >= w->start_ns && x->last_ns < w->end_ns;
	for (size_t k = 0; k < m->nranks; k++) {
		const struct nccl_event *e = &m->events[member[k]];
		struct nccl_rank *r = &m->ranks[m->rank[k]];

		nsx_add_to(&r->waited_ns, x->last_ns - e->start_ns);
		if (x->judged)
			nsx_add_to(&r->judged_waited_ns, x->last_ns - e->start_ns);
		if (k != x->last)
			scratch[n++] = x->last_ns - e->start_ns;
	}
	/* Timestamps are subtracted before they are converted, because a double cannot hold
	 * today's timestamps to the nanosecond.
	 */
	x->late_ns = nsx_quantile(scratch, n, 0.5);
	x->kept = x->judged && x->late_ns >= (double)m->least_late_ns;
	nsx_add_to(&m->transfer_ns, end_ns - x->last_ns);
	nsx_add_to(&m->min_ns, min_ns);
}

static void add_late_instance(struct nccl_match *m, size_t i)
{
	const struct nccl_instance *x = &m->v[i];
	struct nccl_rank *r = &m->ranks[m->rank[x->last]];
	double induced_ns = x->late_ns;

	r->times_last++;
	r->induced_ns += induced_ns;
	m->njudged += x->judged;
	if (x->kept) {
		m->nkept++;
		r->kept_last++;
		r->kept_induced_ns += induced_ns;
	} else if (!x->judged) {
		m->start_skew_ns += induced_ns;
	}
}

/* Orders ranks by how much they come last, in the instances that decide the verdict or, without
 * any, in all instances.
 */
NSX_ORDER(cmp_lateness, struct nccl_rank, DOWN(kept_induced_ns), DOWN(induced_ns));

const struct nccl_rank *nccl_latest(const struct nccl_rank *v, size_t n)
{
	const struct nccl_rank *ret = NULL;

	for (size_t k = 0; k < n; k++)
		if (v[k].induced_ns > 0 && (!ret || cmp_lateness(&v[k], ret) < 0))
			ret = &v[k];
	return ret;
}

const struct nccl_rank *nccl_waits_most(const struct nccl_rank *v, size_t n)
{
	const struct nccl_rank *ret = NULL;

	for (size_t k = 0; k < n; k++)
		if (v[k].waited_ns > (ret ? ret->waited_ns : 0))
			ret = &v[k];
	return ret;
}

void nccl_add_lateness(struct nccl_rank *v, const struct nccl_group *g, const struct nccl_match *m)
{
	for (size_t k = 0; k < g->nranks; k++) {
		const struct nccl_rank *x = &m->ranks[k];

		v[k].is_matched |= x->is_matched;
		v[k].times_last += x->times_last;
		v[k].kept_last += x->kept_last;
		nsx_add_to(&v[k].waited_ns, x->waited_ns);
		nsx_add_to(&v[k].judged_waited_ns, x->judged_waited_ns);
		v[k].induced_ns += x->induced_ns;
		v[k].kept_induced_ns += x->kept_induced_ns;
	}
}

static uint32_t match_index_of_rank(const struct nccl_match *m, const struct nccl_rank *r)
{
	return r ? (uint32_t)(r - m->ranks) : NSX_NONE;
}

static void judge_lateness(struct nccl_match *m, size_t nranks, const struct nsx_window *w)
{
	const struct nccl_rank *late = nccl_latest(m->ranks, nranks);

	m->late = match_index_of_rank(m, late);
	m->waiting = match_index_of_rank(m, nccl_waits_most(m->ranks, nranks));
	if (!late || !m->nkept)
		return;
	m->p_value = nsx_binomial_tail(m->nkept, late->kept_last, 1.0 / (double)m->nranks);
	m->proved = m->nkept >= NSX_LATE_LEAST && m->p_value < NSX_LATE_P &&
		    late->kept_induced_ns >= NSX_LATE_SHARE * (double)(w->end_ns - w->start_ns);
}

/* A step's latest rank, and the time that the others wait for it. */
struct late_step {
	uint32_t who; /* index of nccl_match.rank                    */
	double ns;
};

static struct late_step find_latest_in_step(const struct nccl_match *m, size_t *at,
					    const struct nsx_iteration *step, double *induced)
{
	struct late_step ret = {0};

	for (size_t k = 0; k < m->nranks; k++)
		induced[k] = 0;
	while (*at < m->n && m->v[*at].last_ns < step->start_ns)
		++*at;
	for (; *at < m->n && m->v[*at].last_ns < step->end_ns; ++*at) {
		const struct nccl_instance *x = &m->v[*at];

		if (!x->kept)
			continue;
		induced[x->last] += x->late_ns;
		if (induced[x->last] > ret.ns)
			ret = (struct late_step){x->last, induced[x->last]};
	}
	return ret;
}

/* Checks lateness by steps. Collectives of one step are late together, so a straggler must also be
 * last in more steps than by chance. Only steps with much waiting count.
 */
static void check_lateness_by_steps(struct nccl_match *m, double *induced)
{
	const struct nsx_facts *f = m->run->facts;
	const struct nccl_rank *late = &m->ranks[m->late];
	struct late_step *v;
	size_t n = 0, at = 0, count = 0, nlast = 0;
	double most = 0, p_value;

	nsx_few(v, m->run->scratch, f->niterations);
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		if (x->device != late->device || x->process != late->process)
			continue;
		v[n] = find_latest_in_step(m, &at, x, induced);
		most = NSX_MAX(most, v[n].ns);
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		count += v[i].ns > STEP_COUNTS * most;
		nlast += v[i].ns > STEP_COUNTS * most && m->rank[v[i].who] == m->late;
	}
	p_value = nsx_binomial_tail(count, nlast, 1.0 / (double)m->nranks);
	if (count && p_value >= STEP_P) {
		m->proved = false;
		m->p_value = p_value;
	}
}

/* The least lateness that clocks cannot explain: two clocks that are right to within d may differ
 * by 2 d.
 */
static int64_t least_late(const struct nccl_match *m)
{
	int64_t doubt_ns = 0;

	for (size_t k = 0; k < m->nranks; k++) {
		const struct nccl_rank *r = &m->ranks[m->rank[k]];

		doubt_ns = NSX_MAX(doubt_ns, nsx_clock_doubt_ns(
				   m->run->trace, r->process, r->device));
	}
	return doubt_ns > INT64_MAX / 2 ? INT64_MAX :
	       NSX_MAX((int64_t)NCCL_LEAST_LATE_NS, 2 * doubt_ns);
}

static int measure_end_spread(struct nccl_match *m, struct nsx_err *err)
{
	int64_t *spread;

	if (!nsx_new_array(spread, m->run->scratch, m->n, "ends", err))
		return err->rc;
	for (size_t i = 0; i < m->n; i++) {
		int64_t lo = INT64_MAX, hi = INT64_MIN;

		for (size_t k = 0; k < m->nranks; k++) {
			int64_t end_ns = m->events[m->member[i * m->nranks + k]].end_ns;

			lo = NSX_MIN(lo, end_ns);
			hi = NSX_MAX(hi, end_ns);
		}
		spread[i] = hi - lo;
	}
	m->end_spread_ns = nsx_quantile(spread, m->n, 0.5);
	return 0;
}

int nccl_match(const struct nccl_comm *c, const struct nccl_group *g,
	       const struct nccl_circle *x, struct nccl_match *ret, struct nsx_err *err)
{
	const struct nsx_window w = nsx_judged(c->run->facts);
	int64_t *scratch;
	double *induced;

	*ret = (struct nccl_match){.run = c->run, .events = c->events,
				   .late = NSX_NONE, .waiting = NSX_NONE,
				   .p_value = NAN};
	nsx_few(ret->ranks, c->run->scratch, g->nranks);
	for (size_t k = 0; k < g->nranks; k++) {
		const struct nccl_rank *r = &c->ranks[g->rank_at + k];

		ret->ranks[k] = (struct nccl_rank){
			.process = r->process, .device = r->device, .at = r->at,
			.n = r->n, .label = r->label};
	}
	if (list_instances(ret, x, g, err))
		return err->rc;
	nsx_few(scratch, c->run->scratch, ret->nranks);
	nsx_few(induced, c->run->scratch, ret->nranks);
	ret->least_late_ns = least_late(ret);
	for (size_t i = 0; i < ret->n; i++) {
		measure_instance(ret, i, &w, scratch);
		add_late_instance(ret, i);
	}
	judge_lateness(ret, g->nranks, &w);
	if (ret->proved)
		check_lateness_by_steps(ret, induced);
	return measure_end_spread(ret, err);
}

/* Cause ------------------------------------------------------------------*/

/* Sums the work of a rank's device from the first to the last judged instance. */
static void nccl_match_sum_work(const struct nccl_match *m, size_t k,
				struct nsx_partition *ret, double *ret_ops)
{
	uint32_t device = m->ranks[m->rank[k]].device;
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	for (size_t i = 0; i < m->n; i++) {
		const struct nccl_event *e = &m->events[m->member[i * m->nranks + k]];

		if (!m->v[i].judged)
			continue;
		from_ns = NSX_MIN(from_ns, e->end_ns);
		to_ns = e->end_ns;
	}
	nsx_partition(&m->run->facts->device[device], from_ns, to_ns, ret);
	*ret_ops = (double)nsx_ops_started(m->run->trace, device, from_ns, to_ns);
}

/* Finds why the late rank is late. All ranks take equally long from the end of one collective to
 * the end of the next. So the others wait for the additional time in which the late rank
 * computes, copies and idles.
 */
void nccl_find_cause(struct nccl_match *m)
{
	double more[NSX_NPARTS] = {0}, late_ns = 0, ops = 0, other_ops = 0;
	double others = (double)m->nranks - 1;

	for (size_t k = 0; k < m->nranks; k++) {
		bool is_late = m->rank[k] == m->late;
		struct nsx_partition p;
		double n;

		nccl_match_sum_work(m, k, &p, &n);
		for (unsigned c = 0; c < NSX_NPARTS; c++)
			more[c] += (double)p.ns[c] * (is_late ? 1 : -1 / others);
		*(is_late ? &ops : &other_ops) += is_late ? n : n / others;
	}
	late_ns = -more[NSX_P_COMM_EXPOSED];
	struct {
		enum nsx_late_by by;
		double ns;
		const char *text;
	} causes[] = {
		{NSX_LATE_BY_WORK, more[NSX_P_COMPUTE_ONLY] + more[NSX_P_COMPUTE_COPY] +
		 more[NSX_P_COMPUTE_COMM], NULL},
		{NSX_LATE_BY_COPIES, more[NSX_P_COPY_EXPOSED],
		 "it copies memory for longer than the others"},
		{NSX_LATE_BY_HOST, more[NSX_P_IDLE],
		 "its GPU idles for longer than the others: the host is late"},
	};

	m->waits_too = !(late_ns > 0);
	if (m->waits_too)
		return;
	causes[0].text = fabs(ops - other_ops) * 50 <= other_ops ?
		"it computes longer, in as many GPU operations as the others" :
		"it computes longer, in a different number of GPU operations than the others";
	for (size_t i = 0; i < ARRAY_LEN(causes) && !m->cause; i++) {
		if (causes[i].ns < CAUSE_SHARE * late_ns)
			continue;
		m->cause = causes[i].text;
		m->cause_share = NSX_MIN(1, causes[i].ns / late_ns);
		m->by = causes[i].by;
	}
}
