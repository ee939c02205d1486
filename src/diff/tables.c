/* tables.c - one row a figure. */
#include <stdlib.h>
#include <string.h>
#include "diff/tables.h"

#define BUDGET_COLUMNS(X)                                                     \
	X(B_GPU, "gpu", I64, "CUDA ordinal")                                  \
	X(B_RANK, "rank", I64,                                                \
	  "in its job; null: not known, or not asked for")                    \
	X(B_PARENT, "parent", STR, "class it is part of; null: of the total") \
	X(B_CLASS, "class", STR,                                              \
	  "total; compute, communication, copies, idle, which add "           \
	  "up to it; or a part of one of these")                              \
	X(B_DETAIL, "detail", STR, "API call, range or operation")            \
	X(B_BEFORE, "before_ns", I64, "mean of a unit")                       \
	X(B_AFTER, "after_ns", I64, "mean of a unit")                         \
	X(B_DELTA, "delta_ns", I64, "after - before")                         \
	X(B_MS, "delta_ms", F64, "after - before")
NSX_COLUMNS(budget_cols, BUDGET_COLUMNS);
#define KERNEL_COLUMNS(X)                                                     \
	X(K_GPU, "gpu", I64, "CUDA ordinal")                                  \
	X(K_RANK, "rank", I64,                                                \
	  "in its job; null: not known, or not asked for")                    \
	X(K_BEFORE, "kernel_before", STR, "its name before; null: it is new") \
	X(K_AFTER, "kernel_after", STR, "its name after; null: it is gone")   \
	X(K_LABEL_BEFORE, "label_before", STR, "the same in words")           \
	X(K_LABEL_AFTER, "label_after", STR, "the same in words")             \
	X(K_VARIANT_BEFORE, "variant_before", STR,                            \
	  "what tells it from others of its family: tile, layout, number")    \
	X(K_VARIANT_AFTER, "variant_after", STR, "the same after")            \
	X(K_MATCH, "match", STR,                                              \
	  "exact, shape, template, variant, range, removed or new")           \
	X(K_BEFORE_NS, "before_ns", I64,                                      \
	  "mean of a unit: 1/m of the time where m run together", .adds = true) \
	X(K_AFTER_NS, "after_ns", I64, "mean of a unit", .adds = true)        \
	X(K_DELTA, "delta_ns", I64, "after - before", .adds = true)           \
	X(K_COUNT, "count_ns", I64, "of it: more or fewer launches", .adds = true) \
	X(K_CLOCK, "clock_ns", I64,                                           \
	  "of it: what all equal kernels changed by", .adds = true)           \
	X(K_OWN, "own_ns", I64, "of it: the rest", .adds = true)              \
	X(K_N_BEFORE, "launches_before", F64, "launches of a unit", .adds = true) \
	X(K_N_AFTER, "launches_after", F64, "launches of a unit", .adds = true) \
	X(K_EACH_BEFORE, "each_before_us", F64, "time of a launch")           \
	X(K_EACH_AFTER, "each_after_us", F64, "time of a launch")             \
	X(K_P, "p", F64, "rank test over units, corrected (Holm)")            \
	X(K_SIGNIFICANT, "significant", BOOL, "p is at most alpha")           \
	X(K_CHANGED, "changed", STR,                                          \
	  "launch shape, registers, shared memory, occupancy")                \
	X(K_RANGE, "range", STR, "NVTX ranges around its first launch")
NSX_COLUMNS(kernel_cols, KERNEL_COLUMNS);
#define NVTX_COLUMNS(X)                                                       \
	X(N_GPU, "gpu", I64, "CUDA ordinal")                                  \
	X(N_RANK, "rank", I64,                                                \
	  "in its job; null: not known, or not asked for")                    \
	X(N_RANGE, "range", STR,                                              \
	  "NVTX ranges around the launch; null: launched in none")            \
	X(N_BEFORE, "before_ns", I64,                                         \
	  "compute time of what was launched there, mean of a unit")          \
	X(N_AFTER, "after_ns", I64, "mean of a unit")                         \
	X(N_DELTA, "delta_ns", I64,                                           \
	  "after - before; those of a GPU add up to its compute time's")      \
	X(N_MS, "delta_ms", F64, "after - before")
NSX_COLUMNS(nvtx_cols, NVTX_COLUMNS);
#define UNIT_COLUMNS(X)                                                       \
	X(U_SIDE, "side", STR, "before or after")                             \
	X(U_CAPTURE, "capture", I64,                                          \
	  "number of the capture on its side, from 0")                        \
	X(U_GPU, "gpu", I64, "CUDA ordinal")                                  \
	X(U_RANK, "rank", I64,                                                \
	  "in its job; null: not known, or not asked for")                    \
	X(U_INDEX, "index", I64, "number of the unit in its capture, from 0") \
	X(U_START, "start_ns", I64, "on the clock of its trace")              \
	X(U_WALL, "wall_ns", I64, "from start to next start")                 \
	X(U_COMPUTE, "compute_ns", I64, "a kernel or replay runs")            \
	X(U_TRANSFER, "transfer_ns", I64,                                     \
	  "communication alone, all ranks there")                             \
	X(U_WAIT, "wait_ns", I64,                                             \
	  "communication alone, a rank is missing; null: part of transfer")   \
	X(U_COPIES, "copies_ns", I64, "copies alone")                         \
	X(U_IDLE, "idle_ns", I64, "nothing runs")                             \
	X(U_LAUNCHES, "launches", I64, "kernels and replays that began")      \
	X(U_STEADY, "steady", BOOL, "lies in the steady window")
NSX_COLUMNS(unit_cols, UNIT_COLUMNS);
#define FINDING_COLUMNS(X)                                                    \
	X(F_CHANGE, "change", STR, "appeared, gone or changed")               \
	X(F_KEY, "key", STR, "of the finding, as in report.json")             \
	X(F_TITLE, "title", STR, "what was found")                            \
	X(F_SEVERITY_BEFORE, "severity_before", STR, "null: not found")       \
	X(F_SEVERITY_AFTER, "severity_after", STR, "null: not found")         \
	X(F_BEFORE_PCT, "headroom_before_pct", F64,                           \
	  "share of the judged window; null: not priced")                     \
	X(F_AFTER_PCT, "headroom_after_pct", F64,                             \
	  "share of the judged window; null: not priced")
NSX_COLUMNS(finding_cols, FINDING_COLUMNS);
#define CHECK_COLUMNS(X)                                                      \
	X(C_CHECK, "check", STR, "what is compared")                          \
	X(C_STATUS, "status", STR, "pass, warn or fail")                      \
	X(C_BEFORE, "before", STR, "its value")                               \
	X(C_AFTER, "after", STR, "its value")                                 \
	X(C_TEXT, "text", STR, "what it means")
NSX_COLUMNS(check_cols, CHECK_COLUMNS);
#define GATE_COLUMNS(X)                                                       \
	X(G_GATE, "gate", STR, "as given")                                    \
	X(G_RESULT, "result", STR, "pass, undecided or fail")                 \
	X(G_SUBJECT, "subject", STR,                                          \
	  "the GPU where it looks worst; null: of all")                       \
	X(G_CHANGE, "change", F64, "in unit")                                 \
	X(G_LO, "lo", F64, "lower end of its interval")                       \
	X(G_HI, "hi", F64, "upper end of its interval")                       \
	X(G_LIMIT, "limit", F64, "in unit")                                   \
	X(G_UNIT, "unit", STR, "%, ms, bytes; null: a count")                 \
	X(G_TEXT, "text", STR, "why it is undecided")
NSX_COLUMNS(gate_cols, GATE_COLUMNS);
const struct nsx_layout nsx_diff_layouts[NSX_NDT] = {
	{.key = "budget", .csv = "diff_budget", NSX_COLS(budget_cols),
	 .json_rows = 1000},
	{.key = "kernels", .csv = "diff_kernels", NSX_COLS(kernel_cols),
	 .json_rows = 200},
	{.key = "nvtx", .csv = "diff_nvtx", NSX_COLS(nvtx_cols),
	 .json_rows = 200},
	{.key = "units", .csv = "diff_units", NSX_COLS(unit_cols),
	 .json_rows = -2},
	{.key = "findings", .csv = "diff_findings", NSX_COLS(finding_cols),
	 .json_rows = -1},
	{.key = "comparability", .csv = "diff_comparability",
	 NSX_COLS(check_cols), .json_rows = -1},
	{.key = "gates", .csv = "diff_gates", NSX_COLS(gate_cols),
	 .json_rows = -1},
};

/* Names -------------------------------------------------------------------------*/

const char *nsx_lane_name(const struct nsx_diff *d, uint32_t lane,
			  struct nsx_arena *a)
{
	const struct nsx_diff_lane *l = &d->lanes[lane];
	bool several = l->nth > 0;

	if (l->rank >= 0)
		return nsx_arena_printf(a, "rank %lld", (long long)l->rank);
	for (uint32_t i = lane + 1; i < d->nlanes && !several; i++)
		several = d->lanes[i].device_id == l->device_id;
	return several ? nsx_arena_printf(a, "GPU %lld, process %u",
					  (long long)l->device_id, l->nth + 1) :
			 nsx_arena_printf(a, "GPU %lld",
					  (long long)l->device_id);
}

const char *nsx_share_word(const struct nsx_diff *d, enum nsx_share share)
{
	static const char *const words[NSX_NSHARES] = {
		"compute", "transfer", "waiting for a rank", "copies", "idle",
	};

	return share == NSX_SHARE_TRANSFER && !d->splits_comm ? "communication" :
							    words[share];
}

enum { MOST_NAMES = 4 };

static const char *join_names(const struct nsx_diff *d, unsigned side,
			      uint32_t row, size_t offset, struct nsx_arena *a)
{
	const struct nsx_pool *p = &d->pool[side];
	struct nsx_buf b = {0};
	const char *last = NULL;
	size_t n = 0;

	if (d->rows.first[side][row] == NSX_NONE)
		return "";
	for (uint32_t k = d->rows.first[side][row]; k < p->nkernels; k++) {
		const char *name = *(const char *const *)(
			(const char *)&p->kernels[k] + offset);

		if (d->rows.row[side][k] != row || !*name ||
		    (last && !strcmp(last, name)))
			continue;
		last = name;
		if (n++ < MOST_NAMES)
			nsx_buf_printf(&b, "%s%s", b.n ? " + " : "", last);
	}
	if (n > MOST_NAMES)
		nsx_buf_printf(&b, " + %zu more", n - MOST_NAMES);
	return nsx_buf_keep(&b, a);
}

const char *nsx_row_name(const struct nsx_diff *d, unsigned side, uint32_t row,
			 struct nsx_arena *a)
{
	return join_names(d, side, row, offsetof(struct nsx_kernel, name), a);
}

const char *nsx_row_label(const struct nsx_diff *d, unsigned side, uint32_t row,
			  struct nsx_arena *a)
{
	return join_names(d, side, row, offsetof(struct nsx_kernel, label), a);
}

static void add_shape(struct nsx_buf *b, const uint32_t v[3])
{
	nsx_buf_printf(b, "%u", v[0]);
	if (v[1] > 1 || v[2] > 1)
		nsx_buf_printf(b, "×%u", v[1]);
	if (v[2] > 1)
		nsx_buf_printf(b, "×%u", v[2]);
}

const char *nsx_row_shape(const struct nsx_diff *d, uint32_t row,
			  struct nsx_arena *a)
{
	const struct nsx_kernel *k = nsx_row_kernel(d, row);
	struct nsx_buf b = {0};

	if (!k->known)
		return "";
	nsx_buf_adds(&b, "grid ");
	add_shape(&b, k->grid);
	nsx_buf_adds(&b, ", block ");
	add_shape(&b, k->block);
	return nsx_buf_keep(&b, a);
}

static void add_change(struct nsx_buf *b, const char *what, const uint32_t *x,
		       const uint32_t *y, bool is_shape)
{
	if (!memcmp(x, y, is_shape ? 3 * sizeof(*x) : sizeof(*x)))
		return;
	nsx_buf_printf(b, "%s%s ", b->n ? ", " : "", what);
	if (is_shape) {
		add_shape(b, x);
		nsx_buf_adds(b, " → ");
		add_shape(b, y);
	} else {
		nsx_buf_printf(b, "%u → %u", *x, *y);
	}
}

const char *nsx_row_changes(const struct nsx_diff *d, uint32_t row,
			    struct nsx_arena *a)
{
	const struct nsx_kernel *x, *y;
	struct nsx_buf b = {0};

	if (d->rows.kind[row] == NSX_M_EXACT ||
	    d->rows.first[0][row] == NSX_NONE ||
	    d->rows.first[1][row] == NSX_NONE)
		return "";
	x = &d->pool[0].kernels[d->rows.first[0][row]];
	y = &d->pool[1].kernels[d->rows.first[1][row]];
	if (!x->known || !y->known)
		return "";
	add_change(&b, "grid", x->grid, y->grid, true);
	add_change(&b, "block", x->block, y->block, true);
	add_change(&b, "registers", &x->registers, &y->registers, false);
	add_change(&b, "shared memory", &x->shared_bytes, &y->shared_bytes,
		   false);
	if (x->occupancy >= 0 && y->occupancy >= 0 &&
	    (int)(100 * x->occupancy) != (int)(100 * y->occupancy))
		nsx_buf_printf(&b, "%soccupancy %.0f %% → %.0f %%",
			       b.n ? ", " : "", 100 * x->occupancy,
			       100 * y->occupancy);
	return nsx_buf_keep(&b, a);
}

static struct nsx_cell text_or_null(const char *s)
{
	return nsx_string(*s ? s : NULL);
}

/* Rows --------------------------------------------------------------------------*/

static struct nsx_cell rank_of(const struct nsx_diff_lane *l)
{
	return l->rank < 0 ? nsx_null() : nsx_int(l->rank);
}

static int add_budget_row(struct nsx_table *t, const struct nsx_diff_lane *l,
			  const char *parent, const char *class,
			  const char *detail, const struct nsx_delta *d,
			  struct nsx_err *err)
{
	struct nsx_cell *row = nsx_row(t, err);

	if (!row)
		return err->rc;
	row[B_GPU] = nsx_int(l->device_id);
	row[B_RANK] = rank_of(l);
	row[B_PARENT] = nsx_string(parent);
	row[B_CLASS] = nsx_string(class);
	row[B_DETAIL] = text_or_null(detail);
	row[B_BEFORE] = nsx_int(d->before_ns);
	row[B_AFTER] = nsx_int(d->before_ns + d->delta_ns);
	row[B_DELTA] = nsx_int(d->delta_ns);
	row[B_MS] = nsx_ms(d->delta_ns);
	return 0;
}

static struct nsx_delta sum(const struct nsx_delta *x, const struct nsx_delta *y)
{
	return (struct nsx_delta){x->before_ns + y->before_ns,
				  x->delta_ns + y->delta_ns};
}

static int fill_budget(const struct nsx_diff *d, const struct nsx_diff_lane *l,
		       struct nsx_table *t, struct nsx_err *err)
{
	const struct nsx_budget *b = &l->budget;
	struct nsx_delta comm = sum(&b->part[NSX_SHARE_TRANSFER],
				    &b->part[NSX_SHARE_WAIT]);

	if (add_budget_row(t, l, NULL, "total", "", &b->total, err) ||
	    add_budget_row(t, l, NULL, "compute", "",
			   &b->part[NSX_SHARE_COMPUTE], err) ||
	    add_budget_row(t, l, NULL, "communication", "", &comm, err))
		return err->rc;
	if (d->splits_comm &&
	    (add_budget_row(t, l, "communication", "transfer", "",
			    &b->part[NSX_SHARE_TRANSFER], err) ||
	     add_budget_row(t, l, "communication", "wait", "",
			    &b->part[NSX_SHARE_WAIT], err)))
		return err->rc;
	if (add_budget_row(t, l, NULL, "copies", "", &b->part[NSX_SHARE_COPY],
			   err) ||
	    add_budget_row(t, l, NULL, "idle", "", &b->part[NSX_SHARE_IDLE],
			   err))
		return err->rc;
	return 0;
}

/* What idle time and copies consist of. */
static int fill_splits(const struct nsx_diff_lane *l, struct nsx_table *t,
		       struct nsx_err *err)
{
	const struct nsx_split_rows *idle = &l->budget.split[NSX_SPLIT_IDLE];
	const struct nsx_split_rows *copies =
		&l->budget.split[NSX_SPLIT_COPIES];

	for (size_t i = 0; i < copies->n; i++)
		if (add_budget_row(t, l, "copies",
				   copies->v[i].detail, "", &copies->v[i].d,
				   err))
			return err->rc;
	for (size_t i = 0; i < idle->n; i++)
		if (add_budget_row(t, l, "idle",
				   nsx_cause_names[idle->v[i].cause],
				   idle->v[i].detail, &idle->v[i].d, err))
			return err->rc;
	return 0;
}

static int fill_nvtx(const struct nsx_diff_lane *l, struct nsx_table *t,
		     struct nsx_err *err)
{
	const struct nsx_split_rows *x = &l->budget.split[NSX_SPLIT_RANGES];

	for (size_t i = 0; i < x->n; i++) {
		struct nsx_cell *row = nsx_row(t, err);
		const struct nsx_delta *d = &x->v[i].d;

		if (!row)
			return err->rc;
		row[N_GPU] = nsx_int(l->device_id);
		row[N_RANK] = rank_of(l);
		row[N_RANGE] = text_or_null(x->v[i].detail);
		row[N_BEFORE] = nsx_int(d->before_ns);
		row[N_AFTER] = nsx_int(d->before_ns + d->delta_ns);
		row[N_DELTA] = nsx_int(d->delta_ns);
		row[N_MS] = nsx_ms(d->delta_ns);
	}
	return 0;
}

static int add_kernel_row(struct nsx_diff *d, uint32_t lane,
			  const struct nsx_kernel_row *k, struct nsx_table *t,
			  struct nsx_err *err)
{
	struct nsx_cell *row = nsx_row(t, err);

	if (!row)
		return err->rc;
	row[K_GPU] = nsx_int(d->lanes[lane].device_id);
	row[K_RANK] = rank_of(&d->lanes[lane]);
	row[K_BEFORE] = text_or_null(nsx_row_name(d, 0, k->row, d->arena));
	row[K_AFTER] = text_or_null(nsx_row_name(d, 1, k->row, d->arena));
	row[K_LABEL_BEFORE] = text_or_null(nsx_row_label(d, 0, k->row, d->arena));
	row[K_LABEL_AFTER] = text_or_null(nsx_row_label(d, 1, k->row, d->arena));
	row[K_VARIANT_BEFORE] = text_or_null(
		join_names(d, 0, k->row, offsetof(struct nsx_kernel, variant),
			   d->arena));
	row[K_VARIANT_AFTER] = text_or_null(
		join_names(d, 1, k->row, offsetof(struct nsx_kernel, variant),
			   d->arena));
	row[K_MATCH] = nsx_string(nsx_match_names[d->rows.kind[k->row]]);
	row[K_BEFORE_NS] = nsx_int(k->d.before_ns);
	row[K_AFTER_NS] = nsx_int(k->d.before_ns + k->d.delta_ns);
	row[K_DELTA] = nsx_int(k->d.delta_ns);
	row[K_COUNT] = nsx_int(k->count_ns);
	row[K_CLOCK] = nsx_int(k->clock_ns);
	row[K_OWN] = nsx_int(k->own_ns);
	row[K_N_BEFORE] = nsx_real(k->launches[0]);
	row[K_N_AFTER] = nsx_real(k->launches[1]);
	row[K_EACH_BEFORE] = nsx_us(k->each_ns[0]);
	row[K_EACH_AFTER] = nsx_us(k->each_ns[1]);
	row[K_P] = nsx_real(k->p);
	row[K_SIGNIFICANT] = nsx_bool(k->significant);
	row[K_CHANGED] = text_or_null(nsx_row_changes(d, k->row, d->arena));
	row[K_RANGE] = text_or_null(nsx_row_kernel(d, k->row)->range);
	return 0;
}

static int fill_units(const struct nsx_diff *d, unsigned side, uint32_t lane,
		      struct nsx_table *t, struct nsx_err *err)
{
	const struct nsx_pool *p = &d->pool[side];
	const struct nsx_lane *l = &p->lanes[lane];
	const size_t *end = p->end + lane * p->nsides;
	size_t capture = 0, from = 0;

	for (size_t u = 0; u < l->nunits; u++) {
		const struct nsx_unit *x = &l->units[u];
		struct nsx_cell *row = nsx_row(t, err);

		if (!row)
			return err->rc;
		while (u >= end[capture])
			from = end[capture++];
		row[U_SIDE] = nsx_string(side ? "after" : "before");
		row[U_CAPTURE] = nsx_int((int64_t)capture);
		row[U_GPU] = nsx_int(d->lanes[lane].device_id);
		row[U_RANK] = rank_of(&d->lanes[lane]);
		row[U_INDEX] = nsx_int((int64_t)(u - from));
		row[U_START] = nsx_int(x->start_ns);
		row[U_WALL] = nsx_int(x->wall_ns);
		for (unsigned k = 0; k < NSX_NSHARES; k++)
			row[U_COMPUTE + k] =
				k == NSX_SHARE_WAIT && !d->splits_comm ?
					nsx_null() : nsx_int(x->ns[k]);
		row[U_LAUNCHES] = nsx_int(x->launches);
		row[U_STEADY] = nsx_bool(x->steady);
	}
	return 0;
}

static int fill_findings(const struct nsx_diff *d, struct nsx_table *t,
			 struct nsx_err *err)
{
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_finding_row *f = &d->findings[i];
		const struct nsx_side_finding *any = f->after ? f->after :
								f->before;
		struct nsx_cell *row = nsx_row(t, err);

		if (!row)
			return err->rc;
		row[F_CHANGE] = nsx_string(nsx_appearance_names[f->change]);
		row[F_KEY] = nsx_string(any->key);
		row[F_TITLE] = nsx_string(any->title);
		if (f->before) {
			row[F_SEVERITY_BEFORE] = nsx_string(
				nsx_severity_names[f->before->severity]);
			row[F_BEFORE_PCT] = nsx_real(100 * f->before->share);
		}
		if (f->after) {
			row[F_SEVERITY_AFTER] = nsx_string(
				nsx_severity_names[f->after->severity]);
			row[F_AFTER_PCT] = nsx_real(100 * f->after->share);
		}
	}
	return 0;
}

static int fill_checks(const struct nsx_diff *d, struct nsx_table *t,
		       struct nsx_err *err)
{
	for (size_t i = 0; i < d->nchecks; i++) {
		struct nsx_cell *row = nsx_row(t, err);

		if (!row)
			return err->rc;
		row[C_CHECK] = nsx_string(d->checks[i].id);
		row[C_STATUS] =
			nsx_string(nsx_check_names[d->checks[i].status]);
		row[C_BEFORE] = text_or_null(d->checks[i].before);
		row[C_AFTER] = text_or_null(d->checks[i].after);
		row[C_TEXT] = nsx_string(d->checks[i].text);
	}
	return 0;
}

static int fill_gates(const struct nsx_diff *d, struct nsx_table *t,
		      struct nsx_err *err)
{
	for (size_t i = 0; i < d->ngates; i++) {
		const struct nsx_gate_row *g = &d->gates[i];
		struct nsx_cell *row = nsx_row(t, err);

		if (!row)
			return err->rc;
		row[G_GATE] = nsx_string(g->expr);
		row[G_RESULT] = nsx_string(nsx_gate_names[g->result]);
		row[G_SUBJECT] = text_or_null(g->subject);
		row[G_CHANGE] = nsx_real(g->change);
		row[G_LO] = nsx_real(g->lo);
		row[G_HI] = nsx_real(g->hi);
		row[G_LIMIT] = nsx_real(g->limit);
		row[G_UNIT] = text_or_null(g->unit);
		row[G_TEXT] = nsx_string(g->text);
	}
	return 0;
}

/* Rows of all GPUs, the largest change first. */
struct placed {
	const struct nsx_kernel_row *k;
	uint32_t lane;
};

static int cmp_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int64_t dx = llabs(x->k->d.delta_ns), dy = llabs(y->k->d.delta_ns);

	return NSX_CMP(dy, dx) ?: NSX_CMP(x->k->row, y->k->row) ?:
	       NSX_CMP(x->lane, y->lane);
}

static int fill_kernels(struct nsx_diff *d, struct nsx_table *t,
			struct nsx_err *err)
{
	struct placed *v;
	size_t n = 0;
	int rc = 0;

	for (size_t l = 0; l < d->nlanes; l++)
		n += d->lanes[l].budget.nkernels;
	v = nsx_try_alloc(n, sizeof(*v), "kernels", err);
	if (!v)
		return err->rc;
	n = 0;
	for (uint32_t l = 0; l < d->nlanes; l++)
		for (size_t i = 0; i < d->lanes[l].budget.nkernels; i++)
			v[n++] = (struct placed){
				&d->lanes[l].budget.kernels[i], l};
	nsx_sort(v, n, sizeof(*v), cmp_placed);
	for (size_t i = 0; !rc && i < n; i++)
		rc = add_kernel_row(d, v[i].lane, v[i].k, t, err);
	free(v);
	return rc;
}

int nsx_diff_tabulate(struct nsx_diff *d, struct nsx_diff_tables *ret,
		      struct nsx_err *err)
{
	memset(ret, 0, sizeof(*ret));
	for (unsigned i = 0; i < NSX_NDT; i++)
		ret->t[i].layout = &nsx_diff_layouts[i];
	for (uint32_t l = 0; l < d->nlanes; l++)
		if (fill_budget(d, &d->lanes[l], &ret->t[NSX_DT_BUDGET], err) ||
		    fill_units(d, 0, l, &ret->t[NSX_DT_UNITS], err) ||
		    fill_units(d, 1, l, &ret->t[NSX_DT_UNITS], err))
			return err->rc;
	for (uint32_t l = 0; l < d->nlanes; l++)
		if (fill_splits(&d->lanes[l], &ret->t[NSX_DT_BUDGET], err) ||
		    fill_nvtx(&d->lanes[l], &ret->t[NSX_DT_NVTX], err))
			return err->rc;
	if (fill_kernels(d, &ret->t[NSX_DT_KERNELS], err) ||
	    fill_findings(d, &ret->t[NSX_DT_FINDINGS], err) ||
	    fill_checks(d, &ret->t[NSX_DT_COMPARABILITY], err))
		return err->rc;
	return fill_gates(d, &ret->t[NSX_DT_GATES], err);
}

void nsx_diff_tables_done(struct nsx_diff_tables *t)
{
	for (unsigned i = 0; i < NSX_NDT; i++)
		free(t->t[i].cells);
}
