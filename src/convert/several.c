/* several.c - finds the host of each trace and how their clocks relate. */
#include <math.h>
#include "convert/several.h"
#include "fleet/fleet.h"

struct trace { /* one of the input files */
	uint64_t who; /* hash of its first rank's host, session and process (nsx_digest.who) */
	bool has_rank, has_clock;
	int64_t utc_ns; /* wall time of its zero; 0: unknown                 */
	double zero_ns;	/* zero of its clock on the common clock             */
	uint32_t machine; /* number of the host, from 0                      */
};
struct several {
	const char *const *paths;
	size_t n;
	struct trace *trace;
	struct nsx_digest **ranks; /* ranks of all traces                    */
	size_t nranks, cap_ranks;
	struct nsx_buf *notes;
};

/* Reads when the session of a trace without ranks began. */
static int read_session(const char *path, int64_t *ret, struct nsx_err *err)
{
	struct nsx_schema s;
	int rc = nsx_schema_open(path, &s, err);

	if (rc)
		return rc;
	rc = nsx_session_start(&s, ret, err);
	nsx_schema_close(&s);
	if (*ret < 0 || *ret >= NSX_TIME_MAX)
		*ret = 0;
	return rc;
}

static int read_trace(struct several *a, size_t i, unsigned threads, struct nsx_err *err)
{
	const struct nsx_digest_opts o = {.detail = NSX_DETAIL_COLLS,
					  .rank = -1, .threads = threads};
	struct trace *t = &a->trace[i];
	NSX_AT_EXIT(nsx_free_at) struct nsx_digest **v = NULL;
	size_t n = 0;
	int rc = nsx_digest_read_trace(a->paths[i], &o, &v, &n, err);

	if (rc && rc != NSX_E_STOP && rc != NSX_E_NOMEM)
		rc = 0, n = 0; /* the trace is placed by its session, as one without ranks */
	if (!rc)
		rc = n ? nsx_grow(&a->ranks, &a->cap_ranks, a->nranks + n,
				  sizeof(*a->ranks), "ranks", err) :
			 read_session(a->paths[i], &t->utc_ns, err);
	if (n && !rc) {
		t->has_rank = true;
		t->who = v[0]->who;
		t->utc_ns = NSX_MAX(v[0]->utc_ns, 0);
	}
	for (size_t k = 0; k < n; k++)
		if (rc)
			nsx_digest_free(v[k]);
		else
			a->ranks[a->nranks++] = v[k];
	return rc;
}

/* Copies how the clocks of the ranks were related to each other. */
static void take_fleet_clocks(struct several *a, const struct nsx_fleet *f)
{
	for (uint32_t r = 0; r < f->nranks; r++) {
		const struct nsx_digest *d = f->rank[r].d;
		const struct nsx_fclock *c = &f->clock[f->rank[r].clock];
		int64_t middle = d->first_ns + (d->last_ns - d->first_ns) / 2;

		for (size_t i = 0; i < a->n; i++) {
			struct trace *t = &a->trace[i];

			if (!t->has_rank || t->who != d->who)
				continue;
			t->zero_ns = nsx_common_ns(f, r, middle) - (double)middle;
			t->machine = f->rank[r].host;
			t->has_clock = t->utc_ns || (c->n && !c->component);
		}
	}
	for (uint32_t i = 0; i < f->nclocks; i++)
		if (f->clock[i].component) {
			nsx_buf_adds(a->notes, "no collective ties the clocks of all hosts "
				     "together: their own time decides\n");
			break;
		}
}

static int align_clocks(struct several *a, struct nsx_err *err)
{
	struct nsx_fleet *f = NULL;
	uint32_t nhosts = 0;
	int64_t base_ns = 0;
	int rc = 0;

	if (a->nranks) {
		rc = nsx_fleet_new(a->ranks, a->nranks, &f, err);
		a->nranks = 0; /* the fleet now owns the ranks */
		if (!rc && !(rc = nsx_fleet_match(f, err)) &&
		    !(rc = nsx_fleet_steps(f, err)) &&
		    !(rc = nsx_fleet_clocks(f, err))) {
			take_fleet_clocks(a, f);
			nhosts = f->nhosts;
			base_ns = f->utc_ns;
		}
		nsx_fleet_free(f);
	}
	for (size_t i = 0; i < a->n && !base_ns; i++)
		base_ns = a->trace[i].utc_ns;
	for (size_t i = 0; i < a->n; i++) {
		struct trace *t = &a->trace[i];

		if (t->has_rank)
			continue;
		t->machine = nhosts++;
		t->has_clock = t->utc_ns;
		t->zero_ns = t->utc_ns ? (double)(t->utc_ns - base_ns) : 0;
	}
	return rc;
}

static void place_all_traces(const struct several *a, struct nsx_trace_place *ret)
{
	double least = INFINITY;

	for (size_t i = 0; i < a->n; i++)
		if (a->trace[i].has_clock)
			least = fmin(least, a->trace[i].zero_ns);
	for (size_t i = 0; i < a->n; i++) {
		const struct trace *t = &a->trace[i];

		ret[i] = (struct nsx_trace_place){.ntraces = (uint32_t)a->n,
					    .trace = (uint32_t)i,
					    .machine = t->machine + 1};
		if (t->has_clock)
			ret[i].offset_ns = (int64_t)(t->zero_ns - least);
		else
			nsx_buf_printf(a->notes, "'%s' does not tell when it began: it is placed "
				       "at the beginning\n", a->paths[i]);
		for (size_t k = 0; k < i; k++)
			if (ret[k].machine == ret[i].machine)
				ret[i].names_no_gpus = true;
	}
}

int nsx_place_traces(const char *const *traces, size_t n, unsigned threads,
	      struct nsx_trace_place *ret, struct nsx_buf *notes, struct nsx_err *err)
{
	struct several a = {.paths = traces, .n = n, .notes = notes};
	int rc = 0;

	a.trace = nsx_try_alloc(n, sizeof(*a.trace), "traces", err);
	if (!a.trace)
		return err->rc;
	for (size_t i = 0; i < n && !rc; i++)
		rc = read_trace(&a, i, threads, err);
	rc = rc ?: align_clocks(&a, err);
	if (!rc)
		place_all_traces(&a, ret);
	for (size_t i = 0; i < a.nranks; i++)
		nsx_digest_free(a.ranks[i]);
	free(a.ranks);
	free(a.trace);
	return rc;
}
