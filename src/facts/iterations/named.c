/* named.c - finds a window by a name that reports use, such as "phase:NAME". */
#include <inttypes.h>
#include <stdio.h>
#include "facts/facts.h"
#include "facts/steps/steps.h"

static const char phase_prefix[] = "phase:";
static const char iteration_prefix[] = "iteration:";
static const char step_prefix[] = "step:";

static const char *text_after_prefix(const char *text, const char *prefix)
{
	size_t n = strlen(prefix);

	return strncmp(text, prefix, n) ? NULL : text + n;
}

static int find_phase_named(const struct nsx_facts *f, const char *name,
			    struct nsx_window *ret, struct nsx_err *err)
{
	for (size_t i = 0; i < f->nrun_phases; i++)
		if (!strcmp(f->run_phases[i].name, name)) {
			*ret = f->run_phases[i].window;
			return 0;
		}
	return nsx_fail(err, NSX_E_USAGE, "no phase '%s' in the trace: "
			"tables/run_phases.csv of a report lists them", name);
}

static int find_iteration_named(const struct nsx_facts *f, const char *number,
				struct nsx_window *ret, struct nsx_err *err)
{
	uintmax_t n, seen = 0;
	char *end;

	n = strtoumax(number, &end, 10);
	if (*number < '0' || *number > '9' || *end)
		return nsx_fail(err, NSX_E_USAGE, "cannot read the iteration "
				"'%s': give its number, from 0", number);
	for (size_t i = 0; !seen && i < f->nloops; i++)
		if (f->loops[i].v->device == f->limiting) {
			seen = f->loops[i].n;
			if (n < seen) {
				*ret = (struct nsx_window){f->loops[i].v[n].start_ns,
							   f->loops[i].v[n].end_ns};
				return 0;
			}
		}
	if (!seen)
		return nsx_fail(err, NSX_E_USAGE, "no iteration %s: no "
				"iterations were found in the trace", number);
	return nsx_fail(err, NSX_E_USAGE, "no iteration %s: the trace has 0 to "
			"%" PRIuMAX ", as tables/iterations.csv of a report "
			"lists them", number, seen - 1);
}

int nsx_named_window(const struct nsx_facts *f, const struct nsx_trace *t,
		     const char *text, struct nsx_window *ret, struct nsx_err *err)
{
	const char *name = text_after_prefix(text, phase_prefix);
	const char *number = text_after_prefix(text, iteration_prefix);
	const char *kind = text_after_prefix(text, step_prefix);

	return name   ? find_phase_named(f, name, ret, err) :
	       number ? find_iteration_named(f, number, ret, err) :
	       kind   ? nsx_step_window(f, t, kind, ret, err) :
			nsx_window_parse(text, t->first_ns, ret, err);
}

int nsx_load_named(const struct nsx_schema *schema,
		   const struct nsx_load_opts *opts, struct nsx_trace **ret, struct nsx_err *err)
{
	struct nsx_load_opts o = *opts;
	const struct nsx_facts_opts wanted = {.threads = o.threads,
					      .progress = o.progress};
	struct nsx_window w = {0};
	struct nsx_facts *f = NULL;
	char text[64];
	int rc;

	if (!o.window || (!text_after_prefix(o.window, phase_prefix) &&
			  !text_after_prefix(o.window, iteration_prefix) &&
			  !text_after_prefix(o.window, step_prefix)))
		return nsx_trace_load(schema, opts, ret, err);
	o.window = NULL;
	rc = nsx_trace_load(schema, &o, ret, err);
	if (rc)
		return rc;
	rc = nsx_facts_build(*ret, &wanted, &f, err) ?:
	     nsx_named_window(f, *ret, opts->window, &w, err);
	nsx_facts_free(f);
	nsx_trace_free(*ret);
	*ret = NULL;
	if (rc)
		return rc;
	snprintf(text, sizeof(text), "%" PRId64 "ns..%" PRId64 "ns", w.start_ns, w.end_ns);
	o.window = text;
	return nsx_trace_load(schema, &o, ret, err);
}
