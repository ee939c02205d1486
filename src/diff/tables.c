/* tables.c - a comparison as tables, one figure in a row. */
#include "diff/emit.h"

/* A column is its key, its type, the value of its cell, and what it is. The value names variables
 * of the function that adds the rows.
 */
#define COLUMN(name, kind, value, ...) {.key = name, .type = NSX_T_##kind, .help = __VA_ARGS__},
#define VALUE(name, kind, value, ...) value,
#define CELLS(list) ((const struct nsx_cell[]){list(VALUE)})

#define LANE_COLUMNS(X)                                                                            \
	X("gpu", I64, nsx_int(lane->device_id), "CUDA ordinal")                                    \
	X("rank", I64, known_or_null(lane->rank),                                                  \
	  "rank in its job; null: not known, or not asked for")
#define BUDGET_COLUMNS(X)                                                                          \
	LANE_COLUMNS(X)                                                                            \
	X("parent", STR, nsx_string(parent), "class of which it is part; null: of the total")      \
	X("class", STR, nsx_string(class), "total; compute, communication, copies, idle, which "   \
	  "add up to it; or a part of one of these")                                               \
	X("detail", STR, text_or_null(detail), "API call, range or operation")                     \
	X("before_ns", I64, nsx_int(d->before_ns), "mean of a unit")                               \
	X("after_ns", I64, nsx_int(d->before_ns + d->delta_ns), "mean of a unit")                  \
	X("delta_ns", I64, nsx_int(d->delta_ns), "after - before")                                 \
	X("delta_ms", F64, nsx_ms(d->delta_ns), "after - before")
#define KERNEL_COLUMNS(X)                                                                          \
	LANE_COLUMNS(X)                                                                            \
	X("kernel_before", STR, JOINED(0, name), "name of the kernel before; null: it is new")     \
	X("kernel_after", STR, JOINED(1, name), "name of the kernel after; null: it is gone")      \
	X("label_before", STR, JOINED(0, label), "label of the kernel before")                     \
	X("label_after", STR, JOINED(1, label), "label of the kernel after")                       \
	X("variant_before", STR, JOINED(0, variant),                                               \
	  "what tells it from others of its family: tile, layout, number")                         \
	X("variant_after", STR, JOINED(1, variant), "variant after")                               \
	X("match", STR, nsx_string(nsx_match_names[d->rows.kind[k->row]]),                         \
	  "exact, shape, template, variant, removed or new")                                \
	X("before_ns", I64, nsx_int(k->d.before_ns),                                               \
	  "mean of a unit: 1/m of the time where m run together", .adds = true)                    \
	X("after_ns", I64, nsx_int(k->d.before_ns + k->d.delta_ns), "mean of a unit",              \
	  .adds = true)                                                                            \
	X("delta_ns", I64, nsx_int(k->d.delta_ns), "after - before", .adds = true)                 \
	X("count_ns", I64, nsx_int(k->count_ns), "part of it: more or fewer launches",             \
	  .adds = true)                                                                            \
	X("clock_ns", I64, nsx_int(k->clock_ns), "part of it: the change of all equal kernels",    \
	  .adds = true)                                                                            \
	X("own_ns", I64, nsx_int(k->own_ns), "part of it: the rest", .adds = true)                 \
	X("overlap_ns", I64, nsx_int(k->overlap_ns),                                               \
	  "part of the rest: others run beside it, or no longer", .adds = true)                    \
	X("launches_before", F64, nsx_real(k->launches[0]), "launches of a unit", .adds = true)    \
	X("launches_after", F64, nsx_real(k->launches[1]), "launches of a unit", .adds = true)     \
	X("each_before_us", F64, nsx_us(k->each_ns[0]), "time of a launch")                        \
	X("each_after_us", F64, nsx_us(k->each_ns[1]), "time of a launch")                         \
	X("p", F64, nsx_real(k->p), "rank test over units, corrected (Holm)")                      \
	X("significant", BOOL, nsx_bool(k->significant), "p is at most alpha")                     \
	X("changed", STR, text_or_null(is_kept ? nsx_row_changes(d, k->row, d->arena) : ""),       \
	  "launch shape, registers, shared memory, occupancy")                                     \
	X("range", STR, text_or_null(nsx_row_kernel(d, k->row)->range),                            \
	  "NVTX ranges around its first launch")
#define NVTX_COLUMNS(X)                                                                            \
	LANE_COLUMNS(X)                                                                            \
	X("range", STR, text_or_null(x->detail),                                                   \
	  "NVTX ranges around the launch; null: launched in none")                                 \
	X("before_ns", I64, nsx_int(x->d.before_ns),                                               \
	  "compute time of what was launched there, mean of a unit")                               \
	X("after_ns", I64, nsx_int(x->d.before_ns + x->d.delta_ns), "mean of a unit")              \
	X("delta_ns", I64, nsx_int(x->d.delta_ns),                                                 \
	  "after - before; those of a GPU add up to its compute time's")                           \
	X("delta_ms", F64, nsx_ms(x->d.delta_ns), "after - before")
#define UNIT_COLUMNS(X)                                                                            \
	X("side", STR, nsx_string(side ? "after" : "before"), "before or after")                   \
	X("capture", I64, nsx_int((int64_t)capture), "number of the capture on its side, from 0")  \
	LANE_COLUMNS(X)                                                                            \
	X("index", I64, nsx_int((int64_t)(u - from)), "number of the unit in its capture, from 0") \
	X("start_ns", I64, nsx_int(x->start_ns), "on the clock of its trace")                      \
	X("wall_ns", I64, nsx_int(x->wall_ns), "from start to next start")                         \
	X("compute_ns", I64, nsx_int(x->ns[NSX_SHARE_COMPUTE]), "a kernel or replay runs")         \
	X("transfer_ns", I64, nsx_int(x->ns[NSX_SHARE_TRANSFER]),                                  \
	  "communication alone, all ranks there")                                                  \
	X("wait_ns", I64, known_or_null(d->splits_comm ? x->ns[NSX_SHARE_WAIT] : -1),              \
	  "communication alone, a rank is missing; null: part of transfer")                        \
	X("copies_ns", I64, nsx_int(x->ns[NSX_SHARE_COPY]), "copies alone")                        \
	X("idle_ns", I64, nsx_int(x->ns[NSX_SHARE_IDLE]), "nothing runs")                          \
	X("launches", I64, nsx_int(x->launches), "kernels and replays that began")                 \
	X("steady", BOOL, nsx_bool(x->steady), "lies in the steady window")
#define FINDING_COLUMNS(X)                                                                         \
	X("change", STR, nsx_string(nsx_appearance_names[f->change]), "appeared, gone or changed") \
	X("key", STR, nsx_string(any->key), "key of the finding, as in report.json")               \
	X("title", STR, nsx_string(any->title), "what was found")                                  \
	X("severity_before", STR, grade_of(f->before), "severity before; null: not found")         \
	X("severity_after", STR, grade_of(f->after), "severity after; null: not found")            \
	X("headroom_before_pct", F64, nsx_real(f->before ? 100 * f->before->share : NAN),          \
	  "share of the judged window; null: not priced")                                          \
	X("headroom_after_pct", F64, nsx_real(f->after ? 100 * f->after->share : NAN),             \
	  "share of the judged window; null: not priced")
#define CHECK_COLUMNS(X)                                                                           \
	X("check", STR, nsx_string(c->id), "what is compared")                                     \
	X("status", STR, nsx_string(nsx_check_names[c->status]), "pass, warn or fail")             \
	X("before", STR, text_or_null(c->before), "value on the side before")                      \
	X("after", STR, text_or_null(c->after), "value on the side after")                         \
	X("text", STR, nsx_string(c->text), "what it means")
#define GATE_COLUMNS(X)                                                                            \
	X("gate", STR, nsx_string(g->expr), "gate as given")                                       \
	X("result", STR, nsx_string(nsx_gate_names[g->result]), "pass, undecided or fail")         \
	X("subject", STR, text_or_null(g->subject), "the GPU where it looks worst; null: of all")  \
	X("change", F64, nsx_real(g->change), "change, in `unit`")                                 \
	X("lo", F64, nsx_real(g->lo), "lower end of its interval")                                 \
	X("hi", F64, nsx_real(g->hi), "upper end of its interval")                                 \
	X("limit", F64, nsx_real(g->limit), "limit, in `unit`")                                    \
	X("unit", STR, text_or_null(g->unit), "%, ms, bytes; null: a count")                       \
	X("figure", STR, nsx_string(g->figure), "what the limit is on")                            \
	X("mean_change", F64, nsx_real(g->mean),                                                   \
	  "of the mean, beside a typical step's; in unit")                                         \
	X("text", STR, nsx_string(g->text), "why it is undecided, or what it leaves out")
#define KIND_COLUMNS(X)                                                                            \
	X("kind", STR, nsx_string(nsx_step_kinds[x->kind]), "decode, prefill, ...")                \
	X("size", STR, text_or_null(x->size), "requests or tokens; null: all")                     \
	X("count_before", I64, nsx_int(x->count[0]), "steps")                                      \
	X("p50_before_ms", F64, nsx_real(x->count[0] ? x->p50_ms[0] : NAN),                        \
	  "GPU time of a step; null: none")                                                        \
	X("count_after", I64, nsx_int(x->count[1]), "steps")                                       \
	X("p50_after_ms", F64, nsx_real(x->count[1] ? x->p50_ms[1] : NAN),                         \
	  "GPU time of a step; null: none")                                                        \
	X("change_pct", F64, nsx_real(100 * nsx_kind_change(x)),                                   \
	  "of the median; null: fewer than 5 steps on a side")

static const struct nsx_col budget_columns[] = {BUDGET_COLUMNS(COLUMN)};
static const struct nsx_col kernel_columns[] = {KERNEL_COLUMNS(COLUMN)};
static const struct nsx_col nvtx_columns[] = {NVTX_COLUMNS(COLUMN)};
static const struct nsx_col unit_columns[] = {UNIT_COLUMNS(COLUMN)};
static const struct nsx_col finding_columns[] = {FINDING_COLUMNS(COLUMN)};
static const struct nsx_col check_columns[] = {CHECK_COLUMNS(COLUMN)};
static const struct nsx_col gate_columns[] = {GATE_COLUMNS(COLUMN)};
static const struct nsx_col kind_columns[] = {KIND_COLUMNS(COLUMN)};
const struct nsx_layout nsx_diff_layouts[NSX_NDT] = {
	[NSX_DT_BUDGET] = {.key = "budget", .csv = "diff_budget",
			   NSX_COLS(budget_columns), .json_rows = 1000},
	[NSX_DT_KERNELS] = {.key = "kernels", .csv = "diff_kernels",
			    NSX_COLS(kernel_columns), .json_rows = 200},
	[NSX_DT_NVTX] = {.key = "nvtx", .csv = "diff_nvtx",
			 NSX_COLS(nvtx_columns), .json_rows = 200},
	[NSX_DT_UNITS] = {.key = "units", .csv = "diff_units",
			  NSX_COLS(unit_columns), .json_rows = NSX_NOT_IN_JSON},
	[NSX_DT_FINDINGS] = {.key = "findings", .csv = "diff_findings",
			     NSX_COLS(finding_columns), .json_rows = NSX_ALL_ROWS},
	[NSX_DT_COMPARABILITY] = {.key = "comparability", .csv = "diff_comparability",
				  NSX_COLS(check_columns), .json_rows = NSX_ALL_ROWS},
	[NSX_DT_GATES] = {.key = "gates", .csv = "diff_gates",
			  NSX_COLS(gate_columns), .json_rows = NSX_ALL_ROWS},
	[NSX_DT_KINDS] = {.key = "kinds", .csv = "diff_kinds",
			  NSX_COLS(kind_columns), .json_rows = NSX_ALL_ROWS},
};

/* Names -------------------------------------------------------------------------*/

const char *nsx_share_word(const struct nsx_diff *d, enum nsx_share share)
{
	static const char *const words[NSX_NSHARES] = {
		"compute", "transfer", "waiting for a rank", "copies", "idle",
	};

	return share == NSX_SHARE_TRANSFER && !d->splits_comm ? "communication" : words[share];
}

enum { MOST_NAMES = 4 };

static const char *join_names(const struct nsx_diff *d, unsigned side,
			      uint32_t row, size_t offset, struct nsx_arena *a)
{
	struct nsx_buf b = {0};
	const char *last = NULL;
	uint32_t k = d->rows.first[side][row];
	size_t n = 0;

	if (k == NSX_NONE)
		return "";
	for (; k != NSX_NONE; k = d->rows.next[side][k]) {
		const char *name = *(const char *const *)((const char *)d->kernels.of[k][side] +
							   offset);

		if (!*name || (last && !strcmp(last, name)))
			continue;
		last = name;
		if (n++ < MOST_NAMES)
			nsx_buf_printf(&b, "%s%s", b.n ? " + " : "", last);
	}
	if (n > MOST_NAMES)
		nsx_buf_printf(&b, " + %zu more", n - MOST_NAMES);
	return nsx_buf_keep(&b, a);
}

const char *nsx_row_label(const struct nsx_diff *d, unsigned side, uint32_t row,
			  struct nsx_arena *a)
{
	return join_names(d, side, row, offsetof(struct nsx_kernel, label), a);
}

/* "64", "313×313" or "8×8×2". */
static const char *say_shape(struct nsx_arena *a, const uint32_t v[3])
{
	return v[2] > 1 ? nsx_arena_printf(a, "%u×%u×%u", v[0], v[1], v[2]) :
	       v[1] > 1 ? nsx_arena_printf(a, "%u×%u", v[0], v[1]) :
			  nsx_arena_printf(a, "%u", v[0]);
}

const char *nsx_row_shape(const struct nsx_diff *d, uint32_t row, struct nsx_arena *a)
{
	const struct nsx_kernel *k = nsx_row_kernel(d, row);

	return !k->known ? "" : nsx_arena_printf(a, "grid %s, block %s", say_shape(a, k->grid),
						 say_shape(a, k->block));
}

/* A number of registers or bytes; "": not known. */
static const char *say_amount(struct nsx_arena *a, uint32_t n)
{
	return n == NSX_NONE ? "" : nsx_arena_printf(a, "%u", n);
}

static const char *say_occupancy(struct nsx_arena *a, const struct nsx_kernel *k)
{
	return k->occupancy < 0 ? "" : nsx_arena_printf(a, "%.0f %%", 100 * k->occupancy);
}

static void add_if_changed(struct nsx_buf *b, const char *what, const char *x, const char *y)
{
	if (*x && *y && strcmp(x, y) != 0)
		nsx_buf_printf(b, "%s%s %s → %s", b->n ? ", " : "", what, x, y);
}

const char *nsx_row_changes(const struct nsx_diff *d, uint32_t row, struct nsx_arena *a)
{
	const struct nsx_kernel *x, *y;
	struct nsx_buf b = {0};

	if (d->rows.kind[row] == NSX_M_EXACT ||
	    d->rows.first[0][row] == NSX_NONE ||
	    d->rows.first[1][row] == NSX_NONE)
		return "";
	x = d->kernels.of[d->rows.first[0][row]][0];
	y = d->kernels.of[d->rows.first[1][row]][1];
	if (!x->known || !y->known)
		return "";
	if (d->rows.has_grids[row])
		nsx_buf_adds(&b, "other grids");
	else
		add_if_changed(&b, "grid", say_shape(a, x->grid), say_shape(a, y->grid));
	add_if_changed(&b, "block", say_shape(a, x->block), say_shape(a, y->block));
	add_if_changed(&b, "registers", say_amount(a, x->registers), say_amount(a, y->registers));
	add_if_changed(&b, "shared memory", say_amount(a, x->shared_bytes),
		       say_amount(a, y->shared_bytes));
	add_if_changed(&b, "occupancy", say_occupancy(a, x), say_occupancy(a, y));
	return nsx_buf_keep(&b, a);
}

static struct nsx_cell text_or_null(const char *s)
{
	return nsx_string(*s ? s : NULL);
}

/* Rows --------------------------------------------------------------------------*/

static struct nsx_cell known_or_null(int64_t n)
{
	return n < 0 ? nsx_string(NULL) : nsx_int(n);
}

static struct nsx_cell grade_of(const struct nsx_side_finding *f)
{
	return nsx_string(f ? nsx_severity_names[f->severity] : NULL);
}

static void tables_add(struct nsx_table *t, const struct nsx_cell *row)
{
	memcpy(nsx_add_row(t), row, t->layout->ncols * sizeof(*row));
}

static void add_budget_row(struct nsx_table *t, const struct nsx_diff_lane *lane,
			   const char *parent, const char *class,
			   const char *detail, const struct nsx_delta *d)
{
	tables_add(t, CELLS(BUDGET_COLUMNS));
}

static void fill_budget(const struct nsx_diff *d, const struct nsx_diff_lane *l,
			struct nsx_table *t)
{
	const struct nsx_delta *part = l->budget.part;
	const struct nsx_delta *transfer = &part[NSX_SHARE_TRANSFER];
	const struct nsx_delta *wait = &part[NSX_SHARE_WAIT];
	const struct nsx_delta comm = {transfer->before_ns + wait->before_ns,
				       transfer->delta_ns + wait->delta_ns};

	add_budget_row(t, l, NULL, "total", "", &l->budget.total);
	add_budget_row(t, l, NULL, "compute", "", &part[NSX_SHARE_COMPUTE]);
	add_budget_row(t, l, NULL, "communication", "", &comm);
	if (d->splits_comm) {
		add_budget_row(t, l, "communication", "transfer", "", transfer);
		add_budget_row(t, l, "communication", "wait", "", wait);
	}
	add_budget_row(t, l, NULL, "copies", "", &part[NSX_SHARE_COPY]);
	add_budget_row(t, l, NULL, "idle", "", &part[NSX_SHARE_IDLE]);
}

static void tables_fill_idle(const struct nsx_diff_lane *l, struct nsx_table *t)
{
	const struct nsx_split_rows *idle = &l->budget.split[NSX_SPLIT_IDLE];

	for (size_t i = 0; i < idle->n; i++)
		add_budget_row(t, l, "idle", nsx_cause_names[idle->v[i].cause],
			       idle->v[i].detail, &idle->v[i].d);
}

static void fill_nvtx(const struct nsx_diff_lane *lane, struct nsx_table *t)
{
	const struct nsx_split_rows *rows = &lane->budget.split[NSX_SPLIT_RANGES];

	for (size_t i = 0; i < rows->n; i++) {
		const struct nsx_split_row *x = &rows->v[i];

		tables_add(t, CELLS(NVTX_COLUMNS));
	}
}

/* The names of rows that are not kept are not joined. */
#define JOINED(side, name)                                                                         \
	text_or_null(is_kept ? join_names(d, side, k->row, offsetof(struct nsx_kernel, name),      \
					  d->arena) : "")

static void tables_add_kernel_row(struct nsx_diff *d, const struct nsx_diff_lane *lane,
				  const struct nsx_kernel_row *k, struct nsx_table *t)
{
	bool is_kept = nsx_table_holds(t);

	tables_add(t, CELLS(KERNEL_COLUMNS));
}

static void fill_units(const struct nsx_diff *d, unsigned side, uint32_t l, struct nsx_table *t)
{
	const struct nsx_pool *p = &d->pool[side];
	const struct nsx_diff_lane *lane = &d->lanes[l];
	const size_t *end = p->end + l * p->nsides;
	size_t capture = 0, from = 0;

	for (size_t u = 0; u < p->lanes[l].nunits; u++) {
		const struct nsx_unit *x = &p->lanes[l].units[u];

		while (u >= end[capture])
			from = end[capture++];
		tables_add(t, CELLS(UNIT_COLUMNS));
	}
}

static void tables_fill_findings(const struct nsx_diff *d, struct nsx_table *t)
{
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_finding_row *f = &d->findings[i];
		const struct nsx_side_finding *any = f->after ?: f->before;

		tables_add(t, CELLS(FINDING_COLUMNS));
	}
}

static void tables_fill_kinds(const struct nsx_diff *d, struct nsx_table *t)
{
	struct nsx_kind_rows r = nsx_diff_kinds(d, d->arena);

	for (size_t i = 0; i < r.n; i++) {
		const struct nsx_kind_row *x = &r.v[i];

		tables_add(t, CELLS(KIND_COLUMNS));
	}
}

/* Rows of all GPUs, largest change first. */
struct placed {
	const struct nsx_kernel_row *k;
	uint32_t lane;
};

NSX_ORDER_IN(cmp_placed, struct placed, void, DOWN(llabs(x->k->d.delta_ns)), UP(x->k->row),
	     UP(x->lane));

static void tables_fill_kernels(struct nsx_diff *d, size_t max_rows, struct nsx_table *t)
{
	NSX_AT_EXIT(nsx_free_at) struct placed *v = NULL;
	size_t n = 0;

	for (size_t l = 0; l < d->nlanes; l++)
		n += d->lanes[l].budget.nkernels;
	v = nsx_alloc(n, sizeof(*v));
	n = 0;
	for (uint32_t l = 0; l < d->nlanes; l++)
		for (size_t i = 0; i < d->lanes[l].budget.nkernels; i++)
			v[n++] = (struct placed){
				&d->lanes[l].budget.kernels[i], l};
	nsx_sort_r(v, n, sizeof(*v), cmp_placed, NULL);
	nsx_table_expect(t, n, max_rows);
	for (size_t i = 0; i < n; i++)
		tables_add_kernel_row(d, &d->lanes[v[i].lane], v[i].k, t);
}

int nsx_diff_tabulate(struct nsx_diff *d, size_t max_rows, struct nsx_diff_tables *ret,
		      struct nsx_err *err)
{
	struct nsx_table *t = ret->t;
	int rc = 0;

	for (unsigned i = 0; i < NSX_NDT; i++)
		nsx_table_begin(&t[i], &nsx_diff_layouts[i]);
	for (uint32_t l = 0; l < d->nlanes; l++) {
		fill_budget(d, &d->lanes[l], &t[NSX_DT_BUDGET]);
		fill_units(d, 0, l, &t[NSX_DT_UNITS]);
		fill_units(d, 1, l, &t[NSX_DT_UNITS]);
	}
	for (uint32_t l = 0; l < d->nlanes; l++) {
		tables_fill_idle(&d->lanes[l], &t[NSX_DT_BUDGET]);
		fill_nvtx(&d->lanes[l], &t[NSX_DT_NVTX]);
	}
	tables_fill_findings(d, &t[NSX_DT_FINDINGS]);
	for (size_t i = 0; i < d->nchecks; i++) {
		const struct nsx_check *c = &d->checks[i];

		tables_add(&t[NSX_DT_COMPARABILITY], CELLS(CHECK_COLUMNS));
	}
	for (size_t i = 0; i < d->ngates; i++) {
		const struct nsx_gate_row *g = &d->gates[i];

		tables_add(&t[NSX_DT_GATES], CELLS(GATE_COLUMNS));
	}
	tables_fill_kinds(d, &t[NSX_DT_KINDS]);
	tables_fill_kernels(d, max_rows, &t[NSX_DT_KERNELS]);
	for (unsigned i = 0; i < NSX_NDT && !rc; i++)
		rc = nsx_table_whole(&t[i], err);
	return rc;
}

void nsx_diff_tables_done(struct nsx_diff_tables *t)
{
	for (unsigned i = 0; i < NSX_NDT; i++)
		nsx_table_done(&t->t[i]);
}
