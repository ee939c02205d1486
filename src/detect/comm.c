/* comm.c - communication: compute that waits for it, and ranks that come late to it.
 *
 * Overlap hides transfers but not waiting for a late rank. That waiting has a price of its own,
 * or is the straggler's if one is proved.
 */
#include "detect/detect.h"
#include "detect/verdict.h"
#include "facts/paces.h"
#include "facts/replay/replay.h"

#define LEAST_PCT 1.0	  /* percent of the window from which exposed communication is reported */
/* percent of the window that is reported even if most communication overlaps */
#define MUCH_PCT 10.0
#define BY_WORK 0.5 /* even work wins at least this share of what ranks that never wait would win */
/* this many collectives, each shorter than TINY_NS, are bound by latency */
enum { MANY = 100, TINY_NS = 50000 };
enum { MOST_PIECES = 4 }; /* a micro batch is split into at most this many */
#define MOST_TIME 0.8 /* share of a slow GPU's time in kernels that are slower there */
enum {
	LEAST_KERNELS = 3, /* different kernels that are slower on a slow GPU */
};
enum { PART = 10 }; /* waiting is mentioned if it is at least 1/10 of communication */

static double part_by_whole(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns ? 100 * (double)part_ns / (double)whole_ns : 0;
}

struct comm {
	struct nsx_detect *d;
	uint8_t *computes; /* by stream: 1 if compute runs there too         */
	struct nsx_comm_cost cost; /* the cost on the device being judged */
	/* Communication of that device in the judged window: [0] on streams of its own, [1] on
	 * streams that compute too, where it cannot overlap.
	 */
	struct habit {
		size_t n;
		/* time of all collectives; of sends and receives among them */
		int64_t ns, pairs_ns;
			double median_ns;
	} on[2];
};

static void mark_computing_streams(struct comm *c)
{
	const struct nsx_trace *t = c->d->trace;

	c->computes = nsx_arena_get(c->d->scratch, t->nstreams + 1);
	for (size_t i = 0; i < t->ops.n; i++)
		if (t->ops.cls[i] == NSX_C_COMPUTE)
			c->computes[nsx_op_stream(&t->ops, i)] = 1;
}

static int find_habits(struct comm *c, uint32_t device, struct nsx_err *err)
{
	const struct nsx_trace *t = c->d->trace;
	int64_t *v;

	if (!nsx_new_array(v, c->d->scratch, t->device[device].nops, "communication", err))
		return err->rc;
	for (unsigned k = 0; k < 2; k++) {
		struct habit h = {0};

		NSX_EACH_JUDGED(c->d, device, i) {
			enum nsx_comm_op op;

			if (t->ops.cls[i] != NSX_C_COMM ||
			    c->computes[nsx_op_stream(&t->ops, i)] != k)
				continue;
			op = nsx_op_launch(t, i)->op;
			v[h.n] = nsx_op_ns(&t->ops, i);
			nsx_add_to(&h.ns, v[h.n]);
			if (op == NSX_COMM_SENDRECV || op == NSX_COMM_ALLTOALL)
				nsx_add_to(&h.pairs_ns, v[h.n]);
			h.n++;
		}
		if (h.n)
			h.median_ns = nsx_quantile(v, h.n, 0.5);
		c->on[k] = h;
	}
	nsx_arena_drop(c->d->scratch, v);
	return 0;
}

/* Whether at most half of communication is exposed, and compute waits for at most a third of it:
 * the rest comes first or last, with nothing to compute beside it. Communication behind a copy that
 * compute waits for is exposed but does not block.
 */
static bool is_tail(const struct nsx_comm_cost *x)
{
	return x->blocking_ns * 3 <= x->comm_ns && x->exposed_ns * 2 <= x->comm_ns;
}

/* Adds the reasons why communication is exposed, as far as the trace shows them, with advice on
 * each. beside: it is on streams that compute, too.
 */
static void say_why(struct comm *c, const struct habit *h, bool beside, struct nsx_finding *f)
{
	unsigned n = 1, k = 0; /* the first line of evidence is the total */
	struct nsx_findings *l = c->d->found;
	/* mostly sends and receives, whose two sides may start at different times */
	bool pairs = h->pairs_ns * 2 > h->ns, tail = !beside && is_tail(&c->cost);

	if (h->n >= MANY && h->median_ns < TINY_NS) {
		f->evidence[n++] = nsx_tell(l, say_they_many_tiny_collectives, h->n,
					    nsx_text_ns(l->arena, h->median_ns));
		f->recommendation[k++] = pairs	? say_if_several_go_at_time :
					 beside ? say_if_each_needs_one_before :
						  say_join_small_messages_larger;
	}
	f->evidence[n] = beside ? pairs ? say_all_runs_on_streams : say_all_runs_on_streams_2 :
			 tail	? say_rest_overlaps_part_comes :
			 /* hardly any of it overlaps although its stream would allow that */
			 c->cost.exposed_ns * 20 > c->cost.comm_ns * 19 ?
				say_has_stream_own_but_started : NULL;
	f->recommendation[k] = beside ? pairs ? say_compute_first_what_other :
						say_if_what_follows_needs :
			       tail	? say_make_first_last_bucket :
			       pairs	? say_compute_first_what_other_2 :
					  say_start_collectives_as_soon;
}

/* Proposes to hide a device's communication behind compute. beside: communication on streams that
 * compute too.
 */
static void propose_overlap(struct comm *c, uint32_t device, bool beside)
{
	struct nsx_findings *l = c->d->found;
	const struct nsx_comm_cost *x = &c->cost;
	const struct habit *h = &c->on[beside];
	const char *all = nsx_tell_ns(l, x->comm_ns), *part = nsx_tell_ns(l, x->exposed_ns);
	struct nsx_finding f = {
		.id = NSX_ID_nccl_exposed, .device = device,
		.confidence = NSX_CONF_MEDIUM,
		.proof = {{.csv = "nccl_ops", .column = "exposed_ms"}},
	};

	f.spans = x->blocking;
	if (!beside && is_tail(x) &&
	    100 * (double)x->blocking_ns < MUCH_PCT * c->d->length_ns)
		f.alarm = NSX_ALARM_NONE;
	f.is_bound = c->on[1].n || is_tail(x);
	f.remedy = nsx_plan_of(c->d, (struct nsx_change){.verb = NSX_HIDE_COMM});
	f.title = nsx_tell(l, say_compute_waits, nsx_gpu_label(c->d->trace, device));
	f.evidence[0] = nsx_tell(l, say_compute_waits_begins_right,
		strcmp(all, part) ? nsx_tell(l, say_communication_exposed, part, all) :
				    nsx_tell(l, say_all_communication_exposed, all),
		strcmp(nsx_tell_ns(l, x->blocking_ns), part) ?
			nsx_tell(l, "%s of it", nsx_tell_ns(l, x->blocking_ns)) : "it",
		x->waited_ns * PART <= x->comm_ns ?
			"" :
			nsx_tell(l, say_waiting_late_ranks, nsx_tell_ns(l, x->waited_ns)));
	say_why(c, h, beside, &f);
	nsx_found(l, &f);
}

/* Whether enough of communication is transfer rather than waiting to be worth hiding. */
static bool is_transfer(const struct nsx_comm_cost *x)
{
	return (x->comm_ns - x->waited_ns) * PART >= x->comm_ns;
}

/* Prices a pipeline with more micro batches. Twice as many halve the waiting of the first and the
 * last stage, and pass on results twice as often. More than four times as many are not proposed:
 * with so many per stage little waiting is left (GPipe), and smaller ones may not fill a GPU.
 */
static int price_pieces(struct comm *c, int64_t turn_ns, struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_findings *l = c->d->found;
	double own_ns = 0, most_ns = 0, more = 0;
	struct nsx_gain gain;

	for (unsigned pieces = 1; pieces <= MOST_PIECES; pieces *= 2) {
		struct nsx_change v = {.verb = NSX_NO_PEER_WAIT, .most_ns = turn_ns,
				       .amount = pieces > 1 ? pieces : 0};
		double ns;

		if (nsx_replay_price(c->d->facts->model, &v, 1, &gain, err))
			return err->rc;
		/* 1 / amount of the waiting stays. The gain is smaller if the waiting that is
		 * removed first is hidden by compute.
		 */
		if (pieces == 1)
			own_ns = (double)gain.gain_ns;
		ns = own_ns * (1 - 1 / (double)pieces);
		if (pieces > 1 && (more <= 0 || NSX_MIN((double)gain.gain_ns, ns) > most_ns)) {
			most_ns = NSX_MIN((double)gain.gain_ns, ns);
			more = pieces;
			f->most_ns = ns;
			f->remedy = nsx_plan_of(c->d, v);
		}
	}
	f->title = say_stages_pipeline_wait_each;
	f->is_bound = false;
	f->evidence[1] = nsx_tell(l, say_priced_as_with_times_as, more);
	f->evidence[2] = nsx_tell(l, say_stages_wait_alike_most, more, more);
	f->evidence[3] = nsx_tell(l, say_no_schedule_can_win_more, nsx_text_ns(l->arena, own_ns));
	f->recommendation[0] = say_cut_batch_into_more;
	return 0;
}

/* Prices even work, if uneven work between collectives causes the waiting: each rank does the mean.
 * The usual remedy only removes the waits and leaves each rank the work that it has.
 */
static int price_shares(struct comm *c, struct nsx_finding *f, struct nsx_err *err)
{
	struct nsx_change share = {.verb = NSX_SHARE_WORK};
	struct nsx_plan plans[] = {f->remedy, {&share, 1}};
	struct nsx_gain gains[ARRAY_LEN(plans)];

	if (nsx_replay_prices(c->d->facts->model, plans, ARRAY_LEN(plans), 1, gains, err))
		return err->rc;
	if ((double)gains[1].gain_ns < BY_WORK * (double)gains[0].gain_ns)
		return 0;
	f->remedy = nsx_plan_of(c->d, share);
	f->title = say_ranks_wait_each_other_as;
	f->is_bound = false;
	f->evidence[1] = say_priced_as_if_kernels;
	f->recommendation[0] = say_give_all_ranks_as_much;
	return 0;
}

/* Proposes a remedy for waiting: the time in collectives in which a rank waits for the last one. */
static int propose_peers(struct comm *c, uint32_t device, struct nsx_err *err)
{
	struct nsx_detect *d = c->d;
	const struct nsx_comm_cost *x = &c->cost;
	struct nsx_finding f = {
		.id = NSX_ID_nccl_exposed, .subject = "waiting",
		.guess_ns = is_transfer(x) ? 0 : (double)x->blocking_ns,
		.remedy = nsx_plan_of(d, (struct nsx_change){.verb = NSX_NO_PEER_WAIT}),
		.title = say_ranks_wait_each_other, .device = device, .confidence = NSX_CONF_MEDIUM,
		.evidence = {nsx_tell(d->found, say_communication_on_gpu_not,
				     nsx_tell_ns(d->found, x->waited_ns),
				     nsx_tell_ns(d->found, x->comm_ns),
				     nsx_gpu_label(d->trace, device)),
			say_an_upper_bound_as_if},
		.is_bound = true,
		.recommendation = {say_even_out_when_they_arrive},
		.proof = {{.csv = "nccl_rank_skew",
			.column = "judged_waited_ms",
			.at = {{"op_name", nsx_string(x->waits_in)},
				{"rank_label", nsx_string(x->waits_most)}}}},
	};
	int64_t turn_ns = 0;

	if (!d->measured->comm[device].waited_ns)
		f.proof[0] = (struct nsx_evidence){.csv = "nccl_ops",
						   .column = "exposed_ms"};
	if (!is_transfer(x) &&
	    nsx_model_takes_turns(d->facts->model, device, d->scratch, &turn_ns, err))
		return err->rc;
	if (turn_ns ? price_pieces(c, turn_ns, &f, err) : price_shares(c, &f, err))
		return err->rc;
	nsx_found(d->found, &f);
	return 0;
}

static void say_hidden(struct nsx_detect *d, int64_t window_ns)
{
	const struct nsx_comm_cost *x = d->measured->worst_comm;

	if (x && part_by_whole(x->exposed_ns, window_ns) < LEAST_PCT)
		nsx_fine(d->found, say_communication_hidden_or, nsx_tell_ns(d->found, x->comm_ns),
			nsx_gpu_label(d->trace, (uint32_t)(x - d->measured->comm)),
			100 - part_by_whole(x->exposed_ns, x->comm_ns),
			part_by_whole(x->exposed_ns, window_ns));
}

/* Ranks that come late ------------------------------------------------------*/

/* Explains a late rank that has more work or a slow GPU. More work is shared out between two
 * collectives and not removed, unless sharing wins nothing, as when ranks take turns.
 */
static int price_work(struct nsx_detect *d, uint32_t device, struct nsx_finding *f,
		      struct nsx_err *err)
{
	const struct nsx_ledger *all = &d->measured->ledger;
	struct nsx_findings *l = d->found;
	struct nsx_change share = {.verb = NSX_SHARE_WORK};
	struct nsx_account row;
	struct nsx_ledger own;
	struct nsx_gain gain;
	struct nsx_paces paces;
	struct nsx_rival r;
	double times = 0;

	if (nsx_replay_price(d->facts->model, &share, 1, &gain, err) ||
	    nsx_find_paces(d->trace, d->w, NSX_NONE, d->scratch, &paces, err) ||
	    nsx_compare_paces(d->trace, &paces, device, d->scratch, &r, err) ||
	    nsx_ledger_build(d->facts, d->trace, &(struct nsx_booked){&d->w, 1, device},
			     d->scratch, &own, err))
		return err->rc;
	if (all->ngpus && own.n) {
		row = nsx_ledger_beyond(&own, all, 1.0 / all->ngpus).row;
		/* On a shared GPU another process's turns slow all kernels as well. */
		if (r.nslower >= LEAST_KERNELS && r.slower_ns >= MOST_TIME * r.all_ns &&
		    !nsx_is_shared(d->trace, device))
			times = r.own_ns / r.their_ns;
		if (times > 0)
			nsx_add_evidence(f, nsx_tell(l, say_kernels_take_times_as_long,
						     r.nslower, times,
						     nsx_gpu_label(d->trace, device)));
		else if (row.ns > 0)
			nsx_add_evidence(f, nsx_tell(l, say_most_extra_time_gpu_more,
				nsx_gpu_label(d->trace, device),
				nsx_account_words(d->facts, &row, l->arena),
				nsx_tell_ns(l, row.ns)));
	}
	f->recommendation[0] = times > 0 ? say_advice_on_slow : say_advice_on_work;
	if (!(times > 0) && gain.gain_ns > 0) {
		f->remedy = nsx_plan_of(d, share);
		nsx_add_evidence(f, say_priced_as_if_kernels_gpu);
	}
	return 0;
}

static const char *advise_on_lateness(struct nsx_detect *d, const struct nsx_arrivals *x)
{
	static const struct {
		const char *what, *why;
	} by[] = {[NSX_LATE_BY_NONE] = {"what", say_uneven_work_slower_gpu_or},
		[NSX_LATE_BY_WORK] = {say_what_gpu, say_uneven_work_or_slower_gpu},
		[NSX_LATE_BY_COPIES] = {say_what_gpu, say_copies_more_or_more_slowly},
		[NSX_LATE_BY_HOST] = {say_what_host, say_code_input_waits_other}};

	return nsx_tell(d->found, say_look_at_does_before, by[x->by].what, x->late, by[x->by].why);
}

/* "VLLM::Worker_TP2 (pid:113)", or "pid:113" if another process has the same title. */
static const char *say_rank(const struct nsx_detect *d, const struct nsx_arrivals *x)
{
	const struct nsx_trace *t = d->trace;
	nsx_str title = t->process[x->process].name;

	for (uint32_t i = 0; i < t->nprocesses; i++)
		if (i != x->process && t->process[i].name == title)
			return x->late;
	return title ? nsx_tell(d->found, "%s (%s)", nsx_tell_name(d->found, nsx_text(t, title)),
				x->late) : x->late;
}

static int propose_even(struct nsx_detect *d, const struct nsx_arrivals *x, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_nccl_straggler,
		.remedy = nsx_plan_of(d, (struct nsx_change){.verb = NSX_EVEN_RANK,
						 .by = NSX_BY_PROCESS | NSX_BY_DEVICE,
						 .process = x->process,
						 .device = x->device}),
		.confidence = NSX_CONF_HIGH,
		.also = x->by == NSX_LATE_BY_COPIES ? 1u << NSX_CAT_MEMORY : 0,
		.subject = nsx_tell(l, "%s/%s", x->op, x->late),
		.title = nsx_tell(
			l, say_comes_late_others_wait, say_rank(d, x), nsx_tell_name(l, x->op)),
		.proof = {{.csv = "nccl_rank_skew",
			.column = "induced_ms",
			.at = {{"op_name", nsx_string(x->op)},
				{"rank_label", nsx_string(x->late)}}}},
	};

	f.evidence[0] = x->cause ? nsx_tell(l, "%s (%.0f %% of the lateness)", x->cause,
					   100 * x->cause_share) :
				   say_no_single_cause_explains;
	f.evidence[1] = nsx_tell(l, say_last_arrive_collectives, x->nlast, x->nlate,
		nsx_tell_ns(l, x->least_late_ns), nsx_text_ns(l->arena, x->wait_ns));
	f.evidence[2] = nsx_tell(l, say_whole_trace_they_wait,
		nsx_text_ns(l->arena, x->all_wait_ns), nsx_tell_ns(l, x->transfer_ns), x->p_value);
	f.recommendation[0] = advise_on_lateness(d, x);
	if (x->by == NSX_LATE_BY_WORK && price_work(d, x->device, &f, err))
		return err->rc;
	for (size_t i = 0; i < x->nwaits; i++) {
		f.device = x->waits[i].device;
		f.spans = x->waits[i].spans;
		nsx_found(l, &f);
	}
	return 0;
}

static int judge_arrivals(struct nsx_detect *d, const struct nsx_arrivals *x, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	const char *name = nsx_tell_name(l, x->op);

	if (x->is_proved)
		return propose_even(d, x, err);
	if (x->nlate)
		nsx_fine(l, "No persistent straggler in %s: %s comes last in "
			    "%zu of %zu instances (p = %.2g) and induces %s of "
			    "waiting; " NSX_LATE_RULE ".", name, x->late, x->nlast, x->nlate,
			 x->p_value, nsx_text_ns(l->arena, x->wait_ns));
	return 0;
}

/* How long communication of a device waits in the judged window for ranks that come later: the
 * greater of the time measured in matched collectives and the time replayed between any ranks,
 * scaled to the window. measured->comm must not be NULL.
 */
static int64_t waited_ns(const struct nsx_detect *d, uint32_t device)
{
	const struct nsx_comm_cost *x = &d->measured->comm[device];
	const struct nsx_model *m = d->facts->model;
	double scale = 1;

	if (nsx_model_closure(m)->is_part)
		scale = d->length_ns / (double)nsx_model_closure(m)->recorded_ns;
	return NSX_MAX(x->waited_ns, NSX_MIN((int64_t)((double)nsx_model_waited(m, device) * scale),
					     x->comm_ns));
}

/* Judges the communication that compute waits for on a device. */
static int judge_device(struct comm *c, uint32_t device, int64_t window_ns, struct nsx_err *err)
{
	const struct nsx_comm_cost *x = &c->cost;

	c->cost = c->d->measured->comm[device];
	c->cost.waited_ns = waited_ns(c->d, device);
	if (part_by_whole(x->waited_ns, window_ns) >= LEAST_PCT && propose_peers(c, device, err))
		return err->rc;
	if (part_by_whole(x->blocking_ns, window_ns) < LEAST_PCT || !is_transfer(x))
		return 0;
	if (find_habits(c, device, err))
		return err->rc;
	propose_overlap(c, device, c->on[1].n && !c->on[0].n);
	return 0;
}

int nsx_detect_comm(struct nsx_detect *d, struct nsx_err *err)
{
	const struct nsx_measured *m = d->measured;
	int64_t window_ns = d->w.end_ns - d->w.start_ns;
	struct comm c = {.d = d};

	if (m->comm)
		mark_computing_streams(&c);
	for (const struct nsx_arrivals *x = m->arrivals; x; x = x->next)
		if (judge_arrivals(d, x, err))
			return err->rc;
	for (uint32_t i = 0; m->comm && i < d->facts->ndevices; i++)
		if (judge_device(&c, i, window_ns, err))
			return err->rc;
	say_hidden(d, window_ns);
	return 0;
}
