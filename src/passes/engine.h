/* engine.h - three files in which the user describes the traced engine. */
#pragma once

#include "facts/steps/limit.h"
#include "report/opts.h"

struct nsx_engine {
	/* The paths of the three files; NULL: not given. */
	const char *classes_path, *model_path, *steps_path;
	struct nsx_phase_map *classes;
	struct nsx_step_patterns *steps;
	struct nsx_llm model;
};

/* Reads the given files; opts borrows their content. Errors: NSX_E_USAGE. Owner: the caller,
 * nsx_engine_done, even after a failure.
 */
int nsx_engine_read(struct nsx_engine *e, struct nsx_opts *opts, struct nsx_err *err) NSX_CHECKED;
/* Appends the options as words of a command line. */
void nsx_engine_say(const struct nsx_engine *e, struct nsx_buf *b);
void nsx_engine_done(struct nsx_engine *e);
