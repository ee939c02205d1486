/* osrt.c - OS runtime calls, summed by thread and name while they are read. Single rows are kept
 * only where analyses need them: outermost calls of threads that launch GPU work, or of all threads
 * if the trace has no GPU work.
 */
#include "base/stat.h"
#include "trace/load.h"

enum { START, END, TID, NAME, LEVEL, CHAIN };
static const enum nsx_field fields[] = {
	NSX_FIELDS(osrt, start_ns, end_ns, global_tid, name, nesting_level, callchain),
};

struct row {
	uint64_t global_tid;
	int64_t start_ns, end_ns;
	nsx_str name;
	uint32_t thread, stack;
};

struct own { /* results of one part of the table */
	struct row *rows;
	size_t n, cap;
	struct nsx_osrt_sum *sums; /* one for each id in osrt_map */
	size_t cap_sums;
	int64_t first_ns, last_ns;
};

static int osrt_read_row(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	const struct nsx_trace *t = p->l->t;
	struct own *own = p->own;
	struct nsx_osrt_sum *sum;
	struct nsx_key key = {{0}};
	struct row row;
	int64_t ns;
	uint32_t id;

	if (!nsx_read_span(p, &v[START], &v[END], &row.start_ns, &row.end_ns))
		return 0;
	if (row.start_ns >= t->session_start_ns) {
		own->first_ns = NSX_MIN(own->first_ns, row.start_ns);
		own->last_ns = NSX_MAX(own->last_ns, row.end_ns);
	}
	if (row.start_ns >= t->read.end_ns || row.end_ns < t->read.start_ns)
		return 0;
	/* In tables with levels, a row whose level is NULL is a message of nsys. */
	if (nsx_i64_or(&v[LEVEL], 0) > 0 ||
	    (v[LEVEL].type == NSX_V_NULL &&
	     nsx_has(p->l->schema, NSX_F_osrt_nesting_level)))
		return 0;
	if (nsx_read_name(p, &v[NAME], &row.name, err))
		return err->rc;
	key.w[0] = (uint64_t)nsx_i64_or(&v[TID], 0);
	key.w[1] = row.name;
	row.stack = v[CHAIN].type == NSX_V_I64 ?
			    nsx_find_stack(&p->l->osrt_stacks, v[CHAIN].u.i) :
			    NSX_NONE;
	key.w[2] = row.stack == NSX_NONE ? NSX_NONE : nsx_group_key(&p->l->stacks, row.stack).b;
	if (nsx_keymap_add(&p->l->osrt_map, p->cache[0], &key, &id, err) ||
	    nsx_grow(&own->sums, &own->cap_sums, id + (size_t)1,
		     sizeof(*own->sums), "OSRT sums", err))
		return err->rc;
	sum = &own->sums[id];
	ns = nsx_in_window(t, row.start_ns, row.end_ns);
	sum->count += nsx_starts_inside(t, row.start_ns);
	nsx_add_to(&sum->total_ns, ns);
	sum->max_ns = NSX_MAX(sum->max_ns, ns);
	row.global_tid = key.w[0];
	row.thread = nsx_thread_find(t, key.w[0]);
	if (t->has_gpu_work && (row.thread == NSX_NONE || !t->thread[row.thread].launches))
		return 0;
	return nsx_push(own->rows, own->n, own->cap, "OSRT calls", err, row);
}

NSX_ORDER(cmp_rows, struct row, UP(global_tid), UP(start_ns), DOWN(end_ns));

NSX_ORDER_IN(osrt_cmp_sums, struct nsx_osrt_sum, struct nsx_trace, UP(x->global_tid),
	     BY(nsx_str_cmp(c->strings, x->name, y->name)), UP(x->site));

static int join_sums(struct nsx_loader *l, struct own *own, size_t n, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_osrt_sum *sums;

	if (!nsx_new_array(sums, t->arena, l->osrt_map.n, "OSRT sums", err))
		return err->rc;
	for (size_t id = 0; id < l->osrt_map.n; id++) {
		sums[id].global_tid = l->osrt_map.keys[id].w[0];
		sums[id].name = (nsx_str)l->osrt_map.keys[id].w[1];
		sums[id].site = (uint32_t)l->osrt_map.keys[id].w[2];
		for (size_t p = 0; p < n; p++) {
			const struct nsx_osrt_sum *from;

			if (id >= own[p].cap_sums)
				continue;
			from = &own[p].sums[id];
			sums[id].count += from->count;
			nsx_add_to(&sums[id].total_ns, from->total_ns);
			sums[id].max_ns = NSX_MAX(sums[id].max_ns, from->max_ns);
		}
	}
	nsx_sort_r(sums, l->osrt_map.n, sizeof(*sums), osrt_cmp_sums, t);
	t->osrt_sum = sums;
	t->nosrt_sums = l->osrt_map.n;
	return 0;
}

static int osrt_join_rows(struct nsx_loader *l, struct own *own, size_t n, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	NSX_AT_EXIT(nsx_free_at) struct row *all = NULL;
	size_t total = 0, cap = 0;
	int64_t *start, *end;
	uint64_t *global_tid;
	nsx_str *name;
	uint32_t *thread, *stack;

	for (size_t p = 0; p < n; p++) {
		if (nsx_grow(&all, &cap, total + own[p].n, sizeof(*all), "OSRT calls", err))
			return err->rc;
		if (own[p].n)
			memcpy(all + total, own[p].rows, own[p].n * sizeof(*all));
		total += own[p].n;
	}
	nsx_sort(all, total, sizeof(*all), cmp_rows);
	if (nsx_new_arrays(t->arena, total, "OSRT calls", err, start, end, global_tid, name,
			   thread, stack))
		return err->rc;
	for (size_t i = 0; i < total; i++) {
		struct nsx_thread *th = all[i].thread == NSX_NONE ? NULL : &t->thread[all[i].thread];

		if (th && th->launches && !th->nosrt++)
			th->osrt_at = (uint32_t)i;
		global_tid[i] = all[i].global_tid;
		start[i] = all[i].start_ns;
		end[i] = all[i].end_ns;
		name[i] = all[i].name;
		thread[i] = all[i].thread;
		stack[i] = all[i].stack;
	}
	t->osrt = (struct nsx_osrt){total, start, end, global_tid, name, thread, stack};
	return 0;
}

/* Widens the trace's extent to the OSRT rows, because some traces have no other rows. */
static void osrt_widen(struct nsx_trace *t, const struct own *own, size_t n)
{
	int64_t lo = INT64_MAX, hi = INT64_MIN;

	for (size_t p = 0; p < n; p++) {
		lo = NSX_MIN(lo, own[p].first_ns);
		hi = NSX_MAX(hi, own[p].last_ns);
	}
	if (lo > hi)
		return;
	if (!t->ops.n && t->full.start_ns == t->full.end_ns)
		t->full = (struct nsx_window){lo, hi};
	else if (!t->ops.n)
		t->full = (struct nsx_window){NSX_MIN(lo, t->full.start_ns),
					      NSX_MAX(hi, t->full.end_ns)};
	if (t->first_ns == t->last_ns)
		t->first_ns = lo, t->last_ns = hi;
	t->first_ns = NSX_MIN(t->first_ns, lo);
	t->last_ns = NSX_MAX(t->last_ns, hi);
	if (!nsx_has_window(t))
		t->window = t->full;
}

int nsx_load_osrt(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_tableload table = NSX_TABLE(osrt, fields, osrt_read_row);
	struct own own[NSX_MAX_THREADS] = {{0}};
	int rc;

	for (size_t p = 0; p < NSX_MAX_THREADS; p++) {
		own[p].first_ns = INT64_MAX;
		own[p].last_ns = INT64_MIN;
	}
	table.own = own;
	table.own_size = sizeof(*own);
	rc = nsx_load_tables(l, &table, 1, "os runtime", err) ?:
	     join_sums(l, own, NSX_MAX_THREADS, err) ?:
	     osrt_join_rows(l, own, NSX_MAX_THREADS, err);
	if (!rc)
		osrt_widen(l->t, own, NSX_MAX_THREADS);
	for (size_t p = 0; p < NSX_MAX_THREADS; p++) {
		free(own[p].rows);
		free(own[p].sums);
	}
	return rc;
}
