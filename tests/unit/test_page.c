/* test_page.c - the page decoder gives the cells that SQLite gives. */
#include "scan_compare.h"

/* Makes a database from sql and compares all its tables. The page decoder must accept `taken` of
 * them.
 */
static void check(const char *sql, unsigned taken)
{
	char *path = scratch("made.sqlite");

	make_db(path, sql);
	for (unsigned nparts = 1; nparts <= 5; nparts += 2)
		assert_int_equal(compare_file(path, nparts), taken);
	unlink(path);
}

/* Makes a table with n rows and cells of all kinds. */
#define MIXED                                                                  \
	"CREATE TABLE t(a INTEGER, b REAL, c TEXT, d BLOB, e, f INT);"         \
	"WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM r "        \
	"WHERE i < %d) INSERT INTO t SELECT "                                  \
	"CASE i %% 7 WHEN 0 THEN NULL ELSE (i*i*i) << (i %% 45) END,"          \
	"CASE i %% 3 WHEN 0 THEN i ELSE i * 0.37 END,"                         \
	"CASE i %% 5 WHEN 0 THEN NULL ELSE substr('abcdefghijklmnop',"         \
	"i %% 11, i %% 13) END, zeroblob(i %% 9), CASE i %% 4 WHEN 0 THEN i "  \
	"WHEN 1 THEN i / 3.0 WHEN 2 THEN 'x' || i ELSE x'00ff10' END,"         \
	"i %% 3 FROM r;"

TEST(page_sizes)
{
	for (int size = 512; size <= 65536; size *= 2)
		for (int vacuum = 0; vacuum <= 2; vacuum++) {
			char sql[2048];

			snprintf(sql, sizeof(sql),
			    "PRAGMA page_size=%d;PRAGMA auto_vacuum=%d;" MIXED,
			    size, vacuum, 20000);
			check(sql, 1);
		}
}

TEST(integers_of_every_width)
{
	struct nsx_buf b = {0};

	nsx_buf_adds(&b, "CREATE TABLE t(a INTEGER, b REAL, c);");
	for (int bits = 0; bits < 64; bits++)
		for (int d = -1; d <= 1; d++) {
			int64_t x = (int64_t)((UINT64_C(1) << bits) + d);

			nsx_buf_printf(&b, "INSERT INTO t VALUES(%lld,%lld,%lld);",
			    (long long)x, (long long)x, (long long)~x);
		}
	nsx_buf_adds(&b, "INSERT INTO t VALUES(0.5, 9e999, -9e999),"
			 "(1e300, -0.0, 5e-324), (-0.0, 2.0, -3.0);");
	check(b.p, 1);
	nsx_buf_done(&b);
}

TEST(affinities)
{
	check("CREATE TABLE t(a REAL, b DOUBLE PRECISION, c FLOAT, d FLOATING POINT, e NUMERIC, f, "
	      "g BLOB, h CHARREAL, i REALBLOB, j DECIMAL(10,5), k 'double');INSERT INTO t "
	      "VALUES(1,1,1,1,1,1,1,1,1,1,1),(0,0,0,0,0,0,0,0,0,0,0), "
	      "(-70000,-70000,-70000,-70000,-70000,-70000,-70000,-70000,-70000,-70000,-70000),"
	      "('x','x','x','x','x','x','x','x','x','x','x'),"
	      "(1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5,1.5);", 1);
}

TEST(added_columns)
{
	check("CREATE TABLE t(a INTEGER, b TEXT);INSERT INTO t VALUES(1,'x'),(2,NULL);ALTER TABLE "
	      "t ADD COLUMN c;ALTER TABLE t ADD COLUMN d INTEGER DEFAULT 7;ALTER TABLE t ADD "
	      "COLUMN e INTEGER DEFAULT -9223372036854775808;ALTER TABLE t ADD COLUMN f REAL "
	      "DEFAULT 7;ALTER TABLE t ADD COLUMN g TEXT DEFAULT 'it''s';ALTER TABLE t ADD COLUMN "
	      "h DEFAULT '';ALTER TABLE t ADD COLUMN i DEFAULT NULL;ALTER TABLE t ADD COLUMN j "
	      "DEFAULT (12);ALTER TABLE t ADD COLUMN k NUMERIC NOT NULL DEFAULT -1;INSERT INTO "
	      "t(a) VALUES(3);ALTER TABLE t ADD COLUMN l INTEGER DEFAULT 4;INSERT INTO t(a,l) "
	      "VALUES(4,5);", 1);
}

/* Tables with rare forms of default values are left to SQLite. */
TEST(other_defaults_go_to_sqlite)
{
	static const char *const defaults[] = {
	    "REAL DEFAULT 1.5",
	    "BLOB DEFAULT x'01'",
	    "TEXT DEFAULT 5",
	    "INTEGER DEFAULT '5'",
	    "DEFAULT TRUE",
	    "DEFAULT \"abc\"",
	    "DEFAULT 0x10",
	    "NUM DEFAULT 'it'",
	    "DEFAULT +5",
	    "REAL DEFAULT '7'",
	    "DEFAULT 99999999999999999999",
	};
	char sql[512];

	for (size_t i = 0; i < ARRAY_LEN(defaults); i++) {
		snprintf(sql, sizeof(sql), "CREATE TABLE t(a); INSERT INTO t VALUES(1);ALTER TABLE "
			 "t ADD COLUMN b %s;INSERT INTO t VALUES(2,3)", defaults[i]);
		check(sql, 0);
	}
}

TEST(overflow)
{
	for (int size = 512; size <= 65536; size *= 4) {
		char sql[2048];

		snprintf(sql, sizeof(sql), "PRAGMA page_size=%d;CREATE TABLE t(id INTEGER PRIMARY "
		    "KEY, s TEXT, n INT,b BLOB, x REAL, z INT);INSERT INTO t(s,n,b,x) "
		    "VALUES(hex(zeroblob(524288)),1,zeroblob(99999),2.5), ('a',2,x'11',7),"
		    "('',hex(zeroblob(300)),'',hex(zeroblob(70000)));WITH RECURSIVE r(i) AS "
		    "(SELECT 1 UNION ALL SELECT i+1 FROM r WHERE i < 3000) INSERT INTO "
		    "t(s,n,b,x,z) SELECT substr(hex(zeroblob(i)), 1, i), i,zeroblob(i %% 700), i, "
		    "-i FROM r;", size);
		check(sql, 1);
	}
}

/* Records whose head is longer than the part that stays on the page. */
TEST(wide_tables)
{
	for (int n = 20; n <= 240; n += 44) {
		struct nsx_buf b = {0};

		nsx_buf_adds(&b, "PRAGMA page_size=512;CREATE TABLE t(");
		for (int i = 0; i < n; i++)
			nsx_buf_printf(&b, "%sc%d %s", i ? "," : "", i, i % 5 ? "INTEGER" : "");
		nsx_buf_adds(&b, ");");
		for (int r = 0; r < 60; r++) {
			nsx_buf_adds(&b, "INSERT INTO t VALUES(");
			for (int i = 0; i < n; i++)
				nsx_buf_printf(&b, (i + r) % 11
						       ? "%s%d"
						       : "%shex(zeroblob(%d))",
					       i ? "," : "", i * r % 190);
			nsx_buf_adds(&b, ");");
		}
		check(b.p, 1);
		nsx_buf_done(&b);
	}
}

TEST(row_ids)
{
	check("CREATE TABLE t(id INTEGER PRIMARY KEY, a);INSERT INTO t "
	      "VALUES(-9223372036854775808,1),(-7,2),(0,3),"
	      "(5,4),(1000000,5),(9223372036854775807,6);CREATE TABLE u(a, id INTEGER PRIMARY KEY "
	      "AUTOINCREMENT, b);INSERT INTO u VALUES(1,NULL,2),(3,NULL,4);CREATE TABLE d(id "
	      "INTEGER PRIMARY KEY DESC, a);INSERT INTO d VALUES(5,1),(NULL,2),(3,3);CREATE TABLE "
	      "i(id INT PRIMARY KEY, a);INSERT INTO i VALUES(5,1),(3,3);CREATE TABLE p(a INTEGER, "
	      "b INTEGER, PRIMARY KEY(a,b));INSERT INTO p VALUES(5,1),(3,3);CREATE TABLE s(a "
	      "INTEGER, PRIMARY KEY(a));INSERT INTO s VALUES(5),(3);CREATE TABLE h(rowid TEXT, "
	      "_rowid_ INT); INSERT INTO h VALUES('x',3),('y',4);CREATE TABLE x(a INT, b INT); "
	      "CREATE INDEX xx ON x(b DESC, a);INSERT INTO x VALUES(5,1),(3,3),(1,2);", 8);
}

TEST(what_is_no_plain_table)
{
	check("CREATE TABLE w(a TEXT PRIMARY KEY, b) WITHOUT ROWID;INSERT INTO w "
	      "VALUES('x',1),('a',2);CREATE TABLE g(a INT, b INT AS (a+1), c INT);INSERT INTO g "
	      "VALUES(1,2),(3,4);CREATE TABLE k(a INT, b INT AS (a+1) STORED, c INT);INSERT INTO k "
	      "VALUES(1,2),(3,4);CREATE VIEW v AS SELECT * FROM w;CREATE TABLE \"WITHOUT "
	      "ROWID\"(a); INSERT INTO \"WITHOUT ROWID\" VALUES(1);CREATE TABLE st(a ANY, b INT, c "
	      "REAL, d TEXT, e BLOB) STRICT;INSERT INTO st "
	      "VALUES(1,2,3,'4',x'05'),('x',2,3.5,NULL,NULL);", 1);
}

TEST(deleted_rows)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), "PRAGMA page_size=1024;CREATE TABLE empty(a INT, b TEXT);CREATE "
		 "TABLE z(a); INSERT INTO z VALUES(1); DELETE FROM z;CREATE TABLE gone AS SELECT 1 "
		 "a;" MIXED
		 "DELETE FROM t WHERE rowid %% 3 = 0;DELETE FROM t WHERE rowid BETWEEN 5000 AND "
		 "9000;DROP TABLE gone; CREATE TABLE after(a);INSERT INTO after SELECT c FROM t;"
		 "UPDATE t SET c = c || c || 'longer' WHERE rowid %% 5 = 1;", 20000);
	check(sql, 4);
}

TEST(encodings)
{
	check("PRAGMA encoding='UTF-16';CREATE TABLE t(a TEXT);INSERT INTO t VALUES('x');", 0);
	check("CREATE TABLE t(a TEXT);INSERT INTO t VALUES(CAST(x'ff00fe' AS TEXT)),(char(0,65)),"
	      "('\xc3\xa4');", 1);
}

static int note_length(void *ctx, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	uint32_t *len = ctx;

	(void)err;
	if (rid == 2)
		*len = v->type == NSX_V_BLOB ? v->len : 0;
	return 0;
}

TEST(giant_cells_are_cut)
{
	static const char *const columns[] = {"b"};
	char *path = scratch("giant.sqlite"), sql[256];
	struct nsx_scan *scan;
	struct nsx_err err;
	struct nsx_db *db;
	uint32_t len = 0;

	snprintf(sql, sizeof(sql), "CREATE TABLE t(a,b,c); INSERT INTO t VALUES"
		 "(1,2,3),(4,zeroblob(%d),6),(7,8,9)", NSX_MAX_CELL + 5);
	make_db(path, sql);
	db = open_or_fail(path, false);
	assert_int_equal(nsx_scan_open(db, nsx_db_table(db, "t"), columns, 1, 1, &scan, &err), 0);
	assert_int_equal(nsx_scan_run(scan, 0, NULL, note_length, &len, &err), 0);
	assert_int_equal(len, NSX_MAX_CELL);
	nsx_scan_close(scan);
	nsx_db_close(db);
	unlink(path);
}

/* Files ------------------------------------------------------------------*/
static void put_beside(const char *path, const char *suffix, bool there)
{
	char name[600];
	int fd;

	snprintf(name, sizeof(name), "%s%s", path, suffix);
	unlink(name);
	if (!there)
		return;
	fd = open(name, O_WRONLY | O_CREAT, 0600);
	assert_true(fd >= 0 && write(fd, "x", 1) == 1);
	close(fd);
}

TEST(journals)
{
	char *path = scratch("journal.sqlite");

	make_db(path, "PRAGMA journal_mode=WAL;CREATE TABLE t(a);INSERT INTO t VALUES(1),('x');");
	assert_int_equal(compare_file(path, 1), 1);
	put_beside(path, "-wal", true);
	assert_int_equal(compare_file(path, 1), 0);
	put_beside(path, "-wal", false);
	put_beside(path, "-journal", true);
	assert_int_equal(compare_file(path, 1), 0);
	put_beside(path, "-journal", false);
	assert_int_equal(compare_file(path, 1), 1);
}

TEST(reserved_bytes)
{
	char *path = scratch("reserved.sqlite"), sql[2048];
	sqlite3 *h;

	snprintf(sql, sizeof(sql), MIXED "INSERT INTO t(c) VALUES(hex(zeroblob(20000)));", 3000);
	for (int n = 0; n <= 32; n += 8)
		for (int size = 512; size <= 65536; size *= 128) {
			char pragma[64];
			int reserve = n; /* SQLite writes to it */

			unlink(path);
			snprintf(pragma, sizeof(pragma),
				 "PRAGMA page_size=%d;PRAGMA synchronous=OFF", size);
			sqlite3_open(path, &h);
			sqlite3_exec(h, pragma, NULL, NULL, NULL);
			sqlite3_file_control(h, "main", SQLITE_FCNTL_RESERVE_BYTES, &reserve);
			assert_int_equal(sqlite3_exec(h, sql, NULL, NULL, NULL), SQLITE_OK);
			sqlite3_close(h);
			assert_int_equal(compare_file(path, 1), 1);
		}
}

static void overwrite(const char *path, const void *old, const void *new, size_t n)
{
	char page[8192];
	int fd = open(path, O_RDWR);
	ssize_t size = pread(fd, page, sizeof(page), 0);
	char *at = memmem(page, (size_t)size, old, n);

	assert_non_null(at);
	assert_int_equal(pwrite(fd, new, n, at - page), n);
	close(fd);
}

/* Values that SQLite reads but never writes. */
TEST(odd_cells)
{
	char *path = scratch("odd.sqlite");

	make_db(path, "CREATE TABLE t(a, b); INSERT INTO t VALUES(1.1, 'nan');"
		      "INSERT INTO t VALUES(1, 'one');");
	overwrite(path, "\x3f\xf1\x99\x99\x99\x99\x99\x9a", "\x7f\xf8\0\0\0\0\0\1", 8);
	assert_int_equal(compare_file(path, 1), 1);
	overwrite(path, "\3\x9\x13", "\3\xa\x13", 3);
	assert_int_equal(compare_file(path, 1), 1);
	overwrite(path, "\3\xa\x13", "\3\xb\x13", 3);
	assert_int_equal(compare_file(path, 1), 1);
}

/* The request ------------------------------------------------------------*/
TEST(chosen_columns)
{
	static const char *const sets[][4] = {
	    {"f", "a", NULL, "c"},    {"c", "c", "id", "C"},
	    {"id", NULL, NULL, "id"}, {NULL, NULL, NULL, NULL},
	    {"e", "d", "b", "a"},
	};
	char *path = scratch("chosen.sqlite"), sql[2048];
	struct nsx_db *page, *sqlite;

	snprintf(sql, sizeof(sql), MIXED "ALTER TABLE t ADD COLUMN g DEFAULT 3;CREATE TABLE k(id "
					 "INTEGER PRIMARY KEY, a,b,c,d,e,f);INSERT INTO k SELECT "
					 "rowid, a,b,c,d,e,f FROM t;INSERT INTO k(c) "
					 "VALUES(hex(randomblob(9999)));", 3000);
	make_db(path, sql);
	page = open_or_fail(path, false);
	sqlite = open_or_fail(path, true);
	for (size_t i = 0; i < ARRAY_LEN(sets); i++)
		for (unsigned n = 0; n <= 4; n++) {
			struct outcome a, b;

			read_columns_of(page, nsx_db_table(page, "k"), sets[i], n, 2, &a);
			read_columns_of(sqlite, nsx_db_table(page, "k"), sets[i], n, 1, &b);
			assert_int_equal(a.rc, 0);
			assert_true(a.is_page && !b.is_page);
			assert_true(same_rows(&a, &b));
			outcome_done(&a);
			outcome_done(&b);
		}
	nsx_db_close(page);
	nsx_db_close(sqlite);
}

TEST(unknown_column)
{
	static const char *const columns[] = {"nothing"};
	char *path = scratch("unknown.sqlite");
	struct nsx_scan *scan;
	struct nsx_db *db;
	struct nsx_err err;

	make_db(path, "CREATE TABLE t(a); INSERT INTO t VALUES(1);");
	db = open_or_fail(path, false);
	if (!nsx_scan_open(db, nsx_db_table(db, "t"), columns, 1, 1, &scan, &err)) {
		assert_int_not_equal(nsx_scan_run(scan, 0, NULL, NULL, NULL, &err), 0);
		nsx_scan_close(scan);
	}
	nsx_db_close(db);
}

static int stop_at_third(void *ctx, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	(void)v;
	++*(int *)ctx;
	return rid == 3 ? nsx_fail(err, NSX_E_USAGE, "enough") : 0;
}

TEST(callee_and_signal_end_a_scan)
{
	static const char *const columns[] = {"a"};
	char *path = scratch("stop.sqlite"), sql[2048];
	struct nsx_scan *scan;
	struct nsx_err err;
	struct nsx_db *db;
	int rows = 0;

	snprintf(sql, sizeof(sql), MIXED, 1000);
	make_db(path, sql);
	db = open_or_fail(path, false);
	assert_int_equal(nsx_scan_open(db, nsx_db_table(db, "t"), columns, 1, 1, &scan, &err), 0);
	assert_int_equal(nsx_scan_run(scan, 0, NULL, stop_at_third, &rows, &err), NSX_E_USAGE);
	assert_int_equal(rows, 3);
	nsx_stop_flag = 1;
	assert_int_equal(nsx_scan_run(scan, 0, NULL, stop_at_third, &rows, &err), NSX_E_STOP);
	nsx_stop_flag = 0;
	assert_int_equal(rows, 3);
	nsx_scan_close(scan);
	nsx_db_close(db);
}

/* A choice -----------------------------------------------------------------*/
struct chosen {
	struct nsx_choice choice;
	size_t block, blocks; /* wanted: blocks whose number is `block` modulo `blocks` */
	int64_t last, sum;    /* last id, and sum of the ids */
	size_t n;
};

static bool wants_some(void *ctx, size_t block)
{
	const struct chosen *c = ctx;

	return block % c->blocks == c->block;
}

static int note_chosen(void *ctx, int64_t rid, const struct nsx_val *v NSX_UNUSED,
		       struct nsx_err *err NSX_UNUSED)
{
	struct chosen *c = ctx;

	assert_true(rid > c->last);
	if (c->choice.wants)
		assert_true(wants_some(c, c->choice.at));
	c->last = rid;
	c->sum += rid;
	c->n++;
	return 0;
}

static struct nsx_scan *open_scan(struct nsx_db *db, const char *column, unsigned nparts)
{
	struct nsx_scan *scan;
	struct nsx_err err;

	assert_int_equal(nsx_scan_open(db, nsx_db_table(db, "t"), &column, 1,
				       nparts, &scan, &err), 0);
	return scan;
}

/* Reads all blocks one by one, in two parts and in three parts: each time every row comes once. */
static void read_in_blocks(const char *path, bool force_sqlite, size_t every)
{
	struct nsx_db *db = open_or_fail(path, force_sqlite);
	struct nsx_scan *scan = open_scan(db, "a", 3);
	unsigned nparts = nsx_scan_parts(scan);
	size_t nblocks = nsx_scan_first_block(scan, nparts), n = 0;
	int64_t sum = 0;
	struct nsx_err err;

	assert_int_equal(nsx_scan_first_block(scan, 0), 0);
	if (!force_sqlite)
		assert_true(nblocks > 5);
	every = every ? every : nblocks;
	for (size_t b = 0; b < every; b++) {
		struct chosen c = {.choice = {.wants = wants_some},
				   .block = b, .blocks = every};

		for (unsigned p = 0; p < nparts; p++)
			assert_int_equal(nsx_scan_run(scan, p, &c.choice, note_chosen, &c, &err),
					 0);
		n += c.n;
		sum += c.sum;
	}
	assert_int_equal(n, 20001);
	assert_int_equal(sum, 20001 * 10001);
	nsx_scan_close(scan);
	nsx_db_close(db);
}

TEST(blocks)
{
	static const int sizes[] = {512, 4096, 65536};
	char *path = scratch("blocks.sqlite"), sql[2048];

	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		snprintf(sql, sizeof(sql), "PRAGMA page_size=%d;" MIXED, sizes[i], 20000);
		make_db(path, sql);
		for (size_t every = 0; every < 4; every++) {
			read_in_blocks(path, false, every);
			read_in_blocks(path, true, every);
		}
		unlink(path);
	}
}

/* Rows [100, 200) of 1000, and rows that cannot be excluded cheaply: their cell is no integer, lies
 * after text, or is 0 or 1, which take no bytes.
 */
TEST(rows_passed_over)
{
	static const struct {
		const char *table;
		size_t rows;
	} cases[] = {
		{"x, a INTEGER, b); INSERT INTO t SELECT NULL, i, 'z' FROM r;",
		 100 + 2},
		{"x, a INTEGER, b); INSERT INTO t SELECT i << 40, i, i FROM r;",
		 100 + 2},
		{"a INTEGER, b); INSERT INTO t SELECT i << 40, i FROM r;", 1},
		{"a); INSERT INTO t SELECT CASE i % 10 WHEN 0 THEN NULL WHEN 1 "
		 "THEN 0.5 WHEN 2 THEN 'text' ELSE i END FROM r;", 300 + 70},
		{"x, a INTEGER); INSERT INTO t SELECT 'text', i FROM r;", 1000},
		{"a REAL); INSERT INTO t SELECT i FROM r;", 1000},
		{"a INTEGER PRIMARY KEY, b); INSERT INTO t SELECT i + 1, i FROM "
		 "r;", 1000},
	};
	char *path = scratch("cut.sqlite"), sql[1024];

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct chosen c = {.choice = {.is_cut = true, .from = 100,
					      .to = 200}};
		struct nsx_scan *scan;
		struct nsx_err err;
		struct nsx_db *db;

		snprintf(sql, sizeof(sql), "CREATE TABLE n(i); WITH RECURSIVE m(i) AS (SELECT 0 "
			 "UNION ALL SELECT i+1 FROM m WHERE i < 999) INSERT INTO n SELECT i FROM "
			 "m; CREATE VIEW r AS SELECT i FROM n; CREATE TABLE t(%s", cases[i].table);
		make_db(path, sql);
		db = open_or_fail(path, false);
		scan = open_scan(db, "a", 1);
		assert_int_equal(nsx_scan_run(scan, 0, &c.choice, note_chosen, &c, &err), 0);
		assert_int_equal(c.n, cases[i].rows);
		nsx_scan_close(scan);
		nsx_db_close(db);
		unlink(path);
	}
}

/* Near a time ------------------------------------------------------------------*/

struct near_rows {
	unsigned n, inside; /* rows read; those with a time in [1000, 1100)  */
	int64_t least, most; /* least and greatest row id                    */
};

static int count_near(void *ctx, int64_t rid, const struct nsx_val *v,
		      struct nsx_err *err NSX_UNUSED)
{
	struct near_rows *c = ctx;

	c->least = c->n ? NSX_MIN(c->least, rid) : rid;
	c->most = NSX_MAX(c->most, rid);
	c->n++;
	c->inside += v->type == NSX_V_I64 && v->u.i >= 1000 && v->u.i < 1100;
	return 0;
}

/* 20 000 rows in some 2000 leaves; one leaf in 44 is looked at. No row is more than 50 away from
 * its place in the order of time.
 */
TEST(rows_near_a_time)
{
	static const struct {
		const char *instant; /* expression for the time of row i     */
		unsigned inside, most; /* rows inside; most rows that may be read */
		unsigned between; /* most rows that may be read if none may be missed */
	} cases[] = {
		{"i", 100, 6000, 0},
		{"i / 50 * 50 + 49 - i % 50", 100, 6000, 0}, /* groups of 50, each backwards */
		{"i % 10000", 200, 9000, 9000}, /* one thread, then another  */
		{"i * 7919 % 20000", 100, 20000, 0},
		{"-i", 0, 20000, 0},
		{"1000.5 + i", 0, 20000, 0},
		{"iif(i < 10000, NULL, i - 10000)", 100, 20000, 0},
		{"5000 + i", 0, 1000, 0}, /* the first and the last leaf     */
		{"i - 40000", 0, 1000, 0},
	};
	const char *column = "t", *both[] = {"t", "wide"};

	for (size_t k = 0; k < 2 * ARRAY_LEN(cases); k++) {
		size_t i = k / 2;
		bool is_run = k % 2;
		struct near_rows c = {0};
		char *path = scratch("near.sqlite"), sql[512];
		struct nsx_scan *scan;
		struct nsx_db *db;
		struct nsx_err err;
		const struct nsx_table_info *t;

		snprintf(sql, sizeof(sql), "PRAGMA page_size=512;CREATE TABLE t(wide TEXT, t "
			 "INTEGER);WITH RECURSIVE r(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM r "
			 "WHERE i < 19999) INSERT INTO t SELECT '0123456789012345678901234567890', "
			 "%s FROM r;", cases[i].instant);
		make_db(path, sql);
		assert_int_equal(nsx_db_open(path, &db, &err), 0);
		t = nsx_db_table(db, "t");
		assert_int_equal(nsx_scan_open(db, t, both, 2, 3, &scan, &err), 0);
		assert_int_equal(nsx_scan_near(scan, t, column, 950, 1150, is_run, &err), 0);
		for (unsigned p = 0; p < nsx_scan_parts(scan); p++)
			assert_int_equal(nsx_scan_run(scan, p, NULL, count_near, &c, &err), 0);
		assert_int_equal(c.inside, cases[i].inside);
		assert_true(c.n <= cases[i].most + is_run * cases[i].between);
		assert_true(!is_run || c.n == c.most - c.least + 1);
		assert_true(c.n == 20000 || cases[i].most < 20000);
		nsx_scan_close(scan);
		nsx_db_close(db);
		unlink(path);
	}
}

/* Real exports -----------------------------------------------------------*/
struct compared {
	unsigned files, tables;
};

static void compare_trace(const char *path, void *ctx)
{
	struct compared *c = ctx;

	for (unsigned nparts = 1; nparts <= 7; nparts += 3)
		c->tables += compare_file(path, nparts);
	c->files++;
}

TEST(traces)
{
	struct compared c = {0};

	each_trace(compare_trace, &c);
	print_message("%u files, %u tables\n", c.files, c.tables / 3);
	assert_true(!c.files || c.tables);
}
