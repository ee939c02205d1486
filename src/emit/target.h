/* target.h - one file, named by the user, that is there whole or not at all.
 *
 * What is at its name is replaced only where it is ours, or empty; anything else
 * is the user's, and so are the inputs of this run whatever is in them.  What is
 * no plain file (a pipe, /dev/null) is written to directly.  What a killed run
 * left beside it goes with the next that is finished.
 */
#ifndef NSX_EMIT_TARGET_H
#define NSX_EMIT_TARGET_H

#include "emit/folder.h"

struct nsx_target {
	const char *path;
	const char *const *inputs; /* what this run reads                    */
	size_t ninputs;
	bool (*is_ours)(const char *path); /* by what is in it; NULL: what is
					      there was judged before, or may
					      be replaced whatever it is     */
	const char *way_out; /* told where it is not; NULL: "move it away or
				give another name"                           */
	int fd;		  /* to be written to                                */
	char *place;	  /* where it will be; NULL: it is there already     */
	char *unfinished; /* where it is until then; NULL: in its place      */
	int lock; /* while it is there: fd again, which keeps it locked, so that
		     other runs do not take it for what a killed one left    */
};

/* Whether it may be written, which is best asked before the work. Errors: IO. */
int nsx_target_check(const struct nsx_target *t, struct nsx_err *err)
	NSX_CHECKED;
/* Asks again, and opens fd. Errors: IO. */
int nsx_target_open(struct nsx_target *t, struct nsx_err *err) NSX_CHECKED;
/* Closes fd, unless it is -1, and puts the file in its place. Errors: IO. */
int nsx_target_commit(struct nsx_target *t, struct nsx_err *err) NSX_CHECKED;
/* Lets go; without commit before, nothing stays. Zeroed with fd -1 is fine. */
void nsx_target_done(struct nsx_target *t);

/* All of it at once: n bytes, or what f's writer writes. Errors: IO; also those
 * of the writer.
 */
int nsx_target_write(struct nsx_target *t, const void *bytes, size_t n,
		     struct nsx_err *err) NSX_CHECKED;
int nsx_target_fill(struct nsx_target *t, const struct nsx_out_file *f,
		    struct nsx_err *err) NSX_CHECKED;

#endif
