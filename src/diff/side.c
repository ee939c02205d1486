/* side.c - loads a trace, finds its units in all ways that may be needed, and keeps what a
 * comparison needs.
 */
#include <ctype.h>
#include <stdio.h>
#include "base/open.h"
#include "base/par.h"
#include "base/stat.h"
#include "diff/side.h"
#include "facts/occupancy.h"
#include "fleet/digest.h"
#include "passes/pass.h"

/* launches are units only in captures with at most this many kernels */
enum { MOST_LAUNCHES = 1 << 12 };

/* Specs ---------------------------------------------------------------------------*/

/* "3..7" means steps; with a unit or fraction it is a window. */
static bool is_steps(const char *s)
{
	size_t n = strspn(s, "0123456789");

	return n && !strncmp(s + n, "..", 2) &&
	       strspn(s + n + 2, "0123456789") == strlen(s + n + 2) &&
	       s[n + 2];
}

static bool is_part_spec(const char *s)
{
	return isdigit((unsigned char)*s) && strstr(s, "..");
}

/* Reads [LABEL=]PATH[@PART]. */
static void parse_spec(const char *text, struct nsx_arena *a, struct nsx_side *ret)
{
	char *s = nsx_arena_strdup(a, text), *at = strrchr(s, '@');
	char *equals = strchr(s, '=');

	ret->label = ret->part = "";
	if (at && is_part_spec(at + 1)) {
		*at = '\0';
		ret->part = at + 1;
	}
	if (equals && !memchr(s, '/', (size_t)(equals - s))) {
		*equals = '\0';
		ret->label = s;
		s = equals + 1;
	}
	ret->path = s;
}

/* Kernels -------------------------------------------------------------------------*/

static int cmp_dims(const uint32_t x[3], const uint32_t y[3])
{
	return NSX_CMP(x[0], y[0]) ?: NSX_CMP(x[1], y[1]) ?: NSX_CMP(x[2], y[2]);
}

int nsx_kernel_cmp(const void *a, const void *b)
{
	const struct nsx_kernel *x = a, *y = b;

	return strcmp(x->name, y->name) ?: cmp_dims(x->grid, y->grid) ?:
	       cmp_dims(x->block, y->block) ?:
	       NSX_CMP(x->registers, y->registers) ?:
	       NSX_CMP(x->shared_bytes, y->shared_bytes);
}

static double occupancy_of(const struct nsx_trace *t, const struct nsx_shape *x)
{
	const struct nsx_gpu_info *g = t->ndevices ? nsx_device_gpu(t, 0) : NULL;
	struct nsx_occupancy o;

	return nsx_shape_occupancy(t, g, x, &o) ? o.ratio : -1;
}

/* Numbers a range's path: its name after that of the range around it. */
static int number_path(struct nsx_sweep *s, uint32_t r, uint32_t *ret, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	uint32_t around = nsx_range_around(&s->f->nvtx, r);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (around != NSX_NONE) {
		nsx_buf_add_masked(&b, nsx_text(t, t->nvtx.name[around]));
		nsx_buf_adds(&b, " > ");
	}
	nsx_buf_add_masked(&b, nsx_text(t, t->nvtx.name[r]));
	return nsx_number_detail(s, b.p ? b.p : "", b.n, ret, err);
}

/* Numbers the path of each range that launched something; each name is masked once. A
 * kernel's range is that of its first launch.
 */
static int name_ranges(struct nsx_sweep *s, struct nsx_arena *scratch, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	const struct nsx_nvtx_facts *x = &s->f->nvtx;
	struct nsx_groups names = {0};
	uint32_t *of_name = NULL;
	int rc = 0;

	if (!nsx_new_array(s->range_of, scratch, t->nvtx.n, "ranges", err))
		return err->rc;
	for (size_t op = 0; !rc && op < t->ops.n; op++) {
		uint32_t r = nsx_op_range(x, op), around, *path;
		struct nsx_kernel *kernel;

		if (r == NSX_NONE)
			continue;
		around = nsx_range_around(x, r);
		path = nsx_group_value(&names, &of_name, t->nvtx.name[r],
				       around == NSX_NONE ? UINT64_MAX :
						t->nvtx.name[around], "ranges", err);
		rc = !path ? err->rc : *path ? 0 : number_path(s, r, path, err);
		if (rc)
			break;
		s->range_of[r] = *path;
		if (t->ops.kind[op] != NSX_OP_KERNEL)
			continue;
		kernel = &s->side->kernels[ s->kernel_of[nsx_op_detail(&t->ops, op)]];
		if (!kernel->range)
			kernel->range = s->side->details[*path];
	}
	free(of_name);
	nsx_groups_done(&names);
	for (uint32_t i = 0; i < s->side->nkernels; i++)
		if (!s->side->kernels[i].range)
			s->side->kernels[i].range = "";
	return rc;
}

/* Sets label and variant; the variant is the label without the family. */
static void label_kernel(const struct nsx_sweep *s, nsx_str name, struct nsx_kernel *k)
{
	const struct nsx_kernel_names *names = &s->f->kernels;
	struct nsx_arena *a = s->side->arena;
	const struct nsx_kernel_words *words = nsx_kernel_name(names, name)->words;
	const char *family = words->family;
	const char *label = nsx_arena_strdup(a, nsx_kernel_label(names, name));
	size_t n = strlen(family);

	k->label = label;
	k->category = words->category;
	k->variant = strncmp(label, family, n) != 0 ? "" : label + n + (label[n] == ' ');
}

static void list_kernels(struct nsx_sweep *s, struct nsx_arena *scratch)
{
	const struct nsx_trace *t = s->t;
	struct nsx_side *side = s->side;
	size_t n = (size_t)t->nshapes + 1;
	struct nsx_kernel *v = nsx_arena_get(side->arena, n * sizeof(*v));

	s->kernel_of = nsx_arena_get(scratch, n * sizeof(*s->kernel_of));
	side->kernels = v;
	for (uint32_t i = 0; i < t->nshapes; i++) {
		const struct nsx_shape *x = &t->shape[i];
		const struct nsx_launch *l = nsx_shape_launch(t, x);

		v[i].name = nsx_text(t, t->shape_name[i]);
		v[i].base = nsx_text(t, x->base_name);
		nsx_shape_grid(t, x, v[i].grid);
		memcpy(v[i].block, l->block, sizeof(v[i].block));
		v[i].registers = l->registers;
		v[i].shared_bytes = (uint32_t)nsx_shape_shared(t, x);
		v[i].known = l->known;
		v[i].occupancy = occupancy_of(t, x);
		v[i].shape = i;
	}
	v[n - 1] = (struct nsx_kernel){
		.name = "graph replay", .base = "graph replay", .label = "graph replay",
		.variant = "", .occupancy = -1, .shape = t->nshapes};
	nsx_sort(v, n, sizeof(*v), nsx_kernel_cmp);
	for (size_t i = 0; i < n; i++) {
		uint32_t shape = v[i].shape;

		if (!i || nsx_kernel_cmp(&v[side->nkernels - 1], &v[i])) {
			struct nsx_kernel *k = &v[side->nkernels++];

			*k = v[i];
			k->name = nsx_arena_strdup(side->arena, k->name);
			k->base = i && !strcmp(k[-1].base, k->base) ?
					  k[-1].base : nsx_arena_strdup(side->arena, k->base);
			if (shape < t->nshapes)
				label_kernel(s, t->shape_name[shape], k);
		}
		s->kernel_of[shape] = side->nkernels - 1;
	}
}

/* Lanes ---------------------------------------------------------------------------*/

void nsx_fill_shares(const int64_t part_ns[NSX_NPARTS], int64_t ret[NSX_NSHARES])
{
	ret[NSX_SHARE_COMPUTE] = nsx_computing_ns(part_ns);
	ret[NSX_SHARE_TRANSFER] = part_ns[NSX_P_COMM_EXPOSED];
	ret[NSX_SHARE_WAIT] = 0;
	ret[NSX_SHARE_COPY] = part_ns[NSX_P_COPY_EXPOSED];
	ret[NSX_SHARE_IDLE] = part_ns[NSX_P_IDLE];
}

static void fill_unit(const struct nsx_sweep *s, uint32_t device,
		      const struct nsx_iteration *v, struct nsx_unit *ret)
{
	struct nsx_partition p;

	nsx_partition(&s->f->device[device], v->start_ns, v->end_ns, &p);
	*ret = (struct nsx_unit){
		.start_ns = v->start_ns, .wall_ns = v->end_ns - v->start_ns,
		.steady = v->steady};
	nsx_fill_shares(p.ns, ret->ns);
}

/* Makes a lane of the units [v, v + n) of one process and device. */
static int side_add_lane(struct nsx_sweep *s, const struct nsx_iteration *v,
			 size_t n, struct nsx_seen *view, uint32_t *devices, struct nsx_err *err)
{
	uint32_t device = v->device;
	struct nsx_lane *lane = &view->lanes[view->nlanes];
	size_t most = view->method == NSX_WAY_LAUNCH ? MOST_LAUNCHES : NSX_MOST_UNITS;
	size_t skip = n > most ? (n - most) / 2 : 0;

	*lane = (struct nsx_lane){
		.device_id = s->t->device[device].device_id,
		.nunits = NSX_MIN(n, most)};
	for (size_t i = 0; i < view->nlanes; i++)
		lane->nth += devices[i] == device;
	lane->units = nsx_arena_get(s->side->arena, lane->nunits * sizeof(*lane->units));
	for (size_t i = 0; i < lane->nunits; i++)
		fill_unit(s, device, v + skip + i, &lane->units[i]);
	devices[view->nlanes++] = device;
	return nsx_sweep_kernels(s, device, lane, err) ?: nsx_sweep_idle(s, device, lane, err);
}

size_t nsx_choose_units(const struct nsx_side_opts *o, size_t n, size_t *from)
{
	size_t first = n > 1, end = n ? n - 1 : 0;

	if (o->last >= 0) {
		first = (size_t)o->first;
		end = NSX_MIN((size_t)o->last + 1, end);
	}
	*from = first;
	return end > first ? end - first : 0;
}

NSX_ORDER(cmp_by_device, struct nsx_iteration, UP(device), UP(process), UP(start_ns));

static bool side_overlap(const struct nsx_lane *a, const struct nsx_lane *b, size_t u)
{
	int64_t ahead_ns = a->zero_ns + a->units[u].start_ns - (b->zero_ns + b->units[u].start_ns);

	return ahead_ns < b->units[u].wall_ns && -ahead_ns < a->units[u].wall_ns;
}

/* Whether lanes are ranks of one job: they have equally many units, and these overlap. */
bool nsx_is_one_job(const struct nsx_seen *view)
{
	const struct nsx_lane *a = view->lanes;

	for (size_t i = 1; i < view->nlanes; i++) {
		const struct nsx_lane *b = &view->lanes[i];

		if (a->nunits != b->nunits)
			return false;
		for (size_t u = 0; u < a->nunits; u++)
			if (!side_overlap(a, b, u))
				return false;
	}
	return view->nlanes > 1;
}

static bool is_same_lane(const struct nsx_iteration *x, const struct nsx_iteration *y)
{
	return x->process == y->process && x->device == y->device;
}

static int add_view(struct nsx_sweep *s, const struct nsx_side_opts *o,
		    struct nsx_units *units, struct nsx_err *err)
{
	struct nsx_side *side = s->side;
	struct nsx_seen *view = &side->seen[side->nseen];
	const struct nsx_iteration *v = units->v;
	struct nsx_arena *a = nsx_arena_new();
	uint32_t *devices;
	size_t most = 0;
	int rc = 0;

	nsx_sort(units->v, units->n, sizeof(*units->v), cmp_by_device);
	NSX_EACH_RUN(i, next, units->n, is_same_lane(&v[next], &v[i]))
		most++;
	devices = nsx_arena_get(a, most * sizeof(*devices));
	*view = (struct nsx_seen){
		.method = units->method, .score = units->score,
		.name = nsx_arena_strdup(side->arena, units->name),
		.lanes = nsx_arena_get(side->arena, most * sizeof(*view->lanes))};
	NSX_EACH_RUN(i, next, rc ? 0 : units->n, is_same_lane(&v[next], &v[i])) {
		const struct nsx_device *d = &s->t->device[v[i].device];
		size_t from = 0, kept;

		kept = units->method == NSX_WAY_WINDOW ? next - i :
			       nsx_choose_units(o, next - i, &from);
		if (kept && (o->device < 0 || o->device == d->device_id) &&
		    (o->pid < 0 || v[i].process == NSX_NONE ||
		     o->pid == s->t->process[v[i].process].pid))
			rc = side_add_lane(s, v + i + from, kept, view, devices, err);
	}
	for (size_t l = 0; l < view->nlanes; l++)
		view->lanes[l].rank = o->rank;
	view->one_job = !rc && nsx_is_one_job(view);
	if (view->one_job)
		rc = nsx_split_comm(s, devices, view, err);
	nsx_arena_free(a);
	side->nseen += !rc && view->nlanes;
	return rc;
}

/* Adds the window as the only unit of each device. */
static int add_window(struct nsx_sweep *s, const struct nsx_side_opts *o, struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	struct nsx_units u = {.method = NSX_WAY_WINDOW, .name = "", .score = 0,
			      .n = t->ndevices};
	int rc;

	u.v = nsx_alloc(u.n, sizeof(*u.v));
	for (uint32_t d = 0; d < t->ndevices; d++)
		u.v[d] = (struct nsx_iteration){
			.process = NSX_NONE, .device = d,
			.start_ns = t->window.start_ns,
			.end_ns = t->window.end_ns, .steady = true};
	rc = t->window.start_ns < t->window.end_ns ? add_view(s, o, &u, err) : 0;
	free(u.v);
	return rc;
}

static int add_views(struct nsx_sweep *s, struct nsx_facts *f,
		     const struct nsx_side_opts *o, struct nsx_arena *scratch, struct nsx_err *err)
{
	static const enum nsx_unit_kind kinds[] = {
		[NSX_SIDE_AUTO] = NSX_UNIT_AUTO,
		[NSX_SIDE_NVTX] = NSX_UNIT_NVTX,
		[NSX_SIDE_KERNEL] = NSX_UNIT_KERNEL,
		[NSX_SIDE_LAUNCH] = NSX_UNIT_KERNEL,
	};
	struct nsx_units units[NSX_MAX_UNITS] = {0};
	size_t n = 0;
	int rc = 0;

	if (o->unit != NSX_SIDE_WINDOW)
		rc = nsx_units_find(s->t, f, &(struct nsx_unit_choice){
			kinds[o->unit],
			o->unit == NSX_SIDE_LAUNCH ? "" : o->pattern,
			o->threads}, scratch, units, &n, err);
	s->side->launches_nothing = o->unit == NSX_SIDE_NVTX && !n && units[0].nmarks;
	for (size_t i = 0; !rc && i < n; i++) {
		if (o->unit == NSX_SIDE_LAUNCH)
			units[i].method = NSX_WAY_LAUNCH;
		rc = add_view(s, o, &units[i], err);
	}
	if (!rc && (o->unit == NSX_SIDE_LAUNCH || o->unit == NSX_SIDE_WINDOW))
		rc = add_window(s, o, err);
	/* Launches are units only if there are no others. If others exist, --steps was meant for
	 * them.
	 */
	if (!rc && o->unit == NSX_SIDE_AUTO && !s->side->nseen && (!n || o->last < 0)) {
		struct nsx_side_opts launches = *o;

		launches.unit = NSX_SIDE_LAUNCH;
		rc = add_views(s, f, &launches, scratch, err);
	}
	return rc;
}

/* The side ------------------------------------------------------------------------*/

/* Whether the options request the whole capture. */
static bool is_all(const struct nsx_side_opts *o)
{
	return o->last < 0 && o->device < 0 && o->pid < 0;
}

static int side_sweep(struct nsx_side *side, const struct nsx_report *r,
		      const struct nsx_side_opts *o, struct nsx_err *err)
{
	const struct nsx_trace *t = r->trace;
	struct nsx_facts *f = r->facts;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_sweep s = {.t = t, .f = f, .side = side};
	uint32_t none;
	bool failed;

	s.texts = nsx_strings_new(); /* its text 0 is "", as details[0] is */
	list_kernels(&s, scratch);
	failed = !nsx_new_array(s.detail_of, scratch,
				nsx_strings_bound(f->strings), "names", err) ||
		 nsx_number_detail(&s, "", 0, &none, err) ||
		 name_ranges(&s, scratch, err) ||
		 add_views(&s, f, o, scratch, err) ||
		 (is_all(o) && nsx_totals_measure(t, f, side->arena, &side->totals, err)) ||
		 nsx_side_describe(side, r, err);
	nsx_strings_free(s.texts);
	nsx_groups_done(&s.numbers);
	return failed ? err->rc : 0;
}

static int reduce_to_digest(struct nsx_side *side, const struct nsx_report *r,
		  struct nsx_side_opts *o, struct nsx_err *err)
{
	if (o->digested)
		return nsx_side_digest(side, r, o, err);
	if (o->rank >= 0 && nsx_side_find_rank(r, o, err))
		return err->rc;
	return side_sweep(side, r, o, err);
}

static int side_load(struct nsx_side *side, const struct nsx_side_opts *o, struct nsx_err *err)
{
	struct nsx_side_opts opts = *o;
	struct nsx_opts run = {NSX_OPTS_DEFAULT, .path = side->path,
			       .only = "memory_usage,steps", .purpose = NSX_FOR_FINDINGS,
			       .threads = o->threads, .steps_from = o->steps_from,
			       .held_rows = NSX_MAX_CSV_ROWS, .progress = o->progress};
	struct nsx_report *r = NULL;
	int rc;

	if (is_steps(side->part)) {
		opts.first = strtoll(side->part, NULL, 10);
		opts.last = strtoll(strstr(side->part, "..") + 2, NULL, 10);
	} else if (*side->part) {
		run.window = side->part;
	}
	if (nsx_digest_is(side->path))
		return nsx_side_read_digest(side, &opts, err);
	if (!run.window && o->at_hand)
		r = o->at_hand->find(o->at_hand->ctx, side->path);
	if (r)
		return reduce_to_digest(side, r, &opts, err);
	rc = nsx_report_open(&run, &r, err);
	if (!rc)
		rc = reduce_to_digest(side, r, &opts, err);
	nsx_report_free(r);
	return rc;
}

int nsx_side_load(const char *text, const struct nsx_side_opts *o,
		  struct nsx_side **ret, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_side *side = nsx_arena_get(a, sizeof(*side));
	int rc;

	side->arena = a;
	parse_spec(text, a, side);
	rc = side_load(side, o, err);
	if (rc)
		nsx_side_free(side);
	else
		*ret = side;
	return rc;
}

bool nsx_side_is_digest(const char *text)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_side side;

	parse_spec(text, a, &side);
	return nsx_digest_is(side.path);
}

bool nsx_is_same_way(const struct nsx_seen *x, const struct nsx_seen *y)
{
	return x->method == y->method && (x->method != NSX_WAY_NVTX || !strcmp(x->name, y->name));
}

int nsx_side_unit_parse(const char *unit, struct nsx_side_opts *ret, struct nsx_err *err)
{
	static const char *const words[] = { /* a pattern follows a colon */
		[NSX_SIDE_AUTO] = "auto", [NSX_SIDE_NVTX] = "nvtx:", [NSX_SIDE_KERNEL] = "kernel:",
		[NSX_SIDE_LAUNCH] = "launch", [NSX_SIDE_WINDOW] = "window"};

	for (size_t i = 0; unit && i < ARRAY_LEN(words); i++) {
		size_t n = strlen(words[i]);

		if (strncmp(unit, words[i], n) || !unit[n] != (words[i][n - 1] != ':'))
			continue;
		ret->unit = (enum nsx_side_unit)i;
		ret->pattern = unit[n] ? unit + n : ret->pattern;
		return 0;
	}
	return !unit ? 0 : nsx_fail(err, NSX_E_USAGE, "a unit is auto, nvtx:REGEX, kernel:REGEX, "
				    "launch or window, not '%s'", unit);
}

void nsx_side_free(struct nsx_side *s)
{
	if (!s)
		return;
	free(s->details);
	nsx_arena_free(s->arena);
}

/* Sameness --------------------------------------------------------------------------*/

static bool same_bytes(FILE *a, FILE *b)
{
	char x[8192], y[8192];
	size_t n;

	do {
		n = fread(x, 1, sizeof(x), a);
		if (fread(y, 1, sizeof(y), b) != n || memcmp(x, y, n))
			return false;
	} while (n);
	return !ferror(a) && !ferror(b);
}

bool nsx_side_is_same(const struct nsx_side *a, const struct nsx_side *b)
{
	FILE *x, *y;
	bool same = false;

	if (strcmp(a->part, b->part) != 0)
		return false;
	if (a->digested)
		return a->content == b->content;
	if (a->size_bytes != b->size_bytes)
		return false;
	x = nsx_open_stream(a->path);
	y = nsx_open_stream(b->path);
	if (x && y)
		same = same_bytes(x, y);
	if (x)
		(void)fclose(x);
	if (y)
		(void)fclose(y);
	return same;
}

/* Whether two ranges have less than half of the shorter one in common. */
static bool do_not_overlap(int64_t from, int64_t to, int64_t other_from, int64_t other_to)
{
	return NSX_MIN(to, other_to) - NSX_MAX(from, other_from) <
	       NSX_MAX(NSX_MIN(to - from, other_to - other_from) / 2, 1);
}

bool nsx_side_is_of_run(const struct nsx_side *a, const struct nsx_side *b)
{
	return !strcmp(a->path, b->path) ||
	       (a->session && a->session == b->session &&
		do_not_overlap(a->first_ns, a->last_ns, b->first_ns, b->last_ns) &&
		do_not_overlap(a->first_id, a->last_id, b->first_id, b->last_id));
}
