/* meet.c - matches calls of MPI by their order in each process.
 *
 * The k-th collective of one process is the k-th of every other, where all make
 * the same in the same order: communicators are not looked at, for most exports
 * do not tell them.  One call that ends before all have begun refutes that.  The
 * clock is the host's, which processes of one host share.
 */
#include <string.h>
#include "facts/meet.h"
#include "facts/outside.h"

#define LATE_NS 50000	  /* who comes so late is waited for                 */
#define TOGETHER_NS 20000 /* waits that one event ends are over so soon after
			     each other, or in a fifth of the lateness       */
enum {
	LEAST_SEEN = 10,  /* waits that end together, to tell that they do   */
	STRAY = 10,	  /* one of so many may not                          */
	CUT = 1,	  /* at the end of a capture a process has as many more */
};

enum kind {
	OTHER,
	ALL,	/* a collective that all wait in for all                     */
	ORDERED, /* one in which some wait for some                          */
	WAIT,	/* waits for messages, from whom is not told                 */
};
static const struct {
	const char *name;
	enum kind kind;
} known[] = {
	{"MPI_Barrier", ALL}, {"MPI_Allreduce", ALL}, {"MPI_Allgather", ALL},
	{"MPI_Allgatherv", ALL}, {"MPI_Alltoall", ALL}, {"MPI_Alltoallv", ALL},
	{"MPI_Alltoallw", ALL}, {"MPI_Reduce_scatter", ALL},
	{"MPI_Reduce_scatter_block", ALL}, {"MPI_Bcast", ORDERED},
	{"MPI_Scatter", ORDERED}, {"MPI_Scatterv", ORDERED},
	{"MPI_Reduce", ORDERED}, {"MPI_Gather", ORDERED},
	{"MPI_Gatherv", ORDERED}, {"MPI_Scan", ORDERED},
	{"MPI_Exscan", ORDERED}, {"MPI_Wait", WAIT}, {"MPI_Waitall", WAIT},
	{"MPI_Sendrecv", WAIT}, {"MPI_Sendrecv_replace", WAIT}};
#define UNKNOWN UINT8_MAX

struct matching {
	const struct nsx_trace *t;
	struct nsx_arena *a; /* scratch                                      */
	struct nsx_meets *r;
	uint8_t *what; /* by call of r: index of known                       */
	bool *busy;    /* ... whether it makes calls of CUDA itself          */
	/* What is matched at a time: calls of each process, in order. */
	uint32_t *picked, *side_at;
	uint32_t nsides, n; /* n: of the process with fewest                 */
	const char *why; /* they do not match                                */
};

/* Collecting ------------------------------------------------------------------*/

static uint8_t what_is(const struct matching *x, nsx_str name, uint8_t *memo)
{
	const char *text = nsx_text(x->t, name);

	for (uint8_t i = 0; !memo[name] && i < ARRAY_LEN(known); i++)
		if (!strcmp(text, known[i].name))
			memo[name] = i + 1;
	if (!memo[name])
		memo[name] = UNKNOWN;
	return memo[name] == UNKNOWN ? UNKNOWN : memo[name] - 1;
}

static bool next_call(const struct nsx_trace *t, size_t *at,
		      struct nsx_outside *ret)
{
	*at = NSX_MAX(*at, t->osrt.n);
	return nsx_outside_next(t, at, ret);
}

/* Outermost calls that wait, or are waited for. */
static int collect(struct matching *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->t;
	struct nsx_meets *r = x->r;
	struct nsx_outside o;
	uint8_t *memo;
	size_t n = 0, at = 0;

	while (next_call(t, &at, &o))
		n++;
	if (!n)
		return 0;
	memo = nsx_arena_try_array(x->a, nsx_strings_bound(t->strings), 1,
				   "MPI calls", err);
	r->call = nsx_arena_try_array(x->a, n, sizeof(*r->call), "MPI calls",
				      err);
	x->what = nsx_arena_try_array(x->a, n, 1, "MPI calls", err);
	x->busy = nsx_arena_try_array(x->a, n, 1, "MPI calls", err);
	x->picked = nsx_arena_try_array(x->a, n, 4, "MPI calls", err);
	x->side_at = nsx_arena_try_array(x->a, n + 1, 4, "MPI calls", err);
	if (!memo || !r->call || !x->what || !x->busy || !x->picked ||
	    !x->side_at)
		return err->rc;
	at = 0;
	while (next_call(t, &at, &o)) {
		const struct nsx_mpi_call *last =
			r->ncalls ? &r->call[r->ncalls - 1] : NULL;
		uint8_t what = what_is(x, o.name, memo);

		if (what == UNKNOWN || (last && last->thread == o.thread &&
					o.start_ns < last->end_ns))
			continue;
		x->what[r->ncalls] = what;
		r->call[r->ncalls++] = (struct nsx_mpi_call){
			o.start_ns, o.end_ns, o.thread, o.name, NSX_NONE,
			NSX_NONE, false};
	}
	return nsx_stopped(err);
}

/* Those around calls of CUDA: when they wait is not known. */
static void find_busy(struct matching *x)
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

static enum kind kind_of(const struct matching *x, uint32_t call)
{
	return known[x->what[call]].kind;
}

/* The calls of known[from] to known[to] in each process; false: they cannot be
 * matched by their order.
 */
static bool pick(struct matching *x, uint8_t from, uint8_t to)
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
				x->why = "several threads of a process make "
					 "them";
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

static uint32_t member(const struct matching *x, uint32_t side, uint32_t k)
{
	return x->picked[x->side_at[side] + k];
}

struct instance {
	int64_t first_start_ns, last_start_ns, first_end_ns, last_end_ns;
	bool is_alike; /* all call the same                                  */
	bool is_busy;
};

static struct instance see(const struct matching *x, uint32_t k)
{
	struct instance r = {INT64_MAX, INT64_MIN, INT64_MAX, INT64_MIN, true,
			     false};

	for (uint32_t s = 0; s < x->nsides; s++) {
		uint32_t i = member(x, s, k);
		const struct nsx_mpi_call *c = &x->r->call[i];

		r.first_start_ns = NSX_MIN(r.first_start_ns, c->start_ns);
		r.last_start_ns = NSX_MAX(r.last_start_ns, c->start_ns);
		r.first_end_ns = NSX_MIN(r.first_end_ns, c->end_ns);
		r.last_end_ns = NSX_MAX(r.last_end_ns, c->end_ns);
		r.is_alike &= x->what[i] == x->what[member(x, 0, k)];
		r.is_busy |= x->busy[i];
	}
	return r;
}

static bool meets(const struct instance *i)
{
	return i->last_start_ns <= i->first_end_ns;
}

static void add_meetings(struct matching *x, bool waits)
{
	struct nsx_meets *r = x->r;

	for (uint32_t k = 0; k < x->n; k++) {
		struct instance at = see(x, k);

		if (at.is_busy || !meets(&at) ||
		    (!waits && kind_of(x, member(x, 0, k)) != ALL))
			continue;
		r->last_ns[r->nmeets] = at.last_start_ns;
		for (uint32_t s = 0; s < x->nsides; s++) {
			struct nsx_mpi_call *c = &r->call[member(x, s, k)];

			c->comes = c->waits = r->nmeets;
			c->is_seen = waits;
		}
		r->nmeets++;
	}
}

/* No collective may end before all have come to it. */
static bool are_collectives(struct matching *x)
{
	for (uint32_t k = 0; k < x->n; k++) {
		struct instance at = see(x, k);

		if (!at.is_alike)
			x->why = "not all processes make the same in the same "
				 "order";
		else if (kind_of(x, member(x, 0, k)) == ALL && !meets(&at))
			x->why = "one ends in a process before another process "
				 "comes to it";
		else
			continue;
		return false;
	}
	return true;
}

/* Waits of all processes that end together whenever one comes late are for each
 * other.
 */
static bool end_together(const struct matching *x)
{
	size_t seen = 0, stray = 0;

	for (uint32_t k = 0; k < x->n; k++) {
		struct instance at = see(x, k);
		int64_t late = at.last_start_ns - at.first_start_ns;
		int64_t apart = at.last_end_ns - at.first_end_ns;

		if (late < LATE_NS)
			continue;
		if (!meets(&at))
			return false;
		seen++;
		stray += apart > NSX_MAX(TOGETHER_NS, late / 5);
	}
	return seen >= LEAST_SEEN && stray * STRAY <= seen;
}

static void match_all(struct matching *x)
{
	uint8_t waits = 0;

	while (known[waits].kind != WAIT)
		waits++;
	if (pick(x, 0, waits - 1) && are_collectives(x))
		add_meetings(x, false);
	else if (x->nsides > 1)
		x->r->unknown = x->why;
	for (uint8_t w = waits; w < ARRAY_LEN(known); w++)
		if (pick(x, w, w) && end_together(x))
			add_meetings(x, true);
}

/* Keeps the calls that have a part in a meeting. */
static int keep(struct matching *x, struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_meets *r = x->r;
	struct nsx_mpi_call *all = r->call;
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->ncalls; i++)
		if (all[i].comes != NSX_NONE)
			all[n++] = all[i];
	r->ncalls = n;
	r->call = nsx_arena_try_array(a, n, sizeof(*r->call), "MPI calls", err);
	if (r->call && n)
		memcpy(r->call, all, n * sizeof(*r->call));
	return r->call ? 0 : err->rc;
}

int nsx_meets_build(const struct nsx_trace *t, struct nsx_arena *a,
		    struct nsx_meets *ret, struct nsx_err *err)
{
	struct matching x = {.t = t, .r = ret, .a = nsx_arena_new()};
	int rc;

	*ret = (struct nsx_meets){0};
	rc = collect(&x, err);
	if (!rc && ret->ncalls) {
		ret->last_ns = nsx_arena_try_array(a, ret->ncalls / 2 + 1, 8,
						   "MPI calls", err);
		rc = ret->last_ns ? 0 : err->rc;
	}
	if (!rc && ret->ncalls) {
		find_busy(&x);
		match_all(&x);
	}
	if (!rc)
		rc = keep(&x, a, err);
	nsx_arena_free(x.a);
	return rc;
}
