/* fuzz.h - what the targets share: a whole run over a database file. */
#ifndef NSX_FUZZ_H
#define NSX_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "nsx/emit.h"
#include "nsx/pass.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A file name of this process in memory, for targets that need a path. */
static inline const char *fuzz_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/nsx-fuzz-%d.sqlite",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm", getpid());
	return path;
}

/* Opens, loads, runs every pass and prints every format. Whatever the input,
 * this must end in a report or in one message.
 */
static inline void fuzz_run(const char *path)
{
	struct nsx_err err = {0};
	struct nsx_db *db;
	struct nsx_schema schema;
	struct nsx_trace *trace = NULL;
	struct nsx_report *r = NULL;
	struct nsx_load_opts load = {.threads = 2};
	struct nsx_opts opts = {.path = path, .kernel_limit = 30, .threads = 2,
				.nvtx_kernel_map = true,
				.nvtx_coverage_warn = 0.7};
	FILE *out = fopen("/dev/null", "w");
	int rc = nsx_db_open(path, &db, &err);

	if (!rc) {
		rc = nsx_schema_probe(db, &schema, &err);
		if (!rc) {
			rc = nsx_trace_load(&schema, &load, &trace, &err);
			if (!rc)
				rc = nsx_run_passes(trace, &opts, &r, &err);
			if (!rc && (nsx_emit_json(r, out, &err) ||
				    nsx_emit_md(r, out, &err)))
				abort();
			for (size_t i = 0; !rc && i < r->nsections; i++)
				for (size_t k = 0; k < r->sections[i].ntables;
				     k++)
					if (nsx_emit_csv(
						    r->sections[i]
							    .tables[k]->layout,
						    r->sections[i].tables[k],
						    out, &err))
						abort();
			nsx_report_free(r);
			nsx_trace_free(trace);
			nsx_schema_done(&schema);
		}
		nsx_db_close(db);
	}
	if (rc && (!err.msg[0] || strpbrk(err.msg, "\n\r")))
		abort(); /* a failure without its one line */
	fclose(out);
}

#endif
