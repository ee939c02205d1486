/* noise.c - measures how much runs of the same code differ, and stores it in a file. */
#include <math.h>
#include "base/jsonread.h"
#include "base/jsonw.h"
#include "diff/diff.h"
#include "emit/emit.h"

static void widen(struct nsx_noise *n, double before, double change)
{
	if (before > 0)
		n->rel = NSX_MAX(n->rel, fabs(change) / before);
	n->abs = NSX_MAX(n->abs, fabs(change));
}

/* Kernels -----------------------------------------------------------------------*/

static size_t noise_place_of(const struct nsx_noises *n, const char *name)
{
	size_t lo = 0, hi = n->nkernels;

	NSX_BISECT(lo, hi, mid, strcmp(n->kernels[mid].name, name) < 0);
	return lo;
}

double nsx_noise_of_kernel(const struct nsx_noises *n, const char *name, double before_ns)
{
	size_t i = noise_place_of(n, name);

	return i < n->nkernels && !strcmp(n->kernels[i].name, name) ?
		       n->kernels[i].abs_ns : n->kernels_rel * before_ns;
}

static void widen_kernel(struct nsx_noises *n, const char *name, double abs_ns)
{
	size_t i = noise_place_of(n, name);
	struct nsx_kernel_noise *k;

	if (i == n->nkernels || strcmp(n->kernels[i].name, name) != 0) {
		nsx_grow_or_die(&n->kernels, &n->cap_kernels, n->nkernels + 1, sizeof(*k));
		memmove(&n->kernels[i + 1], &n->kernels[i], (n->nkernels++ - i) * sizeof(*k));
		n->kernels[i] = (struct nsx_kernel_noise){nsx_strdup(name), 0};
	}
	k = &n->kernels[i];
	k->abs_ns = NSX_MAX(k->abs_ns, abs_ns);
}

void nsx_noises_done(struct nsx_noises *n)
{
	for (size_t i = 0; i < n->nkernels; i++)
		free((char *)n->kernels[i].name);
	free(n->kernels);
}

/* Measuring ---------------------------------------------------------------------*/

static void widen_step(struct nsx_noises *n, const struct nsx_step *s)
{
	widen(&n->of[NSX_METRIC_STEP], s->side[0].median_ns, s->shift_ns);
	widen(&n->of[NSX_METRIC_P95], s->side[0].p95_ns, s->side[1].p95_ns - s->side[0].p95_ns);
	widen(&n->of[NSX_METRIC_MEAN], s->side[0].mean_ns, s->side[1].mean_ns - s->side[0].mean_ns);
}

static void widen_budget(struct nsx_noises *n, struct nsx_diff *d, uint32_t lane)
{
	double before[NSX_NMETRICS] = {0}, change[NSX_NMETRICS] = {0};
	struct nsx_budget b = nsx_budget_build(d, lane);

	for (unsigned m = NSX_METRIC_COMPUTE; m < NSX_METRIC_LAUNCHES; m++)
		for (unsigned k = 0; k < NSX_NSHARES; k++)
			if (nsx_gated_figures[m].shares >> k & 1) {
				before[m] += (double)b.part[k].before_ns;
				change[m] += (double)b.part[k].delta_ns;
			}
	before[NSX_METRIC_LAUNCHES] = b.launches[0];
	change[NSX_METRIC_LAUNCHES] = b.launches[1] - b.launches[0];
	for (unsigned k = NSX_METRIC_COMPUTE; k < NSX_NMETRICS; k++)
		widen(&n->of[k], before[k], change[k]);
	for (size_t i = 0; i < b.nkernels; i++)
		widen_kernel(n, nsx_row_kernel(d, b.kernels[i].row)->name,
			     fabs((double)b.kernels[i].d.delta_ns));
}

static int measure_pair(const struct nsx_diff_opts *o, struct nsx_side *before,
			struct nsx_side *after, struct nsx_noises *n, struct nsx_err *err)
{
	struct nsx_side *sides[] = {before, after};
	struct nsx_diff d = {.opts = o, .sides = {&sides[0], &sides[1]},
			     .nsides = {1, 1}, .all = sides, .nall = 2, .digested = before->digested,
			     .arena = nsx_arena_new()};
	struct nsx_step step;
	bool found = nsx_choose_way(&d);
	const char *why =
		nsx_side_is_same(before, after) ? "they are one run" :
		!found ? "no kind of unit is found in both" :
		nsx_likeness(&d.kernels, d.pool) < NSX_UNLIKE ?
			"they run different kernels; give runs of the same code" : NULL;

	if (why) {
		nsx_arena_free(d.arena);
		return nsx_fail(err, NSX_E_USAGE, "cannot calibrate with '%s' and '%s': %s",
				before->path, after->path, why);
	}
	d.rows = nsx_match_kernels(&d.kernels, d.pool, d.arena);
	if (d.pool[0].one_job && d.pool[1].one_job && d.pool[0].nlanes == d.pool[1].nlanes) {
		step = nsx_step_measure(&d, NSX_NONE);
		widen_step(n, &step);
	}
	for (uint32_t l = 0; l < NSX_MIN(d.pool[0].nlanes, d.pool[1].nlanes); l++) {
		step = nsx_step_measure(&d, l);
		widen_step(n, &step);
		widen_budget(n, &d, l);
	}
	nsx_arena_free(d.arena);
	return 0;
}

int nsx_diff_calibrate(const struct nsx_diff_opts *o, struct nsx_noises *ret, struct nsx_err *err)
{
	struct nsx_side **v = nsx_alloc(o->captures[0].n, sizeof(*v));
	const struct nsx_side_opts side = nsx_side_opts_of(o);
	int rc = 0;

	*ret = (struct nsx_noises){.nkernels = 0};
	for (size_t i = 0; !rc && i < o->captures[0].n; i++)
		rc = nsx_side_load(o->captures[0].v[i], &side, &v[i], err);
	for (size_t i = 0; !rc && i < o->captures[0].n; i++)
		for (size_t k = i + 1; !rc && k < o->captures[0].n; k++)
			rc = measure_pair(o, v[i], v[k], ret, err);
	for (size_t i = 0; i < o->captures[0].n; i++)
		nsx_side_free(v[i]);
	free(v);
	return rc;
}

/* Files -------------------------------------------------------------------------*/

int nsx_noise_write(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_noises *n = f->subject;
	const struct nsx_diff_opts *o = f->detail;
	struct nsx_jsonw *w = nsx_json_document(2, NULL);

	nsx_jsonw_array(w, "runs");
	for (size_t i = 0; i < o->captures[0].n; i++)
		nsx_jsonw_str(w, NULL, o->captures[0].v[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "metrics");
	for (unsigned k = 0; k < NSX_NMETRICS; k++) {
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "name", nsx_gated_figures[k].name);
		nsx_jsonw_real(w, "rel", n->of[k].rel);
		nsx_jsonw_real(w, k == NSX_METRIC_LAUNCHES ? "abs" : "abs_ns", n->of[k].abs);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "kernels");
	for (size_t i = 0; i < n->nkernels; i++) {
		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "name", n->kernels[i].name);
		nsx_jsonw_real(w, "abs_ns", n->kernels[i].abs_ns);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, out, err);
}

static int on_noise_number(void *ctx, const char *list, const char *name,
		     const char *key, double number, struct nsx_err *err NSX_UNUSED)
{
	struct nsx_noises *n = ctx;

	if (!strcmp(list, "kernels")) {
		widen_kernel(n, name, number);
		return 0;
	}
	for (unsigned k = 0; k < NSX_NMETRICS; k++)
		if (!strcmp(name, nsx_gated_figures[k].name))
			*(strcmp(key, "rel") ? &n->of[k].abs : &n->of[k].rel) = number;
	return 0;
}

static int noise_read_file(const char *path, struct nsx_noises *ret, struct nsx_err *err)
{
	int rc;

	ret->of[NSX_METRIC_STEP].rel = -1;
	rc = nsx_json_each_number(path, on_noise_number, ret, err);
	if (!rc && ret->of[NSX_METRIC_STEP].rel < 0)
		rc = nsx_fail(err, NSX_E_USAGE, "cannot use '%s': it is no "
			      "file of diff --calibrate", path);
	return rc;
}

int nsx_noise_read(const char *text, struct nsx_noises *ret, struct nsx_err *err)
{
	char *end;
	double percent = strtod(text, &end);

	*ret = (struct nsx_noises){.kernels_rel = percent / 100};
	for (unsigned k = 0; k < NSX_NMETRICS; k++)
		if (k != NSX_METRIC_LAUNCHES) /* launches are counts and have no time */
			ret->of[k].rel = percent / 100;
	if (end != text && !strcmp(end, "%"))
		return percent >= 0 && percent < 100 ? 0 :
			nsx_fail(err, NSX_E_USAGE, "--noise must be 0%% to 100%%, not '%s'", text);
	if (end != text && !*end)
		return nsx_fail(err, NSX_E_USAGE, "--noise takes a percentage, "
				"as in %s%%, or a file of --calibrate", text);
	*ret = (struct nsx_noises){.nkernels = 0};
	return !noise_read_file(text, ret, err) ? 0 :
		nsx_wrap(err, "--noise takes a percentage, as in 2%%, or a file of --calibrate");
}

bool nsx_noise_is(const char *path)
{
	struct nsx_noises n = {0};
	struct nsx_err ignored;
	bool is = !noise_read_file(path, &n, &ignored);

	nsx_noises_done(&n);
	return is;
}
