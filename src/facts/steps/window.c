/* window.c - finds the window of a typical step. */
#include <string.h>
#include "facts/steps/steps.h"

static int64_t length_ns(const struct nsx_engine_step *s)
{
	return s->gpu_end_ns - s->gpu_start_ns;
}

static int window_cmp_length(const void *a, const void *b)
{
	const struct nsx_engine_step *x = a, *y = b;

	return NSX_CMP(length_ns(x), length_ns(y)) ?:
	       NSX_CMP(x->gpu_start_ns, y->gpu_start_ns) ?:
	       NSX_CMP(x->process, y->process);
}

/* Keeps only the steps of a kind on a device. */
static void keep_steps_of(struct nsx_engine_steps *steps, uint32_t device, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < steps->n; i++)
		if (steps->v[i].device == device && length_ns(&steps->v[i]) > 0 &&
		    !strcmp(nsx_step_kinds[steps->v[i].name.kind], kind))
			steps->v[n++] = steps->v[i];
	steps->n = n;
}

int nsx_step_window(const struct nsx_facts *f, const struct nsx_trace *t,
		    const struct nsx_step_patterns *own, const char *kind,
		    struct nsx_window *ret, struct nsx_err *err)
{
	struct nsx_engine_steps steps;
	int64_t median;
	size_t i;

	if (nsx_steps_build(t, own, &steps, err))
		return err->rc;
	keep_steps_of(&steps, f->limiting, kind);
	nsx_sort(steps.v, steps.n, sizeof(*steps.v), window_cmp_length);
	if (!steps.n) {
		nsx_steps_done(&steps);
		return nsx_fail(err, NSX_E_USAGE, "no step '%s' in the trace: tables/steps.csv of "
				"a report lists the kinds there are", kind);
	}
	/* The first of several steps of median length is taken. */
	median = length_ns(&steps.v[steps.n / 2]);
	i = NSX_SEARCH((size_t)0, steps.n, k, length_ns(&steps.v[k]) < median);
	*ret = (struct nsx_window){steps.v[i].gpu_start_ns, steps.v[i].gpu_end_ns};
	nsx_steps_done(&steps);
	return 0;
}
