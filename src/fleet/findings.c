/* findings.c - puts a fleet's verdicts into words. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/clock.h"
#include "fleet/judge.h"
#include "fleet/report.h"
#include "report/text.h"
#include "report/words.h"

/* share of kernel time in slower kernels: only a slower GPU slows all of them */
#define ALL_ALIKE 0.9

enum { MOST_FINDINGS = 40, MOST_DESYNCS = 8, MOST_NAMED_BYTES = 512 };

static const char *say_pct(const struct nsx_freport *r, double ns)
{
	return nsx_text_share(r->arena, ns, r->f->step_ns);
}

static long long number_of(const struct nsx_freport *r, uint32_t rank)
{
	return (long long)r->f->rank[rank].number;
}

static struct nsx_ffinding *fleet_findings_add(struct nsx_freport *r, enum nsx_ffinding_id id,
					       const uint32_t *ranks, uint32_t n)
{
	struct nsx_ffinding *x = &r->v[r->n++];

	*x = (struct nsx_ffinding){.id = id, .key = nsx_ffinding_defs[id].name, .ranks = ranks,
				   .n = n, .severity = NSX_SEV_LOW, .confidence = NSX_CONF_HIGH,
				   .added_ns = NAN};
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

static void findings_prove(struct nsx_ffinding *x, const char *text)
{
	size_t i = 0;

	while (x->evidence[i])
		i++;
	if (i + 1 < ARRAY_LEN(x->evidence))
		x->evidence[i] = text;
}

/* Late ranks -------------------------------------------------------------------------*/

/* Names the process of a rank whose number was made up: " (process 812, GPU 2)". */
static const char *findings_process_of(const struct nsx_freport *r, uint32_t rank)
{
	const struct nsx_digest *d = r->f->rank[rank].d;

	return d->rank >= 0 ? "" :
	       d->device < 0 ? nsx_say(r, " (process %lld)", (long long)d->pid) :
	       nsx_say(r, " (process %lld, GPU %s)", (long long)d->pid,
		       nsx_digest_gpu(d, r->arena));
}

/* Finds the two hosts that all slow links join. False: links join others, or are within a host. */
static bool border_of(const struct nsx_freport *r, const struct nsx_late *l, uint32_t ret[2])
{
	const struct nsx_fleet *f = r->f;

	ret[0] = ret[1] = f->rank[l->ranks[0]].host;
	for (uint32_t i = 0; i < l->n; i++) {
		uint32_t host = f->rank[l->ranks[i]].host;

		if (host != ret[0] && host != ret[1] && ret[0] != ret[1])
			return false;
		ret[1] = host != ret[0] ? host : ret[1];
	}
	return l->ncomms &&
	       !NSX_ANY(i, l->ncomms, nsx_count_hosts(f, &f->comm[l->comms[i]]) < 2);
}

static const char *who(const struct nsx_freport *r, const struct nsx_late *l)
{
	const char *list = nsx_rank_list(r->f, l->ranks, l->n, r->arena);
	uint32_t border[2];
	const struct nsx_axis *axis = &r->f->mesh.axis[l->axis == NSX_NONE ? 0 : l->axis];

	if (l->host != NSX_NONE)
		return nsx_say(r, "Host %u (ranks %s)", l->host, list);
	if (border_of(r, l, border))
		return nsx_say(r, "Hosts %u and %u (ranks %s)", NSX_MIN(border[0], border[1]),
			       NSX_MAX(border[0], border[1]), list);
	if (l->axis != NSX_NONE)
		return nsx_say(r, "All of %s %lld (ranks %s)", axis->name,
			       (long long)nsx_mesh_at(axis, number_of(r, l->ranks[0])), list);
	return l->n > 1 ? nsx_say(r, "Ranks %s", list) :
			  nsx_say(r, "Rank %s%s", list, findings_process_of(r, l->ranks[0]));
}

static bool is_in_mpi(const struct nsx_late *l)
{
	return l->detail && !strncasecmp(l->detail, "MPI_", 4);
}

/* How causes of idle time look on the host, worded for several ranks and for one: see nsx_say_of.
 */
static const char *const findings_idle_words[NSX_NCAUSES + 1] = {
	[NSX_CAUSE_OSRT] = "[their hosts wait|its host waits] in operating-system calls: data, a "
			   "lock or a file",
	[NSX_CAUSE_HOST_CODE] = "[their GPUs are|its GPU is] idle while the CPU runs code of the "
				"program before it launches",
	[NSX_CAUSE_SYNC] = "[their hosts wait|its host waits] in synchronisations",
	[NSX_CAUSE_BLOCKING_COPY] = "[their hosts wait|its host waits] for copies",
	[NSX_CAUSE_ALLOC] = "[their hosts allocate or free|its host allocates or frees] GPU memory",
	[NSX_CAUSE_IMPLICIT_SYNC] = "[their hosts allocate or free|its host allocates or frees] GPU "
				    "memory",
	[NSX_CAUSE_MODULE] = "[their hosts load or compile|its host loads or compiles] kernels",
	[NSX_CAUSE_LAUNCH_CALL] = "[their|its] launches take longer on the CPU",
	[NSX_CAUSE_LAUNCH_TO_START] = "[their|its] launches take longer on the CPU",
	[NSX_CAUSE_STREAM_WAIT] = "[their GPUs wait|its GPU waits] for other streams",
	[NSX_CAUSE_DEPENDENCY] = "[their GPUs wait|its GPU waits] for other streams",
};

static const char *idle_words(const struct nsx_freport *r, const struct nsx_late *l)
{
	const char *words = findings_idle_words[l->idle_cause];

	if (l->idle_cause == NSX_CAUSE_OSRT && is_in_mpi(l))
		return nsx_say_of(r, l->n, "[their hosts wait|its host waits] in %s",
				  nsx_text_name(r->arena, l->detail));
	return nsx_choose_words(r->arena, l->n, words ?: "[their GPUs are|its GPU is] idle: the CPU "
							 "launches late");
}

/* The late ranks' GPU model if all late ranks have it and no other rank does, else "". */
static const char *other_model(const struct nsx_freport *r, const struct nsx_late *l)
{
	const char *model = r->f->rank[l->ranks[0]].d->gpu_model;

	for (uint32_t i = 0; i < r->f->nranks; i++)
		if (nsx_late_has(l, i) == !!strcmp(r->f->rank[i].d->gpu_model, model))
			return "";
	return *model ? nsx_text_name(r->arena, model) : "";
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
static const char *say_copies(const struct nsx_freport *r, const struct nsx_late *l)
{
	bool is_slower = l->gbps[0] > 0 && l->gbps[0] < 0.9 * l->gbps[1];
	const char *how = nsx_say(r, "%s%s", !is_slower ? "" :
		nsx_say(r, ", at %.3g GB/s instead of %.3g GB/s", l->gbps[0], l->gbps[1]),
		is_pageable(l) ? ", from or to pageable memory" : "");

	if (l->more_bytes > 0)
		return nsx_say_of(r, l->n, "[they copy|it copies] %.3g MB a step more than the "
				  "others%s", l->more_bytes / 1e6, how);
	return nsx_say_of(r, l->n, "[their|its] copies take longer%s", how);
}

static const char *why(const struct nsx_freport *r, const struct nsx_late *l)
{
	double longer = 100 * (l->ratio - 1);

	switch (l->cause) {
	case NSX_WHY_SLOWER:
		if (*other_model(r, l))
			return nsx_say(r, "the same kernels take %.1f %% longer on its GPU, "
				       "another model: %s", longer, other_model(r, l));
		if (l->alike < ALL_ALIKE)
			return nsx_say(r, "kernels that take %.0f %% of the kernels' time take "
				       "longer there (%.1f %% in all): a lower clock, or more "
				       "work in them", 100 * l->alike, longer);
		return nsx_say(r, "the same kernels take %.1f %% longer there, all of "
			       "them: a slower GPU or clock", longer);
	case NSX_WHY_KERNELS:
		return nsx_say(r, "as many kernels, but some of them take longer (%.1f %% "
			       "in all): uneven work", longer);
	case NSX_WHY_MORE:
		return nsx_say(r, "%.1f more kernels a step than elsewhere: uneven work", l->more);
	case NSX_WHY_COPY:
		return say_copies(r, l);
	case NSX_WHY_LINK:
		return nsx_say(r, "transfers between %s take %.2f times as long as in other "
			       "communicators: a slow %s",
			       l->host == NSX_NONE ? "them" : "it and other hosts", l->ratio,
			       l->host == NSX_NONE ? "link" : "network adapter or port");
	case NSX_WHY_IDLE:
		return l->told && is_vague(l->idle_cause) ?
			nsx_say_of(r, l->n, "as [their own reports say|its own report says], \"%s\"",
				   l->told->title) : idle_words(r, l);
	default:
		return "no single cause explains it";
	}
}

static const char *const same_work = "Give every rank the same work: batch and sequence lengths, "
				     "experts, layers of a stage";

/* Advice by cause, worded for several ranks and for one. Causes that are not here have more than
 * one advice.
 */
static const char *const advice[] = {
	[NSX_WHY_UNKNOWN] = "Compare [the trace of one|its trace] with that of a rank that is not "
			    "late: nsys-explain diff",
	[NSX_WHY_SLOWER] = "Compare clocks, power limit, temperature and errors with a healthy GPU "
			   "(nvidia-smi -q -d PERFORMANCE,CLOCK,POWER,ECC); if they differ, take the "
			   "GPU out of the job",
	[NSX_WHY_LINK] = "Test the link between these GPUs (nvidia-smi nvlink -s, nvidia-smi topo "
			 "-m, the switch port's errors) and their NUMA binding",
	[NSX_WHY_COPY] = "Look at where its copies come from: pinned memory, the PCIe link's width "
			 "(nvidia-smi -q -d PCIE), the CPU it is bound to",
	[NSX_WHY_IDLE] = "Look at what runs on [these ranks' CPUs|this rank's CPU] between "
			 "[their|its] launches: other processes, [their|its] CPU binding, garbage "
			 "collection, logging",
};

static const char *advice_on(const struct nsx_freport *r, const struct nsx_late *l)
{
	bool is_idle = l->cause == NSX_WHY_IDLE, copies = l->cause == NSX_WHY_COPY;

	return nsx_choose_words(r->arena, l->n,
		l->cause == NSX_WHY_KERNELS || l->cause == NSX_WHY_MORE ? same_work :
		is_idle && is_in_mpi(l) ?
			"Look at whom it waits for there: a rank whose trace is not "
			"here, or messages that move only while a call of MPI runs" :
		is_idle && l->idle_cause == NSX_CAUSE_OSRT ?
			"Look at what [these ranks read|this rank reads] before a step: loader "
			"workers, prefetch, the file system of [their hosts|its host]" :
		copies && l->more_bytes > 0 ?
			"Look at what is copied there and not elsewhere (logging, "
			"checkpoints, debug output): copy it less often, or "
			"asynchronously and from or to pinned memory" :
		copies && is_pageable(l) ?
			"Pin the memory that is copied there: pin_memory of the "
			"loader, cudaHostAlloc, cudaHostRegister" : advice[l->cause]);
}

/* Describes the path of waiting: "ranks 4, 5 wait for rank 5 (tp), then ranks 0, 2, 4 for rank 4
 * (dp)".
 */
static const char *say_way(const struct nsx_freport *r, const struct nsx_late *l)
{
	struct nsx_buf b = {0};

	for (unsigned i = 0; i < l->nhops; i++) {
		const struct nsx_fcomm *c = &r->f->comm[l->hop[i].comm];
		uint32_t *v = nsx_arena_get(r->arena, c->n * sizeof(*v)), n = 0;
		const char *axis = nsx_axis_of(r->f, c, r->arena), *list;

		for (uint32_t m = 0; m < c->n; m++)
			if (c->m[m].rank != l->hop[i].rank)
				v[n++] = c->m[m].rank;
		list = nsx_rank_list(r->f, v, n, r->arena);
		nsx_buf_adds(&b, i ? nsx_say_of(r, n, ", then rank[s|] %s", list) :
				     nsx_say_of(r, n, "rank[s|] %s wait[|s]", list));
		nsx_buf_printf(&b, " for rank %lld", number_of(r, l->hop[i].rank));
		if (axis)
			nsx_buf_printf(&b, " (%s)", axis);
	}
	return nsx_buf_keep(&b, r->arena);
}

/* Lists the ranks of slow links in order of their first rank: "4, 8; 5, 9". */
static const char *say_links(const struct nsx_freport *r, const struct nsx_late *l)
{
	struct nsx_buf b = {0};
	uint32_t left = l->ncomms;

	for (uint32_t i = 0; i < r->f->nranks && b.n <= MOST_NAMED_BYTES; i++)
		for (uint32_t k = 0; k < l->ncomms; k++) {
			const struct nsx_fcomm *c = &r->f->comm[l->comms[k]];

			if (c->m->rank != i)
				continue;
			nsx_buf_printf(&b, "%s%s", b.n ? "; " : "", nsx_rank_list(r->f,
				       nsx_members_of(c, r->arena), c->n, r->arena));
			left--;
		}
	if (left)
		nsx_buf_printf(&b, " and %u more", left);
	return nsx_buf_keep(&b, r->arena);
}

static void prove_late(struct nsx_freport *r, const struct nsx_late *l, struct nsx_ffinding *x)
{
	const struct nsx_fleet *f = r->f;
	bool is_link = l->cause == NSX_WHY_LINK;

	findings_prove(x, is_link ?
		nsx_say(r, "When all ranks are there, a collective takes %.2f times as long as in "
			"the usual communicator of its kind", l->ratio) :
		nsx_say_of(r, l->n, "[Their|Its] own time is %s a step above the median of %s, in "
			   "%lld of %lld steps%s", nsx_say_time(r, l->excess_ns), !l->among ?
			   "the other ranks" : nsx_say(r, "ranks %s", nsx_rank_list(
				f, l->among, l->namong, r->arena)),
			   (long long)l->nsteps, (long long)l->nthere,
			   l->kind == NSX_LATE_TRANSIENT ? " (transient)" : ""));
	if (!is_link)
		findings_prove(x, nsx_say(r, "That one of %u ranks is this %s by chance has the "
					  "probability %s%.3f (ranks permuted within each step)",
					  f->nranks, l->are_most ? "early" : "late",
					  l->p > 0.002 ? "" : "≤ ", l->p));
	if (l->explained > 0 && !is_link)
		findings_prove(x, nsx_say_of(r, l->n, "This explains %.0f %% of [their|its] excess",
					     100 * NSX_MIN(1, l->explained)));
	if (l->detail)
		findings_prove(x, nsx_say(r, "Above all in %s", nsx_text_name(r->arena, l->detail)));
	if (l->told && l->told->share_ppm >= 0)
		findings_prove(x, nsx_say(r, "The report of rank %lld alone says: %s (%.2g %% of its "
					  "time)", number_of(r, l->ranks[0]), l->told->title,
					  (double)l->told->share_ppm / 1e4));
	findings_prove(x, nsx_say(r, "%s%s of a step can be won, %s of it%s",
				  f->has_messages ? "at most " : "",
				  nsx_say_time(r, l->recoverable_ns), say_pct(r, l->recoverable_ns),
				  f->has_messages ?
				  "; who waits for whose messages is not known" : ""));
	if (l->added_ns > l->recoverable_ns)
		findings_prove(x, nsx_say(r, "Others are as late: once those that take more time are "
					  "mended, it costs %s a step",
					  nsx_say_time(r, l->added_ns)));
	if (l->ncomms > 1)
		findings_prove(x, nsx_say(r, "The slow ones are those of ranks %s", say_links(r, l)));
	if (l->nhops > 1)
		findings_prove(x, nsx_say(r, "Over all ranks it costs %s a step directly, and %s "
					  "that is passed on: %s", nsx_say_time(r, l->direct_ns),
					  nsx_say_time(r, l->passed_on_ns), say_way(r, l)));
}

static void say_late(struct nsx_freport *r, const struct nsx_late *l)
{
	bool is_host = l->host != NSX_NONE;
	struct nsx_ffinding *x = fleet_findings_add(
		r, l->cause == NSX_WHY_LINK ? NSX_FF_SLOW_LINK :
		   is_host ? NSX_FF_SLOW_HOST : NSX_FF_LATE_RANK, l->ranks, l->n);
	const char *when = l->kind == NSX_LATE_STEADY ? "" :
		nsx_say(r, " in %lld of %lld steps", (long long)l->nsteps, (long long)l->nthere);

	x->key = is_host ? nsx_say(r, "%s:host %u", x->key, l->host) :
			   nsx_say(r, "%s:%s", x->key, nsx_rank_list(r->f, l->ranks, l->n, r->arena));
	x->title = nsx_say_of(r, is_host ? 1 : l->n, "%s come[|s] late%s: %s", who(r, l), when,
			      why(r, l));
	if (l->cause == NSX_WHY_UNKNOWN)
		x->confidence = NSX_CONF_MEDIUM;
	price(r, x, l->recoverable_ns, NSX_PRICE_REPLAYED);
	x->added_ns = l->added_ns;
	if (l->p >= NSX_LEAST_P) { /* the rank was late, but perhaps by chance */
		x->severity = NSX_SEV_LOW;
		x->confidence = NSX_CONF_MEDIUM;
	}
	prove_late(r, l, x);
	x->recommendation[0] = advice_on(r, l);
	if (l->cause == NSX_WHY_SLOWER && *other_model(r, l))
		x->recommendation[0] = "Give it less work than the others, in proportion, or "
				       "a GPU of their model";
	else if (l->cause == NSX_WHY_SLOWER && l->alike < ALL_ALIKE)
		x->recommendation[1] = "If they do not differ, give every rank the "
			"same work: batch and sequence lengths, experts";
}

/* Engines ---------------------------------------------------------------------------*/

static void say_engine(struct nsx_freport *r, const struct nsx_fengine *e)
{
	struct nsx_ffinding *x = fleet_findings_add(r, NSX_FF_SLOW_ENGINE, e->ranks, e->n);
	const char *list = nsx_rank_list(r->f, e->ranks, e->n, r->arena);
	const struct nsx_late l = {.n = e->n, .cause = e->cause, .idle_cause = e->idle_cause};

	x->key = nsx_say(r, "%s:%s", x->key, list);
	x->severity = e->ratio >= 1.1 ? NSX_SEV_HIGH : NSX_SEV_MEDIUM;
	x->confidence = e->cause == NSX_WHY_UNKNOWN ? NSX_CONF_MEDIUM : NSX_CONF_HIGH;
	x->title = nsx_say_of(
		r, e->n, "The engine of rank[s|] %s%s takes %.0f %% longer for a step than its peers: "
		"%s", list, e->n > 1 ? "" : findings_process_of(r, e->ranks[0]), 100 * (e->ratio - 1),
		e->cause == NSX_WHY_SLOWER ?
			nsx_say(r, "its kernels take %.0f %% longer, as with a slower GPU or clock",
				100 * (e->kernel_ratio - 1)) : why(r, &l));
	findings_prove(x, nsx_say(r, "%lld of its steps took %s in all, by the median of each kind "
				  "and size; %u other engines would take %s",
				  (long long)e->ncompared, nsx_say_time(r, e->took_ns),
				  r->f->nengines - 1, nsx_say_time(r, e->expected_ns)));
	if (e->spread > 0)
		findings_prove(x, nsx_say(r, "The other engines differ by %.1f %% (standard "
					  "deviation)", 100 * e->spread));
	if (e->kernel_ratio > 0)
		findings_prove(x, nsx_say(r, "Its kernels take %.3g times as long for as much work",
					  e->kernel_ratio));
	x->recommendation[0] = advice_on(r, &l);
}

static void say_rotating(struct nsx_freport *r)
{
	struct nsx_ffinding *x = fleet_findings_add(r, NSX_FF_ROTATING, NULL, 0);

	x->title = "Another rank comes late in each step (rotating): no persistent straggler";
	x->confidence = NSX_CONF_MEDIUM;
	price(r, x, r->f->jitter_ns, NSX_PRICE_MEASURED);
	findings_prove(x, nsx_say(r, "One rank stood out in %lld of %zu steps, not always the same",
				  (long long)r->f->nevents, r->f->nsteps));
	findings_prove(x, nsx_say(r, "The slowest rank takes %s a step more than the second slowest, "
				  "%s of it", nsx_say_time(r, r->f->jitter_ns),
				  say_pct(r, r->f->jitter_ns)));
	x->recommendation[0] = "Look for work that ranks do in turn: checkpoints, logging, garbage "
		"collection, evaluation, uneven batches; steps.csv says who was late when";
}

/* Collectives that differ -------------------------------------------------------------*/

/* Adds the finding on a rank that calls something else. If equally many ranks do one thing and the
 * other, neither is called wrong.
 */
static void say_desync(struct nsx_freport *r, const struct nsx_desync *d)
{
	const struct nsx_fcomm *c = &r->f->comm[d->comm];
	const uint32_t *all = nsx_members_of(c, r->arena);
	struct nsx_ffinding *x = fleet_findings_add(r, NSX_FF_DESYNC, d->is_even ? all : &d->rank,
						    d->is_even ? c->n : 1);
	const char *members = nsx_rank_list(r->f, all, c->n, r->arena);
	const char *got = d->got ?: "nothing", *expected = d->expected ?: "nothing";
	long long rank = number_of(r, d->rank);

	x->severity = NSX_SEV_HIGH;
	x->key = nsx_say(r, "desync:%lld:%u:%zu", rank, d->comm, d->k);
	if (d->is_even) {
		x->confidence = NSX_CONF_MEDIUM;
		x->title = nsx_say(r, "Ranks %s are out of sequence: rank %lld calls %s where half "
				   "of them call %s (%s); the traces do not tell which is wrong", members, rank, got, expected,
				   d->kind == NSX_DESYNC_OTHER ? "mismatch" : "desync");
	} else if (d->kind == NSX_DESYNC_OTHER) {
		x->title = nsx_say(r, "Rank %lld is out of sequence: it calls %s where the others "
				   "call %s (mismatch)", rank, got, expected);
	} else if (d->kind == NSX_DESYNC_LEFT_OUT) {
		x->title = nsx_say(r, "Rank %lld leaves out a collective (desync): it goes on to %s "
				   "where the others call %s", rank, got, expected);
	} else if (d->kind == NSX_DESYNC_EXTRA) {
		x->title = nsx_say(r, "Rank %lld calls a collective too many (desync): %s where the "
				   "others call %s", rank, got, expected);
	} else {
		x->title = nsx_say(r, "Rank %lld never enters the last %s (desync): the others wait "
				   "in it to the end of their traces", rank, expected);
	}
	findings_prove(x, nsx_say(r, "Collective %zu of the communicator of ranks %s, counted from "
				  "the first one recorded", d->k, members));
	if (r->f->rank[d->rank].d->is_partial) {
		x->confidence = NSX_CONF_LOW;
		findings_prove(x, "Its trace lost rows, so the collective may be missing in the "
			       "record and not in the program");
	}
	x->recommendation[0] = nsx_choose_words(r->arena, d->is_even ? 2 : 1,
		"Compare the control flow of [these ranks|this rank with the others']: a branch on "
		"local data, an exception that was caught, another number of batches");
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
	x = fleet_findings_add(r, NSX_FF_MISSING_RANKS, NULL, 0);
	x->title = nsx_say_of(r, (size_t)n, "%lld of %s%lld ranks [are|is] not here: %s",
			      (long long)n, f->expected < total ? "at least " : "",
			      (long long)total, missing_list(r, total));
	findings_prove(x, nsx_choose_words(r->arena, (size_t)n, "What [they|it] did is not known; "
			"[one of them|it] may be what the others wait for"));
	x->recommendation[0] = "Give their traces or digests as well";
}

static bool is_of_capture(const struct nsx_ffinding *x)
{
	return nsx_ffinding_defs[x->id].category == NSX_CAT_CAPTURE;
}

/* Orders the most costly finding first, after those without a price that break a job. */
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

/* Adds evidence to the finding on missing ranks: the transfer time, in which no rank that is
 * present waits for another one.
 */
static void prove_missing(struct nsx_freport *r)
{
	const struct nsx_table *t = &r->t[NSX_FT_FRONTIER];
	double ns = 0;

	for (size_t i = 0; i < t->nrows; i++)
		ns += (double)nsx_row_at(t, i)[F_TRANSFER].u.i / (double)r->f->nsteps;
	for (size_t i = 0; i < r->n && ns > 0; i++)
		if (r->v[i].id == NSX_FF_MISSING_RANKS)
			findings_prove(&r->v[i], nsx_say(
				r, "After the last rank here has come, collectives take another %s of "
				"a step, %s of it: data that move, or waiting for a rank that is "
				"absent", nsx_say_time(r, ns), say_pct(r, ns)));
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
