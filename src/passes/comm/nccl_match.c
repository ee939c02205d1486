/* nccl_match.c - which kernels of different ranks are one collective, who comes
 * last to it, and whether that is more than chance.
 *
 * Kernels of one collective overlap on all ranks and end together.  Each rank
 * holds its next kernel; where all of these overlap and end together they are
 * an instance, else the one that ends first has no partner and is passed over.
 * A tournament tree over the ranks gives the extremes of the held kernels, so
 * a step costs the logarithm of the number of ranks.
 *
 * Which communicator a kernel belongs to is not known: a rank with less than
 * half as many kernels as the busiest is taken for a stranger, and groups of
 * ranks that each talk among themselves match only by accident, thus hardly.
 */
#include <math.h>
#include "passes/comm/nccl.h"

#define END_SPREAD_NS 100000 /* or a fifth of the shortest kernel */
#define CAUSE_SHARE 0.8
#define STEP_P 0.05
#define STEP_COUNTS 0.1 /* of what the dearest step waits */

struct node { /* extremes of the held kernels below it */
	int64_t max_start_ns, min_end_ns, max_end_ns, min_ns;
	size_t first; /* who ends first */
};

struct tree {
	struct node *v; /* the root is v[1], leaf i is v[size + i] */
	size_t size;
};

static struct node join(const struct node *a, const struct node *b)
{
	return (struct node){
		NSX_MAX(a->max_start_ns, b->max_start_ns),
		NSX_MIN(a->min_end_ns, b->min_end_ns),
		NSX_MAX(a->max_end_ns, b->max_end_ns),
		NSX_MIN(a->min_ns, b->min_ns),
		b->min_end_ns < a->min_end_ns ? b->first : a->first};
}

static void hold(struct tree *t, size_t leaf, const struct nccl_event *e)
{
	size_t i = t->size + leaf;

	t->v[i] = (struct node){e->start_ns, e->end_ns, e->end_ns,
				e->end_ns - e->start_ns, leaf};
	for (i /= 2; i; i /= 2)
		t->v[i] = join(&t->v[2 * i], &t->v[2 * i + 1]);
}

static int make_tree(struct tree *t, size_t n, struct nsx_arena *a,
		     struct nsx_err *err)
{
	for (t->size = 1; t->size < n;)
		t->size *= 2;
	if (!nsx_new_array(t->v, a, 2 * t->size, "ranks", err))
		return err->rc;
	for (size_t i = 0; i < 2 * t->size; i++)
		t->v[i] = (struct node){INT64_MIN, INT64_MAX, INT64_MIN,
					INT64_MAX, 0};
	return 0;
}

static bool is_instance(const struct node *n, bool is_pairwise)
{
	return n->max_start_ns < n->min_end_ns &&
	       (is_pairwise || n->max_end_ns - n->min_end_ns <=
				       NSX_MAX(END_SPREAD_NS, n->min_ns / 5));
}

static void walk(struct nccl_match *m, size_t *at, struct tree *tree,
		 bool is_pairwise)
{
	const struct nccl_rank *ranks = m->ranks;

	for (size_t k = 0; k < m->nranks; k++)
		hold(tree, k, &m->events[ranks[m->rank[k]].at]);
	for (;;) {
		bool found = is_instance(&tree->v[1], is_pairwise);
		size_t from = found ? 0 : tree->v[1].first;
		size_t to = found ? m->nranks : from + 1;

		for (size_t k = 0; found && k < m->nranks; k++)
			m->member[m->n * m->nranks + k] =
				ranks[m->rank[k]].at + at[k];
		m->n += found;
		for (size_t k = from; k < to; k++) {
			const struct nccl_rank *r = &ranks[m->rank[k]];

			if (++at[k] == r->n)
				return;
			hold(tree, k, &m->events[r->at + at[k]]);
		}
	}
}

static int find_instances(struct nccl_match *m, size_t nranks,
			  bool is_pairwise, struct nsx_err *err)
{
	struct nccl_rank *ranks = m->ranks;
	struct nsx_arena *a = m->run->scratch;
	size_t most = 0, least = SIZE_MAX, *at;
	struct tree tree;

	for (size_t r = 0; r < nranks; r++)
		most = NSX_MAX(most, ranks[r].n);
	if (nsx_new_arrays(a, nranks, "ranks", err, m->rank, at))
		return err->rc;
	for (size_t r = 0; r < nranks; r++) {
		if (ranks[r].n * 2 < most)
			continue;
		m->rank[m->nranks++] = (uint32_t)r;
		ranks[r].is_matched = true;
		least = NSX_MIN(least, ranks[r].n);
	}
	if (m->nranks < 2 || (is_pairwise && m->nranks > 2))
		return 0;
	nsx_new_array(m->v, a, least, "matched collectives", err);
	nsx_new_array(m->member, a, least * m->nranks, "matched collectives",
		      err);
	if (!m->v || !m->member || make_tree(&tree, m->nranks, a, err))
		return err->rc;
	walk(m, at, &tree, is_pairwise);
	return 0;
}

/* Lateness -------------------------------------------------------------*/

/* Fills instance i and adds it to the sums; scratch holds nranks values.  It is
 * evidence where somebody is late in the judged window, but for the first: ranks
 * start one after another.
 */
static void weigh(struct nccl_match *m, size_t i, const struct nsx_window *w,
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
			nsx_add_to(&r->judged_waited_ns,
				   x->last_ns - e->start_ns);
		if (k != x->last)
			scratch[n++] = x->last_ns - e->start_ns;
	}
	/* Of lengths: a double holds no instant of today to the nanosecond. */
	x->late_ns = nsx_quantile(scratch, n, 0.5);
	x->kept = x->judged && x->late_ns >= (double)m->least_late_ns;
	nsx_add_to(&m->transfer_ns, end_ns - x->last_ns);
	nsx_add_to(&m->min_ns, min_ns);
}

static void charge(struct nccl_match *m, size_t i)
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

/* By what is evidence; without any, by all instances. */
static bool is_later(const struct nccl_rank *a, const struct nccl_rank *b)
{
	return a->kept_induced_ns != b->kept_induced_ns ?
		       a->kept_induced_ns > b->kept_induced_ns :
		       a->induced_ns > b->induced_ns;
}

static void judge(struct nccl_match *m, const struct nsx_window *w)
{
	const struct nccl_rank *ranks = m->ranks;
	const struct nccl_rank *late = NULL;

	for (size_t k = 0; k < m->nranks; k++) {
		const struct nccl_rank *r = &ranks[m->rank[k]];

		if (r->induced_ns > 0 &&
		    (m->late == NSX_NONE ||
		     is_later(r, &ranks[m->late])))
			m->late = m->rank[k];
		if (r->waited_ns > 0 &&
		    (m->waiting == NSX_NONE ||
		     r->waited_ns > ranks[m->waiting].waited_ns))
			m->waiting = m->rank[k];
	}
	if (m->late == NSX_NONE || !m->nkept)
		return;
	late = &ranks[m->late];
	m->p_value = nsx_binomial_tail(m->nkept, late->kept_last,
				   1.0 / (double)m->nranks);
	m->proved = m->nkept >= NSX_LATE_LEAST && m->p_value < NSX_LATE_P &&
		    late->kept_induced_ns >=
			    NSX_LATE_SHARE * (double)(w->end_ns - w->start_ns);
}

/* The rank for which most is waited in a step, and how long. */
struct late_step {
	uint32_t who; /* index of nccl_match.rank                    */
	double ns;
};

static struct late_step weigh_step(const struct nccl_match *m, size_t *at,
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

/* Collectives of a step are late together, so a straggler is last by more than chance
 * in steps as well, of those in which there is much to wait.
 */
static int check_steps(struct nccl_match *m, double *induced, struct nsx_err *err)
{
	const struct nsx_facts *f = m->run->facts;
	const struct nccl_rank *late = &m->ranks[m->late];
	struct late_step *v;
	size_t n = 0, at = 0, count = 0, nlast = 0;
	double most = 0, p_value;

	if (!nsx_new_array(v, m->run->scratch, f->niterations, "steps", err))
		return err->rc;
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		if (x->device != late->device || x->process != late->process)
			continue;
		v[n] = weigh_step(m, &at, x, induced);
		most = NSX_MAX(most, v[n].ns);
		n++;
	}
	for (size_t i = 0; i < n; i++) {
		count += v[i].ns > STEP_COUNTS * most;
		nlast += v[i].ns > STEP_COUNTS * most &&
			 m->rank[v[i].who] == m->late;
	}
	p_value = nsx_binomial_tail(count, nlast, 1.0 / (double)m->nranks);
	if (count && p_value >= STEP_P) {
		m->proved = false;
		m->p_value = p_value;
	}
	return 0;
}

/* Two clocks that are each right to within d may be 2 d apart. */
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

static int find_spread(struct nccl_match *m, struct nsx_err *err)
{
	int64_t *spread;

	if (!nsx_new_array(spread, m->run->scratch, m->n, "ends", err))
		return err->rc;
	for (size_t i = 0; i < m->n; i++) {
		int64_t lo = INT64_MAX, hi = INT64_MIN;

		for (size_t k = 0; k < m->nranks; k++) {
			int64_t end_ns =
				m->events[m->member[i * m->nranks + k]].end_ns;

			lo = NSX_MIN(lo, end_ns);
			hi = NSX_MAX(hi, end_ns);
		}
		spread[i] = hi - lo;
	}
	m->end_spread_ns = nsx_quantile(spread, m->n, 0.5);
	return 0;
}

int nccl_match(const struct nccl_comm *c, const struct nccl_group *g,
	       struct nccl_match *ret, struct nsx_err *err)
{
	const struct nsx_window w = nsx_judged(c->run->facts);
	int64_t *scratch;
	double *induced;

	*ret = (struct nccl_match){.run = c->run, .events = c->events,
				   .ranks = c->ranks + g->rank_at,
				   .late = NSX_NONE, .waiting = NSX_NONE,
				   .p_value = NAN};
	if (find_instances(ret, g->nranks, g->op == NSX_COMM_SENDRECV, err))
		return err->rc;
	if (!ret->n)
		return 0;
	if (!nsx_new_array(scratch, c->run->scratch, ret->nranks, "ranks", err) ||
	    !nsx_new_array(induced, c->run->scratch, ret->nranks, "ranks", err))
		return err->rc;
	ret->least_late_ns = least_late(ret);
	for (size_t i = 0; i < ret->n; i++) {
		weigh(ret, i, &w, scratch);
		charge(ret, i);
	}
	judge(ret, &w);
	return (ret->proved ? check_steps(ret, induced, err) : 0) ?:
	       find_spread(ret, err);
}

/* Cause ------------------------------------------------------------------*/

/* What a rank's device did from the first to the last judged instance. */
static void sum_work(const struct nccl_match *m, size_t k,
		     struct nsx_partition *ret, double *ret_ops)
{
	uint32_t device = m->ranks[m->rank[k]].device;
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	for (size_t i = 0; i < m->n; i++) {
		const struct nccl_event *e =
			&m->events[m->member[i * m->nranks + k]];

		if (!m->v[i].judged)
			continue;
		from_ns = NSX_MIN(from_ns, e->end_ns);
		to_ns = e->end_ns;
	}
	nsx_partition(&m->run->facts->device[device], from_ns, to_ns, ret);
	*ret_ops = (double)nsx_ops_started(m->run->trace, device, from_ns,
					   to_ns);
}

/* From the end of one collective to that of another all ranks take as long, so
 * what the others wait for the late one is what it computes, copies and idles
 * more than they do.
 */
void nccl_find_cause(struct nccl_match *m)
{
	double more[NSX_NPARTS] = {0}, late_ns = 0, ops = 0, other_ops = 0;
	double others = (double)m->nranks - 1;

	for (size_t k = 0; k < m->nranks; k++) {
		bool is_late = m->rank[k] == m->late;
		struct nsx_partition p;
		double n;

		sum_work(m, k, &p, &n);
		for (unsigned c = 0; c < NSX_NPARTS; c++)
			more[c] += (double)p.ns[c] * (is_late ? 1 : -1 / others);
		*(is_late ? &ops : &other_ops) += is_late ? n : n / others;
	}
	late_ns = -more[NSX_P_COMM_EXPOSED];
	struct {
		double ns;
		const char *text;
	} causes[] = {
		{more[NSX_P_COMPUTE_ONLY] + more[NSX_P_COMPUTE_COPY] +
		 more[NSX_P_COMPUTE_COMM], NULL},
		{more[NSX_P_COPY_EXPOSED],
		 "it copies memory for longer than the others"},
		{more[NSX_P_IDLE],
		 "its GPU idles for longer than the others: the host is late"},
	};

	if (!(late_ns > 0))
		return;
	causes[0].text = fabs(ops - other_ops) * 50 <= other_ops ?
		"it computes longer, in as many GPU operations as the others" :
		"it computes longer, in another number of GPU operations than "
		"the others";
	for (size_t i = 0; i < ARRAY_LEN(causes) && !m->cause; i++) {
		if (causes[i].ns < CAUSE_SHARE * late_ns)
			continue;
		m->cause = causes[i].text;
		m->cause_share = NSX_MIN(1, causes[i].ns / late_ns);
		m->is_by_work = !i;
	}
}
