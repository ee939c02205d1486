/* copies.c - tables of copies by device, direction and kinds of memory, and of memsets.
 * copies_sweep.c measures the copies.
 */
#include <inttypes.h>
#include <math.h>
#include "passes/gpu/copies.h"
#include "schema/viewscan.h"

#define COLUMNS(X)                                                                                 \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                                \
	X(DIRECTION, "direction", STR, "HtoD, DtoH, DtoD, PtoP, UVM HtoD ...")                     \
	X(COPY_KIND, "copy_kind", STR, "label of the direction in this export")                    \
	X(SRC_KIND, "src_kind", STR, "kind of source memory")                                      \
	X(DST_KIND, "dst_kind", STR, "kind of destination memory")                                 \
	X(COUNT, "count", I64, "copies that began in the window")                                  \
	X(BYTES, "bytes", I64, "bytes they moved")                                                 \
	X(TOTAL_NS, "total_time_ns", I64, "sum of durations")                                      \
	X(BUSY, "busy_ms", F64, "union of them")                                                   \
	X(GBPS, "gbps", F64, "bytes over busy time, 10^9 bytes a second")                          \
	X(P50, "p50_gbps", F64, "median rate of copies of at least 1 MiB, weighted by bytes")      \
	X(SMALL, "small_count", I64, "copies below 64 KiB")                                        \
	X(EXPOSED, "exposed_ms", F64, "part of busy_ms in which no kernel ran on the device")
NSX_COLUMNS(cols, COLUMNS);
#define DEVICE_COLUMNS(X)                                                          \
	X(DEVICE_ID, "device_id", I64, "CUDA ordinal")                             \
	X(DEVICE_HOST_TO_DEVICE_COUNT, "host_to_device_count", I64, "HtoD copies") \
	X(DEVICE_TO_HOST_COUNT, "device_to_host_count", I64, "DtoH copies")        \
	X(DEVICE_TRANSFERS_PER_S, "transfers_per_s", F64,                          \
	  "copies in both directions per second of the window")                    \
	X(DEVICE_HOST_TO_DEVICE_BYTES, "host_to_device_bytes", I64, "HtoD bytes")  \
	X(DEVICE_TO_HOST_BYTES, "device_to_host_bytes", I64, "DtoH bytes")         \
	X(DEVICE_COPY_BUSY_MS, "copy_busy_ms", F64, "union of copies and memsets") \
	X(DEVICE_COPY_EXPOSED_MS, "copy_exposed_ms", F64,                          \
	  "part of copy_busy_ms in which no kernel ran")                           \
	X(DEVICE_COPY_EXPOSED_PCT, "copy_exposed_pct", F64,                        \
	  "copy_exposed_ms as a share of the window")                              \
	X(DEVICE_GPU, "gpu", STR, "distinguishes GPUs with the same ordinal")      \
	X(DEVICE_PAGEABLE_EXPOSED, "pageable_exposed_ms", F64,                     \
	  "time in copies from or to pageable memory in which no kernel ran")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
#define SIZE_COLUMNS(X)                                                       \
	X(SIZE_DEVICE_ID, "device_id", I64, "CUDA ordinal")                   \
	X(SIZE_DIRECTION, "direction", STR, "HtoD, DtoH ...")                 \
	X(SIZE, "size", STR, "bytes of one copy")                             \
	X(SIZE_COUNT, "count", I64, "copies")                                 \
	X(SIZE_BYTES, "bytes", I64, "bytes they moved")                       \
	X(SIZE_TOTAL_MS, "total_ms", F64, "sum of durations")                 \
	X(SIZE_GBPS, "gbps", F64, "bytes over the sum of durations")
NSX_COLUMNS(size_cols, SIZE_COLUMNS);
#define CAUSE_COLUMNS(X)                                                      \
	X(CAUSE_DEVICE_ID, "device_id", I64, "CUDA ordinal")                  \
	X(CAUSE_DIRECTION, "direction", STR, "UVM HtoD, UVM DtoH, UVM DtoD")  \
	X(CAUSE, "cause", STR, "why unified memory migrated")                 \
	X(CAUSE_COUNT, "count", I64, "migrations")                            \
	X(CAUSE_BYTES, "bytes", I64, "bytes they moved")                      \
	X(CAUSE_TOTAL_MS, "total_ms", F64, "sum of durations")
NSX_COLUMNS(cause_cols, CAUSE_COLUMNS);
#define PEER_COLUMNS(X)                                                                            \
	X(PEER_SRC_DEVICE_ID, "src_device_id", I64, "CUDA ordinal of the source")                  \
	X(PEER_DST_DEVICE_ID, "dst_device_id", I64, "CUDA ordinal of the destination")             \
	X(PEER_COUNT, "count", I64, "peer copies")                                                 \
	X(PEER_BYTES, "bytes", I64, "bytes they moved")                                            \
	X(PEER_TOTAL_MS, "total_ms", F64, "sum of durations")                                      \
	X(PEER_GBPS, "gbps", F64, "bytes over the sum of durations")
NSX_COLUMNS(peer_cols, PEER_COLUMNS);
enum { ROWS, DEVICES, SIZES, MIGRATIONS, PEERS }; /* indices of layouts and tables */
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "memcpy_summary", NSX_COLS(cols)},
	{.key = "devices", NSX_COLS(device_cols)},
	{.key = "sizes", NSX_COLS(size_cols)},
	{.key = "migrations", NSX_COLS(cause_cols)},
	{.key = "peers", NSX_COLS(peer_cols)},
};
static const char *const size_names[NSIZES] = {
	"below 4 KiB", "4 to 64 KiB", "64 KiB to 1 MiB", "1 to 16 MiB", "16 MiB and more",
};
static const char *const cause_names[NSX_NMIGRATE_CAUSES] = {
	"Unknown", "User prefetch", "Page fault", "Speculative prefetch",
	"Eviction", "Access counters",
};

/* Labels -------------------------------------------------------------------*/

struct labels {
	const uint8_t *kind; /* label index by kind id                       */
	const char **label;
	struct nsx_arena *a;
};

static int read_copy_label(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			   struct nsx_err *err NSX_UNUSED)
{
	struct labels *l = ctx;

	if (v[0].type == NSX_V_I64 && v[0].u.i >= 0 && v[0].u.i < 256 && v[1].type == NSX_V_TEXT)
		l->label[l->kind[v[0].u.i]] = nsx_val_text(&v[1], l->a);
	return 0;
}

static int read_labels(const struct nsx_run *run, struct copy_groups *g,
		       struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_schema *s = run->trace->schema;
	struct labels c = {s->copy_kinds.of, g->copy_label, out->arena};
	struct labels m = {s->mem_kinds.of, g->mem_label, out->arena};

	for (unsigned i = 0; i < 256; i++) {
		g->direction[i] = nsx_copy_direction(i);
		g->copy_label[i] = i < NSX_NCOPY_KINDS ?
					   nsx_copy_labels[i] :
					   nsx_say(out, "kind %u", i);
		g->mem_label[i] = i < NSX_NMEM_KINDS ? nsx_mem_labels[i] : g->copy_label[i];
	}
	if (nsx_view_each(s, enum_memcpy, read_copy_label, &c, err, id, label))
		return err->rc;
	return nsx_view_each(s, enum_mem_kind, read_copy_label, &m, err, id, label);
}

/* Tables -------------------------------------------------------------------*/

static void copies_fill_rows(const struct nsx_trace *t, const struct copy_groups *g,
			     struct nsx_table *table)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct copy_group *x = &g->v[i];
		struct nsx_cell *row = nsx_add_row(table);

		row[DEVICE] = nsx_device_cell(t, x->device);
		row[DIRECTION] = nsx_string(g->direction[x->kind]);
		row[COPY_KIND] = nsx_string(g->copy_label[x->kind]);
		row[SRC_KIND] = nsx_string(g->mem_label[x->src]);
		row[DST_KIND] = nsx_string(g->mem_label[x->dst]);
		row[COUNT] = nsx_int(x->count);
		row[BYTES] = nsx_int(x->bytes);
		row[TOTAL_NS] = nsx_int(x->total_ns);
		row[BUSY] = nsx_ms(x->busy_ns);
		row[GBPS] = nsx_real(copy_gbps(x));
		row[P50] = nsx_real(x->p50_gbps);
		row[SMALL] = nsx_int(x->small);
		row[EXPOSED] = nsx_ms(x->exposed_ns);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL_NS), NSX_DESC(BYTES), DEVICE,
		       DIRECTION, SRC_KIND, DST_KIND);
}

static void copies_fill_devices(const struct nsx_run *run, const struct copy_groups *g,
				struct nsx_table *table)
{
	const struct nsx_trace *t = run->trace;
	int64_t window_ns = t->window.end_ns - t->window.start_ns;
	size_t i = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_spans *copy = &run->facts->device[d].copy;
		int64_t exposed = nsx_spans_minus_total(copy, &g->kernels[d]);
		int64_t n[2] = {0}, bytes[2] = {0}, pageable = 0;
		struct nsx_cell *row = nsx_add_row(table);

		for (; i < g->n && g->v[i].device == d; i++) {
			const struct copy_group *x = &g->v[i];

			if (nsx_copy_is_pageable(x->kind, x->src, x->dst))
				nsx_add_to(&pageable, x->exposed_ns);
			if (x->kind != NSX_COPY_HTOD && x->kind != NSX_COPY_DTOH)
				continue;
			n[x->kind - 1] += x->count;
			nsx_add_to(&bytes[x->kind - 1], x->bytes);
		}
		row[DEVICE_ID] = nsx_device_cell(t, d);
		row[DEVICE_HOST_TO_DEVICE_COUNT] = nsx_int(n[0]);
		row[DEVICE_TO_HOST_COUNT] = nsx_int(n[1]);
		if (window_ns)
			row[DEVICE_TRANSFERS_PER_S] = nsx_real((double)(n[0] + n[1]) * 1e9 /
							       (double)window_ns);
		row[DEVICE_HOST_TO_DEVICE_BYTES] = nsx_int(bytes[0]);
		row[DEVICE_TO_HOST_BYTES] = nsx_int(bytes[1]);
		row[DEVICE_COPY_BUSY_MS] = nsx_ms(nsx_spans_total(copy));
		row[DEVICE_COPY_EXPOSED_MS] = nsx_ms(exposed);
		row[DEVICE_COPY_EXPOSED_PCT] = nsx_part_pct(exposed, window_ns);
		row[DEVICE_GPU] = nsx_string(nsx_text(t, t->device[d].gpu));
		row[DEVICE_PAGEABLE_EXPOSED] = nsx_ms(pageable);
	}
}

/* Makes the cell of a copy rate. It is null if the window may have cut the time of copies, since
 * their bytes stay whole.
 */
static struct nsx_cell copy_rate_cell(const struct nsx_trace *t, int64_t bytes, int64_t ns)
{
	return !nsx_has_window(t) ? nsx_real((double)bytes / (double)ns) : nsx_null();
}

/* Adds the sizes of one device's copies, by direction. */
static void add_copy_sizes(const struct nsx_trace *t, const struct copy_groups *g,
			   uint32_t device, struct copy_sum (*by_kind)[NSIZES],
			   struct nsx_table *table)
{
	for (unsigned i = 0; i < 256 * NSIZES; i++) {
		const struct copy_sum *z = &by_kind[i / NSIZES][i % NSIZES];
		struct nsx_cell *row;

		if (!z->count)
			continue;
		row = nsx_add_row(table);
		row[SIZE_DEVICE_ID] = nsx_device_cell(t, device);
		row[SIZE_DIRECTION] = nsx_string(g->direction[i / NSIZES]);
		row[SIZE] = nsx_string(size_names[i % NSIZES]);
		row[SIZE_COUNT] = nsx_int(z->count);
		row[SIZE_BYTES] = nsx_int(z->bytes);
		row[SIZE_TOTAL_MS] = nsx_ms(z->ns);
		row[SIZE_GBPS] = copy_rate_cell(t, z->bytes, z->ns);
	}
}

static void fill_sizes(const struct nsx_trace *t, const struct copy_groups *g,
		       struct nsx_table *table)
{
	struct copy_sum by_kind[256][NSIZES];

	NSX_EACH_RUN(i, next, g->n, g->v[next].device == g->v[i].device) {
		uint32_t d = g->v[i].device;

		memset(by_kind, 0, sizeof(by_kind));
		for (size_t m = i; m < next; m++)
			for (unsigned k = 0; k < NSIZES; k++)
				copy_add(&by_kind[g->v[m].kind][k], g->v[m].size[k]);
		add_copy_sizes(t, g, d, by_kind, table);
	}
	nsx_table_sort(table, NSX_DESC(SIZE_TOTAL_MS), NSX_DESC(SIZE_BYTES),
		       SIZE_DEVICE_ID, SIZE_DIRECTION, SIZE);
}

static void fill_migration_causes(const struct nsx_trace *t, const struct copy_groups *g,
				  struct nsx_table *table)
{
	for (size_t i = 0; i < (size_t)t->ndevices * 3 * NSX_NMIGRATE_CAUSES; i++) {
		size_t d = i / NSX_NMIGRATE_CAUSES / 3, kind = i / NSX_NMIGRATE_CAUSES % 3;
		const struct copy_sum *x = &g->causes[d][kind][i % NSX_NMIGRATE_CAUSES];
		struct nsx_cell *row;

		if (!x->count)
			continue;
		row = nsx_add_row(table);
		row[CAUSE_DEVICE_ID] = nsx_device_cell(t, (uint32_t)d);
		row[CAUSE_DIRECTION] = nsx_string(g->direction[NSX_COPY_UVM_HTOD + kind]);
		row[CAUSE] = nsx_string(cause_names[i % NSX_NMIGRATE_CAUSES]);
		row[CAUSE_COUNT] = nsx_int(x->count);
		row[CAUSE_BYTES] = nsx_int(x->bytes);
		row[CAUSE_TOTAL_MS] = nsx_ms(x->ns);
	}
	nsx_table_sort(table, NSX_DESC(CAUSE_TOTAL_MS), CAUSE_DEVICE_ID, CAUSE_DIRECTION, CAUSE);
}

NSX_ORDER(cmp_peers, struct copy_peer, UP(src), UP(dst), UP(src_id), UP(dst_id));

/* The number that tables show for a peer device; its ordinal if it is not in the trace. */
static struct nsx_cell peer_cell(const struct nsx_trace *t, uint32_t device, uint32_t id)
{
	return device == NSX_NONE ? nsx_known_cell(id) : nsx_device_cell(t, device);
}

static void fill_peer_copies(const struct nsx_trace *t, struct copy_groups *g,
			     struct nsx_table *table)
{
	nsx_sort(g->peers, g->npeers, sizeof(*g->peers), cmp_peers);
	NSX_EACH_RUN(i, next, g->npeers, !cmp_peers(&g->peers[i], &g->peers[next])) {
		struct nsx_cell *row = nsx_add_row(table);
		int64_t bytes = 0, ns = 0;

		for (size_t k = i; k < next; k++) {
			nsx_add_to(&bytes, g->peers[k].bytes);
			nsx_add_to(&ns, g->peers[k].ns);
		}
		row[PEER_SRC_DEVICE_ID] = peer_cell(t, g->peers[i].src, g->peers[i].src_id);
		row[PEER_DST_DEVICE_ID] = peer_cell(t, g->peers[i].dst, g->peers[i].dst_id);
		row[PEER_COUNT] = nsx_int((int64_t)(next - i));
		row[PEER_BYTES] = nsx_int(bytes);
		row[PEER_TOTAL_MS] = nsx_ms(ns);
		row[PEER_GBPS] = copy_rate_cell(t, bytes, ns);
	}
}

static void put_memsets(const struct nsx_trace *t, struct nsx_section *out)
{
	int64_t n = 0, bytes = 0, ns = 0;

	for (size_t i = 0; i < t->ops.n; i++) {
		if (t->ops.kind[i] != NSX_OP_MEMSET)
			continue;
		nsx_add_to(&ns, nsx_op_ns(&t->ops, i));
		if (!nsx_op_counts(t, i))
			continue;
		n++;
		nsx_add_to(&bytes, NSX_MAX(0, nsx_op_copy(t, i)->bytes));
	}
	nsx_put(out, "memset.count", nsx_int(n));
	nsx_put(out, "memset.bytes", nsx_int(bytes));
	nsx_put(out, "memset.total_time_ns", nsx_int(ns));
}

/* Markdown -----------------------------------------------------------------*/

enum { SHOWN_DEVICES = 8 };
#define WORTH_A_TABLE 0.01 /* Markdown shows a table if copies take this share of the window */

/* Describes the GPU whose compute is delayed most by copies. Returns whether any GPU copies
 * long enough for a table.
 */
static bool say_most_delayed_gpu(const struct nsx_trace *t, struct nsx_section *out,
				 const struct nsx_table *dev)
{
	double window_ms = (double)(t->window.end_ns - t->window.start_ns) / 1e6;
	const struct nsx_cell *x = NULL;
	uint32_t most = 0;
	bool any = false;

	for (uint32_t i = 0; i < dev->nrows; i++) { /* a row for each device */
		const struct nsx_cell *row = nsx_row_at(dev, i);

		if (!x || row[DEVICE_COPY_EXPOSED_MS].u.f > x[DEVICE_COPY_EXPOSED_MS].u.f ||
		    (x[DEVICE_COPY_BUSY_MS].u.f <= 0 && row[DEVICE_COPY_BUSY_MS].u.f > 0)) {
			x = row;
			most = i;
		}
		any |= row[DEVICE_COPY_BUSY_MS].u.f >= WORTH_A_TABLE * window_ms;
	}
	if (x && x[DEVICE_COPY_BUSY_MS].u.f > 0)
		nsx_md_text(out, "Copies and memsets take %s of GPU %s's time, %s of it with no "
			    "kernel running (%s of the window)%s.",
			    nsx_say_ms(out, x[DEVICE_COPY_BUSY_MS].u.f),
			    nsx_gpu_label(t, most),
			    nsx_say_ms(out, x[DEVICE_COPY_EXPOSED_MS].u.f),
			    nsx_text_share(out->arena, x[DEVICE_COPY_EXPOSED_PCT].u.f, 100),
			    dev->nrows > 1 ? "; no other GPU spends more" : "");
	return any;
}

static void copies_show(const struct nsx_trace *t, const struct copy_groups *g,
			struct nsx_table **tables, struct nsx_section *out)
{
	bool any = say_most_delayed_gpu(t, out, tables[DEVICES]);
	int64_t unsized = 0;
	unsigned shown = 0;

	for (size_t i = 0; i < g->n; i++) {
		const struct nsx_gpu_info *gpu = nsx_device_gpu(t, g->v[i].device);
		double gbps = copy_gbps(&g->v[i]);

		unsized += g->v[i].unsized;
		if (g->v[i].kind == NSX_COPY_DTOD && gbps > 0 && gpu &&
		    !isnan(g->v[i].p50_gbps) &&
		    gpu->bandwidth_bytes_per_s > 0 && shown++ < SHOWN_DEVICES)
			nsx_md_bullet(out, "GPU %s: device-to-device copies both read and write, "
					   "so %s/s use %s/s of the %s/s of its memory.",
				nsx_gpu_label(t, g->v[i].device),
				nsx_text_bytes(out->arena, 1e9 * gbps),
				nsx_text_bytes(out->arena, 2e9 * gbps),
				nsx_text_bytes(out->arena, (double)gpu->bandwidth_bytes_per_s));
	}
	if (any)
		nsx_md_table(out, tables[ROWS], 3, DEVICE, DIRECTION, SRC_KIND,
			     DST_KIND, COUNT, BYTES, BUSY, GBPS, P50, SMALL, EXPOSED);
	if (any && tables[MIGRATIONS]->nrows)
		nsx_md_whole(out, tables[MIGRATIONS], 0);
	if (any && tables[PEERS]->nrows)
		nsx_md_whole(out, tables[PEERS], 0);
	if (unsized)
		nsx_note(out, "%" PRId64 " copies have no size; groups with "
			      "such copies have no rate", unsized);
	if (nsx_has_window(t))
		nsx_note(out, "rates exclude copies that the window may cut");
}

static int copies_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	NSX_AT_EXIT(copies_done) struct copy_groups g = {0};
	struct nsx_table **tables = nsx_add_tables(out);

	if (!t->ndevices && !nsx_has_view(t->schema, NSX_VIEW_memcpy))
		return nsx_cannot(out, "the trace has no GPU work, so no copies: no rows "
				       "of CUPTI_ACTIVITY_KIND_MEMCPY");
	if (read_labels(run, &g, out, err) || copies_measure(run, &g, err))
		return err->rc;
	copies_fill_rows(t, &g, tables[ROWS]);
	copies_fill_devices(run, &g, tables[DEVICES]);
	fill_sizes(t, &g, tables[SIZES]);
	fill_migration_causes(t, &g, tables[MIGRATIONS]);
	fill_peer_copies(t, &g, tables[PEERS]);
	put_memsets(t, out);
	copies_show(t, &g, tables, out);
	return copies_alike(run, out, err);
}

NSX_DEFINE_PASS(copies,
	.title = "Copies",
	.subject = "copies",
	.summary = "copies by device, direction and kind of memory",
	.doc = "Copies grouped by (device, direction, kind of source, kind of destination), with "
	       "labels from the export's own tables. busy_ms is the union of a group; gbps = bytes "
	       "/ busy in units of 10^9 bytes per second; p50_gbps is the median rate of copies of "
	       "at least 1 MiB, weighted by bytes; exposed_ms is the part of busy_ms in which "
	       "neither a kernel nor a graph replay ran on the device. A peer copy is one row of "
	       "the device on which it was recorded, but occupies both devices. Migrations of "
	       "unified memory (UVM) are copies with a cause.",
	.derived_from = "rows of copies and memsets; unions per device",
	.limitations = "the link (PCIe generation, NVLink) is not in the trace, so a rate is not "
		       "compared with its peak; copies inside CUDA graphs traced as a whole are "
		       "not listed",
	.any_of = {NSX_GPU_WORK},
	NSX_LAYOUTS(layouts),
	.more = (const struct nsx_layout *const[]){&copies_alike_layout, NULL});
