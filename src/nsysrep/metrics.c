/* metrics.c - GPU counters: their layout, from the header, and their values.
 *
 * An event type belongs to one GPU. The upper half of its number is the number of its source.
 */
#include "nsysrep/events.h"

#define SOURCE_NAME "GpuMetrics"
enum { SOURCE = 13, TYPE = 14, NAME = 1, OFFSET = 2, SIZE = 3 };

struct sources { /* the sources of GPU counters                            */
	uint64_t id[16];
	unsigned n;
};

static struct sources find_sources(struct nsx_rep *rep)
{
	struct nsx_wire w = nsx_wire_of(rep->file.header);
	struct sources s = {.n = 0};
	struct nsx_msg m;

	while (s.n < ARRAY_LEN(s.id) && nsx_wire_message(&w, SOURCE, &m, &rep->facts.is_garbled))
		if (nsx_piece_is(nsx_rep_string(&rep->strings, nsx_msg_uint(&m, 3)), SOURCE_NAME))
			s.id[s.n++] = nsx_msg_uint(&m, 1);
	return s;
}

static bool type_has_source(const struct sources *s, uint64_t type)
{
	return NSX_ANY(i, s->n, type >> 32 == s->id[i] >> 32);
}

/* Whether some bytes of an event can be a value of their own. */
static bool is_place_free(const struct nsx_rep *rep, uint64_t type, uint64_t at, uint64_t size)
{
	bool is_free = size && size <= UINT32_MAX && at <= UINT32_MAX;

	for (size_t i = rep->nmetrics; is_free && i && rep->metrics[i - 1].type == type; i--)
		is_free = at >= rep->metrics[i - 1].at + rep->metrics[i - 1].size ||
			  rep->metrics[i - 1].at >= at + size;
	return is_free;
}

static void add_metric(struct nsx_rep *rep, uint64_t type, int64_t id, const struct nsx_msg *m)
{
	uint64_t at = nsx_msg_uint(m, OFFSET), size = nsx_msg_uint(m, SIZE);
	struct nsx_val v[] = {
		nsx_val_int((int64_t)type), nsx_val_int((int64_t)(type >> 32 << 32)),
		nsx_val_str(""), nsx_val_int(id),
		nsx_val_bytes(nsx_rep_string(&rep->strings, nsx_msg_uint(m, NAME))),
	};

	nsx_rows_put(&rep->facts, NSX_REP_GPU_METRIC_INFO, v);
	if (is_place_free(rep, type, at, size))
		nsx_push_or_die(rep->metrics, rep->nmetrics, rep->metrics_cap,
				(struct nsx_rep_metric){type, id, (size_t)at, (size_t)size});
	else
		rep->facts.is_garbled = true;
}

static void add_metrics_of_type(struct nsx_rep *rep, uint64_t type, struct nsx_piece bytes)
{
	struct nsx_wire w = nsx_wire_of(bytes);
	struct nsx_msg m;
	int64_t n = 0;

	while (rep->nmetrics < NSX_MOST_METRICS &&
	       nsx_wire_message(&w, 3, &m, &rep->facts.is_garbled))
		add_metric(rep, type, n++, &m);
}

void nsx_metrics_find(struct nsx_rep *rep)
{
	struct nsx_wire w = nsx_wire_of(rep->file.header);
	struct sources sources = find_sources(rep);
	struct nsx_msg m;

	while (nsx_wire_message(&w, TYPE, &m, &rep->facts.is_garbled))
		if (type_has_source(&sources, nsx_msg_uint(&m, 1)))
			add_metrics_of_type(rep, nsx_msg_uint(&m, 1), w.bytes);
}

int nsx_metrics_add(struct nsx_walker *w, int64_t time_ns, struct nsx_piece values,
		    struct nsx_err *err)
{
	bool is_known = false, is_short = false;

	for (size_t i = 0; i < w->rep->nmetrics; i++) {
		const struct nsx_rep_metric *m = &w->rep->metrics[i];
		uint64_t value = 0;

		if (m->type != w->type)
			continue;
		is_known = true;
		if (m->at + m->size > values.n) {
			is_short = true;
			continue;
		}
		if (w->notes) {
			nsx_note_row(w->notes, NSX_REP_GPU_METRIC);
			continue;
		}
		for (size_t b = 0; b < NSX_MIN(m->size, 8); b++)
			value |= (uint64_t)values.p[m->at + b] << 8 * b;
		struct nsx_val v[] = {nsx_val_int(time_ns),
				      nsx_val_int((int64_t)w->type),
				      nsx_val_int(m->id),
				      nsx_val_int((int64_t)value)};
		if (nsx_walk_row(w, NSX_REP_GPU_METRIC, &(struct nsx_row_of){
				 .code = v}, err))
			return err->rc;
	}
	if (is_known && w->notes) {
		nsx_note_instant(w->notes, time_ns);
		w->notes->at.nbroken += is_short;
	}
	if (!is_known && w->notes)
		nsx_count_unknown(w->notes->unknown, &w->notes->nunknown,
				  &(struct nsx_unknown){w->type, 3, 0, 1});
	return 0;
}
