/* meet.c - matches MPI calls by their order in each process.
 *
 * The k-th collective of a process is matched with the k-th collective of every other process, if
 * all make the same collectives in the same order. The k-th message with a tag from one process to
 * another is matched with the k-th that the other receives. Communicators are ignored, because
 * most exports lack them. A match is refuted by a call that ends before the calls for which it
 * waits have begun. Times are of the host's clock, which all processes of a host share.
 */
#include "base/group.h"
#include "facts/meet.h"
#include "facts/outside.h"
#include "schema/viewscan.h"

#define LATE_NS 50000 /* a call that begins later than the others by this time makes them wait */
#define TOGETHER_NS 20000 /* waits end together if they end within this time, or within a fifth
			     of the last call's lateness                     */
enum {
	LEAST_SEEN = 10,  /* at least this many waits must end together */
	STRAY = 10,	  /* one wait in STRAY may end alone */
	/* The capture may end this many calls earlier in one process than in another. */
	CUT = 1,
};

enum kind {
	OTHER,
	ALL,	/* a collective in which all ranks wait for all              */
	FROM_ROOT, TO_ROOT, /* a collective in which data goes from or to the root */
	IN_LINE, /* a collective in which each rank waits for lower ranks    */
	SEND, ISEND, RECV, IRECV,
	WAIT,	/* waits for an ISEND or IRECV                               */
	EXCHANGE, /* sends a message, and waits for another one              */
};
static const struct {
	const char *name;
	enum kind kind;
} known[] = {
	{"MPI_Barrier", ALL}, {"MPI_Allreduce", ALL}, {"MPI_Allgather", ALL},
	{"MPI_Allgatherv", ALL}, {"MPI_Alltoall", ALL}, {"MPI_Alltoallv", ALL},
	{"MPI_Alltoallw", ALL}, {"MPI_Reduce_scatter", ALL},
	{"MPI_Reduce_scatter_block", ALL}, {"MPI_Bcast", FROM_ROOT},
	{"MPI_Scatter", FROM_ROOT}, {"MPI_Scatterv", FROM_ROOT},
	{"MPI_Reduce", TO_ROOT}, {"MPI_Gather", TO_ROOT},
	{"MPI_Gatherv", TO_ROOT}, {"MPI_Scan", IN_LINE},
	{"MPI_Exscan", IN_LINE}, {"MPI_Send", SEND}, {"MPI_Ssend", SEND},
	{"MPI_Bsend", SEND}, {"MPI_Rsend", SEND}, {"MPI_Isend", ISEND},
	{"MPI_Issend", ISEND}, {"MPI_Recv", RECV}, {"MPI_Irecv", IRECV},
	{"MPI_Wait", WAIT}, {"MPI_Waitall", WAIT},
	{"MPI_Sendrecv", EXCHANGE}, {"MPI_Sendrecv_replace", EXCHANGE}};
#define UNKNOWN UINT8_MAX
enum { COLLECTIVES = 17, /* known[0] to known[COLLECTIVES - 1] are collectives */
       ONE_WAIT = 25 };  /* index of MPI_Wait in known */

struct matching {
	const struct nsx_trace *t;
	struct nsx_arena *a; /* scratch                                      */
	struct nsx_meets *r;
	/* The following columns have one entry for each call of r. */
	uint8_t *what; /* index in known                                     */
	bool *busy;    /* the call makes CUDA calls itself                   */
	int32_t *peer, *tag; /* rank and tag, as in the trace                */
	/* The calls that are being matched, in order: those of each process form one side. */
	uint32_t *picked, *side_at; /* side_at: where each side begins in picked */
	uint32_t nsides, n; /* n: number of calls on the shortest side */
	const char *why; /* why they do not match                            */
};

/* Collecting ------------------------------------------------------------------*/

static uint8_t index_of_function(const struct matching *x, nsx_str name, uint8_t *memo)
{
	const char *text = nsx_text(x->t, name);

	for (uint8_t i = 0; !memo[name] && i < ARRAY_LEN(known); i++)
		if (!strcmp(text, known[i].name))
			memo[name] = i + 1;
	if (!memo[name])
		memo[name] = UNKNOWN;
	return memo[name] == UNKNOWN ? UNKNOWN : memo[name] - 1;
}

static bool next_mpi_call(const struct nsx_trace *t, size_t *at, struct nsx_outside *ret)
{
	*at = NSX_MAX(*at, t->osrt.n);
	return nsx_outside_next(t, at, ret);
}

/* Collects the outermost MPI calls that are in `known`. */
static int collect_mpi_calls(struct matching *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	struct nsx_meets *r = x->r;
	struct nsx_outside o;
	uint8_t *memo;
	size_t n = 0, at = 0;

	while (next_mpi_call(t, &at, &o))
		n++;
	if (!n)
		return 0;
	if (nsx_new_arrays(x->a, nsx_strings_bound(t->strings), "MPI calls",
			   err, memo) ||
	    nsx_new_arrays(x->a, n, "MPI calls", err, r->call, x->what, x->busy,
			   x->peer, x->tag, x->picked) ||
	    nsx_new_arrays(x->a, n + 1, "MPI calls", err, x->side_at))
		return err->rc;
	at = 0;
	while (next_mpi_call(t, &at, &o)) {
		const struct nsx_mpi_call *last = r->ncalls ? &r->call[r->ncalls - 1] : NULL;
		uint8_t what = index_of_function(x, o.name, memo);

		if (what == UNKNOWN || (last && last->thread == o.thread &&
					o.start_ns < last->end_ns))
			continue;
		x->what[r->ncalls] = what;
		x->peer[r->ncalls] = o.peer;
		x->tag[r->ncalls] = o.tag;
		r->call[r->ncalls++] = (struct nsx_mpi_call){
			o.start_ns, o.end_ns, o.thread, o.name, NSX_NONE, NSX_NONE};
	}
	return nsx_stopped(err);
}

static int read_rank_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			 struct nsx_err *err NSX_UNUSED)
{
	struct matching *x = ctx;
	uint32_t p;

	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_I64 || v[1].u.i < 0 ||
	    v[1].u.i > INT32_MAX)
		return 0;
	p = nsx_process_find(x->t, nsx_process_key((uint64_t)v[0].u.i));
	if (p != NSX_NONE)
		x->r->rank[p] = (int32_t)v[1].u.i;
	return 0;
}

/* Marks MPI calls that make CUDA calls, because nobody knows what those wait for. */
static void mark_calls_with_cuda(struct matching *x)
{
	const struct nsx_calls *c = &x->t->calls;
	uint32_t thread = NSX_NONE, at = 0, to = 0;

	for (uint32_t i = 0; i < x->r->ncalls; i++) {
		const struct nsx_mpi_call *m = &x->r->call[i];

		if (m->thread != thread) {
			thread = m->thread;
			at = x->t->thread[thread].calls_at;
			to = at + x->t->thread[thread].ncalls;
		}
		while (at < to && nsx_call_end(c, at) <= m->start_ns)
			at++;
		x->busy[i] = at < to && nsx_call_start(c, at) < m->end_ns;
	}
}

/* Matching ----------------------------------------------------------------------*/

static enum kind meet_kind_of(const struct matching *x, uint32_t call)
{
	return known[x->what[call]].kind;
}

/* Picks each process's calls of the functions known[from] to known[to]. False: they cannot be
 * matched by their order.
 */
static bool pick_calls(struct matching *x, uint8_t from, uint8_t to)
{
	const struct nsx_mpi_call *v = x->r->call;
	uint32_t n = 0, most = 0, thread = NSX_NONE, process = NSX_NONE;

	x->nsides = 0;
	for (uint32_t i = 0; i < x->r->ncalls; i++) {
		if (x->what[i] < from || x->what[i] > to)
			continue;
		if (v[i].thread != thread) {
			thread = v[i].thread;
			if (x->t->thread[thread].process == process) {
				x->why = "several threads of a process make them";
				return false;
			}
			process = x->t->thread[thread].process;
			x->side_at[x->nsides++] = n;
		}
		x->picked[n++] = i;
	}
	x->side_at[x->nsides] = n;
	x->n = n;
	for (uint32_t s = 0; s < x->nsides; s++) {
		x->n = NSX_MIN(x->n, x->side_at[s + 1] - x->side_at[s]);
		most = NSX_MAX(most, x->side_at[s + 1] - x->side_at[s]);
	}
	x->why = "one process makes more than another";
	return x->nsides > 1 && most <= x->n + CUT;
}

static uint32_t call_of_side(const struct matching *x, uint32_t side, uint32_t k)
{
	return x->picked[x->side_at[side] + k];
}

/* Whether a call takes part: always in a symmetric operation; as the root in a collective of kind
 * of_root; as another rank in one of kind of_others.
 */
static bool takes_part(const struct matching *x, uint32_t i, enum kind of_root, enum kind of_others)
{
	enum kind kind = meet_kind_of(x, i);
	int32_t rank = x->r->rank[x->t->thread[x->r->call[i].thread].process];

	if (kind == ALL || kind == WAIT || kind == EXCHANGE)
		return true;
	return rank >= 0 && x->peer[i] >= 0 && kind == (rank == x->peer[i] ? of_root : of_others);
}

/* Whether other calls wait for this one; meet_waits tells whether this one waits for others. */
static bool is_awaited_call(const struct matching *x, uint32_t i)
{
	return takes_part(x, i, FROM_ROOT, TO_ROOT);
}
static bool meet_waits(const struct matching *x, uint32_t i)
{
	return takes_part(x, i, TO_ROOT, FROM_ROOT);
}

struct instance { /* what is known of the k-th calls of all sides */
	/* First and last start of the calls that others wait for. */
	int64_t first_start_ns, last_start_ns;
	int64_t first_end_ns, last_end_ns; /* first and last end of the calls that wait */
	bool is_alike; /* all are of the same function                       */
	bool is_busy; /* one of them makes CUDA calls                        */
};

static struct instance observe_instance(const struct matching *x, uint32_t k)
{
	struct instance r = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, true, false};

	for (uint32_t s = 0; s < x->nsides; s++) {
		uint32_t i = call_of_side(x, s, k), first = call_of_side(x, 0, k);
		const struct nsx_mpi_call *c = &x->r->call[i];

		if (is_awaited_call(x, i)) {
			r.first_start_ns = NSX_MIN(r.first_start_ns, c->start_ns);
			r.last_start_ns = NSX_MAX(r.last_start_ns, c->start_ns);
		}
		if (meet_waits(x, i)) {
			r.first_end_ns = NSX_MIN(r.first_end_ns, c->end_ns);
			r.last_end_ns = NSX_MAX(r.last_end_ns, c->end_ns);
		}
		r.is_alike &= x->what[i] == x->what[first] && x->peer[i] == x->peer[first];
		r.is_busy |= x->busy[i];
	}
	return r;
}

static bool is_consistent_instance(const struct instance *i)
{
	return i->last_start_ns <= i->first_end_ns;
}

static void add_meetings(struct matching *x)
{
	struct nsx_meets *r = x->r;

	for (uint32_t k = 0; k < x->n; k++) {
		struct instance at = observe_instance(x, k);

		if (at.is_busy || !is_consistent_instance(&at) ||
		    at.last_start_ns == INT64_MIN ||
		    at.first_end_ns == INT64_MAX)
			continue;
		r->last_ns[r->nmeets] = at.last_start_ns;
		for (uint32_t s = 0; s < x->nsides; s++) {
			uint32_t i = call_of_side(x, s, k);
			struct nsx_mpi_call *c = &r->call[i];

			c->comes = is_awaited_call(x, i) ? r->nmeets : NSX_NONE;
			c->waits = meet_waits(x, i) ? r->nmeets : NSX_NONE;
		}
		r->nmeets++;
	}
}

/* Whether the picked calls are collectives: the k-th calls of all sides are of the same function,
 * and none that waits ends before all have begun.
 */
static bool are_collectives(struct matching *x)
{
	for (uint32_t k = 0; k < x->n; k++) {
		struct instance at = observe_instance(x, k);

		if (!at.is_alike)
			x->why = "not all processes make the same in the same order";
		else if (!is_consistent_instance(&at))
			x->why = "one ends in a process before another process comes to it";
		else
			continue;
		return false;
	}
	return true;
}

/* Whether the picked waits are for each other: whenever one begins late, all end together. */
static bool waits_end_together(const struct matching *x)
{
	size_t seen = 0, stray = 0;

	for (uint32_t k = 0; k < x->n; k++) {
		struct instance at = observe_instance(x, k);
		int64_t late = at.last_start_ns - at.first_start_ns;
		int64_t apart = at.last_end_ns - at.first_end_ns;

		if (late < LATE_NS)
			continue;
		if (!is_consistent_instance(&at))
			return false;
		seen++;
		stray += apart > NSX_MAX(TOGETHER_NS, late / 5);
	}
	return seen >= LEAST_SEEN && stray * STRAY <= seen;
}

/* Messages ----------------------------------------------------------------------*/

struct messages {
	struct nsx_groups keys;
	struct channel { /* messages with one tag from one process to another */
		uint32_t nsent, nreceived;
		uint32_t from, to; /* threads; several threads have no common order */
		bool is_refuted;
	} *v;
	/* For each call: the channel to which it sends, and that from which it receives; or
	 * NSX_NONE.
	 */
	uint32_t *out, *in;
	uint32_t *waiter; /* for each receiving call: the call that waits for the message */
	uint32_t *sender; /* the sending calls, channel by channel           */
	uint32_t *at;	  /* for each channel: index of its first call in sender */
	/* For each waiting call: one of the messages for which it waits is unknown. */
	bool *bad;
};

static uint32_t meet_process_of(const struct matching *x, uint32_t call)
{
	return x->t->thread[x->r->call[call].thread].process;
}

NSX_ORDER_IN(cmp_ranks, uint32_t, int32_t, UP(c[*x]), UP(*x));

/* The first process of a rank, or NSX_NONE. by_rank: processes sorted by rank. */
static uint32_t process_of_rank(const struct matching *x, const uint32_t *by_rank, int32_t rank)
{
	uint32_t n = x->t->nprocesses;
	uint32_t lo = NSX_SEARCH(0, n, mid, x->r->rank[by_rank[mid]] < rank);

	return rank >= 0 && lo < n && x->r->rank[by_rank[lo]] == rank ? by_rank[lo] : NSX_NONE;
}

static bool sends(enum kind kind)
{
	return kind == SEND || kind == ISEND || kind == EXCHANGE;
}

static bool receives(enum kind kind)
{
	return kind == RECV || kind == IRECV || kind == EXCHANGE;
}

/* Adds one end of a message to its channel. Exchanges are matched only with exchanges, because the
 * trace has only one of their two tags.
 */
static int add_message_end(const struct matching *x, struct messages *m, uint32_t call,
			   uint32_t other, bool is_sender, uint32_t *ret, struct nsx_err *err)
{
	uint32_t own = meet_process_of(x, call), thread = x->r->call[call].thread;
	uint32_t *n, *first;
	struct channel *v;

	v = nsx_group_value(&m->keys, &m->v,
			    is_sender ? (uint64_t)own << 32 | other :
					(uint64_t)other << 32 | own,
			    meet_kind_of(x, call) == EXCHANGE ? UINT64_MAX :
							   (uint64_t)x->tag[call], "messages", err);
	if (!v)
		return err->rc;
	*ret = (uint32_t)(v - m->v);
	n = is_sender ? &v->nsent : &v->nreceived;
	first = is_sender ? &v->from : &v->to;
	if (!(*n)++)
		*first = thread;
	v->is_refuted |= *first != thread;
	return 0;
}

/* Finds the channels of each call that sends or receives. */
static int meet_list_channels(struct matching *x, struct messages *m, struct nsx_err *err)
{
	uint32_t *by_rank;

	nsx_few(by_rank, x->a, x->t->nprocesses);
	nsx_sort_indices(by_rank, x->t->nprocesses, cmp_ranks, x->r->rank);
	for (uint32_t i = 0; i < x->r->ncalls; i++) {
		enum kind kind = meet_kind_of(x, i);
		uint32_t own = meet_process_of(x, i), other;

		m->out[i] = m->in[i] = NSX_NONE;
		if (!sends(kind) && !receives(kind))
			continue;
		other = process_of_rank(x, by_rank, x->peer[i]);
		if (other == NSX_NONE || other == own || (kind != EXCHANGE && x->tag[i] < 0))
			continue;
		if ((sends(kind) && add_message_end(x, m, i, other, true, &m->out[i], err)) ||
		    (receives(kind) && add_message_end(x, m, i, other, false, &m->in[i], err)))
			return err->rc;
	}
	return 0;
}

/* Finds the call that waits for each receive. It is MPI_Recv itself; otherwise the next
 * MPI_Waitall, or the next MPI_Wait if only one request is pending.
 */
static void find_waiters(const struct matching *x, struct messages *m)
{
	uint32_t waiter = NSX_NONE, thread = NSX_NONE, open = 0;

	for (uint32_t i = x->r->ncalls; i-- > 0;) {
		enum kind kind = meet_kind_of(x, i);

		if (x->r->call[i].thread != thread) {
			waiter = NSX_NONE;
			thread = x->r->call[i].thread;
		}
		if (kind == WAIT && x->what[i] <= ONE_WAIT + 1) {
			waiter = i;
			open = 0;
		} else if (kind == ISEND || kind == IRECV) {
			open++;
			if (waiter != NSX_NONE && open > 1 && x->what[waiter] == ONE_WAIT)
				m->bad[waiter] = true;
		}
		m->waiter[i] = kind == RECV || kind == EXCHANGE ? i :
			       kind == IRECV ? waiter : NSX_NONE;
		if (m->waiter[i] != NSX_NONE && m->in[i] == NSX_NONE)
			m->bad[m->waiter[i]] = true; /* the call receives from any source */
	}
}

/* Matches the k-th send with the k-th receive. */
static int match_messages(struct matching *x, struct messages *m, struct nsx_err *err)
{
	struct nsx_meets *r = x->r;
	uint32_t n = 0;

	find_waiters(x, m);
	if (!nsx_new_array(m->at, x->a, 2 * m->keys.n + 2, "messages", err))
		return err->rc;
	for (size_t g = 0; g < m->keys.n; g++) {
		uint32_t sent = m->v[g].nsent, got = m->v[g].nreceived;

		m->at[2 * g] = m->at[2 * g + 1] = n;
		m->v[g].is_refuted |= sent > got + CUT || got > sent;
		n += sent;
	}
	for (uint32_t i = 0; i < r->ncalls; i++)
		if (m->out[i] != NSX_NONE)
			m->sender[m->at[2 * m->out[i]]++] = i;
	for (uint32_t i = 0; i < r->ncalls; i++) {
		uint32_t w = m->waiter[i], g = m->in[i], s;

		if (w == NSX_NONE || g == NSX_NONE)
			continue;
		if (m->v[g].is_refuted) {
			m->bad[w] = true;
			continue;
		}
		s = m->sender[m->at[2 * g + 1]++];
		m->v[g].is_refuted = r->call[w].end_ns < r->call[s].start_ns;
		m->bad[w] |= m->v[g].is_refuted || x->busy[s] || x->busy[w];
		r->call[s].comes = w; /* index of a call, until meetings are numbered */
	}
	return nsx_stopped(err);
}

/* Makes a meeting for each waiting call whose awaited messages are all known. */
static void make_message_meetings(struct matching *x, struct messages *m)
{
	struct nsx_meets *r = x->r;

	for (uint32_t i = 0; i < r->ncalls; i++)
		if (m->waiter[i] != NSX_NONE && m->in[i] != NSX_NONE && m->v[m->in[i]].is_refuted)
			m->bad[m->waiter[i]] = true;
	for (uint32_t i = 0; i < r->ncalls; i++) {
		uint32_t w = r->call[i].comes;

		if (m->out[i] == NSX_NONE || w == NSX_NONE)
			continue;
		r->call[i].comes = NSX_NONE;
		if (m->bad[w])
			continue;
		if (r->call[w].waits == NSX_NONE) {
			r->call[w].waits = r->nmeets;
			r->last_ns[r->nmeets++] = INT64_MIN;
		}
		r->call[i].comes = r->call[w].waits;
		r->last_ns[r->call[i].comes] = NSX_MAX(r->last_ns[r->call[i].comes],
						       r->call[i].start_ns);
	}
}

static int match_all_messages(struct matching *x, struct nsx_err *err)
{
	struct messages m = {0};
	int rc = nsx_new_arrays(x->a, x->r->ncalls, "messages", err, m.out, m.in, m.waiter,
				m.sender, m.bad) ?:
		 meet_list_channels(x, &m, err) ?:
		 match_messages(x, &m, err);

	if (!rc)
		make_message_meetings(x, &m);
	nsx_groups_done(&m.keys);
	free(m.v);
	return rc;
}

static int meet_match_all(struct matching *x, struct nsx_err *err)
{
	if (pick_calls(x, 0, COLLECTIVES - 1) && are_collectives(x))
		add_meetings(x);
	else if (x->nsides > 1)
		x->r->unknown = x->why;
	if (match_all_messages(x, err))
		return err->rc;
	for (uint8_t w = ONE_WAIT; w < (uint8_t)ARRAY_LEN(known); w++)
		if (pick_calls(x, w, w) && waits_end_together(x))
			add_meetings(x);
	return 0;
}

/* Keeps the calls that take part in a meeting. */
static int keep_meeting_calls(struct matching *x, struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_meets *r = x->r;
	struct nsx_mpi_call *all = r->call;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->ncalls; i++)
		if (all[i].comes != NSX_NONE || all[i].waits != NSX_NONE)
			all[n++] = all[i];
	r->ncalls = n;
	if (!nsx_new_array(r->call, a, n, "MPI calls", err))
		return err->rc;
	if (n)
		memcpy(r->call, all, n * sizeof(*r->call));
	return 0;
}

int nsx_facts_meets(struct nsx_facts *f, const struct nsx_trace *t,
		    const struct nsx_facts_opts *o NSX_UNUSED, struct nsx_arena *a,
		    struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_meets *r = nsx_arena_get(a, sizeof(*r));
	struct matching x = {.t = t, .r = r, .a = scratch};

	f->meets = r;
	if (collect_mpi_calls(&x, err))
		return err->rc;
	if (r->ncalls) {
		mark_calls_with_cuda(&x);
		nsx_few(r->rank, a, t->nprocesses);
		memset(r->rank, 0xff, t->nprocesses * sizeof(*r->rank)); /* -1: unknown */
		if (nsx_new_arrays(a, r->ncalls, "MPI calls", err, r->last_ns) ||
		    nsx_view_each(t->schema, mpi_rank, read_rank_row, &x, err, global_tid, rank) ||
		    meet_match_all(&x, err))
			return err->rc;
	}
	return keep_meeting_calls(&x, a, err);
}
