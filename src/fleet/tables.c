/* tables.c - the tables of a fleet's report. */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "fleet/report.h"

#define COLUMNS_OF(id, columns, ...) NSX_COLUMN_ARRAY(columns##_array, columns);
NSX_FLEET_TABLES(COLUMNS_OF)
#define LAYOUT_OF(id, columns, key_, csv_, ...)                                                    \
	[id] = {.key = key_, .csv = csv_, NSX_COLS(columns##_array), ##__VA_ARGS__},
const struct nsx_layout nsx_fleet_layouts[NSX_NFTABLES] = {NSX_FLEET_TABLES(LAYOUT_OF)};

/* Ranks ----------------------------------------------------------------------------*/

struct waits { /* waiting of a rank, summed over matched collectives */
	int64_t waited_ns, came_last, ncolls;
	double induced_ns; /* the median rank's waiting time when this rank came last */
};

/* Fills means over the fleet's steps that the rank has; null if it has none. */
static void fill_means(const struct nsx_fleet *f, uint32_t rank, struct nsx_cell *row)
{
	double n = 0, kernels = 0, kernel_ms = 0, idle_ms = 0;

	for (size_t s = 0; s < f->nsteps; s++) {
		const struct nsx_dstep *x = f->part[s * f->nranks + rank];

		if (!x)
			continue;
		n++;
		kernels += (double)x->kernels;
		kernel_ms += (double)x->kernel_ns / 1e6;
		idle_ms += (double)x->part_ns[NSX_P_IDLE] / 1e6;
	}
	row[R_KERNELS] = nsx_real(kernels / n);
	row[R_KERNEL_MS] = nsx_real(kernel_ms / n);
	row[R_IDLE] = nsx_real(idle_ms / n);
}

static void fill_ranks(struct nsx_freport *r, const struct waits *waits, struct nsx_table *t)
{
	const struct nsx_fleet *f = r->f;

	for (uint32_t i = 0; i < f->nranks; i++) {
		const struct nsx_frank *x = &f->rank[i];
		const struct waits *w = &waits[i];
		const struct nsx_digest *d = x->d;
		struct nsx_cell *row = nsx_add_row(t);

		row[R_RANK] = nsx_int(x->number);
		row[R_HOST] = nsx_int(x->host);
		if (f->mesh.n)
			row[R_MESH] = nsx_string(nsx_mesh_place(&f->mesh, x->number, r->arena));
		row[R_FROM] = nsx_string(nsx_rank_from_names[d->rank_from]);
		row[R_GPU] = nsx_string(*d->gpu_model ? d->gpu_model : NULL);
		row[R_STEPS] = nsx_int(x->nsteps);
		if (x->nsteps) {
			row[R_OWN] = nsx_real(x->own_ns / 1e6);
			row[R_EXCESS] = nsx_real(x->excess_ns / 1e6);
			row[R_EXCESS_PCT] = nsx_pct(x->excess_ns, f->step_ns);
			fill_means(f, i, row);
		}
		if (!f->by_totals) {
			row[R_COLLS] = nsx_int(w->ncolls);
			row[R_LAST] = nsx_int(w->came_last);
			row[R_INDUCED] = nsx_real(w->induced_ns / 1e6);
			row[R_WAITED] = nsx_ms(w->waited_ns);
		}
		if (d->launches)
			row[R_LAUNCH] = nsx_us((double)d->launch_ns / (double)d->launches);
		if (d->copy_ns)
			row[R_GBPS] = nsx_real((double)d->copied_bytes / (double)d->copy_ns);
		if (d->peak_bytes >= 0)
			row[R_PEAK] = nsx_int(d->peak_bytes);
	}
}

/* Outliers -------------------------------------------------------------------------*/

/* A rank is compared within its pipeline stage, as stages do different work. */
struct staged {
	int64_t stage;
	uint32_t rank;
	/* value of the metric; z: its distance from the median in median deviations, 0: no outlier
	 */
	double value, z;
};

NSX_ORDER(cmp_staged, struct staged, UP(stage), UP(rank));

static int64_t stage_of(const struct nsx_fleet *f, uint32_t rank)
{
	for (unsigned i = 0; i < f->mesh.n; i++)
		if (!strcmp(f->mesh.axis[i].name, "pp"))
			return nsx_mesh_at(&f->mesh.axis[i], f->rank[rank].number);
	return 0;
}

/* Finds the ranks of a stage whose metric differs from the median by at least five median
 * deviations and 3 %. False: too few values to compare.
 */
static bool find_outliers(const struct nsx_freport *r, unsigned metric,
			  struct staged *v, size_t n, double *scratch, double *ret_median)
{
	double mad, median;
	size_t there = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_cell *cell = &nsx_row_at(&r->t[NSX_FT_RANKS], v[i].rank)[metric];

		v[i].value = cell->type ? nsx_cell_number(cell) : NAN;
		if (cell->type)
			scratch[there++] = v[i].value;
	}
	if (there < 4)
		return false;
	mad = NSX_SIGMA * nsx_spread_of(scratch, there, &median);
	mad = NSX_MAX(mad, fabs(median) * 1e-3);
	*ret_median = median;
	for (size_t i = 0; i < n; i++) {
		double over = v[i].value - median;

		v[i].z = fabs(over) >= NSX_MAX(5 * mad, 0.03 * fabs(median)) ? over / mad : 0;
	}
	return true;
}

/* Adds outliers of a stage; ranks of a host become one row, with their mean, when all of them differ
 * the same way. scratch, ranks: room for the stage.
 */
static void tables_add_outliers(const struct nsx_freport *r, unsigned metric, struct staged *v,
				size_t n, double *scratch, uint32_t *ranks, struct nsx_table *t)
{
	const struct nsx_fleet *f = r->f;
	double median;

	if (!find_outliers(r, metric, v, n, scratch, &median))
		return;
	for (size_t i = 0; i < n; i++) {
		uint32_t host = f->rank[v[i].rank].host, like = 0;
		double value = 0, z = 0;
		struct nsx_cell *row;
		bool is_alone;

		for (size_t k = 0; k < n; k++)
			if (f->rank[v[k].rank].host == host && v[i].z * v[k].z > 0)
				ranks[like++] = v[k].rank;
		is_alone = like < 2 || like < f->host[host].nranks || f->nhosts < 2;
		if (v[i].z == 0 || (!is_alone && ranks[0] != v[i].rank))
			continue;
		if (is_alone) {
			like = 1;
			ranks[0] = v[i].rank;
		}
		for (size_t k = i; k < n; k++)
			if (is_alone ? k == i : f->rank[v[k].rank].host == host && v[i].z * v[k].z > 0) {
				value += v[k].value / like;
				z += v[k].z / like;
			}
		row = nsx_add_row(t);
		row[O_RANKS] = nsx_string(nsx_rank_list(f, ranks, like, r->arena));
		row[O_HOST] = nsx_int(host);
		row[O_METRIC] = nsx_string(RANK_COLUMNS_array[metric].key);
		row[O_VALUE] = nsx_real(value);
		row[O_MEDIAN] = nsx_real(median);
		row[O_Z] = nsx_real(z);
	}
}

static void fill_outliers(struct nsx_freport *r, struct nsx_table *t)
{
	static const unsigned metrics[] = {R_OWN, R_KERNELS, R_KERNEL_MS, R_IDLE,
					   R_LAUNCH, R_GBPS, R_PEAK};
	uint32_t n = r->f->nranks, *ranks = nsx_arena_get(r->arena, n * sizeof(*ranks));
	struct staged *v = nsx_arena_get(r->arena, n * sizeof(*v));
	double *scratch = nsx_arena_get(r->arena, n * sizeof(*scratch));

	for (uint32_t i = 0; i < n; i++)
		v[i] = (struct staged){.stage = stage_of(r->f, i), .rank = i};
	nsx_sort(v, n, sizeof(*v), cmp_staged);
	for (size_t m = 0; m < ARRAY_LEN(metrics); m++)
		NSX_EACH_RUN(i, next, n, v[next].stage == v[i].stage)
			tables_add_outliers(r, metrics[m], v + i, next - i, scratch, ranks, t);
}

/* Collectives ------------------------------------------------------------------------*/

struct op_sum { /* sums for one operation of one communicator */
	const struct nsx_dop *op;
	bool tells; /* the shortest member is the one that came last */
	int64_t n, transfer_ns, wait_ns, all_ns, *last;
};

static void tables_add_collective(const struct nsx_walk *w, struct op_sum *sum)
{
	int64_t mean = 0;

	if (w->n < 2)
		return;
	for (uint32_t m = 0; m < w->c->n; m++)
		nsx_add_to(&mean, NSX_MAX(0, w->ns[m]));
	mean /= w->n;
	sum->n++;
	sum->last[w->last]++;
	nsx_add_to(&sum->transfer_ns, w->ns[w->last]);
	nsx_add_to(&sum->all_ns, mean);
	nsx_add_to(&sum->wait_ns, mean - w->ns[w->last]);
}

/* Records who waited for whom in a collective. scratch: room for all ranks. */
static void add_waits(const struct nsx_walk *w, struct waits *waits, int64_t *scratch)
{
	const struct nsx_fmember *member = w->c->m;
	size_t n = 0;

	for (uint32_t m = 0; m < w->c->n; m++) {
		if (w->ns[m] < 0)
			continue;
		waits[member[m].rank].ncolls++;
		nsx_add_to(&waits[member[m].rank].waited_ns, w->ns[m] - w->ns[w->last]);
		if (m != w->last)
			scratch[n++] = w->ns[m];
	}
	if (!n)
		return;
	waits[member[w->last].rank].came_last++;
	waits[member[w->last].rank].induced_ns += nsx_quantile(scratch, n, 0.5) -
						  (double)w->ns[w->last];
}

/* How exactly lengths are known: ends agree to 30 us at best, or as well as the clocks do. */
static double precision_ns(const struct nsx_fleet *f, const struct nsx_fcomm *c)
{
	double eps_ns = 30000;

	for (uint32_t m = 0; m < c->n; m++)
		eps_ns = NSX_MAX(eps_ns, 3 * f->clock[f->rank[c->m[m].rank].clock] .residual_ns);
	return eps_ns;
}

static const char *class_of(const struct op_sum *s, double eps_ns, bool may_lack)
{
	double share = (double)s->wait_ns / (double)NSX_MAX(1, s->all_ns);

	if (!s->tells || (double)s->all_ns / (double)s->n * 0.2 < eps_ns)
		return "inconclusive";
	return share >= 0.2 ? share > 0.8 ? "arrival" : "mixed" :
	       may_lack ? "transfer, or waiting for a rank that is absent" :
			  "transfer";
}

static void tables_add_op(struct nsx_freport *r, uint32_t comm,
			  const struct op_sum *s, struct nsx_table *t)
{
	const struct nsx_fcomm *c = &r->f->comm[comm];
	struct nsx_cell *row = nsx_add_row(t);
	uint32_t last = 0;

	for (uint32_t m = 1; m < c->n; m++)
		if (s->last[m] > s->last[last])
			last = m;
	row[C_COMM] = nsx_int(comm);
	row[C_KIND] = nsx_string(r->f->family[c->family].is_mpi ? "mpi" : "nccl");
	row[C_OP] = nsx_string(s->op->name);
	if (s->op->bytes >= 0)
		row[C_BYTES] = nsx_int(s->op->bytes);
	row[C_AXIS] = nsx_string(nsx_axis_of(r->f, c, r->arena));
	row[C_RANKS] = nsx_string(nsx_rank_list(r->f, nsx_members_of(c, r->arena), c->n, r->arena));
	row[C_HOSTS] = nsx_int(nsx_count_hosts(r->f, c));
	row[C_COUNT] = nsx_int(s->n);
	row[C_TRANSFER] = nsx_us((double)s->transfer_ns / (double)s->n);
	row[C_WAIT] = nsx_us((double)s->wait_ns / (double)s->n);
	row[C_SHARE] = nsx_pct((double)s->wait_ns, (double)s->all_ns);
	row[C_CLASS] = nsx_string(class_of(s, precision_ns(r->f, c), nsx_may_lack(r->f, c)));
	if (!s->tells)
		return;
	row[C_LAST] = nsx_int(r->f->rank[c->m[last].rank].number);
	row[C_TIMES] = nsx_int(s->last[last]);
}

/* Latency, not the link, determines smaller transfers. */
enum { LEAST_BYTES = 64 << 10 };

/* Compares each transfer with the best of the communicators that do the same. */
static int compare_links(struct nsx_freport *r, struct nsx_table *t, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups g = {0};
	NSX_AT_EXIT(nsx_free_at) double *best = NULL;
	int rc = 0;

	for (unsigned pass = 0; pass < 2; pass++)
		for (size_t i = 0; i < t->nrows && !rc; i++) {
			struct nsx_cell *row = &t->cells[i * t->layout->ncols];
			int64_t bytes = row[C_BYTES].type ? row[C_BYTES].u.i : -1;
			uint32_t family = r->f->comm[row[C_COMM].u.i].family;
			const char *op = row[C_OP].u.s;
			double us = row[C_TRANSFER].u.f;
			double *x = nsx_group_value(&g, &best,
				nsx_hash(op, strlen(op)) ^ nsx_hash_u64(family),
				(uint64_t)bytes, "operations", err);

			rc = x ? 0 : err->rc;
			if (rc)
				break;
			if (!pass)
				*x = *x > 0 ? NSX_MIN(*x, us) : us;
			else
				row[C_BEST] = nsx_real(*x);
			if (bytes >= LEAST_BYTES && us > 0)
				row[C_GBPS] = nsx_real((double)bytes / us / 1e3);
		}
	return rc;
}

enum { MOST_OPS = 64 }; /* per communicator; further ones are not shown */

/* Adds a communicator's rows. Leaves out its first collective, where captures begin at different
 * times, unless they are one capture.
 */
static void fill_comm(struct nsx_freport *r, uint32_t comm, struct waits *waits, struct nsx_table *t)
{
	const struct nsx_fcomm *c = &r->f->comm[comm];
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct op_sum sum[MOST_OPS];
	struct nsx_walk w = nsx_walk_over(r->f, c, c->first + !c->is_of_one, c->end, a);
	int64_t *scratch = nsx_arena_get(a, c->n * sizeof(*scratch));
	size_t n = 0;

	while (nsx_walk_on(&w)) {
		const struct nsx_dop *op = nsx_op_at(c, w.k);
		size_t i = 0;

		if (nsx_holds_all(c, w.k))
			add_waits(&w, waits, scratch);
		while (op && i < n && (sum[i].op->name != op->name ||
				       sum[i].op->bytes != op->bytes))
			i++;
		if (!op || i == MOST_OPS)
			continue;
		if (i == n)
			sum[n++] = (struct op_sum){
				.op = op, .tells = nsx_holds_all(c, w.k),
				.last = nsx_arena_get(a, c->n * sizeof(int64_t))};
		tables_add_collective(&w, &sum[i]);
	}
	for (size_t i = 0; i < n; i++)
		if (sum[i].n)
			tables_add_op(r, comm, &sum[i], t);
}

/* Other tables -----------------------------------------------------------------------*/

static void fill_clocks(struct nsx_freport *r, struct nsx_table *t)
{
	const struct nsx_fleet *f = r->f;
	uint32_t *on = nsx_arena_get(r->arena, f->nranks * sizeof(*on));

	for (uint32_t k = 0; k < f->nclocks; k++) {
		const struct nsx_fclock *c = &f->clock[k];
		struct nsx_cell *row = nsx_add_row(t);
		size_t n = 0;

		for (uint32_t i = 0; i < f->nranks; i++)
			if (f->rank[i].clock == k)
				on[n++] = i;
		if (c->host != NSX_NONE)
			row[K_HOST] = nsx_int(c->host);
		row[K_RANKS] = nsx_string(nsx_rank_list(f, on, n, r->arena));
		row[K_N] = nsx_int((int64_t)c->n);
		if (c->component)
			continue;
		row[K_LO] = nsx_us(c->lo_ns);
		row[K_HI] = nsx_us(c->hi_ns);
		row[K_OFFSET] = nsx_us(c->offset_ns);
		row[K_DRIFT] = nsx_real(c->drift_ppm);
		row[K_RESIDUAL] = nsx_us(c->residual_ns);
	}
}

static void fill_steps(struct nsx_freport *r, struct nsx_table *t)
{
	const struct nsx_fleet *f = r->f;
	double *v = nsx_arena_get(r->arena, f->nranks * sizeof(*v));

	for (size_t s = 0; s < f->nsteps; s++) {
		const double *own = &f->own_ns[s * f->nranks];
		struct nsx_cell *row = nsx_add_row(t);
		size_t n = nsx_own_of(f, s, NULL, v);
		uint32_t most = NSX_NONE;

		for (uint32_t i = 0; i < f->nranks; i++)
			if (!isnan(own[i]) && (most == NSX_NONE || own[i] > own[most]))
				most = i;
		row[S_STEP] = nsx_int((int64_t)s);
		row[S_WALL] = nsx_ms(f->step[s].wall_ns);
		row[S_RANKS] = nsx_int((int64_t)n);
		if (n < 2)
			continue;
		nsx_median_of(v, n); /* sorts; the slowest rank is last */
		row[S_LAST] = nsx_int(f->rank[most].number);
		row[S_EXCESS] = nsx_real((own[most] - nsx_median_of(v, n - 1)) / 1e6);
	}
}

static void fleet_tables_fill_findings(struct nsx_freport *r, struct nsx_table *t)
{
	for (size_t i = 0; i < r->n; i++) {
		const struct nsx_ffinding *x = &r->v[i];
		struct nsx_cell *row = nsx_add_row(t);

		row[N_RANK] = nsx_int((int64_t)i + 1);
		row[N_SEVERITY] = nsx_string(nsx_severity_names[x->severity]);
		row[N_CATEGORY] = nsx_string(nsx_category_names[nsx_ffinding_defs[x->id].category]);
		row[N_TITLE] = nsx_string(x->title);
		if (x->price) {
			row[N_HEADROOM] = nsx_real(x->headroom_ns / 1e6 * (double)r->f->nsteps);
			row[N_PER_STEP] = nsx_real(x->headroom_ns / 1e6);
		}
		row[N_CONFIDENCE] = nsx_string(nsx_confidence_names[x->confidence]);
	}
}

struct named { /* something a rank has: a finding, a kernel family, an operation */
	const char *name;
	const void *x;
	uint32_t rank;
};
struct names {
	struct named *v;
	size_t n, cap;
};

NSX_ORDER(cmp_named, struct named, TEXT(name), UP(rank));

/* Adds a row for each name; frees the names. */
static void add_by_name(struct nsx_freport *r, struct names *x,
			void (*add)(struct nsx_freport *r, const struct named *v, size_t n,
				    struct nsx_table *t), struct nsx_table *t)
{
	nsx_sort(x->v, x->n, sizeof(*x->v), cmp_named);
	NSX_EACH_RUN(i, next, x->n, !strcmp(x->v[next].name, x->v[i].name))
		add(r, &x->v[i], next - i, t);
	free(x->v);
}

/* Adds a finding that n ranks share. */
static void add_shared(struct nsx_freport *r, const struct named *v, size_t n, struct nsx_table *t)
{
	double *pct = nsx_arena_get(r->arena, n * sizeof(*pct)), sum = 0;
	uint32_t *ranks = nsx_arena_get(r->arena, n * sizeof(*ranks));
	struct nsx_cell *row = nsx_add_row(t);
	unsigned severity = 0;
	int64_t most_ppm = -1;
	size_t most = 0, npriced = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_dfinding *x = v[i].x;

		ranks[i] = v[i].rank;
		severity = NSX_MAX(severity, x->severity);
		if (x->share_ppm > most_ppm) {
			most_ppm = x->share_ppm;
			most = i;
		}
		if (x->share_ppm < 0)
			continue;
		pct[npriced++] = (double)x->share_ppm / 1e4;
		sum += (double)x->share_ppm / 1e4;
	}
	row[H_KEY] = nsx_string(v->name);
	row[H_TITLE] = nsx_string(((const struct nsx_dfinding *)v[most].x)->title);
	row[H_SEVERITY] = nsx_string(nsx_severity_names[severity]);
	row[H_N] = nsx_int((int64_t)n);
	row[H_RANKS] = nsx_string(nsx_rank_list(r->f, ranks, n, r->arena));
	if (!npriced)
		return;
	row[H_MOST] = nsx_real((double)most_ppm / 1e4);
	row[H_WORST] = nsx_int(r->f->rank[v[most].rank].number);
	row[H_MEDIAN] = nsx_real(nsx_median_of(pct, npriced));
	row[H_MEAN] = nsx_real(sum / r->f->nranks);
}

/* Adds a kernel family of n ranks. A damaged sketch counts as empty. */
static void tables_add_kernel(struct nsx_freport *r, const struct named *v, size_t n,
			      struct nsx_table *t)
{
	double *mean = nsx_arena_get(r->arena, n * sizeof(*mean)), most = 0;
	struct nsx_sketch s = {{0}};
	struct nsx_cell *row = nsx_add_row(t);
	int64_t count = 0, total_ns = 0;
	uint32_t slowest = 0;

	for (size_t i = 0; i < n; i++) {
		const struct nsx_dfamily *x = v[i].x;

		nsx_add_to(&count, x->count);
		nsx_add_to(&total_ns, x->total_ns);
		(void)nsx_sketch_take(&s, x->sketch.p, x->sketch.n);
		mean[i] = (double)x->total_ns / (double)NSX_MAX(1, x->count);
		if (mean[i] >= most) {
			most = mean[i];
			slowest = v[i].rank;
		}
	}
	row[Y_NAME] = nsx_string(v->name);
	row[Y_N] = nsx_int((int64_t)n);
	row[Y_COUNT] = nsx_int(count);
	row[Y_TOTAL] = nsx_ms(total_ns);
	row[Y_P50] = nsx_us(nsx_sketch_quantile(&s, 0.5));
	row[Y_P95] = nsx_us(nsx_sketch_quantile(&s, 0.95));
	row[Y_SLOWEST] = nsx_int(r->f->rank[slowest].number);
	if (n > 1 && nsx_median_of(mean, n) > 0)
		row[Y_RATIO] = nsx_real(most / nsx_median_of(mean, n));
}

/* Fills the tables of what the ranks' digests name: findings of single ranks, and kernels. */
static int fill_named(struct nsx_freport *r, struct nsx_err *err)
{
	struct nsx_table *shared = &r->t[NSX_FT_SHARED], *families = &r->t[NSX_FT_KERNELS];
	struct names found = {0}, kernels = {0};
	int rc = 0;

	for (uint32_t i = 0; i < r->f->nranks && !rc; i++) {
		const struct nsx_digest *d = r->f->rank[i].d;

		for (size_t k = 0; k < d->nfindings && !rc; k++)
			rc = nsx_push(found.v, found.n, found.cap, "findings", err, (struct named){
				      d->findings[k].key, &d->findings[k], i});
		for (size_t k = 0; k < d->nfamilies && !rc; k++)
			rc = nsx_push(kernels.v, kernels.n, kernels.cap, "kernels", err,
				      (struct named){d->families[k].name, &d->families[k], i});
	}
	add_by_name(r, &found, add_shared, shared);
	nsx_table_sort(shared, NSX_DESC(H_MEAN), NSX_DESC(H_N), H_KEY);
	add_by_name(r, &kernels, tables_add_kernel, families);
	nsx_table_sort(families, NSX_DESC(Y_TOTAL), Y_NAME);
	return rc;
}

/* Time in collectives ----------------------------------------------------------------*/

struct op_time { /* time in an operation, of a channel or of a whole rank */
	uint32_t rank;
	int64_t calls, ns, in_steps_ns;
};

/* The judged steps on a rank's clock; empty if the rank has none. */
static struct nsx_window judged_of(const struct nsx_fleet *f, uint32_t r)
{
	size_t first = 0, last = f->nsteps;
	const int64_t *b = f->nsteps ? nsx_bounds_of(f, r, 0) : NULL;

	while (first < last && b[first] == INT64_MIN)
		first++;
	while (first < last && b[last] == INT64_MIN)
		last--;
	return f->nsteps ? (struct nsx_window){b[first], b[last]} : (struct nsx_window){0};
}

static void sum_channel(const struct nsx_dchannel *c, struct nsx_window judged,
			struct op_time *by_op)
{
	for (size_t i = 0; i < c->n; i++) {
		struct op_time *x = &by_op[nsx_coll_code(c, i)];
		int64_t start_ns = nsx_coll_start(c, i), ns = nsx_coll_ns(c, i);
		int64_t in_steps_ns = nsx_sub_sat(NSX_MIN(nsx_add_sat(start_ns, ns), judged.end_ns),
			NSX_MAX(start_ns, judged.start_ns));

		x->calls++;
		nsx_add_to(&x->ns, ns);
		nsx_add_to(&x->in_steps_ns, NSX_MAX(0, in_steps_ns));
	}
}

/* Adds the row of an operation of n channels. */
static void tables_add_spread(struct nsx_freport *r, const struct named *v, size_t n,
			      struct nsx_table *t)
{
	struct op_time least = {0}, most = {0};
	struct nsx_cell *row;
	int64_t nranks = 0;

	for (size_t i = 0, next; i < n; i = next, nranks++) {
		struct op_time x = {.rank = v[i].rank};

		for (next = i; next < n && v[next].rank == x.rank; next++) {
			const struct op_time *y = v[next].x;

			x.calls += y->calls;
			nsx_add_to(&x.ns, y->ns);
			nsx_add_to(&x.in_steps_ns, y->in_steps_ns);
		}
		if (!nranks || x.ns < least.ns)
			least = x;
		if (!nranks || x.ns > most.ns)
			most = x;
	}
	if (nranks < 2)
		return;
	row = nsx_add_row(t);
	row[M_OP] = nsx_string(v->name);
	row[M_RANKS] = nsx_int(nranks);
	row[M_LEAST] = nsx_ms(least.ns);
	row[M_LEAST_RANK] = nsx_int(r->f->rank[least.rank].number);
	row[M_MOST] = nsx_ms(most.ns);
	row[M_MOST_RANK] = nsx_int(r->f->rank[most.rank].number);
	row[M_CALLS] = nsx_int(most.calls);
	row[M_STEPS] = nsx_ms(most.in_steps_ns);
	row[M_DIFFERENCE] = nsx_ms(most.ns - least.ns);
}

/* Counts all calls, including those of start-up and those without a known counterpart. */
static int fill_imbalance(struct nsx_freport *r, struct nsx_table *t, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct names ops = {0};
	int rc = 0;

	for (uint32_t i = 0; i < r->f->nranks; i++)
		for (size_t k = 0; k < r->f->rank[i].d->nchannels; k++) {
			const struct nsx_dchannel *c = &r->f->rank[i].d->channels[k];
			struct op_time *by_op = nsx_arena_get(a, c->nops * sizeof(*by_op));

			if (!c->has_times || nsx_is_of_messages(c))
				continue;
			sum_channel(c, judged_of(r->f, i), by_op);
			for (size_t o = 0; o < c->nops && !rc; o++)
				rc = nsx_push(ops.v, ops.n, ops.cap, "operations", err,
					      (struct named){c->ops[o].name, &by_op[o], i});
		}
	add_by_name(r, &ops, tables_add_spread, t);
	nsx_arena_free(a);
	nsx_table_sort(t, NSX_DESC(M_DIFFERENCE), NSX_DESC(M_MOST), M_OP);
	return rc;
}

static void fill_engines(struct nsx_freport *r, struct nsx_table *t)
{
	const struct nsx_fleet *f = r->f;

	for (uint32_t i = 0; i < f->nengines; i++) {
		const struct nsx_fengine *e = &f->engine[i];
		const struct nsx_digest *d = f->rank[e->ranks[0]].d;
		struct nsx_cell *row = nsx_add_row(t);
		double ns = 0, n = (double)e->ncompared;

		for (size_t k = 0; k < d->nfamilies; k++)
			ns += (double)d->families[k].total_ns;
		row[E_RANKS] = nsx_string(nsx_rank_list(f, e->ranks, e->n, r->arena));
		row[E_HOST] = nsx_int(f->rank[e->ranks[0]].host);
		row[E_STEPS] = nsx_int(e->nsteps);
		row[E_COMPARED] = nsx_int(e->ncompared);
		if (e->nsteps)
			row[E_KERNEL_MS] = nsx_real(ns / 1e6 / (double)e->nsteps);
		if (e->ratio <= 0)
			continue;
		row[E_TOOK] = nsx_real(e->took_ns / 1e6 / n);
		row[E_EXPECTED] = nsx_real(e->expected_ns / 1e6 / n);
		row[E_OVER] = nsx_real(100 * (e->ratio - 1));
		if (e->is_slow)
			row[E_CAUSE] = nsx_string(nsx_late_causes[e->cause]);
	}
	nsx_table_sort(t, NSX_DESC(E_OVER), E_RANKS);
}

int nsx_freport_tables(struct nsx_freport *r, struct nsx_err *err)
{
	struct nsx_table *t = r->t;
	struct waits *waits = nsx_arena_get(r->arena, r->f->nranks * sizeof(*waits));
	int rc;

	for (unsigned i = 0; i < NSX_NFTABLES; i++)
		nsx_table_begin(&t[i], &nsx_fleet_layouts[i]);
	for (uint32_t c = 0; c < r->f->ncomms; c++)
		if (r->f->comm[c].n > 1)
			fill_comm(r, c, waits, &t[NSX_FT_COLLECTIVES]);
	rc = compare_links(r, &t[NSX_FT_COLLECTIVES], err);
	if (rc)
		return rc;
	fill_ranks(r, waits, &t[NSX_FT_RANKS]);
	fill_outliers(r, &t[NSX_FT_OUTLIERS]);
	fill_clocks(r, &t[NSX_FT_CLOCK]);
	fill_steps(r, &t[NSX_FT_STEPS]);
	fill_engines(r, &t[NSX_FT_ENGINES]);
	fleet_tables_fill_findings(r, &t[NSX_FT_FINDINGS]);
	rc = fill_imbalance(r, &t[NSX_FT_IMBALANCE], err) ||
	     nsx_fleet_frontier(r->f, &t[NSX_FT_FRONTIER], &r->elsewhere_ns, err) ||
	     fill_named(r, err) ? err->rc : 0;
	for (unsigned i = 0; i < NSX_NFTABLES && !rc; i++)
		rc = nsx_table_whole(&t[i], err);
	return rc;
}
