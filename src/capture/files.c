/* files.c - moves, compresses and removes files. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include <zstd.h>
#include "capture/capture.h"

int64_t nsx_file_size(const char *path)
{
	struct stat st;

	return stat(path, &st) ? -1 : (int64_t)st.st_size;
}

int64_t nsx_file_room_mb(const char *path)
{
	struct statvfs st;

	if (statvfs(path, &st))
		return -1;
	return (int64_t)((uint64_t)st.f_bavail * st.f_frsize >> 20);
}

const char *nsx_capture_tmp(void)
{
	const char *own = getenv("NSYS_TMPDIR"), *tmp = getenv("TMPDIR");

	return own && *own ? own : tmp && *tmp ? tmp : "/tmp";
}

static int files_copy(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	ssize_t n = -1;

	if (in >= 0 && out >= 0)
		while ((n = sendfile(out, in, NULL, 1 << 30)) > 0)
			;
	if (in >= 0)
		close(in);
	if (out >= 0 && close(out))
		n = -1;
	return n < 0 ? errno : 0;
}

int nsx_file_move(const char *from, const char *to, struct nsx_err *err)
{
	int rc = 0;

	if (!rename(from, to))
		return 0;
	rc = errno;
	if (rc == EXDEV) {
		rc = files_copy(from, to);
		unlink(rc ? to : from);
	}
	return rc ? nsx_fail(err, NSX_E_IO, "cannot move '%s' to '%s': %s", from, to, strerror(rc))
		  : 0;
}

/* Compresses all of `in` to `out`; returns NULL, or the error's text. */
static const char *compress_stream(ZSTD_CCtx *z, FILE *in, FILE *out)
{
	static char from[1 << 17], to[1 << 17];
	ZSTD_EndDirective end = ZSTD_e_continue;

	while (end == ZSTD_e_continue) {
		ZSTD_inBuffer i = { from, fread(from, 1, sizeof(from), in), 0 };
		size_t left;

		if (ferror(in))
			return strerror(errno);
		if (i.size < sizeof(from))
			end = ZSTD_e_end;
		do {
			ZSTD_outBuffer o = { to, sizeof(to), 0 };

			left = ZSTD_compressStream2(z, &o, &i, end);
			if (ZSTD_isError(left))
				return ZSTD_getErrorName(left);
			if (fwrite(to, 1, o.pos, out) != o.pos)
				return strerror(errno);
		} while (end == ZSTD_e_end ? left : i.pos < i.size);
	}
	return NULL;
}

int nsx_file_compress(const char *from, const char *to, struct nsx_err *err)
{
	FILE *in = fopen(from, "rbe"), *out = in ? fopen(to, "wbe") : NULL;
	const char *why = out ? NULL : strerror(errno);
	ZSTD_CCtx *z = ZSTD_createCCtx();

	if (!z)
		nsx_die_of_memory(0);
	ZSTD_CCtx_setParameter(z, ZSTD_c_checksumFlag, 1);
	ZSTD_CCtx_setPledgedSrcSize(z, (unsigned long long)nsx_file_size(from));
	if (out)
		why = compress_stream(z, in, out);
	ZSTD_freeCCtx(z);
	if (in)
		(void)fclose(in);
	if (out && fclose(out) && !why)
		why = strerror(errno);
	if (!why)
		return 0;
	unlink(to);
	return nsx_fail(err, NSX_E_IO, "cannot compress '%s': %s", from, why);
}

static int remove_one(const char *path, const struct stat *st NSX_UNUSED,
		      int type NSX_UNUSED, struct FTW *at NSX_UNUSED)
{
	return remove(path);
}

int nsx_file_remove_tree(const char *path)
{
	int rc = nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS);

	return rc || !access(path, F_OK);
}
