/* mpi.c - a rank that comes late to calls of MPI, in which the others wait for it.
 *
 * The rules are those of late ranks in collectives of the GPU (queries/README.md
 * 14).  What the others wait is a consequence: it is told with the rank that causes
 * it, and with what that rank does between its calls of MPI and they do not.
 */
#include <math.h>
#include "detect/detect.h"
#include "facts/meet.h"
#include "facts/outside.h"

#define LEAST_LATE_NS 20000
#define CAUSE 0.8	 /* of a wait for the GPU, to explain it             */
#define LEAST_CAUSE 0.2	 /* of the lateness, to be told                      */

/* Where a thread is; what is in several is in the first of them. */
enum place { IN_MPI, FOR_GPU, IN_CUDA, IN_OS, ITS_OWN, NPLACES };

struct rank {
	uint32_t process, thread, device;
	size_t nlast;
	double induced_ns;
	int64_t waited_ns; /* for whoever came last                          */
	struct nsx_window between; /* its first and its last judged call     */
	struct nsx_spans in[ITS_OWN];
	int64_t ns[NPLACES];
	struct nsx_partition gpu;
};
struct ranks {
	struct nsx_detect *d;
	const struct nsx_meets *m;
	struct rank *v;
	uint32_t n, *by_thread; /* rank; NSX_NONE                            */
	uint32_t *at, *member;	/* calls of each meeting, in order           */
	uint32_t first;		/* meeting: ranks start one after another    */
	size_t njudged, nlate;
	struct nsx_votes functions; /* (rank, name of who waits): induced    */
	double chance; /* of each to be the last of those that meet          */
	double p_value;
};

/* Who takes part ----------------------------------------------------------------*/

static uint32_t first_device(const struct nsx_trace *t, uint32_t thread)
{
	const struct nsx_thread *h = &t->thread[thread];

	for (uint32_t i = h->calls_at; i < h->calls_at + h->ncalls; i++)
		if (nsx_call_op(&t->calls, i) != NSX_NONE)
			return nsx_stream_of(t, nsx_call_op(&t->calls, i))->device;
	return NSX_NONE;
}

static int list_ranks(struct ranks *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	struct nsx_arena *a = x->d->scratch;

	if (!nsx_new_array(x->v, a, t->nprocesses, "ranks", err) ||
	    !nsx_new_array(x->by_thread, a, t->nthreads, "ranks", err))
		return err->rc;
	for (uint32_t h = 0; h < t->nthreads; h++)
		x->by_thread[h] = NSX_NONE;
	for (uint32_t i = 0; i < x->m->ncalls; i++) {
		uint32_t h = x->m->call[i].thread, p = t->thread[h].process;

		if (!x->n || x->v[x->n - 1].process != p)
			x->v[x->n++] = (struct rank){
				.process = p, .thread = h,
				.device = first_device(t, h),
				.between = {INT64_MAX, INT64_MIN}};
		x->by_thread[h] = x->n - 1;
	}
	return 0;
}

/* That it comes to, and that it waits for if that is another. */
static uint32_t meeting_of(const struct nsx_meets *m, uint32_t call, bool waits)
{
	const struct nsx_mpi_call *c = &m->call[call];

	return !waits ? c->comes : c->waits == c->comes ? NSX_NONE : c->waits;
}

static int list_members(struct ranks *x, struct nsx_err *err)
{
	const struct nsx_meets *m = x->m;
	uint32_t *to;

	if (!nsx_new_array(x->at, x->d->scratch, (size_t)m->nmeets + 2,
			   "MPI calls", err) ||
	    !nsx_new_array(x->member, x->d->scratch, 2 * (size_t)m->ncalls,
			   "MPI calls", err))
		return err->rc;
	for (uint32_t i = 0; i < m->ncalls; i++)
		for (unsigned w = 0; w < 2; w++)
			if (meeting_of(m, i, w) != NSX_NONE)
				x->at[meeting_of(m, i, w) + 2]++;
	for (uint32_t k = 0; k < m->nmeets; k++)
		x->at[k + 2] += x->at[k + 1];
	to = x->at + 1;
	for (uint32_t i = 0; i < m->ncalls; i++)
		for (unsigned w = 0; w < 2; w++)
			if (meeting_of(m, i, w) != NSX_NONE)
				x->member[to[meeting_of(m, i, w)]++] = i;
	for (uint32_t k = 1; k < m->nmeets; k++)
		if (m->last_ns[k] < m->last_ns[x->first])
			x->first = k;
	return 0;
}

/* Lateness --------------------------------------------------------------------*/

/* The last to come is late by how much later it is than the others' median. */
static int judge_meeting(struct ranks *x, uint32_t k, int64_t *scratch,
			 struct nsx_err *err)
{
	int64_t last_ns = x->m->last_ns[k];
	uint32_t last = NSX_NONE;
	nsx_str name = 0;
	double late_ns;
	size_t n = 0;

	for (uint32_t i = x->at[k]; i < x->at[k + 1]; i++) {
		const struct nsx_mpi_call *c = &x->m->call[x->member[i]];
		struct rank *r = &x->v[x->by_thread[c->thread]];

		r->between.start_ns = NSX_MIN(r->between.start_ns, c->end_ns);
		r->between.end_ns = NSX_MAX(r->between.end_ns, c->start_ns);
		if (last == NSX_NONE && c->comes == k && c->start_ns == last_ns)
			last = x->member[i];
		else if (c->waits == k)
			scratch[n++] = c->start_ns;
		if (c->waits == k && c->start_ns < last_ns) {
			nsx_add_to(&r->waited_ns, last_ns - c->start_ns);
			name = c->name;
		}
	}
	x->njudged++;
	late_ns = n ? (double)last_ns - nsx_quantile(scratch, n, 0.5) : 0;
	if (late_ns < LEAST_LATE_NS)
		return 0;
	x->nlate++;
	x->chance = NSX_MAX(x->chance, 1.0 / (x->at[k + 1] - x->at[k]));
	x->v[x->by_thread[x->m->call[last].thread]].nlast++;
	x->v[x->by_thread[x->m->call[last].thread]].induced_ns += late_ns;
	return nsx_vote(&x->functions, x->by_thread[x->m->call[last].thread],
			name, (int64_t)late_ns, err);
}

static int judge(struct ranks *x, struct nsx_err *err)
{
	const struct nsx_window *w = &x->d->w;
	int64_t *scratch = nsx_arena_try_array(x->d->scratch, x->n, 8, "ranks",
					       err);
	int rc = scratch ? 0 : err->rc;

	for (uint32_t k = 0; !rc && k < x->m->nmeets; k++)
		if (k != x->first && x->m->last_ns[k] >= w->start_ns &&
		    x->m->last_ns[k] < w->end_ns)
			rc = judge_meeting(x, k, scratch, err);
	for (uint32_t k = 0; k < x->n; k++) {
		struct nsx_window *b = &x->v[k].between;

		b->start_ns = NSX_MAX(b->start_ns, w->start_ns);
		b->end_ns = NSX_MIN(b->end_ns, w->end_ns);
	}
	return rc;
}

static struct rank *latest(struct ranks *x)
{
	struct rank *r = &x->v[0];

	for (uint32_t i = 1; i < x->n; i++)
		if (x->v[i].induced_ns > r->induced_ns)
			r = &x->v[i];
	return r;
}

/* What each does between its calls ------------------------------------------------*/

static void add_span(struct rank *r, enum place in, int64_t start_ns,
		     int64_t end_ns, bool fills)
{
	start_ns = NSX_MAX(start_ns, r->between.start_ns);
	end_ns = NSX_MIN(end_ns, r->between.end_ns);
	if (start_ns >= end_ns)
		return;
	if (fills)
		nsx_spans_push(&r->in[in], start_ns, end_ns);
	else
		r->in[in].n++;
}

static void walk(struct ranks *x, bool fills)
{
	const struct nsx_trace *t = x->d->trace;
	struct nsx_outside o;

	for (size_t at = 0; nsx_outside_next(t, &at, &o);) {
		uint32_t k = x->by_thread[o.thread];

		if (k != NSX_NONE && x->v[k].thread == o.thread)
			add_span(&x->v[k], o.is_mpi ? IN_MPI : IN_OS,
				 o.start_ns, o.end_ns, fills);
	}
	for (uint32_t k = 0; k < x->n; k++) {
		const struct nsx_thread *h = &t->thread[x->v[k].thread];

		for (uint32_t i = h->calls_at; i < h->calls_at + h->ncalls; i++)
			add_span(&x->v[k],
				 t->calls.cls[i] == NSX_CALL_SYNC ||
					 nsx_call_blocks(x->d->facts, t, i) ?
					 FOR_GPU : IN_CUDA,
				 nsx_call_start(&t->calls, i),
				 nsx_call_end(&t->calls, i), fills);
	}
}

static int add_up(struct ranks *x, struct rank *r, struct nsx_err *err)
{
	struct nsx_spans used = {0}, more;

	if (r->between.start_ns >= r->between.end_ns)
		return 0;
	for (unsigned p = 0; p < ITS_OWN; p++) {
		r->ns[p] = nsx_spans_minus_total(&r->in[p], &used);
		if (nsx_spans_union(x->d->scratch, &used, &r->in[p], &more, err))
			return err->rc;
		used = more;
	}
	r->ns[ITS_OWN] = r->between.end_ns - r->between.start_ns -
			 nsx_spans_total(&used);
	if (r->device != NSX_NONE)
		nsx_partition(&x->d->facts->device[r->device],
			      r->between.start_ns, r->between.end_ns, &r->gpu);
	return 0;
}

static int split(struct ranks *x, struct nsx_err *err)
{
	walk(x, false);
	for (uint32_t k = 0; k < x->n; k++)
		for (unsigned p = 0; p < ITS_OWN; p++) {
			struct nsx_spans *s = &x->v[k].in[p];

			if (!nsx_new_array(s->v, x->d->scratch, s->n, "calls",
					   err))
				return err->rc;
			s->n = 0;
		}
	walk(x, true);
	for (uint32_t k = 0; k < x->n; k++)
		if (add_up(x, &x->v[k], err))
			return err->rc;
	return nsx_stopped(err);
}

static int64_t gpu_ns(const struct rank *r, bool copies)
{
	return copies ? r->gpu.ns[NSX_P_COPY_EXPOSED] :
			r->gpu.ns[NSX_P_COMPUTE_ONLY] +
				r->gpu.ns[NSX_P_COMPUTE_COPY] +
				r->gpu.ns[NSX_P_COMPUTE_COMM];
}

/* What the late rank does for longer than the others' mean, and for less long. */
static const char *say_cause(struct ranks *x, const struct rank *late)
{
	static const char *const words[NPLACES] = {
		[FOR_GPU] = "waiting for its GPU", [IN_CUDA] = "in calls of CUDA",
		[IN_OS] = "in the operating system",
		[ITS_OWN] = "in its own code between these"};
	struct nsx_findings *l = x->d->found;
	double more[NPLACES] = {0}, compute = 0, copies = 0;
	const char *text = NULL;

	for (uint32_t k = 0; k < x->n; k++) {
		const struct rank *r = &x->v[k];
		double sign = r == late ? 1 : -1.0 / (x->n - 1);

		for (unsigned p = 0; p < NPLACES; p++)
			more[p] += sign * (double)r->ns[p];
		compute += sign * (double)gpu_ns(r, false);
		copies += sign * (double)gpu_ns(r, true);
	}
	for (unsigned p = FOR_GPU; p < NPLACES; p++) {
		if (fabs(more[p]) < LEAST_CAUSE * fabs(more[IN_MPI]))
			continue;
		text = nsx_tell(l, "%s%s%s %s %s%s", text ? text : "",
				text ? ", " : "",
				nsx_text_ns(l->arena, fabs(more[p])),
				more[p] > 0 ? "more" : "less", words[p],
				p != FOR_GPU || more[p] < 0 ? "" :
				compute >= CAUSE * more[p] ?
				", which computes longer" :
				copies >= CAUSE * more[p] ?
				", which copies longer" : "");
	}
	return text ? nsx_tell(l, "Between its calls of MPI it spends, compared "
			       "with the others: %s.", text) : NULL;
}

/* The finding ----------------------------------------------------------------------*/

/* Who waits most for others. */
static const struct rank *patient(const struct ranks *x)
{
	const struct rank *r = &x->v[0];

	for (uint32_t k = 1; k < x->n; k++)
		if (x->v[k].waited_ns > r->waited_ns)
			r = &x->v[k];
	return r;
}

/* Where it waits for the late one. */
static int find_waits(const struct ranks *x, const struct rank *late,
		      const struct rank *who, struct nsx_spans *ret,
		      bool *ret_is_seen, struct nsx_err *err)
{
	const struct nsx_meets *m = x->m;
	const struct nsx_window *w = &x->d->w;

	*ret = (struct nsx_spans){0};
	*ret_is_seen = false;
	nsx_new_array(ret->v, x->d->found->arena, m->nmeets, "waits", err);
	for (uint32_t k = 0; ret->v && k < m->nmeets; k++) {
		int64_t from_ns = INT64_MAX;
		bool is_late = false;

		for (uint32_t i = x->at[k]; i < x->at[k + 1]; i++) {
			const struct nsx_mpi_call *c = &m->call[x->member[i]];
			const struct rank *r = &x->v[x->by_thread[c->thread]];

			is_late |= r == late && c->comes == k &&
				   c->start_ns == m->last_ns[k];
			if (r == who && c->waits == k)
				from_ns = c->start_ns;
		}
		if (!is_late || k == x->first || m->last_ns[k] < w->start_ns ||
		    m->last_ns[k] >= w->end_ns || from_ns >= m->last_ns[k])
			continue;
		*ret_is_seen |= m->call[x->member[x->at[k]]].is_seen;
		ret->v[ret->n++] = (struct nsx_span){from_ns, m->last_ns[k]};
	}
	nsx_spans_normalise(ret);
	return ret->v ? 0 : err->rc;
}

static void tell_how_late(const struct ranks *x, const struct rank *late,
			  struct nsx_finding *f)
{
	struct nsx_findings *l = x->d->found;

	nsx_add_evidence(f, nsx_tell(
		l, "Process %lld is the last to come to %zu of the %zu calls of MPI in "
		"which a rank is %s late or more; by chance alone with p = %.2g.",
		(long long)x->d->trace->process[late->process].pid, late->nlast,
		x->nlate, nsx_text_ns(l->arena, LEAST_LATE_NS), x->p_value));
	nsx_add_evidence(f, nsx_tell(
		l, "The others, by their median, wait %s for it.",
		nsx_text_ns(l->arena, late->induced_ns)));
}

static int propose(struct ranks *x, const struct rank *late,
		   struct nsx_err *err)
{
	struct nsx_detect *d = x->d;
	struct nsx_findings *l = d->found;
	const struct nsx_trace *t = d->trace;
	const struct rank *waits = patient(x);
	long long pid = (long long)t->process[late->process].pid;
	const char *function = nsx_text(t, nsx_votes_won(
		&x->functions, (uint32_t)(late - x->v)).frame);
	int32_t number = x->m->rank[late->process];
	const char *who = number < 0 ? nsx_tell(l, "pid:%lld", pid) :
				       nsx_tell(l, "rank %d", number);
	const char *name = nsx_tell_name(l, function);
	bool is_seen;
	struct nsx_finding f = {
		.id = NSX_ID_mpi_straggler, .device = waits->device,
		.subject = nsx_tell(l, "%s/%s", function, who),
		.title = nsx_tell(l, "%s comes late, and the others wait for "
				  "it in %s", who, name),
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_EVEN_RANK,
			.by = NSX_BY_PROCESS | NSX_BY_DEVICE,
			.process = late->process, .device = late->device}),
		.evidence = {say_cause(x, late)},
		.recommendation = {nsx_tell(
			l, "Look at %s before its calls of MPI, not at the "
			"network: uneven work, its input, or a CPU that it "
			"shares.", who)},
		.proof = {{.csv = "library_calls", .column = "total_time_ms",
			   .at = {{"pid", nsx_int(t->process[waits->process]
							  .pid)},
				  {"library", nsx_string("MPI")},
				  {"function", nsx_string(function)}}}}};

	if (find_waits(x, late, waits, &f.spans, &is_seen, err))
		return err->rc;
	tell_how_late(x, late, &f);
	f.confidence = is_seen ? NSX_CONF_MEDIUM : NSX_CONF_HIGH;
	if (is_seen)
		nsx_add_evidence(&f, nsx_tell(
			l, "The messages are not recorded: that ranks wait for "
			"each other in %s follows from how these calls end "
			"together whenever one comes late.", name));
	nsx_found(l, &f);
	return 0;
}

static int tell(struct ranks *x, struct nsx_err *err)
{
	struct nsx_findings *l = x->d->found;
	struct rank *late = latest(x);
	double w = (double)(x->d->w.end_ns - x->d->w.start_ns);

	if (!x->nlate && x->njudged < NSX_LATE_LEAST)
		return 0;
	if (!x->nlate) {
		nsx_fine(l, "No straggler among %u MPI ranks: they begin all "
			    "%zu calls that were judged within %s of each other.", x->n,
			 x->njudged, nsx_text_ns(l->arena, LEAST_LATE_NS));
		return 0;
	}
	x->p_value = nsx_binomial_tail(x->nlate, late->nlast, x->chance);
	if (x->nlate >= NSX_LATE_LEAST && x->p_value < NSX_LATE_P &&
	    late->induced_ns >= NSX_LATE_SHARE * w)
		return split(x, err) ? err->rc : propose(x, late, err);
	nsx_fine(l, "No persistent straggler among %u MPI ranks: process %lld "
		    "comes last to %zu of %zu calls (p = %.2g) and induces %s "
		    "of waiting; " NSX_LATE_RULE ".", x->n,
		 (long long)x->d->trace->process[late->process].pid,
		 late->nlast, x->nlate, x->p_value,
		 nsx_text_ns(l->arena, late->induced_ns));
	return 0;
}

int nsx_detect_mpi(struct nsx_detect *d, struct nsx_err *err)
{
	struct ranks x = {.d = d, .m = d->facts->meets};
	int rc;

	if (!x.m->nmeets)
		return 0;
	rc = list_ranks(&x, err) || list_members(&x, err) || judge(&x, err) ||
			     (x.njudged && tell(&x, err)) ?
		     err->rc : 0;
	nsx_votes_done(&x.functions);
	return rc;
}
