/* metrics.c - counters of GPUs: how the header lays them out, and their values.
 *
 * A type of events is one GPU's; its number begins with that of its source.
 */
#include <string.h>
#include "nsysrep/events.h"
#include "nsysrep/strings.h"

#define SOURCE_NAME "GpuMetrics"
enum { SOURCE = 13, TYPE = 14, NAME = 1, OFFSET = 2, SIZE = 3 };

struct sources { /* that count on GPUs                                     */
	uint64_t id[16];
	unsigned n;
};

static struct sources find_sources(struct nsx_piece header,
				   const struct nsx_rep_strings *names)
{
	struct nsx_wire w = nsx_wire_of(header);
	struct sources s = {.n = 0};
	struct nsx_msg m;

	while (nsx_wire_next(&w) && s.n < ARRAY_LEN(s.id))
		if (w.field == SOURCE && w.bytes.p && nsx_msg_read(&m, w.bytes)) {
			struct nsx_piece name =
				nsx_rep_string(names, nsx_msg_uint(&m, 3));

			if (name.n == strlen(SOURCE_NAME) &&
			    !memcmp(name.p, SOURCE_NAME, name.n))
				s.id[s.n++] = nsx_msg_uint(&m, 1);
		}
	return s;
}

static bool is_of(const struct sources *s, uint64_t type)
{
	for (unsigned i = 0; i < s->n; i++)
		if (type >> 32 == s->id[i] >> 32)
			return true;
	return false;
}

static int add_metric(struct nsx_events *e, const struct nsx_rep_strings *names,
		      uint64_t type, int64_t id, const struct nsx_msg *m,
		      struct nsx_err *err)
{
	struct nsx_val v[] = {
		nsx_val_int((int64_t)type), nsx_val_int((int64_t)(type >> 32 << 32)),
		nsx_val_str(""), nsx_val_int(id),
		nsx_val_bytes(nsx_rep_string(names, nsx_msg_uint(m, NAME))),
	};

	return nsx_rows_put(e->rows, NSX_REP_GPU_METRIC_INFO, v, err) ?:
	       nsx_push(e->metrics, e->nmetrics, e->metrics_cap, "counters", err,
			(struct nsx_rep_metric){type, id,
					    (size_t)nsx_msg_uint(m, OFFSET),
					    (size_t)nsx_msg_uint(m, SIZE)});
}

static int add_type(struct nsx_events *e, const struct nsx_rep_strings *names,
		    uint64_t type, struct nsx_piece bytes, struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(bytes);
	struct nsx_msg m;
	int64_t n = 0;
	int rc = 0;

	while (!rc && nsx_wire_next(&w) && e->nmetrics < NSX_MOST_METRICS)
		if (w.field == 3 && w.bytes.p && nsx_msg_read(&m, w.bytes))
			rc = add_metric(e, names, type, n++, &m, err);
	return rc;
}

int nsx_metrics_find(struct nsx_events *e, struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(e->report->header);
	struct nsx_rep_strings names;
	struct sources sources;
	struct nsx_msg m;
	int rc = nsx_rep_strings_read(e->report->strings, &names, err);

	sources = find_sources(e->report->header, &names);
	while (!rc && nsx_wire_next(&w))
		if (w.field == TYPE && w.bytes.p && nsx_msg_read(&m, w.bytes) &&
		    is_of(&sources, nsx_msg_uint(&m, 1)))
			rc = add_type(e, &names, nsx_msg_uint(&m, 1), w.bytes,
				      err);
	nsx_rep_strings_done(&names);
	return rc;
}

int nsx_metrics_add(struct nsx_events *e, uint64_t type, int64_t time_ns,
		    struct nsx_piece values, struct nsx_err *err)
{
	bool is_known = false;

	for (size_t i = 0; i < e->nmetrics; i++) {
		const struct nsx_rep_metric *m = &e->metrics[i];
		uint64_t value = 0;

		if (m->type != type)
			continue;
		is_known = true;
		for (size_t b = 0; b < NSX_MIN(m->size, 8); b++)
			if (m->at < values.n && b < values.n - m->at)
				value |= (uint64_t)values.p[m->at + b] << 8 * b;
		struct nsx_val v[] = {nsx_val_int(time_ns),
				      nsx_val_int((int64_t)type),
				      nsx_val_int(m->id),
				      nsx_val_int((int64_t)value)};
		if (nsx_rows_put(e->rows, NSX_REP_GPU_METRIC, v, err))
			return err->rc;
	}
	if (!is_known)
		nsx_count_unknown(e, type, 3, 0);
	return 0;
}
