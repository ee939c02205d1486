/* baseline.h - sides of a comparison that have a name: a folder for each, with a digest
 * of every run and baseline.json, which lists them.
 *
 * Setting one replaces its folder whole; what it was before stays as a line of its past.
 */
#ifndef NSX_DIFF_BASELINE_H
#define NSX_DIFF_BASELINE_H

#include "base/str.h"

struct nsx_baseline_run {
	const char *file; /* of the digest, in the folder                    */
	const char *unit; /* "step", ...: of what the median is              */
	int64_t steps, median_ns; /* of all its ranks                        */
};
struct nsx_baseline { /* or, but for its runs' files, what it was before     */
	const char *set_at, *why; /* why: ""                                 */
	struct nsx_baseline_run *runs;
	size_t nruns;
	struct nsx_baseline *past; /* latest first                           */
	size_t npast;
};
enum { NSX_MOST_PAST = 100, NSX_MOST_RUNS = 64 };

/* Owner: arena a.  Errors: NSX_E_USAGE (there is none of that name), IO, DATA. */
int nsx_baseline_load(const char *store, const char *name, struct nsx_arena *a,
		      struct nsx_baseline *ret, struct nsx_err *err) NSX_CHECKED;
/* Names in order; none where the store is not there.  Owner: arena a. */
int nsx_baseline_list(const char *store, struct nsx_arena *a, const char *const **ret,
		      size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
/* Digests of traces, or digests, as a baseline; accepts: it is there already.
 * Errors: NSX_E_USAGE (a name that is none, is taken or is not there; a run in which
 * nothing repeats), those of reading and writing.
 */
struct nsx_baseline_opts {
	const char *store, *name, *why; /* why: NULL                         */
	bool accepts;
	unsigned threads;
};
int nsx_baseline_set(const struct nsx_baseline_opts *o, const char *const *paths, size_t n,
		     struct nsx_err *err) NSX_CHECKED;

#endif
