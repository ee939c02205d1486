/* piped.c - "-" as an operand. Input from a pipe is copied to a file without a name, which becomes
 * standard input, because a trace is not read sequentially.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "cli/piped.h"

static char piped_path[] = "/dev/stdin";
static bool is_read;

/* Copies the input to a file. Waits for input in steps, because a signal just before read() would
 * not interrupt it.
 */
static int copy_stdin_to(int fd, struct nsx_err *err)
{
	enum { STEP_MS = 100 };
	struct pollfd p = {.fd = STDIN_FILENO, .events = POLLIN};
	static char piece[1 << 16];
	ssize_t n = 1;

	while (n) {
		if (nsx_stopped(err))
			return err->rc;
		if (poll(&p, 1, STEP_MS) <= 0)
			continue;
		n = read(STDIN_FILENO, piece, sizeof(piece));
		if (n < 0 ? errno != EINTR : !nsx_write_all(fd, piece, (size_t)n))
			return NSX_E_IO;
	}
	return dup2(fd, STDIN_FILENO) == STDIN_FILENO ? 0 : NSX_E_IO;
}

static int piped_copy(struct nsx_err *err)
{
	const char *tmp = getenv("TMPDIR");
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf name = {0};
	int fd, rc;

	nsx_buf_printf(&name, "%s/nsys-explain-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	fd = mkostemp(name.p, O_CLOEXEC);
	rc = fd < 0 || unlink(name.p) ? NSX_E_IO : copy_stdin_to(fd, err);
	if (fd >= 0 && close(fd))
		rc = rc ? rc : NSX_E_IO;
	if (rc == NSX_E_IO)
		(void)nsx_fail(err, rc, "cannot keep standard input in '%s': %s; TMPDIR names "
			       "another folder", name.p, strerror(errno));
	return rc;
}

int nsx_piped(char **ret, struct nsx_err *err)
{
	struct stat st;

	if (is_read)
		return nsx_fail(err, NSX_E_USAGE, "'-' can stand once");
	if (isatty(STDIN_FILENO))
		return nsx_fail(err, NSX_E_USAGE, "'-' is what is piped in, and "
				"standard input is a terminal");
	is_read = true;
	*ret = piped_path;
	/* A regular file needs no copy. */
	return !fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode) && !access(piped_path, R_OK) ?
		       0 : piped_copy(err);
}

bool nsx_is_piped(const char *path)
{
	return is_read && !strcmp(path, piped_path);
}
