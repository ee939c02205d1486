/* floor.c - measures the least time in which SQLite can read a trace.
 *
 * A plain scan with one thread and default settings: a SELECT of the columns that a full report
 * needs, from every table that has them. Each value is read once and added to a checksum. Time
 * beyond this is that of the program itself.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The tables and columns to read; those that do not exist are skipped. "*" is every column. */
static const struct {
	const char *name, *cols;
} tables[] = {
    {"StringIds", "id value"},
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "start end deviceId contextId streamId correlationId globalPid "
     "demangledName shortName registersPerThread gridX gridY gridZ blockX "
     "blockY blockZ staticSharedMemory dynamicSharedMemory graphNodeId "
     "graphId"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "start end deviceId contextId streamId correlationId globalPid bytes "
     "copyKind srcKind dstKind srcDeviceId dstDeviceId migrationCause "
     "graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "start end deviceId contextId streamId correlationId globalPid bytes "
     "memKind graphNodeId"},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "start end deviceId contextId streamId correlationId globalPid graphId "
     "graphExecId"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "start end eventClass globalTid correlationId nameId returnValue"},
    {"NVTX_EVENTS", "start end eventType text textId globalTid endGlobalTid "
		    "domainId rangeId"},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "start end deviceId contextId streamId correlationId globalPid syncType "
     "eventId eventSyncId"},
    {"CUPTI_ACTIVITY_KIND_OVERHEAD", "start end globalTid overheadType"},
    {"OSRT_API", "start end globalTid nameId nestingLevel"},
    {"SCHED_EVENTS",
     "start cpu isSchedIn globalTid threadState threadBlock"},
    {"PROFILER_OVERHEAD", "start end globalTid nameId"},
    {"ThreadNames", "globalTid nameId"},
    {"GPU_METRICS", "timestamp typeId metricId value"},
    {"CUDA_GPU_MEMORY_USAGE_EVENTS", "*"},
};

static _Noreturn void die(sqlite3 *db, const char *what)
{
	fprintf(stderr, "floor: %s: %s\n", what, sqlite3_errmsg(db));
	exit(1);
}

static bool wanted(const char *cols, const char *name)
{
	size_t n = strlen(name);

	if (!strcmp(cols, "*"))
		return true;
	for (const char *c = cols; *c; c += strspn(c, " ")) {
		size_t len = strcspn(c, " ");

		if (len == n && !memcmp(c, name, n))
			return true;
		c += len;
	}
	return false;
}

/* Builds the SELECT of the wanted columns that exist; NULL: none does. */
static char *build_select(sqlite3 *db, const char *table, const char *cols)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	sqlite3_stmt *s;
	int n = 0;

	if (sqlite3_prepare_v2(db, "SELECT name FROM pragma_table_info(?)", -1,
			       &s, NULL) != SQLITE_OK)
		die(db, table);
	sqlite3_bind_text(s, 1, table, -1, SQLITE_STATIC);
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);

		if (wanted(cols, name))
			sqlite3_str_appendf(sql, "%s\"%w\"", n++ ? "," : "SELECT ", name);
	}
	sqlite3_finalize(s);
	sqlite3_str_appendf(sql, " FROM \"%w\"", table);
	if (n)
		return sqlite3_str_finish(sql);
	sqlite3_free(sqlite3_str_finish(sql));
	return NULL;
}

static uint64_t read_value(sqlite3_stmt *s, int col)
{
	const unsigned char *text;
	double real;
	uint64_t bits;
	int n;

	switch (sqlite3_column_type(s, col)) {
	case SQLITE_INTEGER:
		return (uint64_t)sqlite3_column_int64(s, col);
	case SQLITE_FLOAT:
		real = sqlite3_column_double(s, col);
		memcpy(&bits, &real, sizeof(bits));
		return bits;
	case SQLITE_NULL:
		return 1;
	default:
		text = sqlite3_column_text(s, col);
		n = sqlite3_column_bytes(s, col);
		return (uint64_t)n + (n ? text[n - 1] : 0);
	}
}

static int64_t scan(sqlite3 *db, const char *table, const char *cols, uint64_t *sum)
{
	char *sql = build_select(db, table, cols);
	sqlite3_stmt *s;
	int64_t rows = 0;
	int n, rc;

	if (!sql)
		return -1;
	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		die(db, sql);
	n = sqlite3_column_count(s);
	for (; (rc = sqlite3_step(s)) == SQLITE_ROW; rows++)
		for (int i = 0; i < n; i++)
			*sum = *sum * 31 + read_value(s, i);
	if (rc != SQLITE_DONE)
		die(db, sql);
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return rows;
}

/* Prints a line for each table, and then the number of rows in all tables except StringIds. */
int main(int argc, char **argv)
{
	int64_t events = 0;
	uint64_t sum = 0;
	sqlite3 *db;

	if (argc != 2) {
		fputs("usage: floor TRACE.sqlite\n", stderr);
		return 2;
	}
	if (sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		die(db, argv[1]);
	for (size_t i = 0; i < COUNT(tables); i++) {
		int64_t rows = scan(db, tables[i].name, tables[i].cols, &sum);

		if (rows < 0)
			continue;
		printf("%-36s %lld\n", tables[i].name, (long long)rows);
		events += i ? rows : 0;
	}
	printf("events %lld checksum %016llx\n", (long long)events, (unsigned long long)sum);
	sqlite3_close(db);
	return 0;
}
