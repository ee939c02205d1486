/* phase_table.c - the user's phases for ranges, for calls, and as rows.
 *
 * A pattern may match a name as recorded or as the report shows it. One recorded name
 * stands for all names that differ only in numbers.
 */
#include "passes/nvtx/phase_table.h"
#include "passes/pass.h"

static uint32_t phase_of_name(const struct nsx_trace *t,
			      const struct nsx_phase_map *m, nsx_str name)
{
	unsigned shown = nsx_phase_of(m, nsx_text(t, name));
	unsigned raw = nsx_phase_of(m, nsx_raw_name(t, name));

	return NSX_MIN(shown, raw);
}

static void inherit_phases(const struct nsx_trace *t, uint32_t *by_name, struct nsx_nvtx_phases *p)
{
	const struct nsx_nvtx *x = &t->nvtx;

	for (size_t i = 0; i < x->n; i++) {
		uint32_t *own = &by_name[x->name[i]];

		if (x->kind[i] == NSX_NVTX_MARK)
			continue;
		if (!*own)
			*own = 1 + phase_of_name(t, p->map, x->name[i]);
		p->of[i] = *own - 1;
		if (p->of[i] == nsx_phase_count(p->map) && p->below[i] != NSX_NONE)
			p->of[i] = p->of[p->below[i]];
	}
}

int nsx_nvtx_phase_ranges(const struct nsx_trace *t,
			  const struct nsx_phase_map *m, struct nsx_arena *a,
			  struct nsx_nvtx_phases *ret, struct nsx_err *err)
{
	uint32_t *by_name;
	struct nsx_nvtx_walk w;

	*ret = (struct nsx_nvtx_phases){.map = m};
	if (!nsx_new_array(by_name, a, nsx_strings_bound(t->strings),
			   "range names", err) ||
	    nsx_new_arrays(a, t->nvtx.n, "phases", err, ret->of, ret->below))
		return err->rc;
	memset(ret->below, 0xff, t->nvtx.n * 4);
	for (uint32_t i = 0; i < t->nthreads; i++) {
		nsx_nvtx_walk_begin(&w, t, i, true, true, ret->below);
		nsx_nvtx_walk_to(&w, INT64_MAX);
	}
	inherit_phases(t, by_name, ret);
	nsx_arena_drop(a, by_name);
	return 0;
}

/* Finds the phase of each call; NSX_NONE outside ranges. */
static void find_call_phases(const struct nsx_trace *t, const struct nsx_nvtx_phases *p,
			     uint32_t *of)
{
	struct nsx_nvtx_walk w;

	for (uint32_t i = 0; i < t->nthreads; i++) {
		uint32_t at = t->thread[i].calls_at;

		nsx_nvtx_walk_begin(&w, t, i, true, true, p->below);
		for (uint32_t c = at; c < at + t->thread[i].ncalls; c++) {
			uint32_t r = nsx_nvtx_walk_to(&w, nsx_call_start(&t->calls, c));

			of[c] = r == NSX_NONE ? NSX_NONE : p->of[r];
		}
	}
}

int nsx_nvtx_phase_kernels(const struct nsx_trace *t,
			   const struct nsx_phase_map *m, struct nsx_arena *a,
			   int64_t **ret, struct nsx_err *err)
{
	size_t nplaces = nsx_phase_count(m) + (size_t)1;
	const struct nsx_ops *o = &t->ops;
	uint32_t *of;
	struct nsx_nvtx_phases p;

	if (!nsx_new_array(of, a, t->calls.n, "phases of calls", err) ||
	    !nsx_new_array(*ret, a, t->nprocesses * nplaces, "phases", err) ||
	    nsx_nvtx_phase_ranges(t, m, a, &p, err))
		return err->rc;
	find_call_phases(t, &p, of);
	for (size_t i = 0; i < o->n; i++) {
		uint32_t call = nsx_op_call(o, i);
		int64_t *ns;

		if (o->kind[i] != NSX_OP_KERNEL || call == NSX_NONE || of[call] == NSX_NONE)
			continue;
		ns = &(*ret)[nsx_op_process(t, i) * nplaces + of[call]];
		nsx_add_to(ns, nsx_op_ns(o, i));
	}
	return 0;
}

static void phase_table_add_row(const char *phase, int64_t ns, int64_t total_ns,
				struct nsx_table *table)
{
	struct nsx_cell *row = nsx_add_row(table);

	row[PHASE] = nsx_string(phase);
	row[PHASE_MS] = nsx_ms(ns);
	row[PHASE_PCT] = nsx_part_pct(ns, total_ns);
}

int64_t nsx_nvtx_phase_rows(const struct nsx_phase_map *m, const int64_t *ns,
			    struct nsx_table *table)
{
	unsigned n = nsx_phase_count(m);
	int64_t rest_ns = ns[n], total_ns = 0;

	for (unsigned i = 0; i <= n; i++)
		nsx_add_to(&total_ns, ns[i]);
	for (unsigned i = 0; i < n; i++) {
		const char *phase = nsx_phase_name(m, i);

		if (!strcmp(phase, "unmapped"))
			nsx_add_to(&rest_ns, ns[i]);
		else
			phase_table_add_row(phase, ns[i], total_ns, table);
	}
	nsx_table_sort(table, NSX_DESC(PHASE_MS), PHASE);
	phase_table_add_row("unmapped", rest_ns, total_ns, table);
	return total_ns;
}
