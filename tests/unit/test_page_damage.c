/* test_page_damage.c - the page decoder on damaged files ends, stays in bounds, and delivers the
 * rows beside the damage. If neither the decoder nor SQLite finds an error, both give the same
 * rows. SEED and ROUNDS come from the environment.
 */
#include "scan_compare.h"
#include "sqlite/page_tree.h"

static uint64_t seed = 1;

static int set_up(void **state NSX_UNUSED)
{
	if (getenv("SEED"))
		seed = strtoull(getenv("SEED"), NULL, 0);
	alarm(600); /* a hang is a failure */
	return 0;
}
SET_UP(set_up, NULL);

static uint32_t random_below(uint32_t n)
{
	return n ? (uint32_t)(rnd(&seed) >> 33) % n : 0;
}

struct image {
	uint8_t *p;
	size_t n;
	uint32_t page_size;
};

static struct image load(const char *path)
{
	struct image m = {0};
	struct stat st;
	int fd = open(path, O_RDONLY);

	assert_true(fd >= 0 && !fstat(fd, &st));
	m.n = (size_t)st.st_size;
	m.p = malloc(m.n + 1);
	assert_int_equal(read(fd, m.p, m.n), m.n);
	close(fd);
	m.page_size = (uint32_t)m.p[16] << 8 | m.p[17];
	if (m.page_size == 1)
		m.page_size = 65536;
	return m;
}

static void save(const char *path, const struct image *m, size_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

	assert_true(fd >= 0 && write(fd, m->p, n) == (ssize_t)n);
	close(fd);
}

/* Damages the file in one more place. This is mostly after the first page, because without the
 * schema there is nothing to read.
 */
static void damage(struct image *m)
{
	uint32_t npages = (uint32_t)(m->n / m->page_size);
	uint32_t page = random_below(20) ? 1 + random_below(npages - 1) : 0;
	uint8_t *p = m->p + (size_t)page * m->page_size;
	uint32_t at = random_below(3) ? random_below(m->page_size) : random_below(64);
	uint32_t n = 1 + random_below(40);

	n = NSX_MIN(n, m->page_size - at);
	switch (random_below(8)) {
	case 0:
		memset(p + at, random_below(2) ? 0xff : 0, n);
		break;
	case 1:
		memcpy(p, m->p + (size_t)(1 + random_below(npages - 1)) * m->page_size,
		       m->page_size);
		break;
	case 2: /* a page number */
		at = NSX_MIN(at, m->page_size - 4) & ~3U;
		p[at] = p[at + 1] = 0;
		p[at + 2] = (uint8_t)(npages >> 8);
		p[at + 3] = (uint8_t)random_below(256);
		break;
	case 3:
		for (uint32_t i = 0; i < n; i++)
			p[at + i] = (uint8_t)random_below(256);
		break;
	case 4:
		p[at] = (uint8_t)(p[at] + random_below(5) - 2);
		break;
	default:
		p[at] ^= (uint8_t)(1 << random_below(8));
	}
}

/* Reads all tables with both readers; returns whether both could read all. */
static bool compare_damaged(const char *path, uint64_t from)
{
	struct nsx_db *sql = NULL, *page = NULL;
	struct nsx_err err;
	bool all = true;
	size_t n = 0;

	if (nsx_db_open(path, &sql, &err))
		return false;
	assert_int_equal(nsx_db_open(path, &page, &err), 0);
	nsx_db_force_sqlite(sql);
	nsx_db_tables(sql, &n);
	for (size_t i = 0; i < n; i++) {
		const struct nsx_table_info *t = nsx_db_tables(sql, &n) + i;
		struct outcome a, b;

		if (!nsx_is_readable(t))
			continue;
		read_table(sql, t, 1, &a);
		read_table(page, t, 1 + random_below(4), &b);
		if (!a.rc && !b.rc && !same_rows(&a, &b))
			fail_msg("SEED=%llu: table %s differs in %s",
				 (unsigned long long)from, t->name, path);
		all = all && !a.rc && !b.rc;
		outcome_done(&a);
		outcome_done(&b);
	}
	nsx_db_close(sql);
	nsx_db_close(page);
	return all;
}

static void damage_and_compare(const char *source, unsigned rounds)
{
	struct image sound = load(source), m = sound;
	char *path = scratch("damaged.sqlite");
	unsigned nsound = 0;

	m.p = malloc(m.n + 1);
	for (unsigned r = 0; r < rounds; r++) {
		uint64_t from = seed;

		memcpy(m.p, sound.p, m.n);
		for (uint32_t i = 0, n = 1 + random_below(8); i < n; i++)
			damage(&m);
		save(path, &m, random_below(10) ? m.n : random_below((uint32_t)m.n));
		nsound += compare_damaged(path, from);
	}
	print_message("%s: %u of %u still readable\n", strrchr(source, '/') + 1, nsound, rounds);
	free(sound.p);
	free(m.p);
}

static unsigned rounds_or(unsigned n)
{
	return getenv("ROUNDS") ? (unsigned)atoi(getenv("ROUNDS")) : n;
}

static void make_mixed(const char *name, int page_size, int nrows)
{
	char sql[2048];

	snprintf(sql, sizeof(sql), "PRAGMA page_size=%d;CREATE TABLE t(id INTEGER PRIMARY KEY, a "
		 "INT, b REAL, c TEXT,d BLOB, e); CREATE TABLE u(x INT, y REAL, z TEXT);WITH "
		 "RECURSIVE r(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM r WHERE i < %d) INSERT "
		 "INTO t SELECT i, i*i*i, i/2.0,'text ' || i, zeroblob(i %% 20), CASE i %% 90 WHEN "
		 "0 THEN hex(randomblob(i)) ELSE i %% 3 END FROM r;INSERT INTO u SELECT a, a, c "
		 "FROM t;ALTER TABLE u ADD COLUMN w INT DEFAULT 5;", page_size, nrows);
	make_db(scratch(name), sql);
}

TEST(random_damage)
{
	for (int size = 512; size <= 65536; size *= 2) {
		char *path = strdup(scratch("sound.sqlite"));

		make_mixed("sound.sqlite", size, 400);
		damage_and_compare(path, rounds_or(150));
		free(path);
	}
}

static void damage_small_trace(const char *path, void *ctx NSX_UNUSED)
{
	struct stat st;

	if (!stat(path, &st) && st.st_size < 700000)
		damage_and_compare(path, rounds_or(100) / 10);
}

TEST(random_damage_to_traces)
{
	each_trace(damage_small_trace, NULL);
}

/* Damage in a known place ------------------------------------------------*/
struct file {
	char *path;
	struct image m;
	struct nsx_leaves leaves;
	struct nsx_db *db;
	const struct nsx_table_info *t;
};

/* Opens a file whose table t has many leaves, and finds the page numbers of these. */
static struct file open_file(void)
{
	struct file f = {.path = scratch("placed.sqlite")};
	struct nsx_err err;

	make_mixed("placed.sqlite", 1024, 3000);
	f.path = strdup(f.path);
	f.m = load(f.path);
	f.db = open_or_fail(f.path, false);
	f.t = nsx_db_table(f.db, "t");
	assert_int_equal(nsx_leaves_find(nsx_db_pages(f.db), "t", f.t->root_page, &f.leaves, &err),
			 0);
	assert_int_equal(f.leaves.damage.rc, 0);
	assert_true(f.leaves.n > 50);
	return f;
}

static uint8_t *page_of(struct file *f, uint32_t number)
{
	return f->m.p + (size_t)(number - 1) * f->m.page_size;
}

/* Reads t from the changed image, page by page. */
static void read_changed(struct file *f, struct outcome *o)
{
	struct nsx_db *db;

	save(f->path, &f->m, f->m.n);
	db = open_or_fail(f->path, false);
	read_table(db, nsx_db_table(db, "t"), 1, o);
	assert_true(o->is_page);
	nsx_db_close(db);
}

static void file_done(struct file *f)
{
	nsx_leaves_done(&f->leaves);
	nsx_db_close(f->db);
	free(f->m.p);
	free(f->path);
}

TEST(rows_beside_a_bad_leaf_are_delivered)
{
	struct file f = open_file();
	size_t want = 0, bad = f.leaves.n / 2;
	struct outcome o;
	char name[32];

	for (size_t i = 0; i < f.leaves.n; i++)
		want += i == bad ? 0 : nsx_page_cells(page_of(&f, f.leaves.pages[i]));
	page_of(&f, f.leaves.pages[bad])[0] = 0;
	read_changed(&f, &o);
	assert_int_equal(o.rc, NSX_E_DATA);
	assert_int_equal(o.rows[0], want);
	snprintf(name, sizeof(name), "page %u ", f.leaves.pages[bad]);
	assert_non_null(strstr(o.err.msg, name));
	assert_non_null(strstr(o.err.msg, "'t'"));
	outcome_done(&o);
	file_done(&f);
}

TEST(a_loop_in_the_tree_ends)
{
	struct file f = open_file();
	uint8_t *root = page_of(&f, f.t->root_page);
	struct outcome o;

	assert_int_equal(root[0], NSX_PAGE_INTERIOR);
	root[8] = root[9] = 0; /* its right-most child: itself */
	root[10] = (uint8_t)(f.t->root_page >> 8);
	root[11] = (uint8_t)f.t->root_page;
	read_changed(&f, &o);
	assert_int_equal(o.rc, NSX_E_DATA);
	assert_true(o.rows[0] > 0);
	outcome_done(&o);
	file_done(&f);
}

/* Overflow pages that form a circle. */
TEST(a_loop_of_overflow_pages_ends)
{
	char *path = strdup(scratch("chain.sqlite"));
	struct image m;
	struct outcome o;
	struct nsx_db *db;

	make_db(path, "PRAGMA page_size=512; CREATE TABLE t(a);"
		      "INSERT INTO t VALUES(1),(hex(zeroblob(100000))),(2);");
	m = load(path);
	/* Pages 3.. are the chain; 9 leads back to 8, so it never ends. */
	m.p[8 * 512 + 3] = 8;
	save(path, &m, m.n);
	db = open_or_fail(path, false);
	read_table(db, nsx_db_table(db, "t"), 1, &o);
	assert_true(o.is_page);
	/* The record still has the length that its head states. */
	assert_int_equal(o.rc, 0);
	outcome_done(&o);
	nsx_db_close(db);
	free(m.p);
	free(path);
}

TEST(a_file_cut_while_it_is_read)
{
	static const char *const columns[] = {"a", "e"};
	struct file f = open_file();
	struct outcome o = {.ncolumns = 2};
	struct row_ctx ctx = {&o, 0};
	struct nsx_err err;

	assert_int_equal(nsx_scan_open(f.db, f.t, columns, 2, 1, &o.scan, &err), 0);
	assert_int_equal(truncate(f.path, (off_t)f.m.n / 3 + 100), 0);
	o.bound[0] = nsx_scan_rows(o.scan, 0);
	assert_int_equal(nsx_scan_run(o.scan, 0, NULL, note_row, &ctx, &err), NSX_E_DATA);
	assert_true(o.rows[0] > 0 && o.rows[0] <= o.bound[0]);
	nsx_scan_close(o.scan);
	nsx_buf_done(&o.text[0]);
	file_done(&f);
}
