/* copies_alike.c - copies of one direction and size: how long each takes, and how often the
 * same size is sent again, or to several GPUs.
 */
#include <inttypes.h>
#include "passes/gpu/copies.h"

#define COLUMNS(X)                                                            \
	X(DIRECTION, "direction", STR, "HtoD, DtoH ...")                      \
	X(SIZE, "bytes_each", I64, "size of one copy")                        \
	X(COUNT, "count", I64, "copies of this size; five or more")           \
	X(DEVICES, "devices", I64, "GPUs that have such copies")              \
	X(TOTAL, "total_ms", F64, "sum of durations")                         \
	X(P50, "p50_us", F64, "median duration")                              \
	X(P95, "p95_us", F64, "95th percentile")                              \
	X(P99, "p99_us", F64, "99th percentile")
NSX_COLUMNS(cols, COLUMNS);
const struct nsx_layout copies_alike_layout = {.key = "alike", NSX_COLS(cols),
					       .json_rows = 100};
enum { FEW = 5, NOTED_PCT = 1 /* a note needs at least FEW copies and NOTED_PCT of the window */ };

struct alike {
	size_t n, at;
	int64_t total_ns;
	/* Operations come device by device, so the last device seen is enough to count devices. */
	uint32_t device, ndevices;
};
struct sweep {
	struct nsx_groups keys; /* (kind, bytes) */
	struct alike *v;
	const struct nsx_trace *t;
	struct member {
		uint32_t op, group;
	} *copy; /* one for each key, in order of first operation */
	size_t n, cap;
	int64_t *ns;
};

static int group_copies_by_size(struct sweep *s, struct nsx_err *err)
{
	const struct nsx_ops *o = &s->t->ops;

	for (size_t i = 0; i < o->n; i++) {
		uint32_t device = nsx_stream_of(s->t, i)->device;
		const struct nsx_copy *c;
		struct alike *x;

		if (o->kind[i] != NSX_OP_MEMCPY || !nsx_op_counts(s->t, i))
			continue;
		c = nsx_op_copy(s->t, i);
		if (c->bytes < 0 || nsx_copy_is_migration(c->copy_kind))
			continue;
		x = nsx_group_value(&s->keys, &s->v, c->copy_kind,
				    (uint64_t)c->bytes, "copies of the same size", err);
		if (!x || nsx_push(s->copy, s->n, s->cap, "copies", err,
				   (struct member){(uint32_t)i,
						   (uint32_t)(x - s->v)}))
			return err->rc;
		x->ndevices += !x->n++ || x->device != device;
		x->device = device;
		nsx_add_to(&x->total_ns, nsx_op_ns(o, i));
	}
	return 0;
}

static void copies_alike_list_durations(struct sweep *s)
{
	size_t at = 0;

	for (size_t g = 0; g < s->keys.n; g++) {
		s->v[g].at = at;
		at += s->v[g].n;
		s->v[g].n = 0;
	}
	for (size_t i = 0; i < s->n; i++) {
		struct alike *x = &s->v[s->copy[i].group];

		s->ns[x->at + x->n++] = nsx_op_ns(&s->t->ops, s->copy[i].op);
	}
}

static void fill_copies_by_size(struct sweep *s, struct nsx_table *table)
{
	static const double qs[] = {0.5, 0.95, 0.99};

	for (size_t g = 0; g < s->keys.n; g++) {
		const struct alike *x = &s->v[g];
		struct nsx_cell *row;
		double q[3];

		if (x->n < FEW)
			continue;
		row = nsx_add_row(table);
		nsx_quantiles(s->ns + x->at, x->n, qs, 3, q);
		row[DIRECTION] = nsx_string(nsx_copy_direction(
			(unsigned)nsx_group_key(&s->keys, g).a));
		row[SIZE] = nsx_int((int64_t)nsx_group_key(&s->keys, g).b);
		row[COUNT] = nsx_int((int64_t)x->n);
		row[DEVICES] = nsx_int(x->ndevices);
		row[TOTAL] = nsx_ms(x->total_ns);
		row[P50] = nsx_us(q[0]);
		row[P95] = nsx_us(q[1]);
		row[P99] = nsx_us(q[2]);
	}
	nsx_table_sort(table, NSX_DESC(TOTAL), NSX_DESC(COUNT), DIRECTION, SIZE);
}

/* Whether the host receives at least as many copies of this size as row x counts. If so, data goes
 * back and forth, and is not the same data sent again.
 */
static bool returns_to_host(const struct nsx_table *table, const struct nsx_cell *x)
{
	const char *to_host = nsx_copy_direction(NSX_COPY_DTOH);

	return NSX_ANY(i, table->nrows, nsx_row_at(table, i)[SIZE].u.i == x[SIZE].u.i &&
		       !strcmp(nsx_row_at(table, i)[DIRECTION].u.s, to_host) &&
		       nsx_row_at(table, i)[COUNT].u.i >= x[COUNT].u.i);
}

static void copies_alike_say(const struct nsx_trace *t, struct nsx_section *out,
			     const struct nsx_table *table)
{
	const struct nsx_cell *x = nsx_row_at(table, 0);
	bool is_again = !strcmp(x[DIRECTION].u.s,
				nsx_copy_direction(NSX_COPY_HTOD)) &&
			!returns_to_host(table, x);

	if (x[TOTAL].u.f * 1e6 * 100 < NOTED_PCT * (double)(t->window.end_ns - t->window.start_ns))
		return;
	nsx_md_bullet(out, "%" PRId64 " %s copies have the same size, %s, and take %s in total: "
		"the median is %s, the 99th percentile "
		"%s.%s%s", x[COUNT].u.i, x[DIRECTION].u.s,
		nsx_say_bytes(out, x[SIZE].u.i), nsx_say_ms(out, x[TOTAL].u.f),
		nsx_text_ns(out->arena, x[P50].u.f * 1e3),
		nsx_text_ns(out->arena, x[P99].u.f * 1e3),
		!is_again ? "" : " The trace does not show whether the data is the same each time: "
				  "data that does not change should be copied once and kept.",
		!is_again || x[DEVICES].u.i < 2 ? "" :
			nsx_say(out, " They go to %" PRId64 " GPUs: if all of them need the same "
				"data, sending it to one GPU and from there to the others may be "
				"faster.", x[DEVICES].u.i));
}

int copies_alike(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_sums_done) struct sweep s = {.t = run->trace};
	struct nsx_table *table = nsx_add_table(out, &copies_alike_layout);
	int rc = group_copies_by_size(&s, err);

	if (!rc && !nsx_new_array(s.ns, run->scratch, s.n, "copies", err))
		rc = err->rc;
	if (!rc) {
		copies_alike_list_durations(&s);
		fill_copies_by_size(&s, table);
	}
	if (!rc && table->nrows)
		copies_alike_say(s.t, out, table);
	free(s.copy);
	return rc;
}
