/* nccl.c - communication kernels: totals by operation, process and rank, the part hidden by
 * compute, and late ranks.
 */
#include <stdlib.h>
#include <string.h>
#include "passes/comm/nccl.h"
#include "passes/comm/nccl_tables.h"

#define MAX_TOLD 5 /* Markdown names at most this many operations */

enum { L_OPS, L_RANKS, L_PIDS, L_WINDOWS, L_DEVICES, L_MATCHES,
       L_MESSAGES };
static const struct nsx_layout layouts[] = {
	[L_OPS] = {.key = "ops", .csv = "nccl_ops", NSX_COLS(nccl_op_cols)},
	[L_RANKS] = {.key = "rank_rows", .csv = "nccl_rank_skew",
		     NSX_COLS(nccl_rank_cols)},
	[L_PIDS] = {.key = "pids", .csv = "nccl_by_pid",
		    NSX_COLS(nccl_pid_cols)},
	[L_WINDOWS] = {.key = "windows", NSX_COLS(nccl_window_cols),
		       .json_rows = NCCL_MAX_WINDOWS},
	[L_DEVICES] = {.key = "devices", NSX_COLS(nccl_device_cols)},
	[L_MATCHES] = {.key = "collectives", NSX_COLS(nccl_match_cols)},
	[L_MESSAGES] = {.key = "messages", NSX_COLS(nccl_message_cols)},
};

/* Operations -------------------------------------------------------------*/

/* Lists the device ordinals of a group: "0,1". */
static const char *list_group_devices(struct nccl_comm *c, const struct nccl_group *g)
{
	const char *text = "";
	uint32_t *v;

	nsx_few(v, c->run->scratch, g->nranks);
	for (size_t i = 0; i < g->nranks; i++)
		v[i] = c->ranks[g->rank_at + i].device;
	nsx_sort(v, g->nranks, sizeof(*v), nsx_cmp_u32);
	for (size_t i = 0; i < g->nranks; i++)
		if (!i || v[i] != v[i - 1])
			text = nsx_say(c->out, "%s%s%s", text, i ? "," : "",
				       nsx_ordinal_label(c->run->trace, v[i]));
	return text;
}

static void fill_operation_row(struct nccl_comm *c, const struct nccl_group *g,
			       struct nsx_table *table)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	const struct nccl_rank *late = nccl_latest(r, g->nranks);
	const struct nccl_rank *waiting = nccl_waits_most(r, g->nranks);
	struct nsx_cell *row = nsx_add_row(table);

	if (g->nranks == 1)
		late = r;
	row[NCCL_OP] = nsx_string(g->name);
	row[NCCL_RAW] = nsx_string(nsx_text(c->run->trace, g->raw));
	row[NCCL_SOURCE] = nsx_string("kernel");
	row[NCCL_COUNT] = nsx_int((int64_t)g->count);
	row[NCCL_TOTAL] = nsx_ms(g->total_ns);
	row[NCCL_MAX] = nsx_ms(g->max_ns);
	row[NCCL_AVG] = nsx_mean_us(g->total_ns, (int64_t)g->count);
	row[NCCL_OVERLAP] = nsx_ms(g->overlap_ns);
	row[NCCL_OVERLAP_PCT] = nsx_part_pct(g->overlap_ns, g->total_ns);
	if (late) {
		row[NCCL_STRAGGLER] = nsx_string(late->label);
		row[NCCL_STRAGGLER_TOTAL] = nsx_ms(late->total_ns);
		row[NCCL_STRAGGLER_MAX] = nsx_ms(late->max_ns);
	}
	row[NCCL_EXPOSED] = nsx_ms(g->exposed_ns);
	row[NCCL_DEVICES] = nsx_string(list_group_devices(c, g));
	if (waiting)
		row[NCCL_WAITING] = nsx_string(waiting->label);
}

static void nccl_fill_pids(struct nccl_comm *c, struct nsx_table *table)
{
	const struct nsx_trace *t = c->run->trace;
	struct by_pid {
		int64_t total_ns, max_ns, top_ns;
		size_t count;
		const char *top;
	} *v;

	nsx_few(v, c->run->scratch, t->nprocesses);
	for (size_t g = 0; g < c->ngroups; g++) {
		const struct nccl_group *x = &c->groups[g];
		int64_t sum_ns = 0;

		for (size_t i = 0; i < x->nranks; i++) {
			const struct nccl_rank *r = &c->ranks[x->rank_at + i];
			struct by_pid *p = &v[r->process];

			if (!i || r[-1].process != r->process)
				sum_ns = 0;
			nsx_add_to(&sum_ns, r->total_ns);
			nsx_add_to(&p->total_ns, r->total_ns);
			p->count += r->count;
			p->max_ns = NSX_MAX(p->max_ns, r->max_ns);
			if (!p->top || sum_ns > p->top_ns ||
			    (sum_ns == p->top_ns &&
			     strcmp(x->name, p->top) < 0)) {
				p->top = x->name;
				p->top_ns = sum_ns;
			}
		}
	}
	for (uint32_t i = 0; i < t->nprocesses; i++) {
		struct nsx_cell *row;

		if (!v[i].top)
			continue;
		row = nsx_add_row(table);
		row[NCCL_PID] = nsx_pid_cell(t, i);
		row[NCCL_PID_TOTAL] = nsx_ms(v[i].total_ns);
		row[NCCL_PID_COUNT] = nsx_int((int64_t)v[i].count);
		row[NCCL_PID_MAX] = nsx_ms(v[i].max_ns);
		row[NCCL_PID_TOP] = nsx_string(v[i].top);
	}
}

/* The run ----------------------------------------------------------------*/

NSX_ORDER(cmp_group, struct nccl_group, DOWN(total_ns), TEXT(name));

/* The rank for which the others wait most; NULL: none. */
static const struct nccl_rank *latest_rank_of(const struct nccl_match *m)
{
	return m->late == NSX_NONE ? NULL : &m->ranks[m->late];
}

/* Whether ranks wait longer for the late rank of a than for that of b. With equal times, the match
 * with more instances comes first.
 */
static bool is_longer_wait(const struct nccl_match *a, const struct nccl_match *b)
{
	const struct nccl_rank *x = latest_rank_of(a), *y = latest_rank_of(b);

	if (a->proved != b->proved)
		return a->proved;
	if (x && y && x->kept_induced_ns != y->kept_induced_ns)
		return x->kept_induced_ns > y->kept_induced_ns;
	return a->n > b->n;
}

static int nccl_match_group(struct nccl_comm *c, const struct nccl_group *g,
			    struct nccl_match **ret, size_t *ret_n, struct nsx_err *err)
{
	size_t n = 0;

	for (size_t k = 0; k < c->ncircles; k++)
		n += c->circles[k].kind == g->kind;
	nsx_few(*ret, c->run->scratch, n);
	*ret_n = n;
	n = 0;
	for (size_t k = 0; k < c->ncircles; k++) {
		struct nccl_match *m = &(*ret)[n];

		if (c->circles[k].kind != g->kind)
			continue;
		if (nccl_match(c, g, &c->circles[k], m, err))
			return err->rc;
		if (m->proved)
			nccl_find_cause(m);
		nccl_add_lateness(c->ranks + g->rank_at, g, m);
		n++;
	}
	return 0;
}

/* Fills the table of matches for one circle, a set of ranks that communicate only with each other.
 */
static int fill_matches(struct nccl_comm *c, const struct nccl_group *g,
			const struct nccl_match *v, size_t n, bool is_told,
			struct nccl_costs *costs, struct nsx_table *table, struct nsx_err *err)
{
	const struct nccl_match *longest = v;

	for (size_t k = 1; k < n; k++)
		if (is_longer_wait(&v[k], longest))
			longest = &v[k];
	for (size_t k = 0; k < n; k++) {
		bool tells = (is_told && k < MAX_TOLD) || v[k].proved;
		bool is_judged = tells && nccl_say_match(c, g, &v[k], n > 1);

		nccl_fill_match(g, &v[k], table);
		if ((v[k].proved ? !v[k].waits_too :
				   is_judged && &v[k] == longest) &&
		    nccl_tell_arrivals(costs, g, &v[k], err))
			return err->rc;
	}
	return 0;
}

static int nccl_fill_groups(struct nccl_comm *c, struct nccl_costs *costs,
			    struct nsx_table **tables, struct nsx_err *err)
{
	size_t alone = 0;

	nsx_sort(c->groups, c->ngroups, sizeof(*c->groups), cmp_group);
	for (size_t i = 0; i < c->ngroups; i++) {
		const struct nccl_group *g = &c->groups[i];
		const struct nccl_rank *r = c->ranks + g->rank_at;
		struct nccl_match *v;
		size_t n = 0;

		if (nccl_match_group(c, g, &v, &n, err))
			return err->rc;
		for (size_t k = 0; k < g->nranks; k++) {
			struct nccl_cost *x = &costs->v[r[k].device];
			const struct nccl_rank *most = x->waits_most;

			nsx_add_to(&x->judged_waited_ns, r[k].judged_waited_ns);
			if (r[k].judged_waited_ns > (most ? most->judged_waited_ns : 0)) {
				x->waits_most = &r[k];
				x->waits_in = g->name;
			}
		}
		fill_operation_row(c, g, tables[L_OPS]);
		nccl_fill_ranks(c, g, tables[L_RANKS]);
		alone += g->nranks == 1;
		if (i < MAX_TOLD)
			nccl_say_unmatched(c, g);
		if (fill_matches(c, g, v, n, i < MAX_TOLD, costs, tables[L_MATCHES], err))
			return err->rc;
	}
	if (alone)
		nsx_note(c->out, "%s, so no rank can be late; the column straggler names this "
			 "rank", nsx_text_n(c->out->arena, alone, "operation has one participant",
					    "operations have one participant each"));
	return 0;
}

static int fill_collectives(struct nccl_comm *c, struct nsx_table **tables, struct nsx_err *err)
{
	struct nccl_costs costs = {.run = c->run, .out = c->out,
				   .end = &c->run->measured->arrivals};

	if (nccl_collect(c, err))
		return err->rc;
	if (!c->n) {
		nsx_note(c->out, "no communication kernel ran%s",
			 c->run->trace->nreplays ? "; the contents of graphs "
			 "traced as a whole are not known" : "");
		return 0;
	}
	if (nccl_find_circles(c, err) ||
	    nccl_fill_costs(&costs, tables[L_DEVICES], tables[L_WINDOWS],
			    err) ||
	    nccl_fill_groups(c, &costs, tables, err) || nccl_tell_costs(&costs, err))
		return err->rc;
	nccl_fill_pids(c, tables[L_PIDS]);
	nsx_put(c->out, "same_stream_comm_ms", nsx_ms(c->same_stream_ns));
	return 0;
}

static void nccl_say_top(struct nsx_section *out, const struct nsx_table *ops)
{
	const struct nsx_cell *top = ops->nrows ? nsx_row_at(ops, 0) : NULL;
	int64_t n = 0;

	for (size_t i = 0; i < ops->nrows; i++)
		n += nsx_row_at(ops, i)[NCCL_COUNT].u.i;
	nsx_put(out, "source", top ? top[NCCL_SOURCE] : nsx_null());
	nsx_put(out, "event_count", nsx_int(n));
	if (!top)
		return;
	nsx_headline(out, "Top NCCL op: %s (%.1f ms total, %.1f ms max%s)",
		     top[NCCL_OP].u.s, top[NCCL_TOTAL].u.f, top[NCCL_MAX].u.f,
		     top[NCCL_OVERLAP_PCT].type == NSX_T_NULL ? "" :
		     nsx_say(out, ", overlap %.1f%%", top[NCCL_OVERLAP_PCT].u.f));
}

static void say_nics(const struct nsx_trace *t, struct nsx_section *out)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	for (uint32_t i = 0; i < t->nnics; i++) {
		nsx_buf_adds(&b, i ? ", " : "");
		nsx_md_escape(&b, nsx_text(t, t->nic[i].name), strlen(nsx_text(t, t->nic[i].name)));
		if (t->nic[i].link)
			nsx_buf_printf(&b, " (%s)", t->nic[i].link);
	}
	if (b.n)
		nsx_md_text(out, "Network cards of the machine: %s.", b.p);
}

static int nccl_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nccl_comm c = {.run = run, .out = out};
	struct nsx_table **tables = nsx_add_tables(out);
	int rc = run->trace->ops.n ?
			 fill_collectives(&c, tables, err) :
			 nccl_fill_host(run, out, tables[L_OPS], tables[L_PIDS]);

	nsx_groups_done(&c.kinds);
	nsx_groups_done(&c.circle_keys);
	free(c.groups);
	free(c.circles);
	if (rc || out->status != NSX_S_ANSWERED)
		return rc;
	nsx_table_sort(tables[L_OPS], NSX_DESC(NCCL_TOTAL), NSX_DESC(NCCL_MAX), NCCL_OP);
	nsx_table_sort(tables[L_RANKS], NCCL_RANK_OP, NSX_DESC(NCCL_RANK_TOTAL), NCCL_RANK_LABEL);
	nsx_table_sort(tables[L_PIDS], NSX_DESC(NCCL_PID_TOTAL), NCCL_PID);
	nccl_say_top(out, tables[L_OPS]);
	if (!run->trace->ndevices)
		nsx_md_text(out, "The trace has NCCL's ranges on the host, "
			    "but not its kernels.");
	if (tables[L_PIDS]->nrows > 1 || tables[L_DEVICES]->nrows > 1)
		nsx_md_table(out, tables[L_OPS], 0, NCCL_OP, NCCL_SOURCE,
			     NCCL_TOTAL, NCCL_MAX, NCCL_COUNT, NCCL_OVERLAP,
			     NCCL_OVERLAP_PCT, NCCL_STRAGGLER);
	else /* a single rank cannot be late */
		nsx_md_table(out, tables[L_OPS], 0, NCCL_OP, NCCL_SOURCE,
			     NCCL_TOTAL, NCCL_MAX, NCCL_COUNT, NCCL_OVERLAP, NCCL_OVERLAP_PCT);
	say_nics(run->trace, out);
	return nccl_fill_messages(run, out, tables[L_MESSAGES], err);
}

NSX_DEFINE_PASS(nccl,
	.title = "Communication",
	.subject = "NCCL",
	.summary = "communication: totals, overlap with compute, late ranks",
	.doc = "Communication kernels (NCCL, RCCL, NVSHMEM, custom all-reduce, expert-parallel) by "
	       "operation. Overlap is the part of the summed time during which a kernel that does "
	       "not communicate, or a graph replay, runs on the same device. Exposed time is the "
	       "union of communication kernels without compute beside them. It blocks compute if "
	       "compute starts within 20 us of the end of a communication kernel.\n\n"
	       "Lateness: kernels of one operation on all its participants (process, device) are "
	       "one instance if they all overlap and end within max(100 us, a fifth of the "
	       "shortest) of each other; a send and a receive need only overlap. Ranks count as "
	       "participants of the same operation if this holds for 19 of 20 kernels of one name "
	       "on one of their streams, and half of these end within 20 us. The last rank to "
	       "start is late. The others wait from their start to its start; the median of their "
	       "waits is the waiting it induces. A persistent straggler is proved by at least 10 "
	       "instances, a one-sided binomial p below 0.01 and induced waiting of at least 1 % "
	       "of the judged window. If there are iterations, it must also be the rank most "
	       "waited for in more of them than chance allows (p below 0.05); iterations with less "
	       "than a tenth of the longest waiting do not count. An instance is evidence if it "
	       "lies in the judged window and is not the first. Its last rank must start at least "
	       "5 us after the median of the others or, if GPU clocks were corrected, at least "
	       "twice the remaining error. The cause of lateness: all ranks take equally long from "
	       "the end of the first instance to the end of the last, so the others' additional "
	       "waiting is the late rank's additional computing, copying or idling; a cause is "
	       "named if it explains 80 % of the waiting. Message sizes come from the payloads of "
	       "NCCL's NVTX ranges, if they were exported. Peer copies count as copies. Streams "
	       "that wait for events are not followed.",
	.derived_from = "communication kernels, by name; NCCL's NVTX ranges only if the trace has "
			"no GPU work",
	.limitations = "durations include waiting for late ranks; kernels inside CUDA graphs "
		       "traced as a whole are not seen; ranks are grouped into communicators by "
		       "when their kernels end",
	.caveat = "the column straggler names the rank that comes last; the rank that waits has "
		  "the largest NCCL time",
	.any_of = {NSX_GPU_WORK, NSX_NEED_VIEW(nvtx)},
	NSX_LAYOUTS(layouts),
	.measures = true);
