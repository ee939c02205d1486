/* prop_verdict.c - properties that the verdict of every trace must have.
 *
 * usage: prop_verdict FOLDER|TRACE...
 *
 * - The six classes of a device add up to the window.
 * - The idle pieces of a device touch within a gap and add up to its idle time.
 * - The rows of the critical path add up to the window of the limiting GPU.
 * - There are at most ten findings, and their disjoint headrooms do not exceed that window.
 * - Iterations of one device do not overlap.
 *
 * These are checked for the whole trace and for its middle third.
 */
#include <inttypes.h>
#include "facts/ledger.h"
#include "passes/pass.h"
#include "each_trace.h"

/* The time in which a device runs operations, which come in order of start. */
static int64_t busy_ns(const struct nsx_trace *t, const struct nsx_device *d)
{
	int64_t until = INT64_MIN, ns = 0;

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		int64_t a = NSX_MAX(until, nsx_op_start(&t->ops, i));
		int64_t b = nsx_op_end(&t->ops, i);

		if (b > a)
			ns += b - a;
		until = NSX_MAX(until, b);
	}
	return ns;
}

static void check_device(const struct nsx_trace *t, const struct nsx_facts *f, uint32_t d)
{
	const struct nsx_window *w = &t->window;
	const struct nsx_idle *idle = &f->idle[d];
	int64_t length = w->end_ns - w->start_ns, sum = 0, ns = 0;
	int64_t last_ns = w->start_ns;
	struct nsx_partition p;

	nsx_partition(&f->device[d], w->start_ns, w->end_ns, &p);
	for (unsigned c = 0; c < NSX_NPARTS; c++)
		sum += p.ns[c];
	check(sum == length, "classes and window", (double)sum, (double)length);
	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_idle_piece x = nsx_idle_at(idle, i);

		ns += x.end_ns - x.start_ns;
		check(x.start_ns >= w->start_ns && x.end_ns <= w->end_ns,
		      "idle piece outside the window", (double)x.start_ns, (double)x.end_ns);
		check(x.start_ns >= last_ns && x.end_ns > x.start_ns,
		      "idle pieces overlap or are empty", (double)x.start_ns, (double)last_ns);
		last_ns = x.end_ns;
	}
	check(ns == p.ns[NSX_P_IDLE], "idle pieces and idle time", (double)ns,
	      (double)p.ns[NSX_P_IDLE]);
	sum = length - busy_ns(t, &t->device[d]);
	check(ns == sum, "idle pieces and gaps", (double)ns, (double)sum);
	check(ns == nsx_idle_total(idle), "idle pieces and their total",
	      (double)ns, (double)nsx_idle_total(idle));
}

/* Checks that the ledger has every moment of the judged window once, in the partition's class. */
static void check_ledger(const struct nsx_trace *t, const struct nsx_facts *f)
{
	struct nsx_window w = nsx_judged(f);
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_partition sum = {{0}};
	struct nsx_ledger l;
	struct nsx_err err;
	int64_t rows = 0;

	if (nsx_ledger_build(f, t, &(struct nsx_booked){&w, 1, NSX_NONE}, a, &l, &err))
		check(false, err.msg, 0, 0);
	for (uint32_t d = 0; d < f->ndevices && w.start_ns < w.end_ns; d++) {
		struct nsx_partition p;

		nsx_partition(&f->device[d], w.start_ns, w.end_ns, &p);
		for (unsigned c = 0; c < NSX_NPARTS &&
				     p.ns[NSX_P_IDLE] < w.end_ns - w.start_ns; c++)
			sum.ns[c] += p.ns[c];
	}
	for (size_t i = 0; i < l.n; i++)
		rows += l.v[i].ns;
	check(rows == l.total_ns, "accounts and their sum", (double)rows, (double)l.total_ns);
	check(l.total_ns == l.ngpus * (w.end_ns - w.start_ns), "ledger and window",
	      (double)l.total_ns, (double)(l.ngpus * (w.end_ns - w.start_ns)));
	check(l.ns[NSX_L_COMPUTE] == nsx_computing_ns(sum.ns), "computing",
	      (double)l.ns[NSX_L_COMPUTE], (double)nsx_computing_ns(sum.ns));
	check(l.ns[NSX_L_COMM] == sum.ns[NSX_P_COMM_EXPOSED], "exposed communication",
	      (double)l.ns[NSX_L_COMM], (double)sum.ns[NSX_P_COMM_EXPOSED]);
	check(l.ns[NSX_L_COPY] == sum.ns[NSX_P_COPY_EXPOSED], "exposed copies",
	      (double)l.ns[NSX_L_COPY], (double)sum.ns[NSX_P_COPY_EXPOSED]);
	check(l.ns[NSX_L_IDLE] == sum.ns[NSX_P_IDLE], "idle time booked",
	      (double)l.ns[NSX_L_IDLE], (double)sum.ns[NSX_P_IDLE]);
	nsx_arena_free(a);
}

static void check_iterations(const struct nsx_facts *f)
{
	for (size_t i = 0; i < f->niterations; i++) {
		const struct nsx_iteration *x = &f->iterations[i];

		check(x->start_ns <= x->end_ns, "iteration ends before it "
		      "begins", (double)x->start_ns, (double)x->end_ns);
		check(i == 0 || x[-1].device != x->device ||
			      x[-1].process != x->process ||
			      x[-1].end_ns <= x->start_ns,
		      "iterations overlap", (double)x->start_ns, (double)x[i ? -1 : 0].end_ns);
	}
}

static void check_path(const struct nsx_report *r, int64_t length)
{
	const struct nsx_section *s = nsx_report_section(r, "critical_path");
	const struct nsx_table *t = nsx_section_table(s, "suspects");
	int64_t sum = 0;

	if (s->status != NSX_S_ANSWERED)
		return;
	for (size_t i = 0; i < t->nrows; i++)
		sum += llround(nsx_table_number(t, i, "total_ms") * 1e6);
	/* Above 2^53 ns (104 days) a double in milliseconds is no longer exact to the nanosecond.
	 */
	check(sum == length || length > INT64_C(1) << 52,
	      "rows of the path and window", (double)sum, (double)length);
}

/* Checks the severity of a finding. It may be lower than the gain suggests: a start-up is paid
 * once, the gain of less waiting is unsure while another program uses the GPU, and input may
 * come from outside of the trace.
 */
static void check_severity(const struct nsx_report *r, const struct nsx_finding *f, bool shared,
			   double length)
{
	if (f->alarm == NSX_ALARM_SET)
		return;
	if (r->facts->run_kind == NSX_RUN_START_UP || f->alarm == NSX_ALARM_NONE)
		check(f->severity == NSX_SEV_LOW, "an alarm over a start-up, or a quiet one",
		      f->severity, 0);
	else
		check(fmin(f->disjoint_ns, f->headroom_ns) < 0.1 * length ||
			      f->price < NSX_PRICE_MEASURED ||
			      f->low_ns < 0.1 * f->headroom_ns ||
			      (shared && f->confidence == NSX_CONF_LOW) ||
			      f->severity == (f->alarm == NSX_ALARM_MEDIUM ? NSX_SEV_MEDIUM :
							     NSX_SEV_HIGH),
		      "not high with a tenth of the window, or for input", f->disjoint_ns, length);
}

static void check_findings(const struct nsx_report *r, int64_t length)
{
	double sum = 0;
	size_t n = 0;
	bool shared = false;

	for (size_t i = 0; i < r->found.n; i++)
		shared = shared || r->found.v[i].id == NSX_ID_gpu_shared;
	for (size_t i = 0; i < r->found.n; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		check(f->key != NULL, "a finding without a key", (double)i, 0);
		for (size_t k = 0; k < i; k++)
			check(strcmp(r->found.v[k].key, f->key) != 0,
			      "two findings of one key", (double)k, (double)i);
		if (f->is_minor)
			continue;
		n++;
		sum += f->disjoint_ns;
		check(f->low_ns <= f->high_ns && f->headroom_ns >= 0,
		      "range of a price", f->low_ns, f->high_ns);
		check_severity(r, f, shared, (double)length);
		check(i == 0 || f[-1].severity >= f->severity ||
			      nsx_finding_category(f) == NSX_CAT_CAPTURE,
		      "order of severity", (double)i, 0);
	}
	check(n <= NSX_MAX_FINDINGS, "too many findings", (double)n, NSX_MAX_FINDINGS);
	check(sum <= (double)length * (1 + 1e-12),
	      "disjoint headrooms and window", sum, (double)length);
}

static int check_run(const struct nsx_schema *schema, const char *path,
		     const char *window, struct nsx_window *ret_full, struct nsx_err *err)
{
	struct nsx_progress progress = {.stage = NULL};
	struct nsx_opts opts = {NSX_OPTS_DEFAULT, .path = path,
				.window = window, .threads = 2,
				.progress = &progress};
	struct nsx_report *r = NULL;
	int rc = nsx_report_make(schema, &opts, &r, err);

	if (!rc) {
		const struct nsx_trace *t = r->trace;
		const struct nsx_facts *f = r->facts;
		struct nsx_window w = nsx_judged(f);

		*ret_full = t->full;
		for (uint32_t d = 0; d < t->ndevices; d++)
			check_device(t, f, d);
		check_ledger(t, f);
		check_iterations(f);
		check(w.start_ns == w.end_ns ||
			      (w.start_ns >= t->window.start_ns &&
			       w.end_ns <= t->window.end_ns),
		      "steady window outside the window", (double)w.start_ns, (double)w.end_ns);
		check_path(r, w.end_ns - w.start_ns);
		check_findings(r, w.end_ns - w.start_ns);
	}
	nsx_report_free(r);
	return rc;
}

static void check_trace(const char *path)
{
	struct nsx_schema schema;
	struct nsx_window full = {0, 0};
	struct nsx_err err;
	char window[64];
	int64_t third;

	snprintf(subject, sizeof(subject), "%s", path);
	traces++;
	if (nsx_schema_open(path, &schema, &err)) {
		printf("%s: %s\n", path, err.msg);
		failures++;
		return;
	}
	check(!check_run(&schema, path, NULL, &full, &err), "cannot be explained", 0, 0);
	third = (full.end_ns - full.start_ns) / 3;
	snprintf(window, sizeof(window), "%" PRId64 "ns..%" PRId64 "ns",
		 full.start_ns + third, full.end_ns - third);
	snprintf(subject, sizeof(subject), "%s, window %s", path, window);
	if (third && full.start_ns >= 0)
		check(!check_run(&schema, path, window, &full, &err), "cannot be explained", 0, 0);
	nsx_schema_close(&schema);
}
