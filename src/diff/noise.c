/* noise.c - what runs of the same code differ by, measured and kept in a file. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/jsonread.h"
#include "base/jsonw.h"
#include "diff/diff.h"

static void widen(struct nsx_noise *n, const struct nsx_step *s)
{
	n->rel = NSX_MAX(n->rel, fabs(s->rel));
	n->abs_ns = NSX_MAX(n->abs_ns, fabs(s->shift_ns));
}

static int measure_pair(const struct nsx_diff_opts *o, struct nsx_side *before,
			struct nsx_side *after, struct nsx_noise *n,
			struct nsx_err *err)
{
	struct nsx_side *sides[] = {before, after};
	struct nsx_diff d = {.opts = o, .sides = {&sides[0], &sides[1]},
			     .nsides = {1, 1}, .arena = nsx_arena_new()};
	struct nsx_step step;
	bool found;
	int rc = nsx_choose_way(&d, &found, err);

	if (!rc && !found)
		rc = nsx_fail(err, NSX_E_USAGE, "cannot calibrate with '%s' and "
			      "'%s': no kind of unit is found in both",
			      before->path, after->path);
	if (!rc && d.pool[0].one_job && d.pool[1].one_job &&
	    d.pool[0].nlanes == d.pool[1].nlanes) {
		rc = nsx_step_measure(&d, NSX_NONE, &step, err);
		if (!rc)
			widen(n, &step);
	}
	for (uint32_t l = 0; !rc && l < NSX_MIN(d.pool[0].nlanes,
						d.pool[1].nlanes); l++) {
		rc = nsx_step_measure(&d, l, &step, err);
		if (!rc)
			widen(n, &step);
	}
	nsx_arena_free(d.arena);
	return rc;
}

int nsx_diff_calibrate(const struct nsx_diff_opts *o, struct nsx_noise *ret,
		       struct nsx_err *err)
{
	struct nsx_side **v = nsx_try_alloc(o->nbefore, sizeof(*v), "captures",
					    err);
	int rc = v ? 0 : err->rc;

	*ret = (struct nsx_noise){0, 0};
	for (size_t i = 0; !rc && i < o->nbefore; i++)
		rc = nsx_side_load(o->before[i], &o->side, &v[i], err);
	for (size_t i = 0; !rc && i < o->nbefore; i++)
		for (size_t k = i + 1; !rc && k < o->nbefore; k++)
			rc = measure_pair(o, v[i], v[k], ret, err);
	for (size_t i = 0; v && i < o->nbefore; i++)
		nsx_side_free(v[i]);
	free(v);
	return rc;
}

int nsx_noise_write(const struct nsx_noise *n, const struct nsx_diff_opts *o,
		    FILE *out, struct nsx_err *err)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	int rc;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "schema_version", 1);
	nsx_jsonw_str(w, "tool.name", "nsys-explain");
	nsx_jsonw_str(w, "tool.version", NSX_VERSION);
	nsx_jsonw_array(w, "runs");
	for (size_t i = 0; i < o->nbefore; i++)
		nsx_jsonw_str(w, NULL, o->before[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_real(w, "step.rel", n->rel);
	nsx_jsonw_real(w, "step.abs_ns", n->abs_ns);
	nsx_jsonw_end(w);
	rc = nsx_jsonw_write(w, out, err);
	nsx_jsonw_free(w);
	return rc;
}

int nsx_noise_read(const char *text, struct nsx_noise *ret,
		   struct nsx_err *err)
{
	char *end;
	double percent = strtod(text, &end);

	*ret = (struct nsx_noise){percent / 100, 0};
	if (end != text && !strcmp(end, "%"))
		return percent >= 0 && percent < 100 ? 0 :
			nsx_fail(err, NSX_E_USAGE, "--noise must be 0%% to "
				 "100%%, not '%s'", text);
	if (nsx_json_number_of(text, "step", "rel", &ret->rel, err))
		return err->rc;
	return nsx_json_number_of(text, "step", "abs_ns", &ret->abs_ns, err);
}
