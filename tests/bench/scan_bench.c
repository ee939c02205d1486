/* scan_bench.c - measures the cost of reading a table.
 *
 * usage: scan_bench FILE TABLE ROUNDS COLUMN...
 *
 * Times, in turn and ROUNDS times: a bare sqlite3_step loop (the floor of any
 * reader that uses SQLite), both backends of scan.h on one thread, the page
 * backend on two, and its planning and counting.  Prints medians in
 * nanoseconds a row and ratios to the floor.  With DROP=1 in the environment
 * the file is dropped from the page cache before each.
 *
 *	make && cc -O2 -D_GNU_SOURCE -Isrc -o build/scan_bench \
 *		tests/bench/scan_bench.c build/libnsx.a -lsqlite3 -lpthread
 */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "base/par.h"
#include "sqlite/scan.h"

enum { STEP, SQL, PAGE, PAGE2, PLAN, COUNT, NMODES, MAX_ROUNDS = 64 };
static const char *const names[] = {"sqlite3_step", "scan sqlite", "scan page",
				    "scan page x2", "plan",	   "count"};

static const char *path, *table;
static const char *const *columns;
static unsigned ncolumns;

struct sum {
	size_t rows;
	uint64_t check;
	char pad[64]; /* keeps the threads on different cache lines */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static _Noreturn void die(const char *what)
{
	fprintf(stderr, "scan_bench: %s\n", what);
	exit(1);
}

static void drop_cache(void)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0 || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("cannot drop the cache");
	close(fd);
}

static int on_row(void *ctx, int64_t rid, const struct nsx_val *v, struct nsx_err *err)
{
	struct sum *s = ctx;

	(void)err;
	s->rows++;
	s->check += (uint64_t)rid;
	for (unsigned i = 0; i < ncolumns; i++)
		if (v[i].type == NSX_V_I64)
			s->check += (uint64_t)v[i].u.i;
		else if (v[i].type != NSX_V_NULL)
			s->check++;
	return 0;
}

static struct sum step(void)
{
	char sql[4096] = "SELECT rowid";
	struct sum s = {0};
	sqlite3_stmt *q;
	sqlite3 *h;

	for (unsigned i = 0; i < ncolumns; i++) {
		strcat(sql, ", ");
		strcat(sql, columns[i]);
	}
	strcat(sql, " FROM ");
	strcat(sql, table);
	if (sqlite3_open_v2(path, &h, SQLITE_OPEN_READONLY, NULL) ||
	    sqlite3_prepare_v2(h, sql, -1, &q, NULL))
		die(sqlite3_errmsg(h));
	while (sqlite3_step(q) == SQLITE_ROW) {
		s.rows++;
		s.check += (uint64_t)sqlite3_column_int64(q, 0);
		for (int i = 1; i <= (int)ncolumns; i++)
			switch (sqlite3_column_type(q, i)) {
			case SQLITE_INTEGER:
				s.check += (uint64_t)sqlite3_column_int64(q, i);
				break;
			case SQLITE_NULL:
				break;
			case SQLITE_TEXT:
				s.check += !!sqlite3_column_text(q, i);
				break;
			default:
				s.check++;
			}
	}
	sqlite3_finalize(q);
	sqlite3_close(h);
	return s;
}

struct job {
	struct nsx_scan *scan;
	struct sum sum[NSX_MAX_THREADS];
};

static int run_part(void *ctx, size_t i, struct nsx_err *err)
{
	struct job *job = ctx;

	return nsx_scan_run(job->scan, (unsigned)i, NULL, on_row, &job->sum[i], err);
}

static struct sum scan(int mode)
{
	unsigned n = mode == PAGE2 ? 2 : 1;
	const struct nsx_table_info *t;
	struct job job = {0};
	struct sum all = {0};
	struct nsx_err err;
	struct nsx_db *db;

	if (nsx_db_open(path, &db, &err))
		die(err.msg);
	t = nsx_db_table(db, table);
	if (!t)
		die("no such table");
	if (mode == SQL)
		nsx_db_force_sqlite(db);
	if (nsx_scan_open(db, t, columns, ncolumns, n, &job.scan, &err))
		die(err.msg);
	if (mode == COUNT)
		all.rows = nsx_scan_rows(job.scan, 0);
	else if (mode != PLAN && nsx_par(n, nsx_scan_parts(job.scan), run_part, &job, &err))
		die(err.msg);
	for (unsigned i = 0; i < nsx_scan_parts(job.scan); i++) {
		all.rows += job.sum[i].rows;
		all.check += job.sum[i].check;
	}
	nsx_scan_close(job.scan);
	nsx_db_close(db);
	return all;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static double took[NMODES][MAX_ROUNDS];
	struct sum want = {0};
	int rounds;

	if (argc < 4)
		die("usage: scan_bench FILE TABLE ROUNDS COLUMN...");
	path = argv[1];
	table = argv[2];
	rounds = NSX_MIN(NSX_MAX(atoi(argv[3]), 1), MAX_ROUNDS);
	columns = (const char *const *)argv + 4;
	ncolumns = (unsigned)argc - 4;
	for (int r = 0; r < rounds; r++)
		for (int m = 0; m < NMODES; m++) {
			struct sum s;
			double t;

			if (getenv("DROP"))
				drop_cache();
			t = now();
			s = m == STEP ? step() : scan(m);
			took[m][r] = now() - t;
			if (m == STEP)
				want = s;
			else if (m < PLAN && (s.rows != want.rows || s.check != want.check))
				die("the readers differ");
		}
	printf("%s: %zu rows, %u columns\n", table, want.rows, ncolumns);
	for (int m = 0; m < NMODES; m++)
		qsort(took[m], (size_t)rounds, sizeof(double), by_value);
	for (int m = 0; m < NMODES; m++) {
		double t = took[m][rounds / 2];

		printf("  %-14s %8.3f s %8.1f ns/row %7.2fx\n", names[m], t,
		       t * 1e9 / (double)(want.rows ? want.rows : 1), took[STEP][rounds / 2] / t);
	}
	return 0;
}
