/* memory_calls.c - allocations inside the loop, and page faults. */
#include <inttypes.h>
#include "passes/gpu/memory_usage.h"
#include "schema/cells.h"
#include "schema/viewscan.h"

#define CHURN_COLUMNS(X)                                                      \
	X(CHURN_PID, "pid", I64, "process")                                   \
	X(CHURN_API_NAME, "api_name", STR, "function")                        \
	X(CHURN_COUNT, "count", I64, "calls inside steady iterations")        \
	X(CHURN_PER_ITERATION, "per_iteration", F64, "calls per iteration")   \
	X(CHURN_TOTAL_MS, "total_ms", F64, "time in them")                    \
	X(CHURN_COST_MS, "cost_ms", F64, "GPU idle time that follows from these calls")
NSX_COLUMNS(churn_cols, CHURN_COLUMNS);
const struct nsx_layout mem_churn_layout = {.key = "churn",
					    NSX_COLS(churn_cols)};
const struct nsx_layout mem_faults_layout = {.key = "page_faults",
					     NSX_COLS(mem_fault_cols)};

/* Churn --------------------------------------------------------------------*/

struct churn {
	int64_t count, ns, cost_ns;
};
struct churns {
	struct nsx_groups keys; /* process, name */
	struct churn *v;
	const struct nsx_run *run;
	struct nsx_spans *steady; /* for each process: its steady iterations */
	size_t *iterations;	  /* one for each process */
};

/* Whether a call is cudaMalloc, cudaFree or similar. Asynchronous calls of pools do not count. */
static bool is_allocation_call(const char *name)
{
	char buf[256];
	const char *s = nsx_api_base(name, buf, sizeof(buf));

	s += !strncmp(s, "cuda", 4) ? 4 : !strncmp(s, "cu", 2) ? 2 : 0;
	return (!strncmp(s, "Malloc", 6) || !strncmp(s, "MemAlloc", 8) ||
		!strcmp(s, "Free") || !strcmp(s, "MemFree")) &&
	       !strstr(s, "Async") && !strstr(s, "Host");
}

static void find_steady_iterations(struct churns *c)
{
	const struct nsx_facts *f = c->run->facts;
	const struct nsx_trace *t = c->run->trace;

	nsx_few(c->steady, c->run->scratch, t->nprocesses);
	nsx_few(c->iterations, c->run->scratch, t->nprocesses);
	for (const struct nsx_loop *l = f->loops; l < f->loops + f->nloops; l++) {
		uint32_t p = l->v->process;
		struct nsx_spans *s;

		/* Iterations of a process are those on its first device. */
		if (p == NSX_NONE || (l > f->loops && l[-1].v->process == p))
			continue;
		s = &c->steady[p];
		nsx_few(s->v, c->run->scratch, l->n);
		for (size_t k = 0; k < l->n; k++)
			if (l->v[k].steady) {
				nsx_spans_push(s, l->v[k].start_ns, l->v[k].end_ns);
				c->iterations[p]++;
			}
	}
}

static bool memory_calls_is_steady(const struct churns *c, uint32_t process, int64_t at)
{
	const struct nsx_spans *s = &c->steady[process];
	size_t i = nsx_spans_find(s, at);

	return i < s->n && s->v[i].start_ns <= at;
}

static int memory_calls_count_calls(struct churns *c, struct nsx_err *err)
{
	const struct nsx_trace *t = c->run->trace;
	const struct nsx_facts *f = c->run->facts;
	uint8_t *known;

	if (!nsx_new_array(known, c->run->scratch, nsx_strings_bound(t->strings), "API names", err))
		return err->rc;
	for (size_t i = 0; i < t->calls.n; i++) {
		uint32_t p = t->thread[nsx_call_thread(t, i)].process;
		struct churn *x;

		if (!nsx_call_does(t, i, is_allocation_call, known) || p == NSX_NONE ||
		    (t->calls.flags[i] & NSX_CALL_NESTED) ||
		    !memory_calls_is_steady(c, p, nsx_call_start(&t->calls, i)))
			continue;
		x = nsx_group_few(&c->keys, &c->v, p, nsx_call_name(&t->calls, i));
		x->count++;
		nsx_add_to(&x->ns, nsx_call_ns(&t->calls, i));
	}
	for (size_t i = 0; i < f->nbarriers; i++) {
		const struct nsx_barrier *b = &f->barriers[i];
		uint32_t p = t->thread[b->thread].process;
		struct churn *x;

		if (b->kind != NSX_BARRIER_IMPLICIT_SYNC || p == NSX_NONE ||
		    !memory_calls_is_steady(c, p, b->start_ns) ||
		    !is_allocation_call(nsx_text(t, b->name)))
			continue;
		x = nsx_group_few(&c->keys, &c->v, p, b->name);
		nsx_add_to(&x->cost_ns, b->cost_ns);
	}
	return 0;
}

/* The calls per iteration of the process that has most of them. */
static double most_calls_per_iteration(const struct churns *c)
{
	double most = 0;

	for (size_t i = 0; i < c->keys.n; i++) {
		uint64_t process = nsx_group_key(&c->keys, i).a;
		int64_t count = 0;

		for (size_t k = 0; k < c->keys.n; k++)
			if (nsx_group_key(&c->keys, k).a == process)
				count += c->v[k].count;
		most = NSX_MAX(most, (double)count / (double)NSX_MAX(c->iterations[process], 1));
	}
	return most;
}

static void fill_allocation_churn(struct churns *c, struct nsx_table *table,
				  struct nsx_section *out)
{
	const struct nsx_trace *t = c->run->trace;
	int64_t count = 0, cost_ns = 0;

	for (size_t i = 0; i < c->keys.n; i++) {
		uint32_t p = (uint32_t)nsx_group_key(&c->keys, i).a;
		struct nsx_cell *row = nsx_add_row(table);
		double n = (double)c->v[i].count / (double)NSX_MAX(c->iterations[p], 1);

		row[CHURN_PID] = nsx_pid_cell(t, p);
		row[CHURN_API_NAME] =
			nsx_string(nsx_text(t, (nsx_str)nsx_group_key(&c->keys, i).b));
		row[CHURN_COUNT] = nsx_int(c->v[i].count);
		row[CHURN_PER_ITERATION] = nsx_real(n);
		row[CHURN_TOTAL_MS] = nsx_ms(c->v[i].ns);
		row[CHURN_COST_MS] = nsx_ms(c->v[i].cost_ns);
		count += c->v[i].count;
		nsx_add_to(&cost_ns, c->v[i].cost_ns);
	}
	nsx_table_sort(table, NSX_DESC(CHURN_COST_MS),
		       NSX_DESC(CHURN_TOTAL_MS), NSX_DESC(CHURN_COUNT), CHURN_PID, CHURN_API_NAME);
	if (!table->nrows)
		return;
	nsx_md_text(out, "Calls that allocate or free inside steady iterations:");
	nsx_md_whole(out, table, 5);
	nsx_note(out, "%" PRId64 " calls in steady iterations allocate or free, %.1f in each; %s "
		 "of GPU idle time follow from "
		 "them", count, most_calls_per_iteration(c), nsx_say_time(out, cost_ns));
}

int mem_churn(const struct mem_usage *m, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_sums_done) struct churns c = {.run = m->run};

	find_steady_iterations(&c);
	if (memory_calls_count_calls(&c, err))
		return err->rc;
	fill_allocation_churn(&c, m->table[MEM_CHURN], m->out);
	return 0;
}

/* Page faults --------------------------------------------------------------*/

struct faults {
	struct nsx_groups keys; /* process, device */
	struct fault {
		int64_t groups, faults, ns;
	} *v;
	const struct nsx_trace *t;
};
#define OF_CPU UINT64_MAX /* replaces the device for page faults of the CPU */

static void add_fault(struct faults *f, const struct nsx_val *pid, uint64_t device, int64_t start,
		      int64_t end, int64_t n)
{
	uint64_t key = nsx_process_key((uint64_t)nsx_i64_or(pid, 0));
	struct fault *x = nsx_group_few(&f->keys, &f->v, key, device);

	nsx_add_to(&x->ns, nsx_in_window(f->t, start, end));
	if (!nsx_starts_inside(f->t, start))
		return;
	x->groups++;
	nsx_add_to(&x->faults, n);
}

static int on_gpu_fault(void *ctx, int64_t rid NSX_UNUSED,
			const struct nsx_val *v, struct nsx_err *err NSX_UNUSED)
{
	const struct faults *f = ctx;

	if (nsx_is_span(f->t->schema->shifts, &v[0], &v[1]))
		add_fault(ctx, &v[2], (uint64_t)nsx_i64_or(&v[3], 0), v[0].u.i, v[1].u.i,
			  NSX_MAX(0, nsx_i64_or(&v[4], 0)));
	return 0;
}

static int on_cpu_fault(void *ctx, int64_t rid NSX_UNUSED,
			const struct nsx_val *v, struct nsx_err *err NSX_UNUSED)
{
	const struct faults *f = ctx;

	if (nsx_is_possible(f->t->schema->shifts, &v[0]))
		add_fault(ctx, &v[1], OF_CPU, v[0].u.i, v[0].u.i, 1);
	return 0;
}

static void fill_faults(const struct faults *f, struct nsx_table *table)
{
	for (size_t i = 0; i < f->keys.n; i++) {
		bool cpu = nsx_group_key(&f->keys, i).b == OF_CPU;
		struct nsx_cell *row;

		if (!f->v[i].groups && !f->v[i].ns)
			continue;
		row = nsx_add_row(table);
		row[FAULT_PID] = nsx_global_pid(f->t, nsx_group_key(&f->keys, i).a);
		if (!cpu)
			row[FAULT_DEVICE_ID] = nsx_ordinal_cell(
				f->t, nsx_group_key(&f->keys, i).a,
				(int64_t)nsx_group_key(&f->keys, i).b);
		row[FAULT_SIDE] = nsx_string(cpu ? "cpu" : "gpu");
		row[FAULT_GROUP_COUNT] = nsx_int(f->v[i].groups);
		row[FAULT_COUNT] = nsx_int(f->v[i].faults);
		if (!cpu)
			row[FAULT_TOTAL_MS] = nsx_ms(f->v[i].ns);
	}
	nsx_table_sort(table, NSX_DESC(FAULT_COUNT), FAULT_PID, FAULT_SIDE, FAULT_DEVICE_ID);
}

int mem_faults(const struct mem_usage *m, struct nsx_err *err)
{
	const struct nsx_schema *s = m->run->trace->schema;
	NSX_AT_EXIT(nsx_sums_done) struct faults f = {.t = m->run->trace};

	if (nsx_view_each(s, um_gpu_fault, on_gpu_fault, &f, err, start_ns,
			  end_ns, global_pid, device_id, faults) ||
	    nsx_view_each(s, um_cpu_fault, on_cpu_fault, &f, err, start_ns, global_pid))
		return err->rc;
	fill_faults(&f, m->table[MEM_FAULTS]);
	return 0;
}
