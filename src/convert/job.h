/* job.h - converts traces into one output of limited size. */
#pragma once

#include "convert/convert.h"

struct nsx_convert_job {
	const char *const *traces;
	size_t n; /* several traces need a `to` that ends in .pftrace or .tar */
	/* .tar: an archive with a member for each trace, and a manifest with their machines. */
	const char *to;
	struct nsx_convert_opts opts; /* place and path are ignored          */
	int64_t max_bytes; /* limit of the file size; to keep it, content is dropped in the order
			      of enum nsx_shed; 0: no limit                  */
};
struct nsx_converted {
	struct nsx_convert_counts counts; /* sum over all traces             */
	unsigned shed;		/* what was dropped, as bits                 */
	struct nsx_buf notes;	/* remarks, a line each                      */
	struct nsx_buf warnings; /* damage, a line each                      */
};

/* Converts the job. Owner of *ret: the caller, nsx_converted_done, even after a failure. Errors:
 * those of reading, of nsx_convert, NSX_E_IO (cannot be written, or too large whatever is left
 * out).
 */
int nsx_convert_run(const struct nsx_convert_job *job,
		    struct nsx_converted *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_converted_done(struct nsx_converted *c);

/* Whether path ends in suffix or in suffix.gz. */
bool nsx_convert_is(const char *path, const char *suffix);
