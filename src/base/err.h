/* err.h - error codes and messages.
 *
 * A function that can fail returns 0 on success. On failure it returns a negative nsx_rc and fills
 * the caller's struct nsx_err, its last argument. The lowest function that knows the subject
 * writes the message; callers may prefix it. Only code in cli/ prints or exits.
 *
 * Message grammar: lower case, what failed, subject in single quotes, why,
 * then what to do; no newline, no full stop.
 */
#pragma once

#include "base/base.h"

enum nsx_rc {
	NSX_OK = 0,
	NSX_E_IO = -1,	   /* a file cannot be opened, read or written   */
	NSX_E_DB = -2,	   /* SQLite failed; the message names the subject */
	NSX_E_SCHEMA = -3, /* not an export, or one without usable tables */
	NSX_E_DATA = -4,   /* a table's content is damaged               */
	NSX_E_NOMEM = -5,  /* out of memory; the message has the size    */
	NSX_E_STOP = -6,   /* interrupted                                */
	NSX_E_USAGE = -7,  /* an argument or file of the user is wrong   */
	NSX_E_DENIED = -8, /* access to the data is refused               */
	NSX_E_NAME = -9,   /* SQL names a table or column that does not exist */
	NSX_E_SLOW = -10,  /* the time limit was reached                  */
	NSX_E_CLOSED = -11, /* the reader of our output closed the pipe   */
};

/* Whether rc means that a table ended early; the rows read before that are used. */
static inline bool nsx_is_damage(int rc)
{
	return rc == NSX_E_DATA || rc == NSX_E_DB;
}

struct nsx_err {
	enum nsx_rc rc;
	char msg[1024];
};

/* Sets *err and returns rc.  Control characters in the message are replaced. */
int nsx_fail(struct nsx_err *err, enum nsx_rc rc, const char *fmt, ...) NSX_PRINTF(3, 4);

/* Like nsx_fail for a failed write; appends the system's text for `error`, an errno. The
 * code is NSX_E_IO, or NSX_E_CLOSED for a pipe that nobody reads any more.
 */
int nsx_fail_write(struct nsx_err *err, int error, const char *fmt, ...) NSX_PRINTF(3, 4);

/* Writes all n bytes; goes on after interrupted or partial writes. Returns false on failure, with
 * the reason in errno.
 */
bool nsx_write_all(int fd, const void *bytes, size_t n) NSX_CHECKED;

/* Prefixes the message of *err; returns its code unchanged. */
int nsx_wrap(struct nsx_err *err, const char *fmt, ...) NSX_PRINTF(2, 3);

/* The signal handler of main sets this to 1. Long loops poll it through nsx_stopped, which then
 * fills *err with NSX_E_STOP and returns non-zero.
 */
extern volatile int nsx_stop_flag;
int nsx_stopped(struct nsx_err *err);
