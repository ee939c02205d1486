/* nccl_late.c - ranks and matched collectives, as tables and in words. */
#include "passes/comm/nccl.h"
#include "passes/comm/nccl_tables.h"

enum { MAX_NAMED = 4 }; /* greatest number of ranks that a sentence names */

void nccl_fill_ranks(struct nccl_comm *c, const struct nccl_group *g, struct nsx_table *table)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	int64_t *totals;
	double median;

	nsx_few(totals, c->run->scratch, g->nranks);
	for (size_t i = 0; i < g->nranks; i++)
		totals[i] = r[i].total_ns;
	median = nsx_quantile(totals, g->nranks, 0.5);
	for (size_t i = 0; i < g->nranks; i++) {
		struct nsx_cell *row = nsx_add_row(table);

		row[NCCL_RANK_OP] = nsx_string(g->name);
		row[NCCL_RANK_LABEL] = nsx_string(r[i].label);
		row[NCCL_RANK_TOTAL] = nsx_ms(r[i].total_ns);
		row[NCCL_RANK_MAX] = nsx_ms(r[i].max_ns);
		row[NCCL_RANK_SKEW] = nsx_pct((double)r[i].total_ns - median, median);
		if (!r[i].is_matched)
			continue;
		row[NCCL_RANK_LAST] = nsx_int((int64_t)r[i].times_last);
		row[NCCL_RANK_WAITED] = nsx_ms(r[i].waited_ns);
		row[NCCL_RANK_INDUCED] = nsx_real(r[i].induced_ns / 1e6);
		row[NCCL_RANK_JUDGED] = nsx_ms(r[i].judged_waited_ns);
	}
}

void nccl_fill_match(const struct nccl_group *g, const struct nccl_match *m,
		     struct nsx_table *table)
{
	const struct nccl_rank *r = m->ranks;
	struct nsx_cell *row = nsx_add_row(table);

	row[NCCL_MATCH_OP_NAME] = nsx_string(g->name);
	row[NCCL_MATCH_RANKS] = nsx_int((int64_t)m->nranks);
	row[NCCL_MATCH_INSTANCES] = nsx_int((int64_t)m->n);
	if (m->late != NSX_NONE) {
		const struct nccl_rank *late = &r[m->late];

		row[NCCL_MATCH_LATE_RANK] = nsx_string(late->label);
		row[NCCL_MATCH_TIMES_LAST] = nsx_int((int64_t)late->times_last);
		row[NCCL_MATCH_INDUCED_MS] = nsx_real(late->induced_ns / 1e6);
		row[NCCL_MATCH_KEPT_INDUCED_MS] = nsx_real(late->kept_induced_ns / 1e6);
	}
	if (m->waiting != NSX_NONE) {
		row[NCCL_MATCH_WAITING_RANK] = nsx_string(r[m->waiting].label);
		row[NCCL_MATCH_WAITED_MS] = nsx_ms(r[m->waiting].waited_ns);
	}
	row[NCCL_MATCH_TRANSFER_MS] = nsx_ms(m->transfer_ns);
	row[NCCL_MATCH_SHORTEST_MS] = nsx_ms(m->min_ns);
	row[NCCL_MATCH_END_SPREAD_US] = nsx_us(m->end_spread_ns);
	row[NCCL_MATCH_KEPT_INSTANCES] = nsx_int((int64_t)m->nkept);
	row[NCCL_MATCH_START_SKEW_MS] = nsx_real(m->start_skew_ns / 1e6);
	row[NCCL_MATCH_P_VALUE] = nsx_real(m->p_value);
	row[NCCL_MATCH_PERSISTENT] = nsx_bool(m->proved);
	row[NCCL_MATCH_CAUSE] = nsx_string(m->cause);
}

void nccl_say_unmatched(struct nccl_comm *c, const struct nccl_group *g)
{
	const struct nccl_rank *r = c->ranks + g->rank_at;
	const char *name = nsx_md_name(c->out, g->name);
	size_t n = 0;

	for (size_t k = 0; k < g->nranks; k++)
		n += r[k].is_matched;
	if (g->nranks > 1 && !n)
		nsx_note(c->out, "%s: no instance could be matched among its %zu participants, so "
				 "the late rank is not known", name, g->nranks);
	else if (g->nranks > 1 && n < g->nranks)
		nsx_note(c->out, "%s: %zu of %zu participants have too few kernels to take part "
			 "and are left out of the matching", name, g->nranks - n, g->nranks);
}

/* Says "2 ranks (pid:7 and pid:8)". The ranks are named only if other ranks do the same operation
 * separately.
 */
static const char *nccl_late_say_ranks(struct nccl_comm *c, const struct nccl_match *m, bool is_one)
{
	const char *text = nsx_say(c->out, "%zu ranks", m->nranks);

	for (size_t k = 0; is_one && k < NSX_MIN(m->nranks, MAX_NAMED); k++)
		text = nsx_say(c->out, "%s%s%s", text, !k ? " (" : ", ",
			       m->ranks[m->rank[k]].label);
	return !is_one ? text : nsx_say(c->out, "%s%s)", text,
					m->nranks > MAX_NAMED ? ", ..." : "");
}

bool nccl_say_match(struct nccl_comm *c, const struct nccl_group *g,
		    const struct nccl_match *m, bool is_one)
{
	const struct nccl_rank *r = m->ranks, *late;
	const char *name = nsx_md_name(c->out, g->name);
	const char *ranks = nccl_late_say_ranks(c, m, is_one);

	if (m->late == NSX_NONE) {
		nsx_md_bullet(c->out, "%s: %zu matched instances of %s; all ranks arrive "
				      "together.", name, m->n, ranks);
		return false;
	}
	late = &r[m->late];
	nsx_md_bullet(c->out, "%s: %zu matched instances of %s; %s on GPU %s comes last in %zu "
		"and induces %s of waiting; %s waits most, %s. Transfer after the last arrival: "
		"%s.", name, m->n, ranks, late->label, nsx_gpu_label(c->run->trace, late->device),
		late->times_last, nsx_text_ns(c->out->arena, late->induced_ns), r[m->waiting].label,
		nsx_say_time(c->out, r[m->waiting].waited_ns),
		nsx_say_time(c->out, m->transfer_ns));
	if (m->proved)
		nsx_md_bullet(c->out, "**%s is a persistent straggler in %s** "
			      "(last in %zu of %zu instances, p = %.2g): %s.",
			      late->label, name, late->kept_last, m->nkept,
			      m->p_value, m->cause ? m->cause : m->waits_too ?
			      "it waits in other communication as long as the "
			      "others" : "no single cause explains it");
	else if (m->njudged < NSX_LATE_LEAST)
		nsx_note(c->out, "%s: %zu instances in the judged window are too few to "
				 "distinguish a straggler from chance", name, m->njudged);
	else if (m->least_late_ns == INT64_MAX)
		nsx_note(c->out, "%s: the GPU clocks of its participants are not known well enough "
				 "to find the late rank", name);
	else
		return true;
	return m->proved;
}
