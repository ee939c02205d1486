/* err.h - how a failure travels.
 *
 * A function that can fail returns 0 or a negative nsx_rc and has then filled
 * the caller's struct nsx_err, its last argument.  The lowest function that
 * knows the subject writes the message; callers may prefix it.  Nobody below
 * main prints or exits.
 *
 * Message grammar: lower case, what failed, subject in single quotes, why,
 * then what to do; no newline, no full stop.
 */
#ifndef NSX_ERR_H
#define NSX_ERR_H

#include "base/base.h"

enum nsx_rc {
	NSX_OK = 0,
	NSX_E_IO = -1,	   /* a file would not open, read or write       */
	NSX_E_DB = -2,	   /* SQLite refused; message names the subject  */
	NSX_E_SCHEMA = -3, /* not an export, or one we cannot use at all */
	NSX_E_DATA = -4,   /* a table's content is damaged               */
	NSX_E_NOMEM = -5,  /* a data-sized allocation; message says size */
	NSX_E_STOP = -6,   /* interrupted                                */
	NSX_E_USAGE = -7,  /* an argument or an input file of the user's */
	NSX_E_DENIED = -8, /* access to the data is refused               */
	NSX_E_NAME = -9,   /* SQL names a table or column that is not there */
	NSX_E_SLOW = -10,  /* the time limit was reached                  */
	NSX_E_CLOSED = -11, /* the reader of our output has gone          */
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

/* Writes all n bytes, also after interrupted or partial writes. False: failed, errno (not
 * 0) says why.
 */
bool nsx_write_all(int fd, const void *bytes, size_t n) NSX_CHECKED;

/* Prefixes the message, keeps and returns the code. */
int nsx_wrap(struct nsx_err *err, const char *fmt, ...) NSX_PRINTF(2, 3);

/* Set to 1 by the signal handler of main; long loops poll it through nsx_stopped,
 * which fills *err with NSX_E_STOP and returns non-zero when it is set.
 */
extern volatile int nsx_stop_flag;
int nsx_stopped(struct nsx_err *err);

#endif
