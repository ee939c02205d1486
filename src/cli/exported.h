/* exported.h - traces that commands are given: exports, or reports of nsys
 * (.nsys-rep), which are exported for as long as it takes.
 */
#ifndef NSX_EXPORTED_H
#define NSX_EXPORTED_H

#include "base/err.h"

struct nsx_export_opts {
	const char *nsys;   /* that exports; NULL: a report is read as it is */
	const char *beside; /* the export is made in this file's folder; NULL,
			       or "-": in TMPDIR, else /tmp                 */
	const char *keep;   /* where it stays; NULL: it is removed          */
	bool replace;	    /* what is at keep                              */
};
struct nsx_exported {
	char *path; /* of the export                                        */
	char *dir;  /* to be removed with it; NULL: nothing is               */
};

/* Writes the tables of a report as nsys export would; what stands at `to` is
 * replaced.  1: what could be read was written, and *err says what is missing.  Errors:
 * those of nsx_report_read and of writing.
 */
int nsx_export(const char *input, const char *to,
	       struct nsx_err *err) NSX_CHECKED;

bool nsx_is_capture(const char *path); /* a report of nsys, by its name or bytes */
/* The length of a trace's name without its suffix. */
size_t nsx_stem(const char *path);

/* An export is itself.  Owner: the caller, nsx_exported_done, also after a
 * failure.  Errors: NSX_E_IO (no nsys: the line to export with is told),
 * NSX_E_STOP.
 */
int nsx_exported_open(const char *input, const struct nsx_export_opts *o,
		      struct nsx_exported *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_exported_done(struct nsx_exported *e); /* zeroed is fine */

#endif
