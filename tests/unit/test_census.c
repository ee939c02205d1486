/* test_census.c - sums and longest gaps of a window, computed by blocks, equal those computed row
 * by row. The device has so many operations and gaps that they fill several blocks.
 */
#include "../testlib.h"
#include <stdio.h>
#include "agent/ask.h"

enum { OPS = 20000, STREAMS = 3, KINDS = 4, CAUSES = 3 };

struct fixture {
	struct nsx_schema schema;
	struct nsx_losses losses;
	struct nsx_trace t;
	struct nsx_facts f;
	struct nsx_report r;
	struct nsx_census *c;
	struct nsx_device device;
	struct nsx_stream streams[STREAMS];
	struct nsx_copy copies[KINDS];
	struct nsx_idle idle;
	int64_t start[OPS], end[OPS], gap_at[OPS];
	uint32_t call[OPS], stream[OPS], detail[OPS], range[OPS], gap_op[OPS],
		about[OPS]; /* nothing */
	uint8_t kind[OPS], cls[OPS], flags[OPS];
	struct nsx_idle_tag tag[OPS];
	uint64_t seed;
};

static void draw_operations(struct fixture *x)
{
	int64_t at = 100, until = 0;

	for (uint32_t i = 0; i < OPS; i++) {
		at += (int64_t)(rnd(&x->seed) % 30);
		if (i && at > until) {
			x->gap_at[x->idle.n] = until;
			x->gap_op[x->idle.n] = i;
			x->tag[x->idle.n++] = (struct nsx_idle_tag){
				(NSX_CAUSE_DISPATCH + rnd(&x->seed) % CAUSES) & 15, 1};
		}
		x->start[i] = at;
		x->end[i] = at + (int64_t)(rnd(&x->seed) % (i % 700 ? 20 : 900));
		until = NSX_MAX(until, x->end[i]);
		x->call[i] = x->range[i] = NSX_NONE;
		x->stream[i] = (uint32_t)rnd(&x->seed) % STREAMS;
		x->detail[i] = (uint32_t)rnd(&x->seed) % KINDS;
		x->kind[i] = NSX_OP_MEMCPY;
		x->cls[i] = NSX_C_COPY;
		x->flags[i] = rnd(&x->seed) % 9 ? 0 : NSX_OP_PEER;
	}
	x->t.window = x->t.full = (struct nsx_window){x->start[0], until};
	x->t.first_ns = x->start[0];
	x->t.last_ns = until;
}

static int set_up(void **state)
{
	struct fixture *x = calloc(1, sizeof(*x));
	struct nsx_err err;

	x->seed = 17;
	x->f.arena = nsx_arena_new();
	draw_operations(x);
	for (uint8_t i = 0; i < KINDS; i++)
		x->copies[i].copy_kind = i + 1;
	x->device.nops = OPS;
	x->t.ops = (struct nsx_ops){
		.n = OPS, .kind = x->kind, .cls = x->cls, .flags = x->flags};
	assert_int_equal(nsx_pack_index(x->f.arena, x->call, OPS, "calls",
					&x->t.ops.call, &err), 0);
	assert_int_equal(nsx_pack_u32(x->f.arena, x->stream, OPS, "streams",
				      &x->t.ops.stream, &err), 0);
	assert_int_equal(nsx_pack_u32(x->f.arena, x->detail, OPS, "copies",
				      &x->t.ops.detail, &err), 0);
	assert_int_equal(nsx_pack_i64(x->f.arena, x->start, OPS, "starts",
				      &x->t.ops.start, &err), 0);
	assert_int_equal(nsx_pack_lengths(x->f.arena, x->start, x->end, OPS,
					  "lengths", &x->t.ops.length, &err), 0);
	x->t.device = &x->device;
	x->t.stream = x->streams;
	x->t.copy = x->copies;
	x->t.ndevices = 1;
	assert_int_equal(nsx_facts_unions(&x->f, &x->t, 1, &err), 0);
	x->idle = (struct nsx_idle){.trace = &x->t, .n = x->idle.n,
				    .tag = x->tag};
	assert_int_equal(nsx_pack_index(x->f.arena, x->about, x->idle.n, "gaps",
					&x->idle.about, &err), 0);
	assert_int_equal(nsx_pack_i64(x->f.arena, x->gap_at, x->idle.n, "gaps",
				      &x->idle.start, &err), 0);
	assert_int_equal(nsx_pack_index(x->f.arena, x->gap_op, x->idle.n, "gaps",
					&x->idle.op, &err), 0);
	x->f.idle = &x->idle;
	assert_int_equal(nsx_pack_index(x->f.arena, x->range, OPS, "ranges",
					&x->f.nvtx.op_range, &err), 0);
	x->t.strings = x->f.strings = nsx_strings_new();
	assert_int_equal(nsx_db_new(&x->schema.db, &err), 0);
	x->schema.losses = &x->losses;
	x->t.schema = &x->schema;
	x->r.trace = &x->t;
	x->r.facts = &x->f;
	assert_int_equal(nsx_census_new(&x->t, &x->f, &x->c, &err), 0);
	assert_true(x->idle.n > 8 * NSX_IDLE_BLOCK);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *x = *state;

	nsx_census_free(x->c);
	nsx_db_close(x->schema.db);
	nsx_strings_free(x->f.strings);
	nsx_arena_free(x->f.device_arena[0]);
	nsx_arena_free(x->f.arena);
	free(x);
	return 0;
}

static struct nsx_window random_window(struct fixture *x)
{
	uint64_t whole = (uint64_t)x->t.window.end_ns + 200;
	int64_t a = (int64_t)(rnd(&x->seed) % whole);

	return (struct nsx_window){a, a + 1 + (int64_t)(rnd(&x->seed) %
				(rnd(&x->seed) % 2 ? 5000 : whole))};
}

static void add(struct nsx_count *c, int64_t start, int64_t end, const struct nsx_window *w)
{
	c->n++;
	c->ns += NSX_MIN(end, w->end_ns) - NSX_MAX(start, w->start_ns);
}

TEST(work)
{
	struct fixture *x = *state;

	for (unsigned round = 0; round < 200; round++) {
		struct nsx_window w = random_window(x);
		struct nsx_count got[STREAMS * KINDS] = {{0}};
		struct nsx_count want[STREAMS][KINDS] = {{{0}}};

		assert_int_equal(x->c->works.n, STREAMS * KINDS);
		nsx_census_work(x->c, &x->t, &x->f, &w, got);
		for (size_t i = 0; i < OPS; i++)
			if (!x->flags[i] && x->start[i] < w.end_ns &&
			    (x->start[i] >= w.start_ns ||
			     x->end[i] > w.start_ns))
				add(&want[x->stream[i]][x->detail[i]], x->start[i], x->end[i], &w);
		for (size_t i = 0; i < x->c->works.n; i++) {
			uint32_t op = x->c->work[i].op;

			assert_memory_equal(&got[i], &want[x->stream[op]][x->detail[op]],
				sizeof(got[i]));
		}
	}
}

TEST(idle)
{
	struct fixture *x = *state;

	for (unsigned round = 0; round < 200; round++) {
		struct nsx_window w = random_window(x);
		struct nsx_count got[CAUSES] = {{0}}, want[CAUSES] = {{0}};

		nsx_census_idle(x->c, &x->f, &w, got);
		for (size_t i = 0; i < x->idle.n; i++)
			if (x->gap_at[i] < w.end_ns && x->start[x->gap_op[i]] > w.start_ns)
				add(&want[x->tag[i].cause - NSX_CAUSE_DISPATCH], x->gap_at[i],
				    x->start[x->gap_op[i]], &w);
		for (size_t i = 0; i < CAUSES; i++)
			assert_memory_equal(&got[i], &want[nsx_group_key(&x->c->causes, i).a -
							   NSX_CAUSE_DISPATCH], sizeof(got[i]));
	}
}

static int64_t gap_ns(const struct fixture *x, size_t i)
{
	return x->start[x->gap_op[i]] - x->gap_at[i];
}

/* Returns the number of gaps of the window before the gap that begins at `at`. */
static size_t rank(const struct fixture *x, const struct nsx_window *w,
		   int64_t at, int64_t ns, size_t *all)
{
	size_t n = 0;

	*all = 0;
	for (size_t i = 0; i < x->idle.n; i++) {
		if (x->gap_at[i] >= w->end_ns || x->start[x->gap_op[i]] <= w->start_ns)
			continue;
		++*all;
		n += gap_ns(x, i) > ns || (gap_ns(x, i) == ns && x->gap_at[i] < at);
	}
	return n;
}

TEST(gaps)
{
	struct fixture *x = *state;
	const struct nsx_question *q = nsx_question_find("gaps");
	struct nsx_subject s = {.r = &x->r, .census = x->c};

	for (unsigned round = 0; round < 60; round++) {
		struct nsx_window w = random_window(x);
		size_t limit = 1 + (size_t)(rnd(&x->seed) % 40), all = 0;
		struct nsx_answer *a;
		struct nsx_err err;
		char text[64];

		snprintf(text, sizeof(text), "%lldns..%lldns",
			 (long long)w.start_ns, (long long)w.end_ns);
		if (w.start_ns > x->t.last_ns || w.end_ns < x->t.first_ns) {
			assert_int_equal(nsx_ask(&s, q, text, limit, &a, &err), NSX_E_USAGE);
			continue;
		}
		assert_int_equal(nsx_ask(&s, q, text, limit, &a, &err), 0);
		(void)rank(x, &w, 0, 0, &all);
		assert_int_equal(a->out->tables[0]->nrows, NSX_MIN(limit, all));
		assert_int_equal(a->out->values[0].cell.u.i, all);
		for (size_t i = 0; i < a->out->tables[0]->nrows; i++) {
			const struct nsx_cell *row = nsx_row_at(a->out->tables[0], i);

			assert_int_equal(rank(x, &w, row[2].u.i, row[3].u.i, &all), i);
		}
		nsx_answer_free(a);
	}
}

SET_UP(set_up, tear_down);
