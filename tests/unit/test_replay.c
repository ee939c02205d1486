/* test_replay.c - prices equal the figures that the fixtures replay_*.sql work out by hand; parsing
 * of a user's changes.
 *
 * usage: test_replay FIXTURES
 */
#include "../testlib.h"
#include <math.h>
#include <stdio.h>
#include "facts/replay/replay.h"
#include "facts/replay/spec.h"

/* A trace with its facts, and a replay model of the whole trace. */
struct opened {
	struct nsx_schema schema;
	struct nsx_trace *trace;
	struct nsx_facts *facts;
	struct nsx_model *model;
};

static void open_fixture(struct opened *o, const char *name)
{
	struct nsx_progress progress = {.stage = NULL};
	struct nsx_load_opts load = {.threads = 2, .progress = &progress};
	struct nsx_facts_opts facts = {.threads = 2, .progress = &progress};
	struct nsx_err err;
	char path[512];

	snprintf(path, sizeof(path), "%s/replay_%s.sqlite", fixtures, name);
	assert_int_equal(nsx_schema_open(path, &o->schema, &err), 0);
	assert_int_equal(nsx_trace_load(&o->schema, &load, &o->trace, &err), 0);
	assert_int_equal(nsx_facts_build(o->trace, &facts, &o->facts, &err), 0);
	o->facts->steady.window = (struct nsx_window){0, 1000000000};
	assert_int_equal(nsx_model_build(o->trace, o->facts, 0, &o->model, &err), 0);
}

static void close_fixture(struct opened *o)
{
	nsx_model_free(o->model);
	nsx_facts_free(o->facts);
	nsx_trace_free(o->trace);
	nsx_schema_close(&o->schema);
}

struct expected {
	const char *fixture;
	struct nsx_change change;
	double recorded_us, low_us, high_us, tolerance_us;
};

static const struct expected expected[] = {
	{"sync_gpu", {.verb = NSX_NO_WAIT}, 760, 255.2, 255.2, .15},
	{"sync_gpu", {.verb = NSX_NO_WAIT, .name = "cudaStreamSynchronize"},
	 760, 255.2, 255.2, .15},
	{"sync_gpu", {.verb = NSX_NO_WAIT, .name = "cudaEventSynchronize"},
	 760, 0, 0, 0},
	{"sync_gpu", {.verb = NSX_FASTER, .amount = 2}, 760, 250, 250, .15},
	{"sync_host", {.verb = NSX_NO_WAIT}, 1360, 440, 440, .15},
	{"sync_host", {.verb = NSX_FASTER_HOST, .amount = 2}, 1360, 400, 400,
	 .15},
	{"hidden", {.verb = NSX_NO_WAIT}, 605, 0, 0, .15},
	{"outside", {.verb = NSX_NO_WAIT}, 8960, 0, 440, 1},
	{"device", {.verb = NSX_FASTER, .amount = 2}, 760, 250, 250, .15},
	{"clock_behind", {.verb = NSX_FASTER, .amount = 2}, 760, 250, 250, .15},
	{"late_rank",
	 {.verb = NSX_EVEN_RANK, .process = 1, .device = 1}, 2211, 1200, 1200,
	 1},
	{"late_rank", {.verb = NSX_FASTER_COMM, .amount = 2}, 2211, 100, 100,
	 1},
	{"queued", {.verb = NSX_FASTER, .amount = 2}, 1310, 600, 600, .15},
	{"event", {.verb = NSX_CUT, .op = NSX_ON_COPIES}, 1102, 414, 414, .5},
	{"event", {.verb = NSX_UNTIE, .name = "cudaStreamWaitEvent"}, 1102, 496,
	 496, .5},
	{"waits", {.verb = NSX_FASTER, .name = "part", .amount = 2}, 981, 400,
	 400, .5},
	{"migrations", {.verb = NSX_DROP, .op = NSX_ON_COPIES}, 1274, 769.2,
	 769.2, 6},
	{"stalled", {.verb = NSX_DROP, .op = NSX_ON_MEMSETS}, 563, 2, 2, .15},
	{"slow_memset", {.verb = NSX_NO_WAIT}, 1682, 1620, 1620, .15},
	{"graph", {.verb = NSX_FASTER, .name = "a", .amount = 2}, 846, 200, 200,
	 .15},
	{"graph", {.verb = NSX_FASTER, .amount = 2}, 846, 400, 400, .15},
	{"graph", {.verb = NSX_FASTER, .name = "c", .amount = 2}, 846, 0, 0, 0},
	{"clock", {.verb = NSX_HOLD_CLOCK, .when = {1418000, 2000000}}, 974,
	 160, 160, .15},
	{"clock",
	 {.verb = NSX_FASTER, .amount = 2, .rows = {
	   true, 2, 1, /* a run that begins at 0 and has two operations      */
	   {(const struct nsx_pack_block[]){{0, 0}}, (const unsigned char[8]){0}},
	   {(const struct nsx_pack_block[]){{2, 0}}, (const unsigned char[8]){0}}}},
	 974, 100, 100, .15},
};

TEST(prices_are_those_worked_out_by_hand)
{
	for (size_t i = 0; i < ARRAY_LEN(expected); i++) {
		const struct expected *x = &expected[i];
		struct opened o;
		struct nsx_err err;
		struct nsx_gain g;

		open_fixture(&o, x->fixture);
		assert_int_equal(nsx_replay_price(o.model, &x->change, 1, &g, &err), 0);
		print_message("%s: %.1f of %.1f us, at least %.1f\n",
			      x->fixture, (double)g.high_ns / 1e3,
			      (double)nsx_model_closure(o.model)->recorded_ns /
				      1e3, (double)g.low_ns / 1e3);
		assert_true(fabs((double)nsx_model_closure(o.model)
					 ->recorded_ns / 1e3 - x->recorded_us) <= .15);
		assert_true(fabs((double)g.high_ns / 1e3 - x->high_us) <= x->tolerance_us);
		assert_true(fabs((double)g.low_ns / 1e3 - x->low_us) <= x->tolerance_us);
		assert_int_equal(g.gain_ns, g.high_ns);
		close_fixture(&o);
	}
}

/* A player that was used before gives the same result as a new one. */
TEST(more_processes_than_sets)
{
	static const struct nsx_change v[] = {
		{.verb = NSX_FASTER_HOST, .amount = 2},
		{.verb = NSX_FASTER, .amount = 2}};
	const struct nsx_plan plans[] = {{&v[0], 1}, {&v[1], 1}};
	struct nsx_gain alone, both[2];
	struct opened o;
	struct nsx_err err;

	open_fixture(&o, "many_sets");
	assert_int_equal(nsx_main_set(o.model), 0);
	assert_int_equal(nsx_replay_prices(o.model, plans, 2, 1, both, &err), 0);
	assert_int_equal(nsx_replay_price(o.model, &v[1], 1, &alone, &err), 0);
	assert_true(alone.gain_ns > 2 * both[0].gain_ns);
	assert_int_equal(both[1].gain_ns, alone.gain_ns);
	close_fixture(&o);
}

/* A model with a limit on operations has whole iterations, and gives their number. */
TEST(a_part_is_replayed)
{
	static const struct nsx_change fast = {.verb = NSX_FASTER, .amount = 2};
	struct nsx_gain g;
	struct opened o;
	struct nsx_err err;

	open_fixture(&o, "sync_gpu");
	nsx_model_free(o.model);
	assert_int_equal(nsx_model_build(o.trace, o.facts, 4, &o.model, &err), 0);
	assert_true(nsx_model_closure(o.model)->is_part);
	assert_true(nsx_model_closure(o.model)->nops <= 4);
	assert_int_equal(nsx_replay_price(o.model, &fast, 1, &g, &err), 0);
	assert_true(g.share > 0.1 && g.share < 0.5);
	close_fixture(&o);
}

/* Words ---------------------------------------------------------------------------*/

static struct nsx_spec read_spec(struct nsx_arena *a, const char *text)
{
	struct nsx_spec s;
	struct nsx_err err;

	if (nsx_spec_parse(text, a, &s, &err))
		fail_msg("%s: %s", text, err.msg);
	return s;
}

TEST(words_become_changes)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_change c;

	c = read_spec(a, "no:cudaStreamSynchronize").change;
	assert_int_equal(c.verb, NSX_NO_WAIT);
	assert_string_equal(c.name, "cudaStreamSynchronize");
	c = read_spec(a, "no:cudaMalloc@nvtx:forward: 2").change;
	assert_int_equal(c.verb, NSX_NO_COST);
	assert_string_equal(c.name, "cudaMalloc");
	assert_string_equal(c.range, "forward: 2");
	c = read_spec(a, "no:lock").change;
	assert_int_equal(c.verb, NSX_NO_OS_WAIT);
	assert_true(c.is_pattern);
	c = read_spec(a, "async:copies:HtoD").change;
	assert_int_equal(c.verb, NSX_ASYNC_COPY);
	assert_int_equal(c.copy_kind, 1);
	c = read_spec(a, "copies:dtoh:4x").change;
	assert_int_equal(c.verb, NSX_FASTER);
	assert_int_equal(c.copy_kind, 2);
	assert_true(c.amount == 4);
	c = read_spec(a, "kernel:/a:b|c/:1.5x").change;
	assert_string_equal(c.name, "a:b|c");
	assert_true(c.is_pattern && c.amount == 1.5);
	c = read_spec(a, "kernel:at::native::add:inf").change;
	assert_string_equal(c.name, "at::native::add");
	assert_true(isinf(c.amount));
	c = read_spec(a, "family:gemm f32:3x").change;
	assert_string_equal(c.family, "gemm f32");
	assert_int_equal(read_spec(a, "host:inf").change.verb, NSX_INSTANT_HOST);
	assert_int_equal(read_spec(a, "host:2").change.verb, NSX_FASTER_HOST);
	assert_int_equal(read_spec(a, "drop:memset").change.op, NSX_ON_MEMSETS);
	assert_string_equal(read_spec(a, "drop:range:a:b").change.range, "a:b");
	assert_int_equal(read_spec(a, "comm:hidden").change.verb, NSX_HIDE_COMM);
	assert_int_equal(read_spec(a, "rank:1:even").rank, 1);
	nsx_arena_free(a);
}

TEST(other_words_are_refused)
{
	static const char *const bad[] = {
		"", ":", "no", "no:", "swim:x", "kernel:x", "kernel:x:0x",
		"kernel:x:-2x", "kernel:x:nan", "kernel:/(/:2x", "host:2y",
		"async:things", "async:copies:UtoX", "comm:2x:3", "drop:range:",
		"drop:it", "rank:x:even", "rank:1", "no:x@nvtx:"};
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_spec s;
	struct nsx_err err;

	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		if (!nsx_spec_parse(bad[i], a, &s, &err))
			fail_msg("'%s' was read", bad[i]);
		assert_int_equal(err.rc, NSX_E_USAGE);
		assert_null(strchr(err.msg, '\n'));
	}
	nsx_arena_free(a);
}

TEST(an_unknown_name_is_told_the_nearest)
{
	struct opened o;
	struct nsx_spec s;
	const char *note;

	open_fixture(&o, "late_rank");
	s = read_spec(o.facts->arena, "no:cudaStreamSyncronise");
	note = nsx_spec_resolve(&s, o.trace, o.facts, o.facts->arena);
	assert_non_null(note);
	assert_non_null(strstr(note, "nearest: 'cudaStreamSynchronize'"));
	s = read_spec(o.facts->arena, "kernel:work:2x");
	assert_null(nsx_spec_resolve(&s, o.trace, o.facts, o.facts->arena));
	s = read_spec(o.facts->arena, "rank:1:even");
	assert_null(nsx_spec_resolve(&s, o.trace, o.facts, o.facts->arena));
	assert_int_equal(s.change.device, 1);
	s = read_spec(o.facts->arena, "rank:2:even");
	assert_non_null(nsx_spec_resolve(&s, o.trace, o.facts, o.facts->arena));
	close_fixture(&o);
}
