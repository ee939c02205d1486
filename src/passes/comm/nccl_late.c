/* nccl_late.c - ranks and matched collectives as tables and in words. */
#include <stdlib.h>
#include "base/stat.h"
#include "passes/comm/nccl.h"

enum { OP, LABEL, TOTAL, MAX, SKEW, LAST, WAITED, INDUCED };

int nccl_fill_ranks(struct nccl_comm *c, const struct nccl_group *g,
		      const struct nccl_match *m, struct nsx_table *table,
		    struct nsx_err *err)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	int64_t *totals = nsx_arena_try_array(c->run->scratch, g->nranks,
					      sizeof(*totals), "ranks", err);
	double median;

	if (!totals)
		return err->rc;
	for (size_t i = 0; i < g->nranks; i++)
		totals[i] = r[i].total_ns;
	median = nsx_quantile(totals, g->nranks, 0.5);
	for (size_t i = 0; i < g->nranks; i++) {
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		row[OP] = nsx_string(g->name);
		row[LABEL] = nsx_string(r[i].label);
		row[TOTAL] = nsx_ms(r[i].total_ns);
		row[MAX] = nsx_ms(r[i].max_ns);
		row[SKEW] = nsx_pct((double)r[i].total_ns - median, median);
		if (!m->n || !r[i].is_matched)
			continue;
		row[LAST] = nsx_int((int64_t)r[i].times_last);
		row[WAITED] = nsx_ms(r[i].waited_ns);
		row[INDUCED] = nsx_real(r[i].induced_ns / 1e6);
	}
	return 0;
}

int nccl_fill_match(struct nccl_comm *c, const struct nccl_group *g,
		      const struct nccl_match *m, struct nsx_table *table,
		    struct nsx_err *err)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	struct nsx_cell *row = nsx_row(table, err);
	unsigned i = 0;

	if (!row)
		return err->rc;
	row[i++] = nsx_string(g->name);
	row[i++] = nsx_int((int64_t)m->nranks);
	row[i++] = nsx_int((int64_t)m->n);
	if (m->late != NSX_NONE) {
		row[i] = nsx_string(r[m->late].label);
		row[i + 1] = nsx_int((int64_t)r[m->late].times_last);
		row[i + 2] = nsx_real(r[m->late].induced_ns / 1e6);
		row[i + 9] = nsx_real(r[m->late].kept_induced_ns / 1e6);
	}
	i += 3;
	if (m->waiting != NSX_NONE) {
		row[i] = nsx_string(r[m->waiting].label);
		row[i + 1] = nsx_ms(r[m->waiting].waited_ns);
	}
	i += 2;
	row[i++] = nsx_ms(m->transfer_ns);
	row[i++] = nsx_ms(m->min_ns);
	row[i++] = nsx_us(m->end_spread_ns);
	row[i++] = nsx_int((int64_t)m->nkept);
	i++;
	row[i++] = nsx_real(m->start_skew_ns / 1e6);
	row[i++] = nsx_real(m->p_value);
	row[i++] = nsx_bool(m->proved);
	row[i] = nsx_string(m->cause);
	return 0;
}

void nccl_say_match(struct nccl_comm *c, const struct nccl_group *g,
		      const struct nccl_match *m)
{
	const struct nccl_rank *r = c->ranks + g->rank_at, *late;
	const char *name = nsx_md_name(c->out, g->name);

	if (g->nranks == 1) {
		nsx_note(c->out, "%s has one participant: nobody can be late, "
			 "the column straggler names the only rank", name);
		return;
	}
	if (!m->n) {
		nsx_note(c->out, "%s: no instance could be matched among its "
			 "%zu participants, so who comes late is not known",
			 name, g->nranks);
		return;
	}
	if (m->nranks < g->nranks)
		nsx_note(c->out, "%s: %zu of %zu participants have too few "
			 "kernels to take part and are left out of the matching",
			 name, g->nranks - m->nranks, g->nranks);
	if (m->late == NSX_NONE) {
		nsx_md_bullet(c->out, "%s: %zu matched instances of %zu ranks, "
			      "all arrive together.", name, m->n, m->nranks);
		return;
	}
	late = &r[m->late];
	nsx_md_bullet(c->out, "%s: %zu matched instances of %zu ranks; %s, on GPU "
		      "%lld, comes last in %zu and induces %.3f ms of waiting; "
		      "%s waits most, %.3f ms. Transfer after the last arrival: "
		      "%.3f ms.", name, m->n, m->nranks, late->label,
		      (long long)c->run->trace->device[late->device].device_id,
		      late->times_last, late->induced_ns / 1e6,
		      r[m->waiting].label,
		      (double)r[m->waiting].waited_ns / 1e6,
		      (double)m->transfer_ns / 1e6);
	if (m->proved)
		nsx_md_bullet(c->out, "**%s is a persistent straggler in %s** "
			      "(last in %zu of %zu instances, p = %.2g): %s.",
			      late->label, name, late->kept_last, m->nkept,
			      m->p_value, m->cause ? m->cause :
			      "no single cause explains it");
	else if (m->njudged < NCCL_LEAST_INSTANCES)
		nsx_note(c->out, "%s: %zu instances in the judged window are "
			 "too few to tell a straggler from chance", name,
			 m->njudged);
	else if (!m->nkept)
		nsx_fine(&c->out->found, "No straggler in %s: its ranks arrive within "
			    "20 us of each other in all %zu instances judged.",
			    name, m->njudged);
	else
		nsx_fine(&c->out->found, "No persistent straggler in %s: %s comes last "
			    "in %zu of %zu instances (p = %.2g) and induces %.3f "
			    "ms of waiting.", name, late->label,
			    late->kept_last, m->nkept, m->p_value,
			    late->kept_induced_ns / 1e6);
}
