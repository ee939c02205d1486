/* baseline.h - named sides of a comparison. A baseline is a folder with a digest of every
 * run and baseline.json, which lists them.
 *
 * Setting a baseline replaces its whole folder. The former baseline is recorded as an entry
 * of its past.
 */
#pragma once

#include "base/str.h"

struct nsx_baseline_run {
	const char *file; /* name of the digest in the folder */
	const char *unit; /* "step", ...: the unit of the median */
	/* median length of a step over all ranks of the run; without steps, length of the whole
	 * run
	 */
	int64_t steps, median_ns;
};
struct nsx_baseline { /* a baseline, or a former one, whose runs have no files */
	const char *set_at, *why; /* why: the user's reason; "" if not given */
	struct nsx_baseline_run *runs;
	size_t nruns;
	struct nsx_baseline *past; /* former baselines, latest first */
	size_t npast;
};
enum { NSX_MOST_PAST = 100, NSX_MOST_RUNS = 64 };

/* Loads a baseline. Owner: arena a. Errors: NSX_E_USAGE (no baseline of that name), IO, DATA. */
int nsx_baseline_load(const char *store, const char *name, struct nsx_arena *a,
		      struct nsx_baseline *ret, struct nsx_err *err) NSX_CHECKED;
/* Lists names in order; none if the store does not exist. Owner: arena a. */
int nsx_baseline_list(const char *store, struct nsx_arena *a, const char *const **ret,
		      size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
/* Makes a baseline of traces or digests. accepts: the baseline must exist and is replaced.
 * *ret_damage: why a run is of a part of its trace; NULL: none is. Owner: arena a. Errors: NSX_E_USAGE (the name is invalid, taken or missing; a run has no steps), those of
 * reading and writing.
 */
struct nsx_baseline_opts {
	const char *store, *name, *why; /* why: the user's reason; NULL if not given */
	bool accepts;
	unsigned threads;
};
int nsx_baseline_set(const struct nsx_baseline_opts *o, const char *const *paths, size_t n,
		     struct nsx_arena *a, const char **ret_damage,
		     struct nsx_err *err) NSX_CHECKED;
