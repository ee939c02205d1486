/* tables.c - a comparison as tables, one figure in a row. */
#include "diff/kinds.h"
#include "diff/tables.h"

#define BUDGET_COLUMNS(X)                                                                          \
	X(B_GPU, "gpu", I64, "CUDA ordinal")                                                       \
	X(B_RANK, "rank", I64, "in its job; null: not known, or not asked for")                    \
	X(B_PARENT, "parent", STR, "class it is part of; null: of the total")                      \
	X(B_CLASS, "class", STR, "total; compute, communication, copies, idle, which add up to "   \
	  "it; or a part of one of these")                                                         \
	X(B_DETAIL, "detail", STR, "API call, range or operation")                                 \
	X(B_BEFORE, "before_ns", I64, "mean of a unit")                                            \
	X(B_AFTER, "after_ns", I64, "mean of a unit")                                              \
	X(B_DELTA, "delta_ns", I64, "after - before")                                              \
	X(B_MS, "delta_ms", F64, "after - before")
NSX_COLUMNS(budget_cols, BUDGET_COLUMNS);
#define KERNEL_COLUMNS(X)                                                                          \
	X(K_GPU, "gpu", I64, "CUDA ordinal")                                                       \
	X(K_RANK, "rank", I64, "in its job; null: not known, or not asked for")                    \
	X(K_BEFORE, "kernel_before", STR, "its name before; null: it is new")                      \
	X(K_AFTER, "kernel_after", STR, "its name after; null: it is gone")                        \
	X(K_LABEL_BEFORE, "label_before", STR, "the same in words")                                \
	X(K_LABEL_AFTER, "label_after", STR, "the same in words")                                  \
	X(K_VARIANT_BEFORE, "variant_before", STR,                                                 \
	  "what tells it from others of its family: tile, layout, number")                         \
	X(K_VARIANT_AFTER, "variant_after", STR, "the same after")                                 \
	X(K_MATCH, "match", STR, "exact, shape, template, variant, range, removed or new")         \
	X(K_BEFORE_NS, "before_ns", I64,                                                           \
	  "mean of a unit: 1/m of the time where m run together", .adds = true)                    \
	X(K_AFTER_NS, "after_ns", I64, "mean of a unit", .adds = true)                             \
	X(K_DELTA, "delta_ns", I64, "after - before", .adds = true)                                \
	X(K_COUNT, "count_ns", I64, "of it: more or fewer launches", .adds = true)                 \
	X(K_CLOCK, "clock_ns", I64, "of it: what all equal kernels changed by", .adds = true)      \
	X(K_OWN, "own_ns", I64, "of it: the rest", .adds = true)                                   \
	X(K_OVERLAP, "overlap_ns", I64,                                                            \
	  "of the rest: others run beside it, or no longer", .adds = true)                         \
	X(K_N_BEFORE, "launches_before", F64, "launches of a unit", .adds = true)                  \
	X(K_N_AFTER, "launches_after", F64, "launches of a unit", .adds = true)                    \
	X(K_EACH_BEFORE, "each_before_us", F64, "time of a launch")                                \
	X(K_EACH_AFTER, "each_after_us", F64, "time of a launch")                                  \
	X(K_P, "p", F64, "rank test over units, corrected (Holm)")                                 \
	X(K_SIGNIFICANT, "significant", BOOL, "p is at most alpha")                                \
	X(K_CHANGED, "changed", STR, "launch shape, registers, shared memory, occupancy")          \
	X(K_RANGE, "range", STR, "NVTX ranges around its first launch")
NSX_COLUMNS(kernel_cols, KERNEL_COLUMNS);
#define NVTX_COLUMNS(X)                                                                            \
	X(N_GPU, "gpu", I64, "CUDA ordinal")                                                       \
	X(N_RANK, "rank", I64, "in its job; null: not known, or not asked for")                    \
	X(N_RANGE, "range", STR, "NVTX ranges around the launch; null: launched in none")          \
	X(N_BEFORE, "before_ns", I64, "compute time of what was launched there, mean of a unit")   \
	X(N_AFTER, "after_ns", I64, "mean of a unit")                                              \
	X(N_DELTA, "delta_ns", I64, "after - before; those of a GPU add up to its compute time's") \
	X(N_MS, "delta_ms", F64, "after - before")
NSX_COLUMNS(nvtx_cols, NVTX_COLUMNS);
#define UNIT_COLUMNS(X)                                                                            \
	X(U_SIDE, "side", STR, "before or after")                                                  \
	X(U_CAPTURE, "capture", I64, "number of the capture on its side, from 0")                  \
	X(U_GPU, "gpu", I64, "CUDA ordinal")                                                       \
	X(U_RANK, "rank", I64, "in its job; null: not known, or not asked for")                    \
	X(U_INDEX, "index", I64, "number of the unit in its capture, from 0")                      \
	X(U_START, "start_ns", I64, "on the clock of its trace")                                   \
	X(U_WALL, "wall_ns", I64, "from start to next start")                                      \
	X(U_COMPUTE, "compute_ns", I64, "a kernel or replay runs")                                 \
	X(U_TRANSFER, "transfer_ns", I64, "communication alone, all ranks there")                  \
	X(U_WAIT, "wait_ns", I64,                                                                  \
	  "communication alone, a rank is missing; null: part of transfer")                        \
	X(U_COPIES, "copies_ns", I64, "copies alone")                                              \
	X(U_IDLE, "idle_ns", I64, "nothing runs")                                                  \
	X(U_LAUNCHES, "launches", I64, "kernels and replays that began")                           \
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
	X(F_AFTER_PCT, "headroom_after_pct", F64, "share of the judged window; null: not priced")
NSX_COLUMNS(finding_cols, FINDING_COLUMNS);
#define CHECK_COLUMNS(X)                                                      \
	X(C_CHECK, "check", STR, "what is compared")                          \
	X(C_STATUS, "status", STR, "pass, warn or fail")                      \
	X(C_BEFORE, "before", STR, "its value")                               \
	X(C_AFTER, "after", STR, "its value")                                 \
	X(C_TEXT, "text", STR, "what it means")
NSX_COLUMNS(check_cols, CHECK_COLUMNS);
#define GATE_COLUMNS(X)                                                                            \
	X(G_GATE, "gate", STR, "as given")                                                         \
	X(G_RESULT, "result", STR, "pass, undecided or fail")                                      \
	X(G_SUBJECT, "subject", STR, "the GPU where it looks worst; null: of all")                 \
	X(G_CHANGE, "change", F64, "in unit")                                                      \
	X(G_LO, "lo", F64, "lower end of its interval")                                            \
	X(G_HI, "hi", F64, "upper end of its interval")                                            \
	X(G_LIMIT, "limit", F64, "in unit")                                                        \
	X(G_UNIT, "unit", STR, "%, ms, bytes; null: a count")                                      \
	X(G_FIGURE, "figure", STR, "what the limit is on")                                         \
	X(G_MEAN, "mean_change", F64, "of the mean, beside a typical step's; in unit")             \
	X(G_TEXT, "text", STR, "why it is undecided, or what it leaves out")
NSX_COLUMNS(gate_cols, GATE_COLUMNS);
#define KIND_COLUMNS(X)                                                       \
	X(I_KIND, "kind", STR, "decode, prefill, ...")                        \
	X(I_SIZE, "size", STR, "requests or tokens; null: all")               \
	X(I_BEFORE, "count_before", I64, "steps")                             \
	X(I_P50_BEFORE, "p50_before_ms", F64, "GPU time of a step; null: none") \
	X(I_AFTER, "count_after", I64, "steps")                               \
	X(I_P50_AFTER, "p50_after_ms", F64, "GPU time of a step; null: none") \
	X(I_CHANGE, "change_pct", F64, "of the median; null: fewer than 5 steps on a side")
NSX_COLUMNS(kind_cols, KIND_COLUMNS);
const struct nsx_layout nsx_diff_layouts[NSX_NDT] = {
	[NSX_DT_BUDGET] = {.key = "budget", .csv = "diff_budget",
			   NSX_COLS(budget_cols), .json_rows = 1000},
	[NSX_DT_KERNELS] = {.key = "kernels", .csv = "diff_kernels",
			    NSX_COLS(kernel_cols), .json_rows = 200},
	[NSX_DT_NVTX] = {.key = "nvtx", .csv = "diff_nvtx",
			 NSX_COLS(nvtx_cols), .json_rows = 200},
	[NSX_DT_UNITS] = {.key = "units", .csv = "diff_units",
			  NSX_COLS(unit_cols), .json_rows = NSX_NOT_IN_JSON},
	[NSX_DT_FINDINGS] = {.key = "findings", .csv = "diff_findings",
			     NSX_COLS(finding_cols), .json_rows = NSX_ALL_ROWS},
	[NSX_DT_COMPARABILITY] = {.key = "comparability", .csv = "diff_comparability",
				  NSX_COLS(check_cols), .json_rows = NSX_ALL_ROWS},
	[NSX_DT_GATES] = {.key = "gates", .csv = "diff_gates",
			  NSX_COLS(gate_cols), .json_rows = NSX_ALL_ROWS},
	[NSX_DT_KINDS] = {.key = "kinds", .csv = "diff_kinds",
			  NSX_COLS(kind_cols), .json_rows = NSX_ALL_ROWS},
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

static void add_shape(struct nsx_buf *b, const uint32_t v[3])
{
	nsx_buf_printf(b, "%u", v[0]);
	if (v[1] > 1 || v[2] > 1)
		nsx_buf_printf(b, "×%u", v[1]);
	if (v[2] > 1)
		nsx_buf_printf(b, "×%u", v[2]);
}

const char *nsx_row_shape(const struct nsx_diff *d, uint32_t row, struct nsx_arena *a)
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

static void add_what(struct nsx_buf *b, const char *what)
{
	nsx_buf_printf(b, "%s%s ", b->n ? ", " : "", what);
}

static void tables_add_shapes(struct nsx_buf *b, const char *what, const uint32_t x[3],
			      const uint32_t y[3])
{
	if (!memcmp(x, y, 3 * sizeof(*x)))
		return;
	add_what(b, what);
	add_shape(b, x);
	nsx_buf_adds(b, " → ");
	add_shape(b, y);
}

static void add_numbers(struct nsx_buf *b, const char *what, uint32_t x, uint32_t y)
{
	if (x == y || x == NSX_NONE || y == NSX_NONE)
		return;
	add_what(b, what);
	nsx_buf_printf(b, "%u → %u", x, y);
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
		tables_add_shapes(&b, "grid", x->grid, y->grid);
	tables_add_shapes(&b, "block", x->block, y->block);
	add_numbers(&b, "registers", x->registers, y->registers);
	add_numbers(&b, "shared memory", x->shared_bytes, y->shared_bytes);
	if (x->occupancy >= 0 && y->occupancy >= 0 &&
	    (int)(100 * x->occupancy) != (int)(100 * y->occupancy))
		nsx_buf_printf(&b, "%soccupancy %.0f %% → %.0f %%",
			       b.n ? ", " : "", 100 * x->occupancy, 100 * y->occupancy);
	return nsx_buf_keep(&b, a);
}

static struct nsx_cell text_or_null(const char *s)
{
	return nsx_string(*s ? s : NULL);
}

/* Rows --------------------------------------------------------------------------*/

/* Fills the columns gpu and rank. */
static void tables_fill_lane(struct nsx_cell *row, const struct nsx_diff_lane *l)
{
	row[0] = nsx_int(l->device_id);
	if (l->rank >= 0)
		row[1] = nsx_int(l->rank);
}

/* Fills the columns before, after and delta. */
static void fill_delta(struct nsx_cell *row, const struct nsx_delta *d)
{
	row[0] = nsx_int(d->before_ns);
	row[1] = nsx_int(d->before_ns + d->delta_ns);
	row[2] = nsx_int(d->delta_ns);
}

static void add_budget_row(struct nsx_table *t, const struct nsx_diff_lane *l,
			   const char *parent, const char *class,
			   const char *detail, const struct nsx_delta *d)
{
	struct nsx_cell *row = nsx_add_row(t);

	tables_fill_lane(&row[B_GPU], l);
	row[B_PARENT] = nsx_string(parent);
	row[B_CLASS] = nsx_string(class);
	row[B_DETAIL] = text_or_null(detail);
	fill_delta(&row[B_BEFORE], d);
	row[B_MS] = nsx_ms(d->delta_ns);
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

static void fill_nvtx(const struct nsx_diff_lane *l, struct nsx_table *t)
{
	const struct nsx_split_rows *x = &l->budget.split[NSX_SPLIT_RANGES];

	for (size_t i = 0; i < x->n; i++) {
		struct nsx_cell *row = nsx_add_row(t);

		tables_fill_lane(&row[N_GPU], l);
		row[N_RANGE] = text_or_null(x->v[i].detail);
		fill_delta(&row[N_BEFORE], &x->v[i].d);
		row[N_MS] = nsx_ms(x->v[i].d.delta_ns);
	}
}

static void tables_add_kernel_row(struct nsx_diff *d, uint32_t lane,
				  const struct nsx_kernel_row *k, struct nsx_table *t)
{
	struct nsx_cell *row = nsx_add_row(t);

	fill_delta(&row[K_BEFORE_NS], &k->d);
	row[K_COUNT] = nsx_int(k->count_ns);
	row[K_CLOCK] = nsx_int(k->clock_ns);
	row[K_OWN] = nsx_int(k->own_ns);
	row[K_OVERLAP] = nsx_int(k->overlap_ns);
	for (unsigned s = 0; s < 2; s++)
		row[K_N_BEFORE + s] = nsx_real(k->launches[s]);
	if (!nsx_table_holds(t))
		return;
	tables_fill_lane(&row[K_GPU], &d->lanes[lane]);
	for (unsigned s = 0; s < 2; s++) {
		row[K_BEFORE + s] = text_or_null(join_names(d, s, k->row,
							    offsetof(struct nsx_kernel, name),
							    d->arena));
		row[K_LABEL_BEFORE + s] = text_or_null(nsx_row_label(d, s, k->row, d->arena));
		row[K_VARIANT_BEFORE + s] = text_or_null(
			join_names(d, s, k->row,
				   offsetof(struct nsx_kernel, variant),
				   d->arena));
		row[K_EACH_BEFORE + s] = nsx_us(k->each_ns[s]);
	}
	row[K_MATCH] = nsx_string(nsx_match_names[d->rows.kind[k->row]]);
	row[K_P] = nsx_real(k->p);
	row[K_SIGNIFICANT] = nsx_bool(k->significant);
	row[K_CHANGED] = text_or_null(nsx_row_changes(d, k->row, d->arena));
	row[K_RANGE] = text_or_null(nsx_row_kernel(d, k->row)->range);
}

static void fill_units(const struct nsx_diff *d, unsigned side, uint32_t lane, struct nsx_table *t)
{
	const struct nsx_pool *p = &d->pool[side];
	const struct nsx_lane *l = &p->lanes[lane];
	const size_t *end = p->end + lane * p->nsides;
	size_t capture = 0, from = 0;

	for (size_t u = 0; u < l->nunits; u++) {
		const struct nsx_unit *x = &l->units[u];
		struct nsx_cell *row = nsx_add_row(t);

		while (u >= end[capture])
			from = end[capture++];
		row[U_SIDE] = nsx_string(side ? "after" : "before");
		row[U_CAPTURE] = nsx_int((int64_t)capture);
		tables_fill_lane(&row[U_GPU], &d->lanes[lane]);
		row[U_INDEX] = nsx_int((int64_t)(u - from));
		row[U_START] = nsx_int(x->start_ns);
		row[U_WALL] = nsx_int(x->wall_ns);
		for (unsigned k = 0; k < NSX_NSHARES; k++)
			if (k != NSX_SHARE_WAIT || d->splits_comm)
				row[U_COMPUTE + k] = nsx_int(x->ns[k]);
		row[U_LAUNCHES] = nsx_int(x->launches);
		row[U_STEADY] = nsx_bool(x->steady);
	}
}

static void tables_fill_findings(const struct nsx_diff *d, struct nsx_table *t)
{
	for (size_t i = 0; i < d->nfindings; i++) {
		const struct nsx_finding_row *f = &d->findings[i];
		const struct nsx_side_finding *of[] = {f->before, f->after};
		struct nsx_cell *row = nsx_add_row(t);

		row[F_CHANGE] = nsx_string(nsx_appearance_names[f->change]);
		for (unsigned s = 0; s < 2; s++) {
			if (!of[s])
				continue;
			row[F_KEY] = nsx_string(of[s]->key);
			row[F_TITLE] = nsx_string(of[s]->title);
			row[F_SEVERITY_BEFORE + s] = nsx_string(
				nsx_severity_names[of[s]->severity]);
			row[F_BEFORE_PCT + s] = nsx_real(100 * of[s]->share);
		}
	}
}

static void fill_checks(const struct nsx_diff *d, struct nsx_table *t)
{
	for (size_t i = 0; i < d->nchecks; i++) {
		const struct nsx_check *c = &d->checks[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[C_CHECK] = nsx_string(c->id);
		row[C_STATUS] = nsx_string(nsx_check_names[c->status]);
		row[C_BEFORE] = text_or_null(c->before);
		row[C_AFTER] = text_or_null(c->after);
		row[C_TEXT] = nsx_string(c->text);
	}
}

static void fill_gates(const struct nsx_diff *d, struct nsx_table *t)
{
	for (size_t i = 0; i < d->ngates; i++) {
		const struct nsx_gate_row *g = &d->gates[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[G_GATE] = nsx_string(g->expr);
		row[G_RESULT] = nsx_string(nsx_gate_names[g->result]);
		row[G_SUBJECT] = text_or_null(g->subject);
		row[G_CHANGE] = nsx_real(g->change);
		row[G_LO] = nsx_real(g->lo);
		row[G_HI] = nsx_real(g->hi);
		row[G_LIMIT] = nsx_real(g->limit);
		row[G_UNIT] = text_or_null(g->unit);
		row[G_FIGURE] = nsx_string(g->figure);
		row[G_MEAN] = nsx_real(g->mean);
		row[G_TEXT] = nsx_string(g->text);
	}
}

static void tables_fill_kinds(const struct nsx_diff *d, struct nsx_table *t)
{
	struct nsx_kind_rows r = nsx_diff_kinds(d, d->arena);

	for (size_t i = 0; i < r.n; i++) {
		const struct nsx_kind_row *x = &r.v[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[I_KIND] = nsx_string(x->kind);
		row[I_SIZE] = text_or_null(x->size);
		row[I_BEFORE] = nsx_int(x->count[0]);
		row[I_AFTER] = nsx_int(x->count[1]);
		if (x->count[0])
			row[I_P50_BEFORE] = nsx_real(x->p50_ms[0]);
		if (x->count[1])
			row[I_P50_AFTER] = nsx_real(x->p50_ms[1]);
		row[I_CHANGE] = nsx_real(100 * nsx_kind_change(x));
	}
}

/* Rows of all GPUs, largest change first. */
struct placed {
	const struct nsx_kernel_row *k;
	uint32_t lane;
};

static int cmp_placed(const void *a, const void *b)
{
	const struct placed *x = a, *y = b;
	int64_t dx = llabs(x->k->d.delta_ns), dy = llabs(y->k->d.delta_ns);

	return NSX_CMP(dy, dx) ?: NSX_CMP(x->k->row, y->k->row) ?: NSX_CMP(x->lane, y->lane);
}

static void tables_fill_kernels(struct nsx_diff *d, size_t max_rows, struct nsx_table *t)
{
	struct placed *v;
	size_t n = 0;

	for (size_t l = 0; l < d->nlanes; l++)
		n += d->lanes[l].budget.nkernels;
	v = nsx_alloc(n, sizeof(*v));
	n = 0;
	for (uint32_t l = 0; l < d->nlanes; l++)
		for (size_t i = 0; i < d->lanes[l].budget.nkernels; i++)
			v[n++] = (struct placed){
				&d->lanes[l].budget.kernels[i], l};
	nsx_sort(v, n, sizeof(*v), cmp_placed);
	nsx_table_expect(t, n, max_rows);
	for (size_t i = 0; i < n; i++)
		tables_add_kernel_row(d, v[i].lane, v[i].k, t);
	free(v);
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
	fill_checks(d, &t[NSX_DT_COMPARABILITY]);
	fill_gates(d, &t[NSX_DT_GATES]);
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
