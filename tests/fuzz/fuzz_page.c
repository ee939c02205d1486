/* fuzz_page.c - reads bytes as the pages of a table.
 *
 * Bits 0 and 1 of the first byte choose the page size, bit 2 whether SQLite reads the same pages,
 * and bits 3 to 7 the reserved bytes at the end of a page. The other bytes are the pages from the
 * second on, which is the root. Page 1 is valid, so that the bytes test the tree and the records
 * and not the check of the header. If both readers accept the pages, they must give the same rows.
 */
#include <sqlite3.h>
#include <sys/mman.h>
#include "fuzz.h"
#include "sqlite/page_record.h"
#include "sqlite/page_tree.h"

enum { NWANTED = 7, ROWID = 7, NSLOTS = 9, MAX_ROWS = 100000, COMPARE = 4 };
static const char schema[] =
	"CREATE TABLE t (c0, c1 REAL DEFAULT 0.0, c2 DEFAULT 'abc', c3, c4, c5,"
	"c6 REAL DEFAULT 7, c7, c8, c9)";
static const char query[] = "SELECT c0, c1, c2, c2, c5, c6, c9, rowid, NULL FROM t";

struct rows {
	uint64_t hash;
	size_t n;
};

static void append_bytes(struct rows *r, const void *p, size_t n)
{
	const uint8_t *b = p;

	for (size_t i = 0; i < n; i++)
		r->hash = (r->hash ^ b[i]) * UINT64_C(0x100000001b3);
}

static int on_row(void *ctx, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	struct rows *r = ctx;

	(void)err;
	CHECK(v[ROWID].u.i == rid);
	for (unsigned i = 0; i < NSLOTS; i++) {
		uint8_t type = (uint8_t)v[i].type;

		append_bytes(r, &type, 1);
		if (type == NSX_V_TEXT || type == NSX_V_BLOB) {
			append_bytes(r, &v[i].len, sizeof(v[i].len));
			append_bytes(r, v[i].u.p, v[i].len);
		} else if (type != NSX_V_NULL) {
			append_bytes(r, &v[i].u, sizeof(v[i].u));
		}
	}
	return ++r->n > MAX_ROWS;
}

static struct nsx_wants wanted_columns(void)
{
	static struct nsx_wanted w[NWANTED] = {
	    {0, 0, false}, {1, 1, true}, {2, 2, false},	 {2, 3, false},
	    {5, 4, false}, {6, 5, true}, {9, 6, false},
	};
	static struct nsx_val absent[NSLOTS] = {
	    [1] = {NSX_V_F64, 0, {0}},
	    [2] = {NSX_V_TEXT, 3, {.p = "abc"}},
	    [3] = {NSX_V_TEXT, 3, {.p = "abc"}},
	    [5] = {NSX_V_F64, 0, {.f = 7}},
	};
	static uint16_t rowid[] = {ROWID};

	return (struct nsx_wants){w, NWANTED, absent, rowid, 1};
}

/* Reads the table with our reader; returns whether it accepted all pages. */
static bool read_tree(const struct nsx_pagefile *f, struct rows *ret)
{
	struct nsx_wants w = wanted_columns();
	struct nsx_leaves leaves;
	struct nsx_decoder *d;
	struct nsx_err err;
	uint8_t *page = malloc(f->page_size + NSX_PAGE_SLACK);
	bool sound;

	CHECK(page && !nsx_leaves_find(f, "t", 2, &leaves, &err));
	d = nsx_decoder_new(f, &w, "t", &err);
	CHECK(d);
	sound = !leaves.damage.rc;
	for (size_t i = 0; i < leaves.n; i++)
		if (nsx_page_get(f, "t", leaves.pages[i], page, &err) ||
		    nsx_decode_leaf(d, page, leaves.pages[i], i == 0, on_row, ret, &err)) {
			sound = false;
			break;
		}
	nsx_decoder_free(d);
	nsx_leaves_done(&leaves);
	free(page);
	return sound;
}

static bool read_sqlite(uint8_t *file, size_t n, struct rows *ret)
{
	static const enum nsx_val_type types[] = {
		[SQLITE_INTEGER] = NSX_V_I64, [SQLITE_FLOAT] = NSX_V_F64,
		[SQLITE_TEXT] = NSX_V_TEXT, [SQLITE_BLOB] = NSX_V_BLOB,
		[SQLITE_NULL] = NSX_V_NULL};
	struct nsx_err err;
	sqlite3_stmt *s = NULL;
	sqlite3 *db;
	int rc;

	CHECK(!sqlite3_open(":memory:", &db));
	CHECK(!sqlite3_deserialize(db, "main", file, (sqlite3_int64)n, (sqlite3_int64)n,
				   SQLITE_DESERIALIZE_READONLY));
	rc = sqlite3_prepare_v2(db, query, -1, &s, NULL);
	while (rc == SQLITE_OK || rc == SQLITE_ROW) {
		struct nsx_val v[NSLOTS] = {0};

		rc = sqlite3_step(s);
		if (rc != SQLITE_ROW)
			break;
		for (int i = 0; i < NSLOTS; i++) {
			v[i].type = types[sqlite3_column_type(s, i)];
			if (v[i].type == NSX_V_I64) {
				v[i].u.i = sqlite3_column_int64(s, i);
			} else if (v[i].type == NSX_V_F64) {
				v[i].u.f = sqlite3_column_double(s, i);
			} else {
				v[i].u.p = sqlite3_column_blob(s, i);
				v[i].len = (uint32_t)sqlite3_column_bytes(s, i);
			}
		}
		if (on_row(ret, v[ROWID].u.i, v, &err))
			break;
	}
	sqlite3_finalize(s);
	sqlite3_close(db);
	return rc == SQLITE_DONE;
}

/* Returns page 1 of a database with the table, for the choices in the first byte. */
static const uint8_t *first_page(uint8_t chooser)
{
	static uint8_t *pages[256];
	int reserved = chooser >> 3;
	sqlite3_int64 n;
	sqlite3 *db;
	char *sql;

	if (pages[chooser])
		return pages[chooser];
	CHECK(!sqlite3_open(":memory:", &db));
	sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserved);
	sql = sqlite3_mprintf("PRAGMA page_size = %u; %s", 512U << (chooser & 3), schema);
	CHECK(!sqlite3_exec(db, sql, NULL, NULL, NULL));
	sqlite3_free(sql);
	pages[chooser] = sqlite3_serialize(db, "main", &n, 0);
	CHECK(pages[chooser]);
	memset(pages[chooser] + 28, 0, 4); /* no number of pages: the file's size is used */
	sqlite3_close(db);
	return pages[chooser];
}

int LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct rows ours = {0}, theirs = {0};
	struct nsx_pagefile *f;
	uint8_t *file;
	char path[64];
	size_t size;
	int fd;

	if (n < 2)
		return 0;
	size = 512U << (p[0] & 3);
	file = malloc(size + n - 1);
	CHECK(file);
	memcpy(file, first_page(p[0]), size);
	memcpy(file + size, p + 1, n - 1);
	fd = memfd_create("fuzz", 0);
	CHECK(fd >= 0 && pwrite(fd, file, size + n - 1, 0) == (ssize_t)(size + n - 1));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	f = nsx_pagefile_open(fd, path, (int64_t)(size + n - 1));
	if (f && read_tree(f, &ours) && p[0] & COMPARE && read_sqlite(file, size + n - 1, &theirs))
		CHECK(ours.n == theirs.n && ours.hash == theirs.hash);
	nsx_pagefile_close(f);
	close(fd);
	free(file);
	return 0;
}
