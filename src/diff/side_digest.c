/* side_digest.c - a side made from digests, and the rank of a process.
 *
 * A digest keeps each step's length, its parts and why the GPU was idle, and the totals of
 * its trace. It has kernels only as families of the whole capture. So it does not tell
 * which kernels changed, or time by range.
 */
#include <math.h>
#include <sys/stat.h>
#include "base/stat.h"
#include "diff/side.h"
#include "fleet/digest.h"
#include "report/text.h"

/* A lane ------------------------------------------------------------------------*/

static void side_digest_fill_lane(const struct nsx_digest *d, const struct nsx_side_opts *o,
				  struct nsx_arena *a, struct nsx_lane *ret)
{
	size_t from, n = nsx_choose_units(o, d->nsteps, &from);
	struct nsx_split_uses idle = {0};
	const struct nsx_dstep *steps;

	if (n > NSX_MOST_UNITS) {
		from += (n - NSX_MOST_UNITS) / 2;
		n = NSX_MOST_UNITS;
	}
	steps = d->steps + from;
	*ret = (struct nsx_lane){
		.device_id = d->device, .rank = d->rank,
		.zero_ns = d->utc_ns, .nunits = n,
		.units = nsx_arena_get(a, n * sizeof(*ret->units))};
	for (size_t i = 0; i < n; i++) {
		const struct nsx_dstep *s = &steps[i];

		ret->units[i] = (struct nsx_unit){
			.start_ns = s->start_ns, .wall_ns = s->wall_ns,
			.launches = (uint32_t)NSX_MIN(s->kernels, UINT32_MAX),
			.steady = s->steady};
		nsx_fill_shares(s->part_ns, ret->units[i].ns);
		for (uint32_t c = 0; c < NSX_NCAUSES; c++)
			if (s->cause_ns[c])
				nsx_add_split(&idle, c, 0, s->cause_ns[c]);
	}
	ret->split[NSX_SPLIT_IDLE] = nsx_keep_split(&idle, a);
}

static bool is_asked_for(const struct nsx_digest *d, const struct nsx_side_opts *o)
{
	return (o->device < 0 || o->device == d->device) && (o->rank < 0 || o->rank == d->rank);
}

/* Adds a lane for each rank; ranks whose steps were found the same way share a view. */
static void side_digest_add_lanes(struct nsx_side *side, struct nsx_digest *const *v, size_t n,
				  const struct nsx_side_opts *o)
{
	for (size_t i = 0; i < n; i++) {
		struct nsx_seen way = {.method = v[i]->method,
				       .name = v[i]->unit}, *view;
		size_t at = 0, from;

		if (!is_asked_for(v[i], o) || !nsx_choose_units(o, v[i]->nsteps, &from))
			continue;
		while (at < side->nseen && !nsx_is_same_way(&side->seen[at], &way))
			at++;
		if (at == ARRAY_LEN(side->seen))
			continue;
		view = &side->seen[at];
		if (at == side->nseen) {
			side->nseen++;
			view->method = way.method;
			view->name = nsx_arena_strdup(side->arena, way.name);
			view->lanes = nsx_arena_get(side->arena, n * sizeof(*view->lanes));
		}
		for (size_t l = 0; l < view->nlanes; l++)
			view->lanes[view->nlanes].nth += view->lanes[l].device_id == v[i]->device;
		view->score += 1.0 / (double)n;
		side_digest_fill_lane(v[i], o, side->arena, &view->lanes[view->nlanes++]);
	}
	for (size_t i = 0; i < side->nseen; i++)
		side->seen[i].one_job = nsx_is_one_job(&side->seen[i]);
}

/* The whole --------------------------------------------------------------------*/

/* Adds the whole run as a unit of a capture in which nothing repeats. */
static void side_digest_add_whole(struct nsx_side *side, int64_t device)
{
	const struct nsx_totals *t = &side->totals;
	struct nsx_lane *lane = nsx_arena_get(side->arena, sizeof(*lane));
	struct nsx_unit *unit = nsx_arena_get(side->arena, sizeof(*unit));

	if (side->nseen == ARRAY_LEN(side->seen))
		return;
	*unit = (struct nsx_unit){
		.wall_ns = t->span_ns, .launches = (uint32_t)NSX_MIN(t->launches, UINT32_MAX),
		.steady = true,
		.ns = {[NSX_SHARE_COMPUTE] = t->ns[NSX_TOTAL_KERNELS],
		       [NSX_SHARE_COPY] = t->ns[NSX_TOTAL_COPIES],
		       [NSX_SHARE_IDLE] = t->ns[NSX_TOTAL_ONE_TIME] + t->ns[NSX_TOTAL_IDLE]}};
	*lane = (struct nsx_lane){.device_id = device, .rank = -1, .units = unit, .nunits = 1};
	side->seen[side->nseen++] = (struct nsx_seen){
		.method = NSX_WAY_WINDOW, .name = "", .lanes = lane, .nlanes = 1};
}

/* Takes over the totals if all ranks come from one trace. */
static void take_totals(struct nsx_side *side, struct nsx_digest *const *v, size_t n,
			const struct nsx_side_opts *o)
{
	struct nsx_totals *t = &side->totals;
	const struct nsx_digest *of = NULL;
	size_t nwhole = 0;

	for (size_t i = 0; i < n; i++) {
		nwhole += v[i]->nwhole;
		of = v[i]->nwhole ? v[i] : of;
	}
	if (nwhole != 1 || o->last >= 0 || o->device >= 0 || o->rank >= 0)
		return;
	*t = *of->whole;
	t->known = true;
	t->span_ns = 0;
	for (unsigned k = 0; k < NSX_NTOTALS; k++)
		nsx_add_to(&t->span_ns, t->ns[k]);
	t->one_time = nsx_arena_strdup(side->arena, t->one_time);
	t->nblocks = t->nblocks == NSX_NBLOCKS ? NSX_NBLOCKS : 0;
	t->blocks = nsx_arena_get(side->arena, t->nblocks * sizeof(*t->blocks));
	t->calls = nsx_arena_get(side->arena, t->ncalls * sizeof(*t->calls));
	memcpy(t->blocks, of->whole->blocks, t->nblocks * sizeof(*t->blocks));
	for (size_t i = 0; i < t->ncalls; i++) {
		t->calls[i] = of->whole->calls[i];
		t->calls[i].name = nsx_arena_strdup(side->arena, t->calls[i].name);
	}
	side_digest_add_whole(side, v[0]->device);
}

/* Description ------------------------------------------------------------------*/

/* Lists the families of all ranks once. launches: per step, mean over the ranks. */
static void list_families(struct nsx_side *side, struct nsx_digest *const *v, size_t n)
{
	size_t all = 0;
	uint32_t kept = 0;

	for (size_t i = 0; i < n; i++)
		all += v[i]->nfamilies;
	side->kernels = nsx_arena_get(side->arena, all * sizeof(*side->kernels));
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->nfamilies; k++) {
			const struct nsx_dfamily *f = &v[i]->families[k];
			const char *name = nsx_arena_strdup(side->arena, f->name);

			side->kernels[side->nkernels++] = (struct nsx_kernel){
				.name = name, .base = name, .label = name,
				.variant = "", .range = "", .occupancy = -1,
				.launches = (double)f->count / (double)NSX_MAX(v[i]->nsteps, 1) /
					    (double)n};
		}
	nsx_sort(side->kernels, all, sizeof(*side->kernels), nsx_kernel_cmp);
	for (size_t i = 0; i < all; i++)
		if (kept && !nsx_kernel_cmp(&side->kernels[kept - 1], &side->kernels[i]))
			side->kernels[kept - 1].launches += side->kernels[i].launches;
		else
			side->kernels[kept++] = side->kernels[i];
	side->nkernels = kept;
}

NSX_ORDER(cmp_findings, struct nsx_side_finding, TEXT(key));

/* Category of a finding's key. A key of another program version gets a category that costs no
 * time.
 */
static enum nsx_category category_of(const char *key)
{
	enum nsx_finding_id id = nsx_finding_id_of(key);

	return id < NSX_NFINDING_IDS ? nsx_finding_defs[id].category : NSX_CAT_CAPTURE;
}

/* Lists the findings of all ranks, each with its worst severity and share. */
static void list_findings(struct nsx_side *side, struct nsx_digest *const *v, size_t n)
{
	struct nsx_side_finding *f;
	size_t all = 0, kept = 0;

	for (size_t i = 0; i < n; i++)
		all += v[i]->nfindings;
	side->findings = f = nsx_arena_get(side->arena, (all + 1) * sizeof(*f));
	for (size_t i = 0, at = 0; i < n; i++)
		for (size_t k = 0; k < v[i]->nfindings; k++) {
			const struct nsx_dfinding *x = &v[i]->findings[k];

			f[at++] = (struct nsx_side_finding){
				.key = nsx_arena_strdup(side->arena, x->key),
				.title = nsx_arena_strdup(side->arena, x->title),
				.place = *x->place ? nsx_arena_strdup(side->arena, x->place) : NULL,
				.category = category_of(x->key),
				.severity = x->severity,
				.is_minor = x->is_minor,
				.share = x->share_ppm < 0 ? NAN : (double)x->share_ppm / 1e6,
				.low = (double)x->low_ppm / 1e6,
				.high = (double)x->high_ppm / 1e6};
		}
	nsx_sort(f, all, sizeof(*f), cmp_findings);
	for (size_t i = 0; i < all; i++) {
		if (!kept || cmp_findings(&f[kept - 1], &f[i])) {
			f[kept++] = f[i];
			continue;
		}
		f[kept - 1].severity = NSX_MAX(f[kept - 1].severity, f[i].severity);
		f[kept - 1].share = fmax(f[kept - 1].share, f[i].share);
	}
	side->nfindings = kept;
}

static const char *say_ranks(struct nsx_digest *const *v, size_t n, struct nsx_arena *a)
{
	int64_t first = v[0]->rank, last = v[n - 1]->rank; /* v is in order of rank */

	return first < 0 ? nsx_arena_printf(a, "%zu without a number", n) :
	       n == 1	 ? nsx_arena_printf(a, "rank %lld", (long long)first) :
			   nsx_arena_printf(a, "%zu ranks, %lld to %lld", n,
					    (long long)first, (long long)last);
}

static void side_digest_add_kinds(struct nsx_side *side, const struct nsx_digest *d)
{
	for (size_t i = 0; i < d->nkinds; i++) {
		const struct nsx_dkind *k = &d->kinds[i];
		const char *size = k->size < 0 ? "" : k->size < 2 ? "1" :
			nsx_arena_printf(side->arena, "%lld-%lld", (long long)k->size,
					 (long long)(2 * k->size - 1));

		side->kinds[side->nkinds++] = (struct nsx_side_kind){
			k->kind, size, k->count, (double)k->p50_ns / 1e6, (double)k->sizes};
	}
}

static void side_digest_describe(struct nsx_side *side, struct nsx_digest *const *v, size_t n)
{
	const char **models = nsx_arena_get(side->arena, (n + 1) * sizeof(*models));
	size_t nmodels = 0, nkinds = 0;
	struct stat st;

	side->size_bytes = stat(side->path, &st) ? 0 : st.st_size;
	side->product_version = nsx_arena_strdup(side->arena, v[0]->product);
	side->driver_version = side->cuda_version = side->graph_mode = side->traced = "";
	side->sm_mhz = NAN;
	side->nranks = (int64_t)n;
	side->peak_bytes = -1;
	for (size_t i = 0; i < n; i++) {
		if (*v[i]->gpu_model)
			models[nmodels++] = v[i]->gpu_model;
		side->peak_bytes = NSX_MAX(side->peak_bytes, v[i]->peak_bytes);
		if (v[i]->is_partial)
			side->damage = v[i]->damage ? nsx_arena_strdup(side->arena, v[i]->damage) :
				       "its trace had lost rows when it was digested";
	}
	for (size_t i = 0; i < n; i++)
		nkinds += v[i]->nkinds;
	side->kinds = nsx_arena_get(side->arena, nkinds * sizeof(*side->kinds));
	for (size_t i = 0; i < n; i++)
		side_digest_add_kinds(side, v[i]);
	nsx_side_name_gpus(side, models, nmodels);
	side->ranks = say_ranks(v, n, side->arena);
}

/* Hash of the ranks and what they did; it does not depend on the detail kept. */
static uint64_t hash_of(struct nsx_digest *const *v, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++) {
		h = nsx_hash_u64(h ^ v[i]->who);
		for (size_t s = 0; s < v[i]->nsteps; s++) {
			const struct nsx_dstep *x = &v[i]->steps[s];

			h = nsx_hash_u64(h ^ (uint64_t)x->start_ns);
			h = nsx_hash_u64(h ^ (uint64_t)x->wall_ns);
			h = nsx_hash_u64(h ^ (uint64_t)x->kernel_ns);
		}
		for (unsigned k = 0; v[i]->nwhole && k < NSX_NTOTALS; k++)
			h = nsx_hash_u64(h ^ (uint64_t)v[i]->whole->ns[k]);
	}
	return h;
}

/* Which rank --------------------------------------------------------------------*/

static int fail_rank(const char *path, int64_t rank,
		     struct nsx_digest *const *v, size_t n, struct nsx_err *err)
{
	enum { SHOWN = 16 };
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	size_t known = 0;

	for (size_t i = 0; i < n; i++)
		if (v[i]->rank >= 0 && known++ < SHOWN)
			nsx_buf_printf(&b, "%s%lld", known > 1 ? ", " : "", (long long)v[i]->rank);
	nsx_fail(err, NSX_E_USAGE, "cannot compare rank %lld of '%s': %s%s%s",
		 (long long)rank, path,
		 known ? "it holds rank " :
			 "it does not tell ranks; 'nsys-explain digest --rank' can say which rank "
			 "a trace is", known ? b.p : "", known > SHOWN ? ", ..." : "");
	return err->rc;
}

static const struct nsx_digest *side_digest_find_rank(struct nsx_digest *const *v, size_t n,
						      int64_t rank)
{
	for (size_t i = 0; i < n; i++)
		if (v[i]->rank == rank)
			return v[i];
	return NULL;
}

/* Order: rank; ranks without a number by GPU, alike on both sides. */
NSX_POINTER_ORDER(cmp_ranks, struct nsx_digest, UP(rank), UP(device), UP(pid), BY(nsx_digest_cmp));

int nsx_side_find_rank(const struct nsx_report *r, struct nsx_side_opts *o, struct nsx_err *err)
{
	const struct nsx_digest_opts names = {.rank = -1, .threads = o->threads,
					      .only_names = true};
	struct nsx_digest **v = NULL;
	const struct nsx_digest *d;
	size_t n = 0;
	int rc = nsx_digest_make(r, &names, &v, &n, err);

	if (rc)
		return rc;
	d = side_digest_find_rank(v, n, o->rank);
	if (d) {
		o->device = d->device;
		o->pid = d->pid;
	} else {
		rc = fail_rank(r->path, o->rank, v, n, err);
	}
	nsx_digests_free(v, n);
	return rc;
}

/* The side ----------------------------------------------------------------------*/

/* Fills the side from digests, and frees them. */
static int fill_side(struct nsx_side *side, struct nsx_digest **v, size_t n,
		     const struct nsx_side_opts *o, struct nsx_err *err)
{
	int rc = 0;

	side->digested = true;
	if (!n)
		return nsx_fail(err, NSX_E_DATA, "cannot compare '%s': it holds "
				"no rank", side->path);
	nsx_sort(v, n, sizeof(struct nsx_digest *), cmp_ranks);
	if (o->unit != NSX_SIDE_AUTO)
		rc = nsx_fail(err, NSX_E_USAGE, "cannot compare '%s' by another --unit: the steps "
			      "of a digest were found when it was made", side->path);
	else if (o->rank >= 0 && !side_digest_find_rank(v, n, o->rank))
		rc = fail_rank(side->path, o->rank, v, n, err);
	side->details = nsx_alloc(1, sizeof(*side->details));
	side->details[side->ndetails++] = "";
	side_digest_add_lanes(side, v, n, o);
	take_totals(side, v, n, o);
	list_families(side, v, n);
	list_findings(side, v, n);
	side_digest_describe(side, v, n);
	side->content = hash_of(v, n);
	side->session = nsx_session_of(v[0]->utc_ns, v[0]->system_ns);
	side->first_ns = v[0]->first_ns;
	side->last_ns = v[0]->last_ns;
	nsx_digests_free(v, n);
	return rc;
}

int nsx_side_read_digest(struct nsx_side *side, const struct nsx_side_opts *o, struct nsx_err *err)
{
	struct nsx_digest **v = NULL;
	size_t n = 0;

	if (*side->part && o->last < 0)
		return nsx_fail(err, NSX_E_USAGE, "cannot compare '%s' at %s: a digest has no "
				"window, only steps, as in @2..8", side->path, side->part);
	return nsx_digest_load(side->path, NSX_KEEP_COLUMNS, &v, &n, err) ?:
	       fill_side(side, v, n, o, err);
}

int nsx_side_digest(struct nsx_side *side, const struct nsx_report *r,
		    const struct nsx_side_opts *o, struct nsx_err *err)
{
	const struct nsx_digest_opts steps = {.rank = -1, .threads = o->threads,
					      .detail = NSX_DETAIL_STEPS};
	struct nsx_digest **v = NULL;
	size_t n = 0;

	return nsx_digest_make(r, &steps, &v, &n, err) ?: fill_side(side, v, n, o, err);
}
