/* fleet_run.h - shared by the two programs with a fleet command: options, and all steps after the
 * digests are made.
 */
#pragma once

#include "cli/opt.h"
#include "fleet/input.h"
#include "fleet/mesh.h"

struct nsx_fleet_run {
	const char *out, *partial, *detail, *rank_regex, *mesh;
	int64_t asked_jobs, min_ranks;
	bool json, md, html, quiet, show_hosts, all_rows;
	struct nsx_fleet_inputs inputs;
	struct nsx_mesh axes; /* mesh of ranks, for --mesh */
	struct nsx_digest_opts digest;
	unsigned jobs;
	struct nsx_left_out left_out; /* inputs that could not be read       */
};
extern const struct nsx_opt nsx_fleet_opts[];
enum { NSX_NFLEET_OPTS = 13 };

#define NSX_FLEET_COMMAND                                                     \
	.name = "fleet", .usage = "INPUT... [-o DIR] [OPTIONS]",              \
	.summary = "explain many ranks: who comes late and why; traces " \
		   "or digests",                                              \
	.doc = nsx_fleet_doc, .examples = nsx_fleet_examples,                 \
	.opts = nsx_fleet_opts, .nopts = NSX_NFLEET_OPTS,                     \
	NSX_ARGS(struct nsx_fleet_run, .digest = {.rank = -1, .threads = 1})
extern const char nsx_fleet_doc[], nsx_fleet_examples[];

/* Reads the options and lists the inputs. */
int nsx_fleet_run_begin(struct nsx_fleet_run *r, int n, char **operands, struct nsx_err *err);
void nsx_fleet_run_done(struct nsx_fleet_run *r);
/* Prints the inputs that were left out on stderr, a line each. */
void nsx_fleet_run_say(const struct nsx_left_out *x);
/* Takes over the digests and writes the merged digest, or the report. Returns the exit code, or an
 * error.
 */
int nsx_fleet_run_finish(struct nsx_fleet_run *r, struct nsx_digest **v,
			 size_t n, struct nsx_err *err);
