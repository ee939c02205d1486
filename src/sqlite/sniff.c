/* sniff.c - checks the first bytes of the input and the files beside it. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/open.h"
#include "base/str.h"
#include "sqlite/page_file.h"
#include "sqlite/sniff.h"

#define HEADER 100 /* of SQLite */
#define TAR_AT 257 /* where a tar archive says what it is */

static bool has_suffix(const char *path, const char *suffix)
{
	size_t n = strlen(path), m = strlen(suffix);

	return n >= m && !strcasecmp(path + n - m, suffix);
}

/* The first bytes of other formats, and how to get a trace instead. */
static const struct {
	const char *begin, *what, *instead;
} formats[] = {
	{"version https://", "a pointer of Git LFS, not the file itself",
	 "fetch it with: git lfs pull"},
	{"/annex/objects/", "a pointer of git-annex, not the file itself",
	 "fetch it with: git annex get"},
	{"<", "HTML or XML, which a server may send in place of the file",
	 "download it again"},
	{"NVR", "a report of Nsight Compute, which measures single kernels",
	 "record the whole program with: nsys profile"},
	{"\x1f\x8b", "gzip", "run gunzip on it first"},
	{"\x28\xb5\x2f\xfd", "compressed by zstd", "run zstd -d on it first"},
	{"\xfd" "7zXZ", "compressed by xz", "run unxz on it first"},
	{"BZh", "compressed by bzip2", "run bunzip2 on it first"},
	{"PK\x03\x04", "a zip archive", "run unzip on it first"},
	{"\x89HDF\r\n", "an export as HDF5", NULL},
	{"PAR1", "a table of an export as Parquet", NULL},
	{"ARROW1", "a table of an export as Arrow", NULL},
	{"\xff\xff\xff\xff", "a table of an export as Arrow", NULL},
	{"{", "JSON: an export of nsys as jsonlines, or another profiler's trace", NULL},
	{"[", "JSON: another profiler's trace", NULL},
};

static int refuse_format(const char *path, const char *what, const char *instead,
			 struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is %s; %s", path, what,
			instead ?: "give the .nsys-rep, or export it with: nsys export "
				   "--type sqlite REPORT.nsys-rep");
}

/* Refuses a folder. The message says so if nsys filled it with one file for each table. */
static int refuse_folder(const char *path, struct nsx_err *err)
{
	enum { MOST = 1000 }; /* names examined at most */
	DIR *d = nsx_open_folder(path);
	const struct dirent *e;
	const char *what = NULL;

	for (unsigned n = 0; d && !what && n < MOST && (e = readdir(d)); n++)
		what = has_suffix(e->d_name, ".parquet") ? "an export as parquetdir" :
		       has_suffix(e->d_name, ".arrow") ? "an export as arrowdir" : NULL;
	if (d)
		(void)closedir(d);
	return what ? refuse_format(path, what, NULL, err) :
	       nsx_fail(err, NSX_E_IO, "cannot read '%s': this is a folder; give the trace in "
			"it, or, of the traces of many ranks, the folder to nsys-explain fleet", path);
}

static int refuse_known(const char *path, const unsigned char *head, size_t n, struct nsx_err *err)
{
	for (size_t i = 0; i < ARRAY_LEN(formats); i++)
		if (n >= strlen(formats[i].begin) &&
		    !memcmp(head, formats[i].begin, strlen(formats[i].begin)))
			return refuse_format(path, formats[i].what, formats[i].instead, err);
	if (n >= TAR_AT + 5 && !memcmp(head + TAR_AT, "ustar", 5))
		return refuse_format(path, "a tar archive", "run tar -xf on it first", err);
	return 0;
}

static int sniff_refuse(const char *path, const unsigned char *head, size_t n, struct nsx_err *err)
{
	bool text = true;

	if (refuse_known(path, head, n, err))
		return err->rc;
	if (has_suffix(path, ".nsys-rep") || has_suffix(path, ".qdrep"))
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': its name is that of a report, "
				"but it does not begin as one; copy it again", path);
	if (has_suffix(path, ".qdstrm"))
		return nsx_fail(err, NSX_E_SCHEMA,
				"cannot read '%s': this is a raw stream, not yet a report; import "
				"it with the QdstrmImporter of the nsys that wrote it, and give "
				"the .nsys-rep", path);
	for (size_t i = 0; i < n; i++)
		text = text && (head[i] >= 0x20 || (head[i] && strchr("\t\r\n", head[i])));
	return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is %s, not a SQLite database; "
			"give the .nsys-rep that nsys wrote, or its export", path,
			text ? "a text file" : "a binary file");
}

int nsx_sniff_other(const char *path, struct nsx_err *err)
{
	unsigned char head[TAR_AT + 5];
	int fd = nsx_open(path);
	ssize_t n = fd < 0 ? 0 : pread(fd, head, sizeof(head), 0);

	if (fd >= 0)
		(void)close(fd);
	if (!n)
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': the file is empty; copy it "
				"again", path);
	return n < 0 ? 0 : refuse_known(path, head, (size_t)n, err);
}

bool nsx_file_beside(const char *path, const char *suffix)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct stat st;

	nsx_buf_adds(&b, path);
	nsx_buf_adds(&b, suffix);
	return !stat(b.p, &st) && st.st_size > 0;
}

static void check_size_and_journal(const char *path, const unsigned char *head,
				   struct nsx_sniff *ret)
{
	unsigned page = nsx_be16(head + 16);
	int64_t size = ret->file.st_size;
	int64_t want = (int64_t)nsx_claimed_pages(head) * (page == 1 ? 65536 : page);

	if (want > size)
		snprintf(ret->warning, sizeof(ret->warning),
			 "the file is cut: %lld of %lld bytes are there; what lies beyond is "
			 "missing from this report", (long long)size, (long long)want);
	else if (nsx_file_beside(path, "-wal"))
		snprintf(ret->warning, sizeof(ret->warning),
			 "a write-ahead log lies beside the file and was not "
			 "read: a writer has not finished");
	else if (nsx_file_beside(path, "-journal"))
		snprintf(ret->warning, sizeof(ret->warning),
			 "a rollback journal lies beside the file: its writer "
			 "was interrupted, the content may be inconsistent");
}

static int read_head(int fd, const char *path, struct nsx_sniff *ret, struct nsx_err *err)
{
	unsigned char head[TAR_AT + 5];
	const struct stat *st = &ret->file;
	ssize_t n;

	if (fstat(fd, &ret->file))
		return nsx_fail(err, NSX_E_IO, "cannot stat '%s': %s", path, strerror(errno));
	if (S_ISDIR(st->st_mode))
		return refuse_folder(path, err);
	if (!S_ISREG(st->st_mode))
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': not a regular file; copy it to "
				"one first", path);
	if (!st->st_size)
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': the file is empty; export "
				"the report again", path);
	n = pread(fd, head, sizeof(head), 0);
	if (n < 0)
		return nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", path, strerror(errno));
	if (n < HEADER || memcmp(head, "SQLite format 3", 16))
		return sniff_refuse(path, head, (size_t)n, err);
	check_size_and_journal(path, head, ret);
	return 0;
}

int nsx_sniff_file(const char *path, struct nsx_sniff *ret, struct nsx_err *err)
{
	int rc;

	*ret = (struct nsx_sniff){.fd = nsx_open(path)};
	if (ret->fd < 0)
		return nsx_fail(err, NSX_E_IO, "cannot open '%s': %s", path, strerror(errno));
	rc = read_head(ret->fd, path, ret, err);
	if (rc)
		(void)close(ret->fd);
	return rc;
}
