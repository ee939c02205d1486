/* copies.c - copies by (device, direction, kinds of memory), and memsets.
 *
 * One sweep a device: ops come in order of start, so a group's union needs
 * only its running end, and what a piece adds to the union is exposed where no
 * kernel covers it.  Groups are found by a table of 64 Ki entries for each
 * copy kind in use.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "copies.h"
#include "nsx/stat.h"
#include "nsx/viewscan.h"

enum {
	DEVICE, DIRECTION, COPY_KIND, SRC_KIND, DST_KIND, COUNT, BYTES,
	TOTAL_NS, BUSY, GBPS, P50, SMALL, EXPOSED
};
static const struct nsx_col cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"direction", "HtoD, DtoH, DtoD, PtoP, UVM HtoD ...", NSX_T_STR},
	{"copy_kind", "label of the direction in this export", NSX_T_STR},
	{"src_kind", "kind of source memory", NSX_T_STR},
	{"dst_kind", "kind of destination memory", NSX_T_STR},
	{"count", "copies that began in the window", NSX_T_I64},
	{"bytes", "bytes they moved", NSX_T_I64},
	{"total_time_ns", "sum of durations", NSX_T_I64},
	{"busy_ms", "union of them", NSX_T_F64},
	{"gbps", "bytes over busy time, 10^9 bytes a second", NSX_T_F64},
	{"p50_gbps", "median rate of copies of at least 1 MiB, weighted by "
		     "bytes", NSX_T_F64},
	{"small_count", "copies below 64 KiB", NSX_T_I64},
	{"exposed_ms", "part of busy_ms in which no kernel ran on the device",
	 NSX_T_F64},
};
static const struct nsx_col device_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"host_to_device_count", "HtoD copies", NSX_T_I64},
	{"device_to_host_count", "DtoH copies", NSX_T_I64},
	{"transfers_per_s", "both, per second of the window", NSX_T_F64},
	{"host_to_device_bytes", "HtoD bytes", NSX_T_I64},
	{"device_to_host_bytes", "DtoH bytes", NSX_T_I64},
	{"copy_busy_ms", "union of copies and memsets", NSX_T_F64},
	{"copy_exposed_ms", "part of it in which no kernel ran", NSX_T_F64},
	{"copy_exposed_pct", "that, of the window", NSX_T_F64},
	{"gpu", "tells GPUs of one ordinal apart", NSX_T_STR},
};
static const struct nsx_col size_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"direction", "HtoD, DtoH ...", NSX_T_STR},
	{"size", "bytes of one copy", NSX_T_STR},
	{"count", "copies", NSX_T_I64},
	{"bytes", "bytes they moved", NSX_T_I64},
	{"total_ms", "sum of durations", NSX_T_F64},
	{"gbps", "bytes over the sum of durations", NSX_T_F64},
};
static const struct nsx_col cause_cols[] = {
	{"device_id", "CUDA ordinal", NSX_T_I64},
	{"direction", "UVM HtoD, UVM DtoH, UVM DtoD", NSX_T_STR},
	{"cause", "why unified memory moved", NSX_T_STR},
	{"count", "migrations", NSX_T_I64},
	{"bytes", "bytes they moved", NSX_T_I64},
	{"total_ms", "sum of durations", NSX_T_F64},
};
static const struct nsx_col peer_cols[] = {
	{"src_device_id", "CUDA ordinal of the source", NSX_T_I64},
	{"dst_device_id", "CUDA ordinal of the destination", NSX_T_I64},
	{"count", "peer copies", NSX_T_I64},
	{"bytes", "bytes they moved", NSX_T_I64},
	{"total_ms", "sum of durations", NSX_T_F64},
	{"gbps", "bytes over the sum of durations", NSX_T_F64},
};
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "memcpy_summary", NSX_COLS(cols)},
	{.key = "devices", NSX_COLS(device_cols)},
	{.key = "sizes", NSX_COLS(size_cols)},
	{.key = "migrations", NSX_COLS(cause_cols)},
	{.key = "peers", NSX_COLS(peer_cols)},
};
static const char *const size_names[NSIZES] = {
	"below 4 KiB", "4 to 64 KiB", "64 KiB to 1 MiB", "1 to 16 MiB",
	"16 MiB and more",
};
static const char *const cause_names[NCAUSES] = {
	"Unknown", "User prefetch", "Page fault", "Speculative prefetch",
	"Eviction", "Access counters",
};
/* Where the export has no label tables (before 2022.4). */
static const char *const mem_labels[] = {
	"Pageable", "Pinned", "Device", "Array", "Managed", "Device Static",
	"Managed Static", "Unknown",
};
static const char *const copy_labels[] = {
	"Unknown", "Host-to-Device", "Device-to-Host", "Host-to-Array",
	"Array-to-Host", "Array-to-Array", "Array-to-Device",
	"Device-to-Array", "Device-to-Device", "Host-to-Host", "Peer-to-Peer",
	"Unified Host-to-Device", "Unified Device-to-Host",
	"Unified Device-to-Device",
};

/* Labels -------------------------------------------------------------------*/

struct labels {
	const char **label;
	struct nsx_arena *a;
};

static int on_label(void *ctx, int64_t rid, const struct nsx_val *v,
		    struct nsx_err *err)
{
	struct labels *l = ctx;

	(void)rid, (void)err;
	if (v[0].type == NSX_V_I64 && v[0].u.i >= 0 && v[0].u.i < 256 &&
	    v[1].type == NSX_V_TEXT)
		l->label[v[0].u.i] = nsx_val_text(&v[1], l->a);
	return 0;
}

static int read_labels(const struct nsx_run *run, struct copy_groups *g,
		       struct nsx_section *out, struct nsx_err *err)
{
	static const enum nsx_field copy[] = {NSX_F_enum_memcpy_id,
					      NSX_F_enum_memcpy_label};
	static const enum nsx_field mem[] = {NSX_F_enum_mem_kind_id,
					     NSX_F_enum_mem_kind_label};
	const struct nsx_schema *s = run->trace->schema;
	struct labels c = {g->copy_label, out->arena};
	struct labels m = {g->mem_label, out->arena};

	for (unsigned i = 0; i < 256; i++) {
		g->direction[i] = nsx_copy_direction(i);
		g->copy_label[i] = i < ARRAY_LEN(copy_labels) ?
					   copy_labels[i] :
					   nsx_say(out, "kind %u", i);
		g->mem_label[i] = i < ARRAY_LEN(mem_labels) ?
					  mem_labels[i] : g->copy_label[i];
	}
	if (nsx_view_scan(s, NSX_VIEW_enum_memcpy, copy, 2, 1, on_label, &c, 0,
			  err))
		return err->rc;
	return nsx_view_scan(s, NSX_VIEW_enum_mem_kind, mem, 2, 1, on_label,
			     &m, 0, err);
}

/* Groups -------------------------------------------------------------------*/

struct large { /* a copy whose rate counts for the median */
	uint32_t group;
	int64_t bytes;
	double gbps;
};
struct sweep {
	const struct nsx_run *run;
	struct copy_groups *g;
	uint32_t *table[256]; /* by copy kind: group + 1 by (source, dest.)  */
	struct large *large;
	size_t nlarge, cap_large;
	int64_t (*causes)[3][NCAUSES][3]; /* by device: count, bytes, ns     */
	struct peer {
		uint32_t src, dst;
		int64_t bytes, ns;
	} *peers;
	size_t npeers, cap_peers;
};

static uint32_t *slot_of(struct sweep *s, const struct nsx_copy *c,
			 struct nsx_err *err)
{
	uint32_t **table = &s->table[c->copy_kind];

	if (!*table)
		*table = nsx_arena_try_array(s->run->scratch, 1 << 16,
					     sizeof(uint32_t), "copy groups",
					     err);
	return *table ? *table + ((unsigned)c->src_kind << 8 | c->dst_kind) :
			NULL;
}

static struct copy_group *group_of(struct sweep *s, uint32_t device,
				   const struct nsx_copy *c,
				   struct nsx_err *err)
{
	struct copy_groups *g = s->g;
	uint32_t *slot = slot_of(s, c, err);

	if (!slot)
		return NULL;
	if (*slot && g->v[*slot - 1].device == device)
		return &g->v[*slot - 1];
	if (nsx_grow(&g->v, &g->cap, g->n + 1, sizeof(*g->v), "copy groups",
		     err))
		return NULL;
	g->v[g->n] = (struct copy_group){
		.device = device, .kind = c->copy_kind, .src = c->src_kind,
		.dst = c->dst_kind, .p50_gbps = NAN,
		.busy_end_ns = INT64_MIN, .whole_end_ns = INT64_MIN};
	*slot = (uint32_t)++g->n;
	return &g->v[g->n - 1];
}

static unsigned size_class(int64_t bytes)
{
	return bytes < 4 << 10 ? 0 : bytes < SMALL_BYTES ? 1 :
	       bytes < LARGE_BYTES ? 2 : bytes < 16 << 20 ? 3 : 4;
}

static int add_peer(struct sweep *s, const struct nsx_copy *c, int64_t ns,
		    struct nsx_err *err)
{
	if (nsx_grow(&s->peers, &s->cap_peers, s->npeers + 1,
		     sizeof(*s->peers), "peer copies", err))
		return err->rc;
	s->peers[s->npeers++] = (struct peer){c->src_device, c->dst_device,
					      c->bytes, ns};
	return 0;
}

static int count_copy(struct sweep *s, struct copy_group *x, uint32_t device,
		      const struct nsx_copy *c, int64_t ns,
		      struct nsx_err *err)
{
	x->count++;
	if (c->bytes < 0) {
		x->unsized++;
		return 0;
	}
	nsx_add_to(&x->bytes, c->bytes);
	x->small += c->bytes < SMALL_BYTES;
	struct copy_size *z = &x->size[size_class(c->bytes)];
	z->count++;
	nsx_add_to(&z->bytes, c->bytes);
	nsx_add_to(&z->total_ns, ns);
	if (copy_is_migration(x->kind)) {
		int64_t *y = s->causes[device][x->kind - COPY_UVM_HTOD]
				      [c->cause < NCAUSES ? c->cause : 0];

		y[0]++;
		nsx_add_to(&y[1], c->bytes);
		nsx_add_to(&y[2], ns);
	}
	return x->kind == COPY_PTOP ? add_peer(s, c, ns, err) : 0;
}

/* Whether a copy may have been cut by the window that the user asked for. */
static bool is_whole(const struct nsx_trace *t, size_t op)
{
	return t->user.start_ns == t->user.end_ns ||
	       (!(t->ops.flags[op] & NSX_OP_CUT) &&
		t->ops.end_ns[op] < t->window.end_ns);
}

static int add_copy(struct sweep *s, uint32_t device, size_t op,
		    const int64_t *prefix, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;
	const struct nsx_copy *c = &t->copy[t->ops.detail[op]];
	int64_t a = t->ops.start_ns[op], b = t->ops.end_ns[op];
	struct copy_group *x = group_of(s, device, c, err);

	if (!x)
		return err->rc;
	nsx_add_to(&x->total_ns, b - a);
	if (b > x->busy_end_ns) {
		int64_t from = NSX_MAX(a, x->busy_end_ns);

		x->busy_ns += b - from;
		x->exposed_ns += b - from -
				 nsx_spans_within(&s->g->kernels[device],
						  prefix, from, b);
		x->busy_end_ns = b;
	}
	if (nsx_op_counts(t, op) && count_copy(s, x, device, c, b - a, err))
		return err->rc;
	if (!is_whole(t, op) || c->bytes < 0)
		return 0;
	nsx_add_to(&x->whole_bytes, c->bytes);
	if (b > x->whole_end_ns) {
		x->whole_ns += b - NSX_MAX(a, x->whole_end_ns);
		x->whole_end_ns = b;
	}
	if (c->bytes < LARGE_BYTES || b == a)
		return 0;
	if (nsx_grow(&s->large, &s->cap_large, s->nlarge + 1,
		     sizeof(*s->large), "large copies", err))
		return err->rc;
	s->large[s->nlarge++] = (struct large){
		(uint32_t)(x - s->g->v), c->bytes,
		(double)c->bytes / (double)(b - a)};
	return 0;
}

static int sweep_device(struct sweep *s, uint32_t device, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;
	const struct nsx_device *d = &t->device[device];
	const struct nsx_device_facts *f = &s->run->facts->device[device];
	struct nsx_spans *kernels = &s->g->kernels[device];
	int64_t *prefix;

	if (nsx_spans_union(s->run->scratch, &f->compute, &f->comm, kernels,
			    err) ||
	    nsx_spans_prefix(s->run->scratch, kernels, &prefix, err))
		return err->rc;
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.kind[i] == NSX_OP_MEMCPY &&
		    !(t->ops.flags[i] & NSX_OP_PEER) &&
		    add_copy(s, device, i, prefix, err))
			return err->rc;
	return 0;
}

static int cmp_large(const void *a, const void *b)
{
	const struct large *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	return x->gbps < y->gbps ? -1 : x->gbps > y->gbps;
}

/* The least rate at which half of the bytes is reached. */
static void find_medians(struct sweep *s)
{
	size_t next;

	if (s->nlarge)
		qsort(s->large, s->nlarge, sizeof(*s->large), cmp_large);
	for (size_t i = 0; i < s->nlarge; i = next) {
		double all = 0, seen = 0;

		for (next = i; next < s->nlarge &&
			       s->large[next].group == s->large[i].group;
		     next++)
			all += (double)s->large[next].bytes;
		for (size_t k = i; seen < all / 2; k++) {
			seen += (double)s->large[k].bytes;
			s->g->v[s->large[i].group].p50_gbps = s->large[k].gbps;
		}
	}
}

static int make_groups(const struct nsx_run *run, struct sweep *s,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;

	s->causes = nsx_arena_try_array(run->scratch, t->ndevices,
					sizeof(*s->causes), "migrations", err);
	s->g->kernels = nsx_arena_try_array(run->scratch, t->ndevices,
					    sizeof(*s->g->kernels), "devices",
					    err);
	if (!s->causes || !s->g->kernels)
		return err->rc;
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (sweep_device(s, d, err))
			return err->rc;
	find_medians(s);
	return 0;
}

/* Tables -------------------------------------------------------------------*/

static int fill_rows(const struct nsx_trace *t, const struct copy_groups *g,
		     struct nsx_table *table, struct nsx_err *err)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct copy_group *x = &g->v[i];
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		row[DEVICE] = nsx_int(t->device[x->device].device_id);
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
	nsx_table_sort(table, "total_time_ns desc, bytes desc, device_id, "
			      "direction, src_kind, dst_kind");
	return 0;
}

static int fill_devices(const struct nsx_run *run, const struct copy_groups *g,
			struct nsx_table *table, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	int64_t window_ns = t->window.end_ns - t->window.start_ns;
	size_t i = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_spans *copy = &run->facts->device[d].copy;
		int64_t exposed = nsx_spans_minus_total(copy, &g->kernels[d]);
		int64_t n[2] = {0}, bytes[2] = {0};
		struct nsx_cell *row = nsx_row(table, err);

		if (!row)
			return err->rc;
		for (; i < g->n && g->v[i].device == d; i++)
			if (g->v[i].kind == COPY_HTOD ||
			    g->v[i].kind == COPY_DTOH) {
				n[g->v[i].kind - 1] += g->v[i].count;
				nsx_add_to(&bytes[g->v[i].kind - 1],
					   g->v[i].bytes);
			}
		row[0] = nsx_int(t->device[d].device_id);
		row[1] = nsx_int(n[0]);
		row[2] = nsx_int(n[1]);
		if (window_ns)
			row[3] = nsx_real((double)(n[0] + n[1]) * 1e9 /
					  (double)window_ns);
		row[4] = nsx_int(bytes[0]);
		row[5] = nsx_int(bytes[1]);
		row[6] = nsx_ms(nsx_spans_total(copy));
		row[7] = nsx_ms(exposed);
		row[8] = nsx_pct((double)exposed, (double)window_ns);
		row[9] = nsx_string(nsx_text(t, t->device[d].gpu));
	}
	return 0;
}

/* Null where the window may have cut the time of what was moved whole. */
static struct nsx_cell rate_cell(const struct nsx_trace *t, int64_t bytes,
				 int64_t ns)
{
	return t->user.start_ns == t->user.end_ns ?
		       nsx_real((double)bytes / (double)ns) : nsx_null();
}

/* Sizes of one device's copies, by direction. */
static int add_sizes(const struct nsx_trace *t, const struct copy_groups *g,
		     uint32_t device,
		     struct copy_size (*by_kind)[NSIZES],
		     struct nsx_table *table, struct nsx_err *err)
{
	for (unsigned i = 0; i < 256 * NSIZES; i++) {
		const struct copy_size *z = &by_kind[i / NSIZES][i % NSIZES];
		struct nsx_cell *row = z->count ? nsx_row(table, err) : NULL;

		if (!z->count)
			continue;
		if (!row)
			return err->rc;
		row[0] = nsx_int(t->device[device].device_id);
		row[1] = nsx_string(g->direction[i / NSIZES]);
		row[2] = nsx_string(size_names[i % NSIZES]);
		row[3] = nsx_int(z->count);
		row[4] = nsx_int(z->bytes);
		row[5] = nsx_ms(z->total_ns);
		row[6] = rate_cell(t, z->bytes, z->total_ns);
	}
	return 0;
}

static int fill_sizes(const struct nsx_trace *t, const struct copy_groups *g,
		      struct nsx_table *table, struct nsx_err *err)
{
	struct copy_size by_kind[256][NSIZES];
	size_t next;

	for (size_t i = 0; i < g->n; i = next) {
		uint32_t d = g->v[i].device;

		memset(by_kind, 0, sizeof(by_kind));
		for (next = i; next < g->n && g->v[next].device == d; next++)
			for (unsigned k = 0; k < NSIZES; k++) {
				struct copy_size *z =
					&by_kind[g->v[next].kind][k];

				z->count += g->v[next].size[k].count;
				nsx_add_to(&z->bytes,
					   g->v[next].size[k].bytes);
				nsx_add_to(&z->total_ns,
					   g->v[next].size[k].total_ns);
			}
		if (add_sizes(t, g, d, by_kind, table, err))
			return err->rc;
	}
	nsx_table_sort(table, "total_ms desc, bytes desc, device_id, "
			      "direction, size");
	return 0;
}

static int fill_causes(const struct sweep *s, struct nsx_table *table,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;

	for (size_t i = 0; i < (size_t)t->ndevices * 3 * NCAUSES; i++) {
		size_t d = i / (3 * NCAUSES), kind = i / NCAUSES % 3;
		const int64_t *x = s->causes[d][kind][i % NCAUSES];
		struct nsx_cell *row = x[0] ? nsx_row(table, err) : NULL;

		if (!x[0])
			continue;
		if (!row)
			return err->rc;
		row[0] = nsx_int(t->device[d].device_id);
		row[1] = nsx_string(s->g->direction[COPY_UVM_HTOD + kind]);
		row[2] = nsx_string(cause_names[i % NCAUSES]);
		row[3] = nsx_int(x[0]);
		row[4] = nsx_int(x[1]);
		row[5] = nsx_ms(x[2]);
	}
	nsx_table_sort(table, "total_ms desc, device_id, direction, cause");
	return 0;
}

static int cmp_peers(const void *a, const void *b)
{
	const struct peer *x = a, *y = b;

	if (x->src != y->src)
		return x->src < y->src ? -1 : 1;
	return x->dst < y->dst ? -1 : x->dst > y->dst;
}

static struct nsx_cell device_cell(const struct nsx_trace *t, uint32_t device)
{
	return device == NSX_NONE ? nsx_null() :
				    nsx_int(t->device[device].device_id);
}

static int fill_peers(struct sweep *s, struct nsx_table *table,
		      struct nsx_err *err)
{
	size_t next;

	if (s->npeers)
		qsort(s->peers, s->npeers, sizeof(*s->peers), cmp_peers);
	for (size_t i = 0; i < s->npeers; i = next) {
		struct nsx_cell *row = nsx_row(table, err);
		int64_t bytes = 0, ns = 0;

		if (!row)
			return err->rc;
		for (next = i; next < s->npeers &&
			       !cmp_peers(&s->peers[i], &s->peers[next]);
		     next++) {
			nsx_add_to(&bytes, s->peers[next].bytes);
			nsx_add_to(&ns, s->peers[next].ns);
		}
		row[0] = device_cell(s->run->trace, s->peers[i].src);
		row[1] = device_cell(s->run->trace, s->peers[i].dst);
		row[2] = nsx_int((int64_t)(next - i));
		row[3] = nsx_int(bytes);
		row[4] = nsx_ms(ns);
		row[5] = rate_cell(s->run->trace, bytes, ns);
	}
	return 0;
}

static void put_memsets(const struct nsx_trace *t, struct nsx_section *out)
{
	int64_t n = 0, bytes = 0, ns = 0;

	for (size_t i = 0; i < t->ops.n; i++) {
		if (t->ops.kind[i] != NSX_OP_MEMSET)
			continue;
		nsx_add_to(&ns, t->ops.end_ns[i] - t->ops.start_ns[i]);
		if (!nsx_op_counts(t, i))
			continue;
		n++;
		nsx_add_to(&bytes, NSX_MAX(0, t->copy[t->ops.detail[i]].bytes));
	}
	nsx_put(out, "memset.count", nsx_int(n));
	nsx_put(out, "memset.bytes", nsx_int(bytes));
	nsx_put(out, "memset.total_time_ns", nsx_int(ns));
}

/* Markdown -----------------------------------------------------------------*/

enum { SHOWN_DEVICES = 8 };

static void show(const struct nsx_trace *t, const struct copy_groups *g,
		 struct nsx_table **tables, struct nsx_section *out)
{
	const struct nsx_table *dev = tables[1];
	int64_t unsized = 0;
	unsigned shown = 0;

	for (size_t i = 0; i < NSX_MIN(dev->nrows, SHOWN_DEVICES); i++)
		nsx_md_bullet(
			out, "GPU %.0f: %.1f transfers a second between CPU "
			     "and GPU (%s to the device, %s to the host); "
			     "copies and memsets busy %.3f ms, %.3f ms of it "
			     "without a kernel (%.1f%% of the window).",
			nsx_table_number(dev, i, "device_id"),
			nsx_table_number(dev, i, "transfers_per_s"),
			nsx_say_bytes(out, nsx_row_at(dev, i)[4].u.i),
			nsx_say_bytes(out, nsx_row_at(dev, i)[5].u.i),
			nsx_table_number(dev, i, "copy_busy_ms"),
			nsx_table_number(dev, i, "copy_exposed_ms"),
			nsx_table_number(dev, i, "copy_exposed_pct"));
	for (size_t i = 0; i < g->n; i++) {
		const struct nsx_gpu_info *gpu =
			nsx_device_gpu(t, g->v[i].device);
		double gbps = copy_gbps(&g->v[i]);

		unsized += g->v[i].unsized;
		if (g->v[i].kind == COPY_DTOD && gbps > 0 && gpu &&
		    gpu->bandwidth_bytes_per_s > 0 && shown++ < SHOWN_DEVICES)
			nsx_md_bullet(
				out, "GPU %" PRId64 ": device-to-device copies "
				     "read and write, so %.1f GB/s moves %.1f "
				     "of the %.1f GB/s its memory has.",
				t->device[g->v[i].device].device_id, gbps,
				2 * gbps,
				(double)gpu->bandwidth_bytes_per_s / 1e9);
	}
	nsx_md_table(out, tables[0],
		     "device_id,direction,src_kind,dst_kind,count,bytes,"
		     "busy_ms,gbps,p50_gbps,small_count,exposed_ms", 0);
	if (tables[3]->nrows)
		nsx_md_table(out, tables[3],
			     "device_id,direction,cause,count,bytes,total_ms",
			     0);
	if (tables[4]->nrows)
		nsx_md_table(out, tables[4],
			     "src_device_id,dst_device_id,count,bytes,"
			     "total_ms,gbps", 0);
	if (unsized)
		nsx_note(out, "%" PRId64 " copies have no size; groups that "
			      "hold one have no rate", unsized);
	if (t->user.start_ns != t->user.end_ns)
		nsx_note(out, "rates leave out copies that the window may "
			      "cut");
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	struct copy_groups g = {0};
	struct sweep s = {.run = run, .g = &g};
	struct nsx_table *tables[ARRAY_LEN(layouts)];
	int rc;

	for (unsigned i = 0; i < ARRAY_LEN(layouts); i++)
		tables[i] = nsx_add_table(out, &layouts[i]);
	if (!t->ndevices && !nsx_has_view(t->schema, NSX_VIEW_memcpy))
		return nsx_cannot(out, "the trace has no GPU work, so none of "
				       "its copies: no rows of "
				       "CUPTI_ACTIVITY_KIND_MEMCPY");
	rc = read_labels(run, &g, out, err);
	if (!rc)
		rc = make_groups(run, &s, err);
	if (!rc)
		rc = fill_rows(t, &g, tables[0], err);
	if (!rc)
		rc = fill_devices(run, &g, tables[1], err);
	if (!rc)
		rc = fill_sizes(t, &g, tables[2], err);
	if (!rc)
		rc = fill_causes(&s, tables[3], err);
	if (!rc)
		rc = fill_peers(&s, tables[4], err);
	if (!rc) {
		put_memsets(t, out);
		show(t, &g, tables, out);
		rc = copies_judge(run, &g, out, err);
	}
	free(g.v);
	free(s.large);
	free(s.peers);
	return rc;
}

NSX_DEFINE_PASS(copies) {
	.id = "copies",
	.title = "Memory copies",
	.summary = "copies by device, direction and kind of memory",
	.doc = "Copies grouped by (device, direction, kind of source, kind of "
	       "destination), labels from the export's own tables. busy_ms is "
	       "the union of a group, gbps = bytes / busy in units of 10^9 "
	       "bytes, p50_gbps the least rate at which half of the bytes of "
	       "copies of at least 1 MiB is reached, exposed_ms the part of "
	       "busy_ms in which neither kernel nor graph replay ran on the "
	       "device. A peer copy is one row of the device it was recorded "
	       "on, but occupies both devices. Migrations of unified memory "
	       "(UVM) are copies with a cause.\n\n"
	       "Findings: copies exposed for at least 5 % of the steady "
	       "window; pageable copies of at least 1 % of all copy time that "
	       "are exposed for at least 0.1 % of the window, priced by the "
	       "rate of pinned copies in the same trace; 1000 small copies "
	       "with exposed time; migrations and page faults.",
	.derived_from = "rows of copies and memsets; unions per device",
	.limitations = "the link (PCIe generation, NVLink) is not in the "
		       "trace, so a rate is not compared with its peak; "
		       "copies inside CUDA graphs traced as a whole are not "
		       "listed",
	.layouts = layouts,
	.nlayouts = ARRAY_LEN(layouts),
	.run = run,
};
