/* findings.c - puts a fleet's verdicts into words. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "fleet/judge.h"
#include "fleet/report.h"
#include "fleet/tables.h"
#include "report/text.h"
#include "report/words.h"

/* share of kernel time in slower kernels: only a slower GPU slows all of them */
#define ALL_ALIKE 0.9

enum { MOST_FINDINGS = 40, MOST_DESYNCS = 8, MOST_NAMED_BYTES = 512 };

static const char *say_pct(const struct nsx_freport *r, double ns)
{
	return nsx_text_share(r->arena, ns, r->f->step_ns);
}

static struct nsx_ffinding *fleet_findings_add(struct nsx_freport *r, enum nsx_ffinding_id id)
{
	struct nsx_ffinding *x = &r->v[r->n++];

	*x = (struct nsx_ffinding){.id = id, .key = nsx_ffinding_defs[id].name,
				   .severity = NSX_SEV_LOW,
				   .confidence = NSX_CONF_HIGH};
	return x;
}

/* Sets the price and severity: high from 10 % of a step, medium from 3 %. */
static void price(const struct nsx_freport *r, struct nsx_ffinding *x,
		  double ns, enum nsx_price_kind how)
{
	x->headroom_ns = ns;
	x->price = how;
	x->severity = ns >= 0.1 * r->f->step_ns	 ? NSX_SEV_HIGH :
		      ns >= 0.03 * r->f->step_ns ? NSX_SEV_MEDIUM :
						   NSX_SEV_LOW;
}

NSX_PRINTF(3, 4)
static void findings_prove(struct nsx_freport *r, struct nsx_ffinding *x, const char *fmt, ...)
{
	va_list ap;
	size_t i = 0;

	while (x->evidence[i])
		i++;
	va_start(ap, fmt);
	if (i + 1 < ARRAY_LEN(x->evidence))
		x->evidence[i] = nsx_arena_vprintf(r->arena, fmt, ap);
	va_end(ap);
}

/* Late ranks -------------------------------------------------------------------------*/

/* The place of the late ranks on their axis of the mesh, such as "pp 3". */
static const char *place_on_axis(const struct nsx_freport *r, const struct nsx_late *l)
{
	const struct nsx_axis *x = &r->f->mesh.axis[l->axis];

	return nsx_arena_printf(r->arena, "%s %lld", x->name,
				(long long)nsx_mesh_at(x,
					r->f->rank[l->ranks[0]].number));
}

/* Names the process of a rank whose number was made up: " (process 812, GPU 2)". */
static const char *findings_process_of(const struct nsx_freport *r, uint32_t rank)
{
	const struct nsx_digest *d = r->f->rank[rank].d;

	if (d->rank >= 0)
		return "";
	return nsx_arena_printf(r->arena, d->device < 0 ? " (process %lld)" :
						 " (process %lld, GPU %lld)",
				(long long)d->pid, (long long)d->device);
}

static const char *who(const struct nsx_freport *r, const struct nsx_late *l)
{
	const char *list = nsx_rank_list(r->f, l->ranks, l->n, r->arena);

	if (l->host != NSX_NONE)
		return nsx_arena_printf(r->arena, "Host %u (ranks %s)", l->host, list);
	if (l->axis != NSX_NONE)
		return nsx_arena_printf(r->arena, "All of %s (ranks %s)",
					place_on_axis(r, l), list);
	return nsx_arena_printf(r->arena, l->n > 1 ? "Ranks %s" : "Rank %s%s",
				list, findings_process_of(r, l->ranks[0]));
}

static bool is_in_mpi(const struct nsx_late *l)
{
	return l->detail && !strncasecmp(l->detail, "MPI_", 4);
}

/* Says what a cause of idle time means on the host. */
static const char *idle_words(struct nsx_arena *a, const struct nsx_late *l)
{
	bool many = l->n > 1;
	const char *their = many ? "their" : "its", *s = many ? "" : "s";
	const char *host = many ? "their hosts" : "its host";
	const char *gpu_is = many ? "their GPUs are" : "its GPU is";

	switch (l->idle_cause) {
	case NSX_CAUSE_OSRT:
		if (is_in_mpi(l))
			return nsx_arena_printf(a, "%s wait%s in %s", host, s,
						nsx_text_name(a, l->detail));
		return nsx_arena_printf(a, "%s wait%s in operating-system calls: data, a "
					"lock or a file", host, s);
	case NSX_CAUSE_HOST_CODE:
		return nsx_arena_printf(a, "%s idle while the CPU runs code of the "
					"program before it launches", gpu_is);
	case NSX_CAUSE_SYNC:
		return nsx_arena_printf(a, "%s wait%s in synchronisations", host, s);
	case NSX_CAUSE_BLOCKING_COPY:
		return nsx_arena_printf(a, "%s wait%s for copies", host, s);
	case NSX_CAUSE_ALLOC:
	case NSX_CAUSE_IMPLICIT_SYNC:
		return nsx_arena_printf(a, "%s allocate%s or free%s GPU memory", host, s, s);
	case NSX_CAUSE_MODULE:
		return nsx_arena_printf(a, "%s load%s or compile%s kernels", host, s, s);
	case NSX_CAUSE_LAUNCH_CALL:
	case NSX_CAUSE_LAUNCH_TO_START:
		return nsx_arena_printf(a, "%s launches take longer on the CPU", their);
	case NSX_CAUSE_STREAM_WAIT:
	case NSX_CAUSE_DEPENDENCY:
		return nsx_arena_printf(a, "%s GPU%s for other streams", their,
					many ? "s wait" : " waits");
	default:
		return nsx_arena_printf(a, "%s idle: the CPU launches late", gpu_is);
	}
}

/* The late ranks' GPU model if all late ranks have it and no other rank does, else "". */
static const char *other_model(const struct nsx_freport *r, const struct nsx_late *l)
{
	const char *model = r->f->rank[l->ranks[0]].d->gpu_model;
	uint32_t at = 0;

	for (uint32_t i = 0; i < r->f->nranks; i++) {
		bool is_late = at < l->n && l->ranks[at] == i;

		at += is_late;
		if (!*model || is_late == !!strcmp(r->f->rank[i].d->gpu_model, model))
			return "";
	}
	return nsx_text_name(r->arena, model);
}

/* Whether the report of the single rank explains this cause in more detail. */
static bool is_vague(unsigned cause)
{
	return cause == NSX_CAUSE_HOST_CODE || cause == NSX_NCAUSES;
}

/* Whether the rank's own report says that copies block the host because memory is pageable. */
static bool is_pageable(const struct nsx_late *l)
{
	return l->told && nsx_finding_id_of(l->told->key) == NSX_ID_pageable_copies;
}

/* "it copies 64 MB a step more than the others, at 10 GB/s instead of 24 GB/s" */
static const char *say_copies(const struct nsx_freport *r, const struct nsx_late *l,
			      const char *its)
{
	struct nsx_arena *a = r->arena;
	bool is_slower = l->gbps[0] > 0 && l->gbps[0] < 0.9 * l->gbps[1];
	const char *speed = !is_slower ? "" :
		nsx_arena_printf(a, ", at %.3g GB/s instead of %.3g GB/s", l->gbps[0], l->gbps[1]);
	const char *memory = is_pageable(l) ? ", from or to pageable memory" : "";

	if (l->more_bytes > 0)
		return nsx_arena_printf(a, "%s %.3g MB a step more than the others%s%s",
					l->n > 1 ? "they copy" : "it copies",
					l->more_bytes / 1e6, speed, memory);
	return nsx_arena_printf(a, "%s copies take longer%s%s", its, speed, memory);
}

static const char *why(const struct nsx_freport *r, const struct nsx_late *l)
{
	struct nsx_arena *a = r->arena;
	const char *its = l->n > 1 ? "their" : "its";
	double longer = 100 * (l->ratio - 1);

	switch (l->cause) {
	case NSX_WHY_SLOWER:
		if (*other_model(r, l))
			return nsx_arena_printf(
				a, "the same kernels take %.1f %% longer on its GPU, "
				"another model: %s", longer, other_model(r, l));
		if (l->alike < ALL_ALIKE)
			return nsx_arena_printf(
				a, "kernels that take %.0f %% of the kernels' time take "
				"longer there (%.1f %% in all): a lower clock, or more "
				"work in them", 100 * l->alike, longer);
		return nsx_arena_printf(a, "the same kernels take %.1f %% longer there, all of "
					"them: a slower GPU or clock", longer);
	case NSX_WHY_KERNELS:
		return nsx_arena_printf(a, "as many kernels, but some of them take longer (%.1f %% "
					"in all): uneven work", longer);
	case NSX_WHY_MORE:
		return nsx_arena_printf(a, "%.1f more kernels a step than "
					"elsewhere: uneven work", l->more);
	case NSX_WHY_COPY:
		return say_copies(r, l, its);
	case NSX_WHY_LINK:
		return nsx_arena_printf(a, "transfers between them take %.2f times as long as in "
					"other communicators: a slow link", l->ratio);
	case NSX_WHY_IDLE:
		return l->told && is_vague(l->idle_cause) ?
			nsx_arena_printf(a, "as %s say%s, \"%s\"",
					 l->n > 1 ? "their own reports" :
						    "its own report",
					 l->n > 1 ? "" : "s", l->told->title) :
			idle_words(a, l);
	default:
		return "no single cause explains it";
	}
}

static const char *advice_on_idle(struct nsx_arena *a, const struct nsx_late *l)
{
	bool many = l->n > 1;

	if (is_in_mpi(l))
		return "Look at whom it waits for there: a rank whose trace is not "
		       "here, or messages that move only while a call of MPI runs";
	if (l->idle_cause == NSX_CAUSE_OSRT)
		return nsx_arena_printf(
			a, "Look at what %s before a step: loader workers, prefetch, the file "
			"system of %s", many ? "these ranks read" : "this rank reads",
			many ? "their hosts" : "its host");
	return nsx_arena_printf(
		a, "Look at what runs on %s between %s launches: other processes, %s CPU binding, "
		"garbage collection, logging", many ? "these ranks' CPUs" : "this rank's CPU",
		many ? "their" : "its", many ? "their" : "its");
}

static const char *advice_on(struct nsx_arena *a, const struct nsx_late *l)
{
	switch (l->cause) {
	case NSX_WHY_SLOWER:
		return "Compare clocks, power limit, temperature and errors with a healthy GPU "
		       "(nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,ECC); if they differ, take the "
		       "GPU out of the job";
	case NSX_WHY_KERNELS:
	case NSX_WHY_MORE:
		return "Give every rank the same work: batch and sequence "
		       "lengths, experts, layers of a stage";
	case NSX_WHY_COPY:
		if (l->more_bytes > 0)
			return "Look at what is copied there and not elsewhere (logging, "
			       "checkpoints, debug output): copy it less often, or "
			       "asynchronously and from or to pinned memory";
		if (is_pageable(l))
			return "Pin the memory that is copied there: pin_memory of the "
			       "loader, cudaHostAlloc, cudaHostRegister";
		return "Look at where its copies come from: pinned memory, the PCIe link's width "
		       "(nvidia-smi -q -d PCIE), the CPU it is bound to";
	case NSX_WHY_LINK:
		return "Test the link between these GPUs (nvidia-smi nvlink -s, nvidia-smi topo "
		       "-m, the switch port's errors) and their NUMA binding";
	case NSX_WHY_IDLE:
		return advice_on_idle(a, l);
	default:
		return nsx_arena_printf(a, "Compare %s with that of a rank that is not late: "
			"nsys-explain diff", l->n > 1 ? "the trace of one" : "its trace");
	}
}

/* Describes the path of waiting: "ranks 4, 5 wait for rank 5 (tp), then ranks 0, 2, 4 for rank 4
 * (dp)".
 */
static const char *say_way(const struct nsx_freport *r, const struct nsx_late *l)
{
	const struct nsx_fleet *f = r->f;
	struct nsx_buf b = {0};

	for (unsigned i = 0; i < l->nhops; i++) {
		const struct nsx_fcomm *c = &f->comm[l->hop[i].comm];
		uint32_t *v = nsx_arena_get(r->arena, c->n * sizeof(*v)), n = 0;
		const char *axis = nsx_axis_of(f, c, r->arena);

		for (uint32_t m = 0; m < c->n; m++)
			if (c->m[m].rank != l->hop[i].rank)
				v[n++] = c->m[m].rank;
		nsx_buf_printf(&b, "%srank%s %s%s for rank %lld",
			       i ? ", then " : "", n == 1 ? "" : "s",
			       nsx_rank_list(f, v, n, r->arena),
			       i ? "" : n == 1 ? " waits" : " wait",
			       (long long)f->rank[l->hop[i].rank].number);
		if (axis)
			nsx_buf_printf(&b, " (%s)", axis);
	}
	return nsx_buf_keep(&b, r->arena);
}

static void prove_late(struct nsx_freport *r, const struct nsx_late *l, struct nsx_ffinding *x)
{
	struct nsx_arena *a = r->arena;
	const struct nsx_fleet *f = r->f;

	findings_prove(r, x, "%s own time is %s a step above the median of the other ranks, in "
		       "%lld of %lld steps%s", l->n > 1 ? "Their" : "Its",
		       nsx_text_ns(a, l->excess_ns), (long long)l->nsteps, (long long)l->nthere,
		       l->kind == NSX_LATE_TRANSIENT ? " (transient)" : "");
	if (l->cause == NSX_WHY_LINK)
		x->evidence[0] = nsx_arena_printf(a, "When all ranks are there, a collective takes "
			"%.2f times as long as in the median communicator of its family", l->ratio);
	else
		findings_prove(r, x, l->are_most ?
			       "By chance one of %u ranks would be as early as the others "
			       "are with p %s %.3f (ranks permuted within each step)" :
			       "By chance one of %u ranks would be as late "
			       "with p %s %.3f (ranks permuted within each step)", f->nranks,
			       l->p > 0.002 ? "=" : "≤", l->p);
	if (l->explained > 0 && l->cause != NSX_WHY_LINK)
		findings_prove(r, x, "This explains %.0f %% of %s excess",
			       100 * NSX_MIN(1, l->explained), l->n > 1 ? "their" : "its");
	if (l->detail)
		findings_prove(r, x, "Above all in %s", nsx_text_name(a, l->detail));
	if (l->told && l->told->share_ppm >= 0)
		findings_prove(r, x, "The report of rank %lld alone says: %s (%.2g %% of its "
			       "time)", (long long)f->rank[l->ranks[0]].number,
			       l->told->title, (double)l->told->share_ppm / 1e4);
	findings_prove(r, x, "Recoverable: %s%s a step, %s of it%s",
		       f->has_messages ? "at most " : "",
		       nsx_text_ns(a, l->recoverable_ns), say_pct(r, l->recoverable_ns),
		       f->has_messages ? "; who waits for whose messages is not known" :
				"");
	if (l->nhops > 1)
		findings_prove(r, x, "Added up over the ranks it costs %s a step directly and %s "
			       "passed on: %s", nsx_text_ns(a, l->direct_ns),
			       nsx_text_ns(a, l->passed_on_ns), say_way(r, l));
}

static void advise_late(const struct nsx_freport *r, const struct nsx_late *l,
			struct nsx_ffinding *x)
{
	x->recommendation[0] = advice_on(r->arena, l);
	if (l->cause == NSX_WHY_SLOWER && *other_model(r, l))
		x->recommendation[0] = "Give it so much less work than the others, or "
				       "a GPU of their model";
	else if (l->cause == NSX_WHY_SLOWER && l->alike < ALL_ALIKE)
		x->recommendation[1] = "If they do not differ, give every rank the "
			"same work: batch and sequence lengths, experts";
}

static void say_late(struct nsx_freport *r, const struct nsx_late *l)
{
	struct nsx_arena *a = r->arena;
	const struct nsx_fleet *f = r->f;
	struct nsx_ffinding *x =
		fleet_findings_add(r, l->cause == NSX_WHY_LINK ? NSX_FF_SLOW_LINK :
		       l->host != NSX_NONE	? NSX_FF_SLOW_HOST :
						  NSX_FF_LATE_RANK);
	const char *when = l->kind == NSX_LATE_STEADY ? "" :
		nsx_arena_printf(a, " in %lld of %lld steps",
				 (long long)l->nsteps, (long long)l->nthere);

	x->ranks = l->ranks;
	x->n = l->n;
	x->key = nsx_arena_printf(a, "%s:%s", x->key, l->host != NSX_NONE ?
			nsx_arena_printf(a, "host %u", l->host) :
			nsx_rank_list(f, l->ranks, l->n, a));
	x->title = nsx_arena_printf(a, "%s %s late%s: %s", who(r, l),
				    l->n > 1 && l->host == NSX_NONE ? "come" :
								      "comes", when, why(r, l));
	if (l->cause == NSX_WHY_UNKNOWN)
		x->confidence = NSX_CONF_MEDIUM;
	price(r, x, l->recoverable_ns, NSX_PRICE_REPLAYED);
	if (l->p >= NSX_LEAST_P) { /* the rank was late, but perhaps by chance */
		x->severity = NSX_SEV_LOW;
		x->confidence = NSX_CONF_MEDIUM;
	}
	prove_late(r, l, x);
	advise_late(r, l, x);
}

/* Engines ---------------------------------------------------------------------------*/

static void say_engine(struct nsx_freport *r, const struct nsx_fengine *e)
{
	struct nsx_arena *a = r->arena;
	struct nsx_ffinding *x = fleet_findings_add(r, NSX_FF_SLOW_ENGINE);
	const char *list = nsx_rank_list(r->f, e->ranks, e->n, a);
	const struct nsx_late l = {.n = e->n, .cause = e->cause, .idle_cause = e->idle_cause,
				   .alike = 1};

	x->ranks = e->ranks;
	x->n = e->n;
	x->key = nsx_arena_printf(a, "%s:%s", x->key, list);
	x->severity = e->ratio >= 1.1 ? NSX_SEV_HIGH : NSX_SEV_MEDIUM;
	x->confidence = e->cause == NSX_WHY_UNKNOWN ? NSX_CONF_MEDIUM : NSX_CONF_HIGH;
	x->title = nsx_arena_printf(
		a, "The engine of rank%s %s%s takes %.0f %% longer for a step than its peers: %s",
		e->n > 1 ? "s" : "", list, e->n > 1 ? "" : findings_process_of(r, e->ranks[0]),
		100 * (e->ratio - 1),
		e->cause == NSX_WHY_SLOWER ? nsx_arena_printf(
			a, "its kernels take %.0f %% longer, as with a slower GPU or clock",
			100 * (e->kernel_ratio - 1)) :
		e->cause == NSX_WHY_IDLE ? idle_words(a, &l) :
		"no single cause explains it");
	findings_prove(r, x, "%lld of its steps took %s in all, by the median of each kind and "
		       "size; %u other engines would take %s", (long long)e->ncompared,
		       nsx_text_ns(a, e->took_ns), r->f->nengines - 1,
		       nsx_text_ns(a, e->expected_ns));
	if (e->spread > 0)
		findings_prove(r, x, "The other engines differ by %.1f %% (standard deviation)",
			       100 * e->spread);
	if (e->kernel_ratio > 0)
		findings_prove(r, x, "Its kernels take %.3g times as long for as much work",
			       e->kernel_ratio);
	x->recommendation[0] = advice_on(a, &l);
}

static void say_rotating(struct nsx_freport *r)
{
	struct nsx_ffinding *x = fleet_findings_add(r, NSX_FF_ROTATING);

	x->title = "Another rank comes late in each step (rotating): no persistent straggler";
	x->confidence = NSX_CONF_MEDIUM;
	price(r, x, r->f->jitter_ns, NSX_PRICE_MEASURED);
	findings_prove(r, x, "One rank stood out in %lld of %zu steps, not always the same",
		       (long long)r->f->nevents, r->f->nsteps);
	findings_prove(r, x, "The slowest rank takes %s a step more than the second slowest, %s of "
			     "it", nsx_text_ns(r->arena, r->f->jitter_ns),
		       say_pct(r, r->f->jitter_ns));
	x->recommendation[0] = "Look for work that ranks do in turn: checkpoints, logging, garbage "
		"collection, evaluation, uneven batches; steps.csv says who was late when";
}

/* Collectives that differ -------------------------------------------------------------*/

static const char *or_nothing(const char *op)
{
	return op ? op : "nothing";
}

/* Reports two groups of equal size that do different things, without calling either wrong. */
static void say_either(struct nsx_freport *r, const struct nsx_desync *d, struct nsx_ffinding *x)
{
	const struct nsx_fcomm *c = &r->f->comm[d->comm];
	uint32_t *ranks = nsx_arena_get(r->arena, c->n * sizeof(*ranks));

	for (uint32_t i = 0; i < c->n; i++)
		ranks[i] = c->m[i].rank;
	x->ranks = ranks;
	x->n = c->n;
	x->confidence = NSX_CONF_MEDIUM;
	x->title = nsx_arena_printf(
		r->arena, "Ranks %s are out of sequence: rank %lld calls %s where as "
		"many others call %s (%s), and which of them is wrong the traces do "
		"not tell", nsx_members_list(r->f, c, r->arena),
		(long long)r->f->rank[d->rank].number, or_nothing(d->got),
		or_nothing(d->expected), d->kind == NSX_DESYNC_OTHER ? "mismatch" : "desync");
}

static void say_desync(struct nsx_freport *r, const struct nsx_desync *d)
{
	struct nsx_arena *a = r->arena;
	long long rank = (long long)r->f->rank[d->rank].number;
	struct nsx_ffinding *x = fleet_findings_add(r, NSX_FF_DESYNC);
	const struct nsx_fcomm *c = &r->f->comm[d->comm];

	x->ranks = &d->rank;
	x->n = 1;
	x->severity = NSX_SEV_HIGH;
	x->key = nsx_arena_printf(a, "desync:%lld:%u:%zu", rank, d->comm, d->k);
	switch (d->kind) {
	case NSX_DESYNC_OTHER:
		x->title = nsx_arena_printf(a, "Rank %lld is out of sequence: it "
			"calls %s where the others call %s (mismatch)", rank,
			or_nothing(d->got), or_nothing(d->expected));
		break;
	case NSX_DESYNC_LEFT_OUT:
		x->title = nsx_arena_printf(a, "Rank %lld leaves out a "
			"collective (desync): it goes on to %s where the others "
			"call %s", rank, or_nothing(d->got), or_nothing(d->expected));
		break;
	case NSX_DESYNC_EXTRA:
		x->title = nsx_arena_printf(a, "Rank %lld calls a collective too "
			"many (desync): %s where the others call %s", rank,
			or_nothing(d->got), or_nothing(d->expected));
		break;
	default:
		x->title = nsx_arena_printf(a, "Rank %lld never enters the last "
			"%s (desync): the others wait in it to the end of "
			"their traces", rank, or_nothing(d->expected));
	}
	if (d->is_even)
		say_either(r, d, x);
	findings_prove(r, x, "Collective %zu of the communicator of ranks %s, counted from the "
		       "first one recorded", d->k, nsx_members_list(r->f, c, a));
	if (r->f->rank[d->rank].d->is_partial) {
		x->confidence = NSX_CONF_LOW;
		findings_prove(r, x, "Its trace lost rows, so the collective may be "
			       "missing in the record and not in the program");
	}
	x->recommendation[0] = d->is_even ? "Compare the control flow of these ranks: a branch on "
		"local data, an exception that was caught, another number of batches" :
		"Compare the control flow of this rank with the others': a branch on local data, "
		"an exception that was caught, another number of batches";
}

/* Missing ranks -------------------------------------------------------------------------*/

/* Lists numbers below `total` that no rank has: "3, 5-7". */
static const char *missing_list(const struct nsx_freport *r, int64_t total)
{
	const struct nsx_fleet *f = r->f;
	struct nsx_buf b = {0};
	int64_t from = 0;

	for (uint32_t i = 0; i <= f->nranks && b.n < MOST_NAMED_BYTES; i++) {
		int64_t to = i < f->nranks ? f->rank[i].number : total;

		if (to > from)
			nsx_buf_printf(&b, "%s%lld", b.n ? ", " : "", (long long)from);
		if (to > from + 1)
			nsx_buf_printf(&b, "%s%lld", to > from + 2 ? "-" : ", ", (long long)to - 1);
		from = to + 1;
	}
	return nsx_buf_keep(&b, r->arena);
}

static void say_missing(struct nsx_freport *r)
{
	const struct nsx_fleet *f = r->f;
	int64_t n = nsx_fleet_absent(f), total = f->nranks + n;
	struct nsx_ffinding *x;

	if (!n)
		return;
	x = fleet_findings_add(r, NSX_FF_MISSING_RANKS);
	x->title = nsx_arena_printf(r->arena, "%lld of %s%lld ranks %s not here: %s", (long long)n,
				    f->expected < total ? "at least " : "",
				    (long long)total, n == 1 ? "is" : "are",
				    missing_list(r, total));
	findings_prove(r, x, n == 1 ? "What it did is not known; it may be what the others "
			     "wait for" :
			     "What they did is not known; one of them may be what "
			     "the others wait for");
	x->recommendation[0] = "Give their traces or digests as well";
}

static bool is_of_capture(const struct nsx_ffinding *x)
{
	return nsx_ffinding_defs[x->id].category == NSX_CAT_CAPTURE;
}

/* Findings without a price that break a job come first. */
static int cmp_finding(const void *a, const void *b)
{
	const struct nsx_ffinding *x = a, *y = b;

	return NSX_CMP(is_of_capture(x), is_of_capture(y)) ?:
	       NSX_CMP(x->price != NSX_PRICE_NONE,
		       y->price != NSX_PRICE_NONE) ?:
	       NSX_CMP(y->headroom_ns, x->headroom_ns) ?:
	       strcmp(x->key, y->key);
}

static void findings_find(struct nsx_freport *r)
{
	const struct nsx_fleet *f = r->f;

	r->v = nsx_arena_get(r->arena, MOST_FINDINGS * sizeof(*r->v));
	for (size_t i = 0; i < f->nlate && i < MOST_FINDINGS / 2; i++)
		say_late(r, &f->late[i]);
	for (size_t i = 0; i < f->ndesyncs && i < MOST_DESYNCS; i++)
		say_desync(r, &f->desync[i]);
	for (uint32_t i = 0; i < f->nengines && r->n < MOST_FINDINGS - 2; i++)
		if (f->engine[i].is_slow)
			say_engine(r, &f->engine[i]);
	if (f->is_rotating)
		say_rotating(r);
	say_missing(r);
	nsx_sort(r->v, r->n, sizeof(*r->v), cmp_finding);
}

/* Adds to "missing ranks" the transfer time that cannot be waiting among the ranks that are
 * present.
 */
static void prove_missing(struct nsx_freport *r)
{
	const struct nsx_table *t = &r->t[NSX_FT_FRONTIER];
	double ns = 0;

	for (size_t i = 0; i < t->nrows; i++)
		ns += (double)nsx_row_at(t, i)[F_TRANSFER].u.i / (double)r->f->nsteps;
	for (size_t i = 0; i < r->n && ns > 0; i++)
		if (r->v[i].id == NSX_FF_MISSING_RANKS)
			findings_prove(r, &r->v[i], "When all that are here have come, collectives "
				       "take another %s of a step, %s of it: data that move, or "
				       "waiting for a rank that is "
				       "absent", nsx_text_ns(r->arena, ns), say_pct(r, ns));
}

int nsx_freport_new(const struct nsx_fleet *f, const struct nsx_left_out *left_out,
		    struct nsx_freport **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_freport *r = nsx_arena_get(a, sizeof(*r));
	char now[NSX_UTC_SIZE];

	nsx_utc_now(now);
	*r = (struct nsx_freport){.f = f, .left_out = left_out, .arena = a,
				  .generated_at = nsx_arena_strdup(a, now)};
	findings_find(r);
	if (nsx_freport_tables(r, err)) {
		nsx_freport_free(r);
		return err->rc;
	}
	prove_missing(r);
	*ret = r;
	return 0;
}

void nsx_freport_free(struct nsx_freport *r)
{
	if (!r)
		return;
	for (unsigned i = 0; i < NSX_NFTABLES; i++)
		nsx_table_done(&r->t[i]);
	nsx_arena_free(r->arena);
}
