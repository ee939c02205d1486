/* on_cpu.c - what other threads do while the launching thread is off its CPU, as far as
 * the scheduler's rows tell: one that is on a CPU most of that time, and goes off when it
 * ends, is what it waits for.  One that is on a CPU all along, or goes off so often that it
 * does at any time, tells nothing.
 */
#include <stdlib.h>
#include "detect/host.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

#define MUCH 0.1     /* of the window, that the thread waits                 */
#define MOSTLY 0.75  /* of that, another one is on a CPU, and ends it        */
#define HARDLY 0.5   /* of that, it is on a CPU itself: it does not wait     */
#define OFTEN 0.5    /* of that, near which it goes off: chance ends waits so */
enum {
	WAIT_NS = 50000, /* a stretch between calls this long is looked at   */
	LATE_NS = 50000, /* so near a thread goes off its CPU and another wakes up */
};

static const enum nsx_field fields[] = {
	NSX_FIELDS(sched, start_ns, is_sched_in, global_tid)};

struct others {
	uint32_t waiter; /* the thread that launches most of what the limiting
			    GPU does                                         */
	int64_t ns, on_ns; /* between its calls; of that, the other is on a CPU */
	struct nsx_row_list ends; /* calls that end these stretches          */
	uint64_t thread; /* the other: global id; 0: there is none, or they are
			    no waits                                         */
};

struct turn { /* of a thread */
	bool is_on;
	int64_t since_ns;
	int64_t on_ns, ends_ns; /* in waits; of those that end as it goes off */
	int64_t near_ns; /* in waits, near the times at which it goes off    */
	size_t ended; /* waits that are counted                              */
};

struct reader {
	const struct nsx_trace *t;
	uint64_t process;
	const struct nsx_spans *waits;
	int64_t *prefix;
	struct nsx_groups threads; /* by global id                           */
	struct turn *turn;
};

/* The rows come nearly in order; what does not is passed over. */
static void add_turn(const struct reader *r, struct turn *x, int64_t end_ns)
{
	size_t from = nsx_spans_find(r->waits, end_ns - LATE_NS - 1);
	size_t to = nsx_spans_find(r->waits, end_ns + LATE_NS);

	nsx_add_to(&x->on_ns, nsx_spans_within(r->waits, r->prefix, x->since_ns,
					       end_ns));
	nsx_add_to(&x->near_ns, nsx_spans_within(r->waits, r->prefix, end_ns - LATE_NS,
						 end_ns + LATE_NS));
	from = NSX_MAX(from, x->ended);
	if (from >= to)
		return;
	nsx_add_to(&x->ends_ns, nsx_spans_first(r->waits, r->prefix, to) -
				nsx_spans_first(r->waits, r->prefix, from));
	x->ended = to;
}

static int on_switch(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		     struct nsx_err *err)
{
	struct reader *r = ctx;
	uint64_t thread = (uint64_t)v[2].u.i;
	struct turn *x;

	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_I64 ||
	    v[2].type != NSX_V_I64 || nsx_process_key(thread) != r->process)
		return 0;
	x = nsx_group_value(&r->threads, &r->turn, thread, 0, "threads", err);
	if (!x)
		return err->rc;
	if (x->is_on && !v[1].u.i && v[0].u.i > x->since_ns)
		add_turn(r, x, v[0].u.i);
	if (!x->is_on || !v[1].u.i)
		x->since_ns = v[0].u.i;
	x->is_on = v[1].u.i;
	return 0;
}

/* The stretches between its calls, and the calls that follow them. */
static int list_waits(struct nsx_detect *d, struct others *x,
		      struct nsx_spans *waits, struct nsx_err *err)
{
	const struct nsx_calls *c = &d->trace->calls;
	const struct nsx_thread *th = &d->trace->thread[x->waiter];
	int64_t last_ns = INT64_MAX - WAIT_NS; /* at first none */

	if (!nsx_new_array(waits->v, d->scratch, th->ncalls, "waits", err))
		return err->rc;
	for (uint32_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
		int64_t start_ns = nsx_call_start(c, i);

		if (c->flags[i] & NSX_CALL_NESTED)
			continue;
		if (nsx_is_judged(d, start_ns) && start_ns >= WAIT_NS + last_ns) {
			nsx_spans_push(waits, last_ns, start_ns);
			if (nsx_list_row(&x->ends, i, err))
				return err->rc;
		}
		last_ns = nsx_call_end(c, i);
	}
	x->ns = nsx_spans_total(waits);
	return 0;
}

struct returning { /* of the launching thread to its CPU */
	uint64_t thread;
	const struct nsx_spans *waits;
	int64_t *at_ns; /* by wait: the last; 0: none                        */
};

static int on_return(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		     struct nsx_err *err NSX_UNUSED)
{
	struct returning *x = ctx;
	size_t i;

	if (v[0].type != NSX_V_I64 || v[1].type != NSX_V_I64 || !v[1].u.i ||
	    v[2].type != NSX_V_I64 || (uint64_t)v[2].u.i != x->thread)
		return 0;
	i = nsx_spans_find(x->waits, v[0].u.i);
	if (i < x->waits->n && v[0].u.i > x->waits->v[i].start_ns)
		x->at_ns[i] = v[0].u.i;
	return 0;
}

/* Waits end when the thread is on its CPU again: what it does from then on is its own. */
static int end_waits(struct nsx_detect *d, struct others *x, struct nsx_spans *waits,
		     struct nsx_err *err)
{
	struct returning r = {d->trace->thread[x->waiter].global_tid, waits, NULL};

	if (!nsx_new_array(r.at_ns, d->scratch, waits->n, "waits", err) ||
	    nsx_view_scan(d->trace->schema, NSX_VIEW_sched, fields, ARRAY_LEN(fields),
			  1, on_return, &r, 0, err))
		return err->rc;
	for (size_t i = 0; i < waits->n; i++)
		waits->v[i].end_ns = r.at_ns[i] ?: waits->v[i].end_ns;
	x->ns = nsx_spans_total(waits);
	return 0;
}

static void choose(const struct reader *r, struct others *x)
{
	const struct nsx_trace *t = r->t;
	double all_ns = (double)x->ns;

	for (size_t i = 0; i < r->threads.n; i++) {
		uint64_t id = nsx_group_key(&r->threads, i).a;
		uint32_t known = nsx_thread_find(t, id);
		const struct turn *v = &r->turn[i];

		if (known == x->waiter && (double)v->on_ns > HARDLY * all_ns) {
			x->thread = 0;
			return;
		}
		if (known == x->waiter ||
		    (known != NSX_NONE && t->thread[known].launches) ||
		    (double)v->on_ns < MOSTLY * all_ns ||
		    (double)v->near_ns > OFTEN * all_ns ||
		    (double)v->ends_ns < MOSTLY * all_ns || v->on_ns <= x->on_ns)
			continue;
		x->thread = id;
		x->on_ns = v->on_ns;
	}
}

static int find_others(struct nsx_detect *d, struct others *x, struct nsx_err *err)
{
	struct reader r = {.t = d->trace};
	struct nsx_spans waits = {0};
	int rc;

	if (list_waits(d, x, &waits, err))
		return err->rc;
	if ((double)x->ns < MUCH * (double)(d->w.end_ns - d->w.start_ns))
		return 0;
	if (end_waits(d, x, &waits, err) ||
	    nsx_spans_prefix(d->scratch, &waits, &r.prefix, err))
		return err->rc;
	r.waits = &waits;
	r.process = nsx_process_key(d->trace->thread[x->waiter].global_tid);
	rc = nsx_view_scan(d->trace->schema, NSX_VIEW_sched, fields,
			   ARRAY_LEN(fields), 1, on_switch, &r, 0, err);
	if (!rc)
		choose(&r, x);
	nsx_groups_done(&r.threads);
	free(r.turn);
	return rc;
}

struct naming {
	uint64_t thread;
	int64_t name; /* text id; -1                                         */
};

static int on_name(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		   struct nsx_err *err NSX_UNUSED)
{
	struct naming *x = ctx;

	if (v[0].type == NSX_V_I64 && (uint64_t)v[0].u.i == x->thread)
		x->name = nsx_i64_or(&v[1], -1);
	return 0;
}

/* Its name, else its number.  NULL: err says why. */
static const char *name_thread(struct nsx_detect *d, uint64_t thread,
			       struct nsx_err *err)
{
	struct naming x = {thread, -1};
	const char *text = NULL;

	if (nsx_view_each(d->trace->schema, thread_name, on_name, &x, err,
			  global_tid, name) ||
	    nsx_view_strings(d->trace->schema, &x.name, 1, &text, d->scratch, err))
		return NULL;
	return text ? nsx_tell_name(d->found, nsx_thread_label(text)) :
		      nsx_tell(d->found, "%lld", (long long)nsx_tid_of(thread));
}

static int propose(struct nsx_detect *d, struct others *x, struct nsx_err *err)
{
	struct nsx_findings *l = d->found;
	struct nsx_finding f = {
		.id = NSX_ID_idle_by_os_wait, .subject = "others", .device = NSX_NONE,
		.confidence = NSX_CONF_MEDIUM, .is_bound = true,
		.guess_ns = (double)x->ns,
		.proof = {{.csv = "cpu_threads", .column = "on_cpu_ms"}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_NO_OS_WAIT,
			.rows = nsx_keep_rows(d, x->ends.v, x->ends.n)})};
	const char *name = name_thread(d, x->thread, err);

	if (!name)
		return err->rc;
	f.title = nsx_tell(l, "the launching thread is off its CPU while thread %s is "
			   "on one%s", name,
			   nsx_say_alone(d, d->trace->thread[x->waiter].process));
	f.evidence[0] = nsx_tell(
		l, "%s between its CUDA calls, %s in all; thread %s is on a CPU for %s "
		"of that, and goes off as most of them end",
		nsx_text_n(l->arena, x->ends.n, "stretch", "stretches"),
		nsx_tell_ns(l, x->ns), name, nsx_tell_ns(l, x->on_ns));
	f.evidence[1] = "that it waits for that thread is likely, and not in the trace";
	f.recommendation[0] = nsx_tell(
		l, "have what thread %s makes ready before it is needed: more than one "
		"step ahead, on several threads, or make it faster", name);
	f.recommendation[1] = "to see what it waits for: trace calls of the operating "
			      "system (--trace=osrt)";
	nsx_found(l, &f);
	return 0;
}

int host_seek_others(struct nsx_detect *d, bool is_told, bool *ret, struct nsx_err *err)
{
	struct others x = {.waiter = NSX_NONE};
	int rc = 0;

	if (d->facts->limiting != NSX_NONE &&
	    nsx_has_view(d->trace->schema, NSX_VIEW_sched))
		x.waiter = nsx_launcher(d);
	if (x.waiter != NSX_NONE)
		rc = find_others(d, &x, err);
	*ret = !rc && x.thread;
	if (*ret && is_told)
		rc = propose(d, &x, err);
	free(x.ends.v);
	return rc;
}
