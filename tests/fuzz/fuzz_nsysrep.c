/* fuzz_nsysrep.c - reads bytes as a report of nsys.
 *
 * Bytes that do not begin like a report get its first line, so that mutations need not find it.
 * Every report that can be read must give a database whose tables can be read.
 */
#include "fuzz.h"
#include "nsysrep/nsysrep.h"
#include "sqlite/source.h"

#define FIRST_LINE "NVIDIA Tegra Profiler Report 1.\n"

static void read_tables(struct nsx_db *db)
{
	struct nsx_err err;
	size_t n;
	const struct nsx_table_info *t = nsx_db_tables(db, &n);

	CHECK(!nsx_db_fill(db, &err));
	for (size_t i = 0; i < n; i++) {
		int64_t rows = 0, made = 0;
		char sql[128];

		rows = nsx_count_rows(db, t[i].name);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM main.%s", t[i].name);
		CHECK(!nsx_db_number(db, sql, -1, &made, &err));
		CHECK(made >= 0 && made <= rows);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_path();
	size_t n = strlen(FIRST_LINE);
	struct nsx_db *db = NULL;
	struct nsx_err err;
	FILE *f = fopen(path, "wb");

	CHECK(f);
	if (size < n || memcmp(data, FIRST_LINE, n))
		CHECK(fwrite(FIRST_LINE, 1, n, f) == n);
	CHECK(fwrite(data, 1, size, f) == size && !fclose(f));
	CHECK(nsx_is_report(path));
	if (!nsx_report_read(path, &db, &err)) {
		read_tables(db);
		nsx_db_close(db);
	}
	unlink(path);
	return 0;
}
