/* cmd_baseline.c - named runs, for diff --against. */
#include "cli/cmd_common.h"
#include "diff/baseline.h"

struct args {
	const char *store, *why;
	int64_t threads;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	NSX_OPT_STORE(struct args),
	OPT(0, "why", NULL, "TEXT", STR, why, "of set and accept: kept beside the runs"),
	NSX_OPT_THREADS(struct args),
};

enum { SET, LIST, SHOW, ACCEPT };
static const struct nsx_operand verbs[] = {
	[SET] = {"set", "NAME TRACE|DIGEST...", false, "keep these runs under a new name"},
	[LIST] = {"list", NULL, false, "all names, and how long a step takes in each"},
	[SHOW] = {"show", "NAME", false, "the runs of this name, and the former ones"},
	[ACCEPT] = {"accept", "NAME TRACE|DIGEST...", false, "replace the runs of this name"},
};

static struct nsx_operand baseline_operand(unsigned i)
{
	return verbs[i];
}

/* Describes a baseline: "3 runs of `step`, 9.18 ms; set 2026-11-29T10:00:00Z: why". */
static const char *cmd_baseline_sum_up(const struct nsx_baseline *b, struct nsx_arena *a)
{
	double least = INFINITY, most = 0;

	for (size_t i = 0; i < b->nruns; i++) {
		least = NSX_MIN(least, (double)b->runs[i].median_ns);
		most = NSX_MAX(most, (double)b->runs[i].median_ns);
	}
	return nsx_arena_printf(a, "%s, %s %s%s%s; set %s%s%s",
				nsx_text_n(a, b->nruns, "run", NULL),
				b->runs[0].steps ? "median step" : "whole",
				nsx_text_ns(a, least), least < most ? " to " : "",
				least < most ? nsx_text_ns(a, most) : "", b->set_at,
				*b->why ? ": " : "", b->why);
}

static int list_baselines(const struct args *o, struct nsx_arena *a, struct nsx_err *err)
{
	const char *const *names;
	struct nsx_baseline b;
	size_t n;

	if (nsx_baseline_list(o->store, a, &names, &n, err))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		if (nsx_baseline_load(o->store, names[i], a, &b, err))
			return err->rc;
		nsx_print_line(nsx_arena_printf(a, "%s: %s", names[i], cmd_baseline_sum_up(&b, a)));
	}
	if (!n)
		nsx_print_line(nsx_arena_printf(a, "no baseline in '%s'", o->store));
	return 0;
}

static int cmd_baseline_show(const struct args *o, const char *name, struct nsx_arena *a,
			     struct nsx_err *err)
{
	struct nsx_baseline b;

	if (nsx_baseline_load(o->store, name, a, &b, err))
		return err->rc;
	nsx_print_line(nsx_arena_printf(a, "%s: %s", name, cmd_baseline_sum_up(&b, a)));
	for (size_t i = 0; i < b.nruns; i++)
		nsx_print_line(nsx_arena_printf(a, "  %s: %s%s%s, %s %s", b.runs[i].file,
			!b.runs[i].steps ? "no steps" :
				nsx_text_n(a, (size_t)b.runs[i].steps, "step", NULL),
			*b.runs[i].unit ? " of " : "", b.runs[i].unit,
			b.runs[i].steps ? "median" : "whole",
			nsx_text_ns(a, (double)b.runs[i].median_ns)));
	for (size_t i = 0; i < b.npast; i++)
		nsx_print_line(nsx_arena_printf(a, "before: %s",
						cmd_baseline_sum_up(&b.past[i], a)));
	return 0;
}

static int set_baseline(const struct args *o, bool accepts, int n, char **argv,
			struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_baseline_opts b = {o->store, argv[0], o->why, accepts,
					    nsx_threads(o->threads)};
	const char *damage;
	int rc;

	if (n < 2 || n > NSX_MOST_RUNS)
		return nsx_fail(err, NSX_E_USAGE, "give a name and 1 to %d traces or "
				"digests: nsys-explain baseline %s NAME TRACE...",
				NSX_MOST_RUNS, accepts ? "accept" : "set");
	rc = nsx_baseline_set(&b, (const char *const *)argv + 1, (size_t)n - 1, a, &damage, err) ?:
	     cmd_baseline_show(o, argv[0], a, err);
	return rc ?: nsx_cmd_partial(damage);
}

static int run_baseline_verb(const struct args *o, int n, char **argv, struct nsx_arena *a,
			     struct nsx_err *err)
{
	for (unsigned i = 0; n && i < ARRAY_LEN(verbs); i++) {
		if (strcmp(argv[0], verbs[i].word) != 0)
			continue;
		if (i == SET || i == ACCEPT)
			return set_baseline(o, i == ACCEPT, n - 1, argv + 1, a, err);
		if (n - 1 != (i == SHOW))
			return nsx_fail(err, NSX_E_USAGE, i == SHOW ?
					"give one name: nsys-explain baseline show NAME" :
					"baseline list takes no operand");
		return i == SHOW ? cmd_baseline_show(o, argv[1], a, err) :
				   list_baselines(o, a, err);
	}
	return nsx_fail(err, NSX_E_USAGE, "baseline needs set, list, show or accept first%s%s"
			"%s", n ? ", not '" : "", n ? argv[0] : "", n ? "'" : "");
}

static int cmd_baseline_run(void *args, int n, char **operands, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	return run_baseline_verb(args, n, operands, a, err);
}

const struct nsx_cmd nsx_cmd_baseline = {
	.name = "baseline",
	.usage = "set|accept NAME TRACE|DIGEST... | show NAME | list [--store DIR]",
	.summary = "keep runs under a name, to compare other runs with them",
	.doc = "Keeps the digest of each run (nsys-explain digest) in a folder of its own, with "
	       "baseline.json, which lists them: a few hundred kB that a pipeline can cache, or a "
	       "repository can hold. 'nsys-explain diff --against NAME AFTER' compares other runs "
	       "with them. Three runs or more show how much runs of the same code differ.\n\n"
	       "Where nothing repeats, the whole runs are compared. To remove a baseline, delete "
	       "its folder.",
	.opts = opts, .nopts = ARRAY_LEN(opts),
	.operands_title = "actions", .operand = baseline_operand,
	.noperands = ARRAY_LEN(verbs),
	.examples = "nsys-explain baseline set main run1.nsys-rep run2.nsys-rep run3.nsys-rep  # "
		    "three runs of the good version\n"
		    "nsys-explain diff --against main new.nsys-rep --gate step:+3%  # compares "
		    "the new version with them\n"
		    "nsys-explain baseline accept main new.nsys-rep --why 'larger batch'  # from "
		    "now on, runs are compared with this one",
	NSX_ARGS(struct args, .store = NSX_STORE),
	.run = cmd_baseline_run,
};
