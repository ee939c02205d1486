/* kernel_shape.c - launch configurations, and how much of the GPU they can fill.
 *
 * The loader's configurations also differ by graph and kernel name. Here two are equal if kernel
 * name, grid, block, registers and shared memory are equal.
 */
#include <inttypes.h>
#include "facts/occupancy.h"
#include "passes/pass.h"

#define COLUMNS(X)                                                                         \
	X(NAME, "kernel_name", STR, "full name of the kernel")                             \
	X(DEVICE, "device_id", I64, "CUDA ordinal")                                        \
	X(GRID, "grid", STR, "blocks, x by y by z")                                        \
	X(BLOCK, "block", STR, "threads of a block, x by y by z")                          \
	X(REGISTERS, "registers", I64, "registers of a thread")                            \
	X(STATIC, "static_shared_bytes", I64, "static shared memory of a block")           \
	X(DYNAMIC, "dynamic_shared_bytes", I64, "dynamic shared memory of a block")        \
	X(CALLS, "call_count", I64, "executions that began in the window", .adds = true)   \
	X(TOTAL, "total_ms", F64, "sum of durations", .adds = true)                        \
	X(PCT, "pct_total_kernel_time", F64,                                               \
	  "share of the summed kernel time of all devices", .adds = true)                  \
	X(GRID_BLOCKS, "grid_blocks", I64, "blocks of the grid")                           \
	X(RESIDENT, "resident_blocks", I64, "blocks that fit on a multiprocessor")         \
	X(WARPS, "resident_warps", I64, "warps of those blocks")                           \
	X(OCCUPANCY, "occupancy_pct", F64,                                                 \
	  "theoretical: resident warps as a share of the warps a multiprocessor can hold") \
	X(LIMIT, "limited_by", STR, "resource that limits the resident blocks")            \
	X(WAVES, "waves", F64, "blocks of the grid over resident blocks of the whole GPU") \
	X(SMALL, "is_small_grid", BOOL, "fewer blocks than the GPU has multiprocessors")
NSX_COLUMNS(cols, COLUMNS);
#define DEVICE_COLUMNS(X)                                                                          \
	X(DEVICE_ID, "device_id", I64, "CUDA ordinal")                                             \
	X(DEVICE_SM_COUNT, "sm_count", I64, "multiprocessors", .title = "multiprocessors")         \
	X(DEVICE_KERNEL_MS, "kernel_ms", F64, "sum of compute kernels' durations")                 \
	X(DEVICE_OCCUPANCY_PCT, "occupancy_pct", F64,                                              \
	  "mean theoretical occupancy, weighted by duration", .title = "theoretical_occupancy")    \
	X(DEVICE_SMALL_GRID_MS, "small_grid_ms", F64,                                              \
	  "part of kernel_ms in grids with fewer blocks than multiprocessors")                     \
	X(DEVICE_SMALL_GRID_PCT, "small_grid_pct", F64,                                            \
	  "of kernel_ms", .title = "in_grids_smaller_than_that")                                   \
	X(DEVICE_BELOW_ONE_WAVE_PCT, "below_one_wave_pct", F64,                                    \
	  "part of kernel_ms in grids of less than one wave",                                      \
	  .title = "in_grids_below_one_wave")                                                      \
	X(DEVICE_GPU, "gpu", STR, "distinguishes GPUs with the same ordinal")
NSX_COLUMNS(device_cols, DEVICE_COLUMNS);
#define CATEGORY_COLUMNS(X)                                                                        \
	X(CATEGORY, "category", STR, "purpose of the kernels, by their names")                     \
	X(CATEGORY_CALL_COUNT, "call_count", I64, "executions that began in the window")           \
	X(CATEGORY_TOTAL_MS, "total_ms", F64, "sum of durations")                                  \
	X(CATEGORY_PCT_TOTAL_KERNEL_TIME, "pct_total_kernel_time", F64,                            \
	  "share of the summed kernel time of all devices")
NSX_COLUMNS(category_cols, CATEGORY_COLUMNS);
#define PATTERN_COLUMNS(X)                                                                         \
	X(PATTERN_CATEGORY, "category", STR, "purpose of the kernels")                             \
	X(PATTERN, "pattern", STR, "part of the name that matched; null: none did")                \
	X(PATTERN_NAME_COUNT, "name_count", I64, "different kernels")                              \
	X(PATTERN_CALL_COUNT, "call_count", I64, "executions that began in the window")            \
	X(PATTERN_TOTAL_MS, "total_ms", F64, "sum of durations")
NSX_COLUMNS(pattern_cols, PATTERN_COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "shapes", .csv = "kernel_shapes", NSX_COLS(cols)},
	{.key = "devices", NSX_COLS(device_cols)},
	{.key = "categories", NSX_COLS(category_cols), .json_rows = NSX_ALL_ROWS},
	{.key = "patterns", NSX_COLS(pattern_cols), .json_rows = NSX_ALL_ROWS},
};

struct group { /* executions of a kernel in one configuration */
	int64_t total_ns;
	uint32_t shape, n;
	/* Multiprocessors of the green contexts in which it ran; UINT32_MAX: a launch ran outside
	 * of them.
	 */
	uint32_t most_sms;
};
struct shapes {
	const struct nsx_run *run;
	/* For each shape: the first shape that differs only in graph; NULL: all are distinct. */
	uint32_t *same;
	/* For each shape: 1 + index of its group on the current device; 0: none yet. */
	uint32_t *slot;
	struct group *v; /* in order of device */
	size_t n;
	uint32_t *first; /* for each device: its first group */
	int64_t total_ns;
	const struct nsx_gpu_info **gpu; /* one for each device; NULL: unknown */
};

/* Groups -------------------------------------------------------------------*/

static int cmp_shapes(const void *a, const void *b, void *ctx)
{
	const struct nsx_trace *t = ctx;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;
	const struct nsx_shape *x = &t->shape[i], *y = &t->shape[k];
	const struct nsx_launch *l = nsx_shape_launch(t, x);
	const struct nsx_launch *m = nsx_shape_launch(t, y);

	return NSX_CMP(t->shape_name[i], t->shape_name[k]) ?:
	       NSX_CMP(x->grid_x, y->grid_x) ?:
	       memcmp(l->grid_yz, m->grid_yz, sizeof(l->grid_yz)) ?:
	       memcmp(l->block, m->block, sizeof(l->block)) ?:
	       NSX_CMP(l->registers, m->registers) ?:
	       NSX_CMP(l->static_shared_bytes, m->static_shared_bytes) ?:
	       NSX_CMP(l->dynamic_shared_bytes, m->dynamic_shared_bytes) ?:
	       (int)l->op - m->op ?:
	       (int)l->known - m->known;
}

/* Whether all of the loader's shapes stay distinct here. Two can become equal only if one belongs
 * to a graph, or if rows give one kernel several short names.
 */
static bool are_shapes_distinct(const struct shapes *s, uint32_t *first)
{
	const struct nsx_trace *t = s->run->trace;

	for (uint32_t i = 0; i < t->nshapes; i++) {
		const struct nsx_shape *x = &t->shape[i];
		uint32_t *of_name = &first[s->run->facts->kernels.of_shape[i]];

		*of_name = *of_name ? *of_name : i + 1;
		if (nsx_shape_launch(t, x)->graph_id != NSX_NONE ||
		    t->shape[*of_name - 1].base_name != x->base_name)
			return false;
	}
	return true;
}

static int find_equal_shapes(struct shapes *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;
	struct nsx_arena *a = s->run->scratch;
	uint32_t *order, *first;
	bool distinct;

	if (!nsx_new_array(first, a, s->run->facts->kernels.n, "kernel names", err))
		return err->rc;
	distinct = are_shapes_distinct(s, first);
	nsx_arena_drop(a, first);
	if (distinct)
		return 0;
	if (nsx_new_arrays(a, t->nshapes, "shapes", err, order, s->same))
		return err->rc;
	nsx_sort_indices(order, t->nshapes, cmp_shapes, (void *)t);
	for (uint32_t i = 0; i < t->nshapes; i++)
		s->same[order[i]] =
			i && !cmp_shapes(&order[i - 1], &order[i], (void *)t) ?
				s->same[order[i - 1]] : order[i];
	nsx_arena_drop(a, order);
	return 0;
}

static void kernel_shape_add_kernel(struct shapes *s, size_t op)
{
	const struct nsx_trace *t = s->run->trace;
	uint32_t own = nsx_op_detail(&t->ops, op);
	uint32_t shape = s->same ? s->same[own] : own, *slot = &s->slot[shape];
	struct group *x;

	if (!*slot) {
		s->v[s->n] = (struct group){.shape = shape};
		*slot = (uint32_t)++s->n;
	}
	x = &s->v[*slot - 1];
	x->n += nsx_op_counts(t, op);
	x->most_sms = NSX_MAX(x->most_sms, nsx_stream_of(t, op)->sm_count ?: UINT32_MAX);
	nsx_add_to(&x->total_ns, nsx_op_ns(&t->ops, op));
}

static int kernel_shape_make_groups(struct shapes *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->run->trace;

	if (find_equal_shapes(s, err))
		return err->rc;
	if (!nsx_new_array(s->slot, s->run->scratch, t->nshapes, "shapes", err) ||
	    !nsx_new_array(s->v, s->run->scratch, t->ops.n, "launch configurations", err))
		return err->rc;
	nsx_few(s->gpu, s->run->scratch, t->ndevices);
	nsx_few(s->first, s->run->scratch, t->ndevices);
	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_device *dev = &t->device[d];

		s->gpu[d] = nsx_device_gpu(t, d);
		s->first[d] = (uint32_t)s->n;
		for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++)
			if (t->ops.kind[i] == NSX_OP_KERNEL)
				kernel_shape_add_kernel(s, i);
		for (size_t k = s->first[d]; k < s->n; k++)
			s->slot[s->v[k].shape] = 0;
	}
	for (size_t i = 0; i < s->n; i++)
		nsx_add_to(&s->total_ns, s->v[i].total_ns);
	nsx_arena_drop(s->run->scratch, s->same);
	nsx_arena_drop(s->run->scratch, s->slot);
	return 0;
}

static uint32_t device_of_shape_group(const struct shapes *s, const struct group *x)
{
	return NSX_SEARCH(0, s->run->trace->ndevices, mid, s->first[mid] <= (size_t)(x - s->v)) - 1;
}

/* Occupancy ----------------------------------------------------------------*/

struct fit { /* occupancy of a group on its GPU; unknown values are NAN or -1 */
	struct nsx_occupancy o;
	int64_t blocks, sms;
	double waves;
	bool known; /* occupancy o and waves are computed */
};

static struct fit occupancy_of_group(const struct shapes *all, const struct group *x)
{
	const struct nsx_gpu_info *g = all->gpu[device_of_shape_group(all, x)];
	const struct nsx_trace *t = all->run->trace;
	const struct nsx_shape *s = &t->shape[x->shape];
	struct fit f = {.blocks = -1, .sms = -1, .waves = NAN};

	if (!nsx_shape_launch(t, s)->known)
		return f;
	f.blocks = nsx_shape_blocks(t, s);
	if (!g || g->sm_count <= 0)
		return f;
	f.sms = NSX_MIN(g->sm_count, (int64_t)x->most_sms);
	f.known = nsx_shape_occupancy(t, g, s, &f.o);
	if (f.known && f.o.blocks)
		f.waves = (double)f.blocks / ((double)f.o.blocks * (double)f.sms);
	return f;
}

/* Names the resources that limit resident blocks, by the bits of nsx_occupancy.limits. */
static void name_limits(struct nsx_section *out, const char *ret[16])
{
	static const char *const names[] = {"warps", "blocks", "registers", "shared memory"};

	for (unsigned i = 0; i < 16; i++) {
		ret[i] = "";
		for (unsigned k = 0; k < ARRAY_LEN(names); k++)
			if (i >> k & 1)
				ret[i] = nsx_say(out, "%s%s%s", ret[i],
						 *ret[i] ? ", " : "", names[k]);
	}
}

enum { EXTENT_SIZE = 40 };

/* Writes "8x8x1" into the buffer and returns where the text starts. */
static const char *extent_text(char room[EXTENT_SIZE], const uint32_t v[3])
{
	char *p = room + EXTENT_SIZE - 1;

	*p = '\0';
	p = nsx_digits_before(p, v[2]);
	*--p = 'x';
	p = nsx_digits_before(p, v[1]);
	*--p = 'x';
	return nsx_digits_before(p, v[0]);
}

static int cmp_extents(const uint32_t x[3], const uint32_t y[3])
{
	char a[EXTENT_SIZE], b[EXTENT_SIZE];

	return memcmp(x, y, 3 * sizeof(*x)) ? strcmp(extent_text(a, x), extent_text(b, y)) : 0;
}

/* Compares launches by the texts of their configurations; unknown ones come last. */
static int cmp_launches(const struct nsx_trace *t, const struct nsx_shape *x,
			const struct nsx_shape *y)
{
	const struct nsx_launch *l = nsx_shape_launch(t, x);
	const struct nsx_launch *m = nsx_shape_launch(t, y);
	uint32_t a[3], b[3];

	if (!l->known || !m->known)
		return (int)m->known - l->known;
	nsx_shape_grid(t, x, a);
	nsx_shape_grid(t, y, b);
	return cmp_extents(a, b) ?: cmp_extents(l->block, m->block) ?:
	       NSX_CMP(l->registers, m->registers) ?:
	       NSX_CMP(l->dynamic_shared_bytes, m->dynamic_shared_bytes);
}

NSX_KEY_IN(time_sort_key, uint32_t, struct shapes,
	   -nsx_real_key((double)c->v[*x].total_ns / 1e6));

/* Compares groups by name, device, configuration. */
static int cmp_group_places(const struct shapes *s, const struct group *x, const struct group *y)
{
	const struct nsx_trace *t = s->run->trace;

	return NSX_CMP(t->rank[t->shape_name[x->shape]], t->rank[t->shape_name[y->shape]]) ?:
	       NSX_CMP(t->device[device_of_shape_group(s, x)].device_id,
		       t->device[device_of_shape_group(s, y)].device_id) ?:
	       cmp_launches(t, &t->shape[x->shape], &t->shape[y->shape]);
}

/* Times are compared as displayed. */
NSX_ORDER_IN(kernel_shape_cmp_groups, uint32_t, struct shapes,
	     DOWN((double)c->v[*x].total_ns / 1e6), DOWN(c->v[*x].n),
	     BY(cmp_group_places(c, &c->v[*x], &c->v[*y])));

static void fill_shape(const struct shapes *s, const struct group *x, const char *const limits[16],
		       struct nsx_section *out, struct nsx_table *table)
{
	struct nsx_cell *row = nsx_add_row(table);
	const struct nsx_trace *t = s->run->trace;
	const struct nsx_shape *shape = &t->shape[x->shape];
	const struct nsx_launch *h = nsx_shape_launch(t, shape);
	char room[EXTENT_SIZE];
	uint32_t grid[3];
	struct fit f;

	row[CALLS] = nsx_int(x->n);
	row[TOTAL] = nsx_ms(x->total_ns);
	row[PCT] = nsx_part_pct(x->total_ns, s->total_ns);
	if (!nsx_table_holds(table))
		return;
	row[NAME] = nsx_name_cell(t, table, t->shape_name[x->shape]);
	row[DEVICE] = nsx_device_cell(t, device_of_shape_group(s, x));
	if (!h->known)
		return;
	f = occupancy_of_group(s, x);
	nsx_shape_grid(t, shape, grid);
	row[GRID] = nsx_string(nsx_row_text(table, out->arena, extent_text(room, grid)));
	row[BLOCK] = nsx_string(nsx_row_text(table, out->arena, extent_text(room, h->block)));
	row[REGISTERS] = nsx_known_cell(h->registers);
	row[STATIC] = nsx_known_cell(h->static_shared_bytes);
	row[DYNAMIC] = nsx_known_cell(h->dynamic_shared_bytes);
	row[GRID_BLOCKS] = nsx_int(f.blocks);
	if (f.sms > 0)
		row[SMALL] = nsx_bool(f.blocks < f.sms);
	if (!f.known)
		return;
	row[RESIDENT] = nsx_int(f.o.blocks);
	row[WARPS] = nsx_int(f.o.warps);
	row[OCCUPANCY] = nsx_real(100 * f.o.ratio);
	row[LIMIT] = nsx_string(limits[f.o.limits & 15]);
	row[WAVES] = nsx_real(f.waves);
}

static int kernel_shape_fill_shapes(struct shapes *s, struct nsx_table *table,
				    struct nsx_section *out, struct nsx_err *err)
{
	const char *limits[16];
	uint32_t *order;

	if (!nsx_new_array(order, s->run->scratch, s->n, "shapes", err))
		return err->rc;
	for (uint32_t i = 0; i < s->n; i++)
		order[i] = i;
	nsx_table_expect(table, s->n, s->run->opts->held_rows);
	nsx_sort_by_key_r(order, s->n, table->max_rows ?: s->n,
			  sizeof(*order), time_sort_key, kernel_shape_cmp_groups, s);
	name_limits(out, limits);
	for (size_t i = 0; i < s->n; i++) {
		NSX_FETCH_AHEAD(s->v, order, i, s->n);
		fill_shape(s, &s->v[order[i]], limits, out, table);
	}
	nsx_arena_drop(s->run->scratch, order);
	return 0;
}

/* Devices ------------------------------------------------------------------*/

struct load { /* compute kernels of a device */
	int64_t total_ns, known_ns, small_ns, below_ns, sized_ns;
	double occupancy; /* sum of each kernel's occupancy times its duration */
};

static void add_kernel_load(struct load *l, const struct fit *f, int64_t ns)
{
	nsx_add_to(&l->total_ns, ns);
	if (f->sms > 0) {
		nsx_add_to(&l->sized_ns, ns);
		nsx_add_to(&l->small_ns, f->blocks < f->sms ? ns : 0);
	}
	if (f->known) {
		nsx_add_to(&l->known_ns, ns);
		l->occupancy += f->o.ratio * (double)ns;
		nsx_add_to(&l->below_ns, f->waves < 1 ? ns : 0);
	}
}

static void kernel_shape_fill_devices(const struct shapes *s, struct nsx_table *table)
{
	const struct nsx_trace *t = s->run->trace;
	struct load *loads;
	uint32_t worst = 0;

	nsx_few(loads, s->run->scratch, t->ndevices);
	for (size_t i = 0; i < s->n; i++) {
		struct fit f = occupancy_of_group(s, &s->v[i]);

		/* Communication kernels do not count, because they are small on purpose. */
		if (!nsx_shape_launch(t, &t->shape[s->v[i].shape])->op)
			add_kernel_load(&loads[device_of_shape_group(s, &s->v[i])], &f,
					s->v[i].total_ns);
	}
	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct load *l = &loads[d];
		struct nsx_cell *row = nsx_add_row(table);

		row[DEVICE_ID] = nsx_device_cell(t, d);
		row[DEVICE_KERNEL_MS] = nsx_ms(l->total_ns);
		row[DEVICE_GPU] = nsx_string(nsx_text(t, t->device[d].gpu));
		if (l->sized_ns) {
			row[DEVICE_SM_COUNT] = nsx_int(s->gpu[d]->sm_count);
			row[DEVICE_SMALL_GRID_MS] = nsx_ms(l->small_ns);
			row[DEVICE_SMALL_GRID_PCT] = nsx_part_pct(l->small_ns, l->sized_ns);
		}
		if (l->known_ns) {
			row[DEVICE_OCCUPANCY_PCT] = nsx_real(100 * l->occupancy /
							     (double)l->known_ns);
			row[DEVICE_BELOW_ONE_WAVE_PCT] = nsx_part_pct(l->below_ns, l->known_ns);
		}
		if (l->small_ns > loads[worst].small_ns)
			worst = d;
	}
	if (t->ndevices) {
		s->run->measured->grids.device = worst;
		s->run->measured->grids.ns = loads[worst].sized_ns;
		s->run->measured->grids.small_ns = loads[worst].small_ns;
	}
}

/* Categories ---------------------------------------------------------------*/

struct told { /* kernels that one pattern assigned to a category */
	const char *category, *pattern;
	int64_t names, n, ns;
};

NSX_ORDER(cmp_told, struct told, TEXT(category));

struct tolds {
	struct nsx_groups keys; /* category, pattern */
	struct told *v;
};

/* Lists the patterns that put kernels into categories, with what each matched. */
static int list_category_patterns(const struct shapes *s, struct tolds *ret, struct nsx_err *err)
{
	const struct nsx_kernel_names *names = &s->run->facts->kernels;
	uint32_t *by_name; /* index + 1 in told, by kernel name; 0: not seen */

	if (!nsx_new_array(by_name, s->run->scratch, names->n, "kernel names", err))
		return err->rc;
	for (size_t i = 0; i < s->n; i++) {
		const struct group *x = &s->v[i];
		uint32_t *at = &by_name[names->of_shape[x->shape]];
		const struct nsx_kernel_words *k = nsx_kernel_of_shape(names, x->shape)->words;
		struct told *to;

		if (!*at) {
			to = nsx_group_few(&ret->keys, &ret->v, k->category,
					   (uintptr_t)k->pattern);
			to->category = nsx_kernel_category_names[k->category];
			to->pattern = k->pattern;
			to->names++;
			*at = (uint32_t)(to - ret->v) + 1;
		}
		to = &ret->v[*at - 1];
		to->n += x->n;
		nsx_add_to(&to->ns, x->total_ns);
	}
	return 0;
}

static int fill_categories(const struct shapes *s, struct nsx_table *categories,
			   struct nsx_table *patterns, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_sums_done) struct tolds told = {.v = NULL};
	struct told *v;

	if (list_category_patterns(s, &told, err))
		return err->rc;
	v = told.v;
	nsx_sort(v, told.keys.n, sizeof(*v), cmp_told);
	NSX_EACH_RUN(i, next, told.keys.n, !strcmp(v[next].category, v[i].category)) {
		struct nsx_cell *row = nsx_add_row(categories);
		int64_t count = 0, ns = 0;

		for (size_t k = i; k < next; k++) {
			struct nsx_cell *pattern = nsx_add_row(patterns);

			pattern[PATTERN_CATEGORY] = nsx_string(v[k].category);
			pattern[PATTERN] = nsx_string(v[k].pattern);
			pattern[PATTERN_NAME_COUNT] = nsx_int(v[k].names);
			pattern[PATTERN_CALL_COUNT] = nsx_int(v[k].n);
			pattern[PATTERN_TOTAL_MS] = nsx_ms(v[k].ns);
			count += v[k].n;
			nsx_add_to(&ns, v[k].ns);
		}
		row[CATEGORY] = nsx_string(v[i].category);
		row[CATEGORY_CALL_COUNT] = nsx_int(count);
		row[CATEGORY_TOTAL_MS] = nsx_ms(ns);
		row[CATEGORY_PCT_TOTAL_KERNEL_TIME] = nsx_part_pct(ns, s->total_ns);
	}
	nsx_table_sort(categories, NSX_DESC(CATEGORY_TOTAL_MS),
		       NSX_DESC(CATEGORY_CALL_COUNT), CATEGORY);
	nsx_table_sort(patterns, NSX_DESC(PATTERN_TOTAL_MS),
		       NSX_DESC(PATTERN_CALL_COUNT), PATTERN_CATEGORY, PATTERN);
	return 0;
}

/* The section --------------------------------------------------------------*/

static void say_device_occupancy(struct nsx_section *out, const struct nsx_cell *row)
{
	nsx_md_bullet(out, "GPU %s: mean theoretical occupancy %s; %s "
		      "of kernel time in grids with fewer blocks than its "
		      "%" PRId64 " multiprocessors, %s in grids of less than "
		      "one wave.", nsx_cell_text(out->arena, &row[DEVICE_ID]),
		      nsx_text_share(out->arena,
				     row[DEVICE_OCCUPANCY_PCT].u.f, 100),
		      nsx_text_share(out->arena,
				     row[DEVICE_SMALL_GRID_PCT].u.f, 100),
		      row[DEVICE_SM_COUNT].u.i,
		      nsx_text_share(out->arena,
				     row[DEVICE_BELOW_ONE_WAVE_PCT].u.f, 100));
}

static void kernel_shape_show(const struct nsx_trace *t, const struct nsx_table *dev,
			      size_t nshapes, struct nsx_section *out)
{
	bool is_known = NSX_ANY(i, dev->nrows, nsx_row_at(dev, i)[DEVICE_OCCUPANCY_PCT].type);

	if (dev->nrows > 1 && is_known)
		nsx_md_table(out, dev, 8, DEVICE_ID, DEVICE_SM_COUNT,
			     DEVICE_OCCUPANCY_PCT, DEVICE_SMALL_GRID_PCT,
			     DEVICE_BELOW_ONE_WAVE_PCT);
	else if (is_known)
		say_device_occupancy(out, nsx_row_at(dev, 0));
	if (nshapes > NSX_MAX_JSON_ROWS)
		nsx_md_bullet(out, "%zu launch shapes: report.json has the %d that take most "
				   "time, `tables/kernel_shapes.csv` has %zu more",
			      nshapes, NSX_MAX_JSON_ROWS, nshapes - NSX_MAX_JSON_ROWS);
	for (uint32_t d = 0; d < t->ndevices; d++)
		if (!nsx_device_gpu(t, d)) {
			nsx_note(out, "the trace does not describe GPU %s (TARGET_INFO_GPU): no "
				      "occupancy and no waves", nsx_gpu_label(t, d));
			break;
		}
}

static int kernel_shape_run(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err)
{
	struct nsx_table **tables = nsx_add_tables(out);
	struct shapes s = {.run = run};

	if (kernel_shape_make_groups(&s, err) || fill_categories(&s, tables[2], tables[3], err))
		return err->rc;
	kernel_shape_fill_devices(&s, tables[1]);
	kernel_shape_show(run->trace, tables[1], s.n, out);
	return 0;
}

/* Computes the groups again. Keeping those of 10^6 configurations would take 16 MB while memory
 * use is highest; keeping those of 131 000 saves only 1.4 % of a report's time.
 */
static int kernel_shape_finish(const struct nsx_run *run, struct nsx_section *out,
			       struct nsx_err *err)
{
	struct shapes s = {.run = run};

	return kernel_shape_make_groups(&s, err) ?:
	       kernel_shape_fill_shapes(&s, out->tables[0], out, err);
}

NSX_DEFINE_PASS(kernel_shape,
	.title = "Kernels",
	.summary = "launch configurations: occupancy, waves, small grids; categories",
	.doc = "Kernels by (full name, grid, block, registers, shared memory, device). Theoretical "
	       "occupancy, with w the warps of a block: the limit by warps = warps of a "
	       "multiprocessor / w; the limit by blocks is that of the GPU; the limit by registers "
	       "= warps whose registers fit / w, where a warp's registers are rounded up to 256 "
	       "and lie in one of the multiprocessor's four parts; the limit by shared memory = "
	       "the largest carve-out / (static + dynamic + 1 KiB from compute capability 8.0 on, "
	       "rounded up to 128 bytes, before that to 256). The smallest limit is the number of "
	       "resident blocks; occupancy is their warps over those the multiprocessor can hold "
	       "(rules of NVIDIA's cuda_occupancy.h). Waves: blocks of the grid over resident "
	       "blocks of the whole GPU. A grid is too small to fill the GPU if it has fewer "
	       "blocks than there are multiprocessors; communication kernels, which are small on "
	       "purpose, are left out of these shares. Categories group kernels by the first "
	       "pattern that occurs in the name; a kernel without a match is other.",
	.derived_from = "kernel rows and the limits of the GPU in the trace",
	.limitations = "occupancy is theoretical (the achieved one needs GPU metrics); kernels "
		       "that run side by side share the GPU; clusters and smaller shared-memory "
		       "carve-outs are not considered",
	.needs = {NSX_NEED_VIEW(kernel)},
	NSX_LAYOUTS(layouts),
	.measures = true,
	.finish = kernel_shape_finish);
