/* even.c - makes a rank even: its operations, calls and gaps become as long as those of its peers.
 */
#include "facts/replay/compile.h"

/* The role of an entry. OWN: it belongs to the rank that is made even. PEER: it belongs to a rank
 * that serves as the model. APART: it belongs to another rank that the same plan makes even, so it
 * is no peer.
 */
enum role { OWN, PEER, APART };

struct evening { /* state of making one rank even */
	struct select *by;
	const struct nsx_model *m;
	uint8_t *engine_role, *thread_role; /* enum role                     */
	struct measured *v; /* buffer for all entries of one kind             */
};

static enum role even_role_of(const struct evening *x, uint32_t process, uint32_t device)
{
	if (process == x->by->c->process && device == x->by->c->device)
		return OWN;
	for (size_t i = 0; i < x->by->plan.n; i++) {
		const struct nsx_change *c = &x->by->plan.v[i];

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

	if (nsx_new_arrays(x->by->a, m->nengines, "ranks", err, x->engine_role) ||
	    nsx_new_arrays(x->by->a, nthreads, "ranks", err, x->thread_role))
		return err->rc;
	if (!find_engines(x)) {
		x->by->plan.n = 0; /* the plan makes all ranks even: each is compared with the
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
};

/* The share of the time of n entries of a kind that remains if the rank has more of them than the
 * mean of its peers.
 */
static double remaining_share(const struct measured *v, size_t n, size_t nranks)
{
	size_t own = 0, theirs = 0;

	for (size_t i = 0; i < n; i++)
		*(v[i].is_peer ? &theirs : &own) += v[i].counts;
	return theirs && own * nranks > theirs ? (double)theirs / (double)(own * nranks) : 1;
}

/* Gives the rank the lengths of its peers, kind by kind: its longest entry becomes as long as the
 * peers' longest, and so on. The n entries of s->v are sorted by kind, then length. nranks: the
 * number of peers.
 */
static void apply_peer_distribution(struct evening *s, size_t n, size_t nranks, int64_t *values,
				    bool lifts)
{
	const struct measured *v = s->v;

	for (size_t from = 0, to; from < n; from = to) {
		size_t npeers = 0, nown, own = 0, peer = 0, at = from;
		double share;

		for (to = from; to < n && (to == from || !v[to].begins); to++)
			npeers += v[to].is_peer;
		share = remaining_share(v + from, to - from, nranks);
		nown = to - from - npeers;
		for (size_t i = from; i < to && npeers; i++) {
			int64_t ns;
			size_t k;

			if (v[i].is_peer)
				continue;
			k = (2 * own++ + 1) * npeers / (2 * nown);
			while (!v[at].is_peer || peer < k)
				peer += v[at++].is_peer;
			ns = (int64_t)((double)NSX_MIN(v[at].ns, v[i].ns) * share);
			if (ns >= v[i].ns)
				continue;
			compile_lower(s->by, &values[v[i].at], ns);
			if (!lifts)
				continue;
			compile_lower(s->by, edit_pause(s->by->e, v[i].at),
				      ns - values[v[i].at]);
			s->by->e->call[v[i].at] |= EDIT_CALL_LIFTED;
		}
	}
}

/* Finds the time in which each GPU is compared, by engine of its kernels. It lasts from the first
 * to the last collective that begins in the window on all ranks. *ret_peers: number of other GPUs.
 */
static struct nsx_span *find_compared_times(struct evening *s, size_t *ret_peers,
					    struct nsx_err *err)
{
	const struct nsx_model *m = s->m;
	struct nsx_span *v;
	size_t n = 0;

	if (!nsx_new_array(v, s->by->a, m->nengines, "ranks", err))
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

/* Evens operations, calls, or the gaps before calls. compared: see find_compared_times. */
static void even_entries(struct evening *s, unsigned time, const struct nsx_span *compared,
			 size_t npeers)
{
	const struct nsx_model *m = s->m;
	const struct model_alikes *all = &m->alike[time];
	bool begins = false, of_ops = time == TIME_LENGTHS;
	size_t n = 0;

	for (uint32_t k = 0; k < all->n; k++) {
		uint32_t at = all->v[k] >> 1;
		uint32_t of = of_ops ? m->op[at].engine : nsx_call_thread(m->t, m->call[at].row);
		uint8_t role = (of_ops ? s->engine_role : s->thread_role)[of];

		begins |= all->v[k] & 1;
		if (role == APART)
			continue;
		s->v[n++] = (struct measured){
			model_time(m, time, at), at, begins, role == PEER,
			of_ops && m->op[at].start_ns >= compared[of].start_ns &&
				m->op[at].start_ns < compared[of].end_ns};
		begins = false;
	}
	apply_peer_distribution(s, n, of_ops ? npeers : 1, s->by->e->ns[time],
				time == TIME_GAPS);
}

int compile_even_rank(struct select *by, struct nsx_err *err)
{
	const struct nsx_model *m = by->m;
	struct evening s = {.by = by, .m = m};
	const struct nsx_span *compared;
	size_t npeers, most = 0;

	for (unsigned time = 0; time < NTIMES; time++)
		most = NSX_MAX(most, m->alike[time].n);
	if (find_roles(&s, err) || !nsx_new_array(s.v, by->a, most, "figures of ranks", err) ||
	    !(compared = find_compared_times(&s, &npeers, err)))
		return err->rc;
	for (unsigned time = 0; time < NTIMES; time++)
		even_entries(&s, time, compared, npeers);
	return 0;
}
