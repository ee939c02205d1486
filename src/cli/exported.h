/* exported.h - the traces given to commands: exports, or nsys reports (.nsys-rep), which are
 * exported temporarily.
 */
#pragma once

#include "base/arena.h"

struct nsx_export_opts {
	const char *nsys;   /* the nsys to export with; NULL: read reports directly */
	/* The folder of this file receives the export; NULL or "-": TMPDIR or, if that is not set,
	 * /tmp.
	 */
	const char *beside;
	const char *keep;   /* path to keep the export at; NULL: remove it  */
	bool replace;	    /* replace a file that exists at the path `keep` */
};
struct nsx_exported {
	char *path; /* path of the export                                   */
	char *dir;  /* folder to remove as well; NULL: none                  */
};

/* Writes the tables of a report as nsys export would, replacing `to`. Returns 1 if only the
 * readable part was written; *err then says what is missing. Errors: those of nsx_report_read and
 * of writing.
 */
int nsx_export(const char *input, const char *to, struct nsx_err *err) NSX_CHECKED;

bool nsx_is_capture(const char *path); /* an nsys report, by name or content */
/* The default name of an output: "dir/run.sqlite" gives "run" and the suffix. Owner: the arena. */
const char *nsx_default_out(const char *path, const char *suffix, struct nsx_arena *a);

/* Opens a trace; an export is used as it is. Owner: the caller, nsx_exported_done, even after a
 * failure. Errors: NSX_E_IO (without nsys it gives the command to export with), NSX_E_STOP.
 */
int nsx_exported_open(const char *input, const struct nsx_export_opts *o,
		      struct nsx_exported *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_exported_done(struct nsx_exported *e); /* zeroed is allowed */
