/* err.c - fills struct nsx_err; the interrupt flag; complete writes. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>
#include "base/err.h"
#include "base/str.h"

volatile int nsx_stop_flag;

int nsx_fail(struct nsx_err *err, enum nsx_rc rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	nsx_make_safe(err->msg);
	err->rc = rc;
	return rc;
}

int nsx_fail_write(struct nsx_err *err, int error, const char *fmt, ...)
{
	char what[sizeof(err->msg)];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(what, sizeof(what), fmt, ap);
	va_end(ap);
	return nsx_fail(err, error == EPIPE ? NSX_E_CLOSED : NSX_E_IO, "%s: %s",
			what, strerror(error));
}

bool nsx_write_all(int fd, const void *bytes, size_t n)
{
	const char *p = bytes;

	while (n) {
		ssize_t done;

		errno = 0;
		done = write(fd, p, n);
		if (done <= 0 && errno != EINTR) {
			errno = errno ? errno : EIO;
			return false;
		}
		if (done > 0) {
			p += done;
			n -= (size_t)done;
		}
	}
	return true;
}

int nsx_wrap(struct nsx_err *err, const char *fmt, ...)
{
	char old[sizeof(err->msg)];
	va_list ap;
	size_t n;

	memcpy(old, err->msg, sizeof(old));
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof(err->msg), fmt, ap);
	va_end(ap);
	nsx_make_safe(err->msg);
	n = strlen(err->msg);
	snprintf(err->msg + n, sizeof(err->msg) - n, ": %.*s", (int)sizeof(old) - 1, old);
	return err->rc;
}

int nsx_stopped(struct nsx_err *err)
{
	if (!__atomic_load_n(&nsx_stop_flag, __ATOMIC_RELAXED))
		return 0;
	return nsx_fail(err, NSX_E_STOP, "interrupted; nothing was written");
}
