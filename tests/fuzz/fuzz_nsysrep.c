/* fuzz_nsysrep.c - any bytes as a report of nsys.
 *
 * What does not begin as a report does gets its first line, so that mutations need not
 * find it.  Whatever can be read must give a database whose tables can be read.
 */
#include "fuzz.h"
#include "nsysrep/nsysrep.h"

#define FIRST_LINE "NVIDIA Tegra Profiler Report 1.\n"

static void read_tables(struct nsx_db *db)
{
	size_t n;
	const struct nsx_table_info *t = nsx_db_tables(db, &n);

	for (size_t i = 0; i < n; i++)
		CHECK(nsx_count_rows(db, t[i].name) >= 0);
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
