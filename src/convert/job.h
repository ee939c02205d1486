/* job.h - traces into one output, as large as is wanted at most. */
#ifndef NSX_CONVERT_JOB_H
#define NSX_CONVERT_JOB_H

#include "convert/convert.h"

struct nsx_convert_job {
	const char *const *traces;
	size_t n; /* several: to must be a .pftrace or a .tar               */
	const char *to; /* a name in .tar: an archive, one member a trace, and
			   a manifest that places them                       */
	struct nsx_convert_opts opts; /* but for place and path              */
	int64_t max_bytes; /* of the file: what goes first is dropped, in the
			      order of enum nsx_shed; 0: no bound            */
};
struct nsx_converted {
	struct nsx_convert_counts counts; /* of all                          */
	unsigned shed;		/* what had to go, as bits                   */
	struct nsx_buf notes;	/* what to know of it, a line each           */
	struct nsx_buf warnings; /* damage, a line each                      */
};

/* *ret is the caller's, nsx_converted_done, also after a failure.  Errors: those
 * of reading, of nsx_convert, NSX_E_IO (what cannot be written, or is too large
 * whatever is dropped).
 */
int nsx_convert_run(const struct nsx_convert_job *job,
		    struct nsx_converted *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_converted_done(struct nsx_converted *c);

/* Whether a name ends in suffix, or in suffix.gz. */
bool nsx_convert_is(const char *path, const char *suffix);

#endif
