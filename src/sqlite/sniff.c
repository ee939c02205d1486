/* sniff.c - checks the first bytes of the input and the files beside it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/open.h"
#include "base/str.h"
#include "sqlite/sniff.h"

#define HEADER 100

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n >= m && !strcasecmp(path + n - m, suffix);
}

static int refuse_capture(const char *path, struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_SCHEMA,
			"cannot read '%s': its name is that of a report, but it "
			"does not begin as one; copy it again", path);
}

static int refuse(const char *path, const unsigned char *head, size_t n,
		  struct nsx_err *err)
{
	bool text = true;

	if (has_suffix(path, ".nsys-rep") || has_suffix(path, ".qdrep"))
		return refuse_capture(path, err);
	if (has_suffix(path, ".qdstrm"))
		return nsx_fail(err, NSX_E_SCHEMA,
				"cannot read '%s': this is a raw stream, not yet "
				"a report; import it with the QdstrmImporter of "
				"the nsys that wrote it, and give the .nsys-rep",
				path);
	for (size_t i = 0; i < n; i++)
		text = text && (head[i] >= 0x20 || (head[i] &&
						    strchr("\t\r\n", head[i])));
	if (n >= 2 && head[0] == 0x1f && head[1] == 0x8b)
		return nsx_fail(err, NSX_E_SCHEMA,
				"cannot read '%s': this is gzip; run gunzip "
				"on it first",
				path);
	return nsx_fail(err, NSX_E_SCHEMA,
			"cannot read '%s': this is %s, not a SQLite database; "
			"make one with: nsys export --type sqlite REPORT.nsys-rep",
			path, text ? "a text file" : "a binary file");
}

bool nsx_file_beside(const char *path, const char *suffix)
{
	struct nsx_buf b = {0};
	struct stat st;
	bool yes;

	nsx_buf_adds(&b, path);
	nsx_buf_adds(&b, suffix);
	yes = !stat(b.p, &st) && st.st_size > 0;
	nsx_buf_done(&b);
	return yes;
}

/* The file size according to the header; 0 if it does not say. */
static int64_t declared_size(const unsigned char *h)
{
	int64_t page = h[16] << 8 | h[17];
	int64_t pages = (int64_t)h[28] << 24 | h[29] << 16 | h[30] << 8 | h[31];
	bool valid = !memcmp(h + 24, h + 92, 4); /* change counter = valid-for */

	return valid ? (page == 1 ? 65536 : page) * pages : 0;
}

static void look_for_trouble(const char *path, const unsigned char *head,
			     struct nsx_sniff *ret)
{
	int64_t want = declared_size(head), size = ret->file.st_size;

	if (want > size)
		snprintf(ret->warning, sizeof(ret->warning),
			 "the file is cut: %lld of %lld bytes are there; "
			 "what lies beyond is missing from this report",
			 (long long)size, (long long)want);
	else if (nsx_file_beside(path, "-wal"))
		snprintf(ret->warning, sizeof(ret->warning),
			 "a write-ahead log lies beside the file and was not "
			 "read: a writer has not finished");
	else if (nsx_file_beside(path, "-journal"))
		snprintf(ret->warning, sizeof(ret->warning),
			 "a rollback journal lies beside the file: its writer "
			 "was interrupted, the content may be inconsistent");
}

static int read_head(int fd, const char *path, struct nsx_sniff *ret,
		     struct nsx_err *err)
{
	unsigned char head[HEADER];
	const struct stat *st = &ret->file;
	ssize_t n;

	if (fstat(fd, &ret->file))
		return nsx_fail(err, NSX_E_IO, "cannot stat '%s': %s", path,
				strerror(errno));
	if (S_ISDIR(st->st_mode))
		return nsx_fail(err, NSX_E_IO,
				"cannot read '%s': this is a folder; give the "
				".sqlite file in it, or, of the traces of many "
				"ranks, the folder to nsys-explain fleet",
				path);
	if (!S_ISREG(st->st_mode))
		return nsx_fail(err, NSX_E_IO,
				"cannot read '%s': not a regular file; copy it "
				"to one first",
				path);
	if (!st->st_size)
		return nsx_fail(err, NSX_E_SCHEMA,
				"cannot read '%s': the file is empty; export "
				"the report again",
				path);
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", path,
				strerror(errno));
	if (n < HEADER || memcmp(head, "SQLite format 3", 16))
		return refuse(path, head, (size_t)n, err);
	look_for_trouble(path, head, ret);
	return 0;
}

int nsx_sniff_file(const char *path, struct nsx_sniff *ret,
		   struct nsx_err *err)
{
	int rc;

	*ret = (struct nsx_sniff){.fd = nsx_open(path)};
	if (ret->fd < 0)
		return nsx_fail(err, NSX_E_IO, "cannot open '%s': %s", path,
				strerror(errno));
	rc = read_head(ret->fd, path, ret, err);
	if (rc)
		(void)close(ret->fd);
	return rc;
}
