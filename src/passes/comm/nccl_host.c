/* nccl_host.c - NCCL's own NVTX ranges, for traces without any GPU work.
 *
 * They time how long the host takes to enqueue, not the transfer, so only the totals use
 * them. A user's range that happens to be called "allreduce" does not count.
 */
#include <stdio.h>
#include <strings.h>
#include "passes/comm/nccl.h"
#include "passes/comm/nccl_tables.h"

struct sum {
	int64_t total_ns, max_ns;
	size_t count;
	nsx_str raw;
};

static enum nsx_comm_op range_operation(const struct nsx_trace *t, size_t range)
{
	const char *name = nsx_text(t, t->nvtx.name[range]);
	enum nsx_comm_op op;
	char with_prefix[64];

	if (t->nvtx.kind[range] == NSX_NVTX_MARK || (t->nvtx.flags[range] & NSX_NVTX_OPEN))
		return NSX_COMM_NONE;
	if (strncasecmp(name, "nccl", 4) && strncasecmp(name, "rccl", 4)) {
		/* NCCL's ranges lack the prefix "nccl" if the profiler recorded its domain. */
		if (!t->domain[nsx_range_domain(&t->nvtx, range)].is_nccl)
			return NSX_COMM_NONE;
		snprintf(with_prefix, sizeof(with_prefix), "nccl%s", name);
		name = with_prefix;
	}
	op = nsx_classify_comm(name, name);
	return op == NSX_COMM_OTHER ? NSX_COMM_NONE : op;
}

static void add_range_time(struct sum *s, int64_t ns, bool counts)
{
	nsx_add_to(&s->total_ns, ns);
	s->max_ns = NSX_MAX(s->max_ns, ns);
	s->count += counts;
}

static void fill_ops(const struct nsx_trace *t, const struct sum *sums, struct nsx_table *ops)
{
	for (unsigned op = 1; op < NSX_COMM_OTHER; op++) {
		const struct sum *s = &sums[op];
		struct nsx_cell *row;

		if (!s->count && !s->total_ns)
			continue;
		row = nsx_add_row(ops);
		row[NCCL_OP] = nsx_string(nsx_comm_op_name(op));
		row[NCCL_RAW] = nsx_string(nsx_text(t, s->raw));
		row[NCCL_SOURCE] = nsx_string("nvtx");
		row[NCCL_COUNT] = nsx_int((int64_t)s->count);
		row[NCCL_TOTAL] = nsx_ms(s->total_ns);
		row[NCCL_MAX] = nsx_ms(s->max_ns);
		row[NCCL_AVG] = nsx_mean_us(s->total_ns, (int64_t)s->count);
	}
}

/* Adds rows by process. sums: sorted by process, then operation. */
static void nccl_host_fill_pids(const struct nsx_trace *t, const struct sum *sums,
				struct nsx_table *pids)
{
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		const struct sum *s = sums + (size_t)p * NSX_COMM_OTHER;
		struct sum all = {0};
		unsigned top = 0;
		struct nsx_cell *row;

		for (unsigned op = 1; op < NSX_COMM_OTHER; op++) {
			nsx_add_to(&all.total_ns, s[op].total_ns);
			all.max_ns = NSX_MAX(all.max_ns, s[op].max_ns);
			all.count += s[op].count;
			if (s[op].total_ns > s[top].total_ns)
				top = op;
		}
		if (!top)
			continue;
		row = nsx_add_row(pids);
		row[NCCL_PID] = nsx_pid_cell(t, p);
		row[NCCL_PID_TOTAL] = nsx_ms(all.total_ns);
		row[NCCL_PID_COUNT] = nsx_int((int64_t)all.count);
		row[NCCL_PID_MAX] = nsx_ms(all.max_ns);
		row[NCCL_PID_TOP] = nsx_string(nsx_comm_op_name(top));
	}
}

int nccl_fill_host(const struct nsx_run *run, struct nsx_section *out,
		   struct nsx_table *ops, struct nsx_table *pids)
{
	const struct nsx_trace *t = run->trace;
	struct sum sums[NSX_COMM_OTHER] = {{0}};
	struct sum *by_process;

	nsx_few(by_process, run->scratch, (size_t)t->nprocesses * NSX_COMM_OTHER);
	for (size_t i = 0; i < t->nvtx.n; i++) {
		enum nsx_comm_op op = range_operation(t, i);
		int64_t ns = nsx_range_inside(t, i);
		bool counts = nsx_starts_inside(t, nsx_range_start(&t->nvtx, i));
		uint32_t p = t->thread[nsx_nvtx_thread(t, i)].process;

		if (!op || (!ns && !counts))
			continue;
		add_range_time(&sums[op], ns, counts);
		add_range_time(&by_process[(size_t)p * NSX_COMM_OTHER + op], ns, counts);
		if (!sums[op].raw || nsx_str_cmp(t->strings, t->nvtx.name[i], sums[op].raw) < 0)
			sums[op].raw = t->nvtx.name[i];
	}
	fill_ops(t, sums, ops);
	nccl_host_fill_pids(t, by_process, pids);
	if (!ops->nrows)
		return nsx_cannot(out, "the trace has neither GPU work nor NVTX ranges of NCCL");
	nsx_note(out, "the trace has no GPU work: these times are how long the host takes to "
		      "enqueue, not how long data moves; overlap, exposed time and lateness are "
		      "not known");
	return 0;
}
