/* piped.c - "-" as an operand. Input from a pipe is copied to a file in a folder of its own,
 * because a trace is not read sequentially.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/str.h"
#include "cli/piped.h"

static char *folder, *file; /* NULL: nothing was read from stdin              */

static int piped_copy(struct nsx_err *err)
{
	int fd = open(file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	static char piece[1 << 16];
	bool ok = fd >= 0;
	ssize_t n = 1;
	int rc = 0;

	while (ok && n && !(rc = nsx_stopped(err))) {
		n = read(STDIN_FILENO, piece, sizeof(piece));
		ok = n < 0 ? errno == EINTR : nsx_write_all(fd, piece, (size_t)n);
	}
	if (fd >= 0 && close(fd))
		ok = false;
	if (!rc && !ok)
		rc = nsx_fail(err, NSX_E_IO, "cannot keep standard input in '%s': %s; "
			      "TMPDIR names another folder", file, strerror(errno));
	return rc;
}

int nsx_piped(char **ret, struct nsx_err *err)
{
	const char *tmp = getenv("TMPDIR");
	struct nsx_buf name = {0};
	struct stat st;

	if (file)
		return nsx_fail(err, NSX_E_USAGE, "'-' can stand once");
	if (isatty(STDIN_FILENO))
		return nsx_fail(err, NSX_E_USAGE, "'-' is what is piped in, and "
				"standard input is a terminal");
	nsx_buf_printf(&name, "%s/nsys-explain-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	folder = nsx_strdup(name.p);
	if (mkdtemp(folder)) {
		nsx_buf_clear(&name);
		nsx_buf_printf(&name, "%s/stdin", folder);
		file = name.p;
	} else {
		(void)nsx_fail(err, NSX_E_IO, "cannot make a folder for standard "
			       "input, '%s': %s", folder, strerror(errno));
		nsx_buf_done(&name);
		return err->rc;
	}
	*ret = file;
	/* A regular file needs no copy. */
	if (!fstat(STDIN_FILENO, &st) && S_ISREG(st.st_mode) &&
	    !symlink("/proc/self/fd/0", file) && !access(file, R_OK))
		return 0;
	(void)unlink(file);
	return piped_copy(err);
}

bool nsx_is_piped(const char *path)
{
	return file && !strcmp(path, file);
}

void nsx_piped_done(void)
{
	if (file)
		(void)unlink(file);
	if (folder)
		(void)rmdir(folder);
	free(file);
	free(folder);
	file = folder = NULL;
}
