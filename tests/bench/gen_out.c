/* gen_out.c - the database file of the generator.
 *
 * It is written in one transaction without journal and synchronisation, because an incomplete trace
 * is deleted anyway. The tables have all columns of schema 3.25, because the width of a row is part
 * of the cost of reading it.
 */
#include "gen.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A column is NAME, then :T or :R if it is not an integer, then ! for NOT
 * NULL or * for the primary key.
 */
static const struct {
	const char *name, *cols;
} tables[T_COUNT] = {
    [T_STRING] = {"StringIds", "id* value:T!"},
    [T_KERNEL] = {"CUPTI_ACTIVITY_KIND_KERNEL",
		  "start! end! deviceId! contextId! greenContextId streamId! "
		  "correlationId globalPid demangledName! shortName! "
		  "mangledName launchType cacheConfig registersPerThread! "
		  "gridX! gridY! gridZ! blockX! blockY! blockZ! "
		  "staticSharedMemory! dynamicSharedMemory! "
		  "localMemoryPerThread! localMemoryTotal! gridId! "
		  "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig "
		  "qmdBulkReleaseDone qmdPreexitDone qmdLastCtaDone graphId "
		  "clusterX clusterY clusterZ clusterSchedulingPolicy "
		  "maxPotentialClusterSize maxActiveClusters "
		  "sharedMemoryRequestedPercentage "
		  "tensorSizeMinusOneElements:T!"},
    [T_MEMCPY] = {"CUPTI_ACTIVITY_KIND_MEMCPY",
		  "start! end! deviceId! contextId! greenContextId streamId! "
		  "correlationId globalPid bytes! copyKind! deprecatedSrcId "
		  "srcKind dstKind srcDeviceId srcContextId dstDeviceId "
		  "dstContextId migrationCause graphNodeId virtualAddress "
		  "copyCount"},
    [T_MEMSET] = {"CUPTI_ACTIVITY_KIND_MEMSET",
		  "start! end! deviceId! contextId! greenContextId streamId! "
		  "correlationId globalPid value! bytes! graphNodeId memKind"},
    [T_RUNTIME] = {"CUPTI_ACTIVITY_KIND_RUNTIME",
		   "start! end! eventClass! globalTid correlationId nameId! "
		   "returnValue! callchainId"},
    [T_NVTX] = {"NVTX_EVENTS",
		"start! end eventType! rangeId category color text:T "
		"globalTid endGlobalTid textId domainId uint64Value "
		"int64Value doubleValue:R uint32Value int32Value "
		"floatValue:R jsonTextId jsonText:T binaryData:T"},
    [T_SYNC] = {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
		"start! end! deviceId! contextId! greenContextId streamId! "
		"correlationId globalPid deprecatedSyncType syncType! "
		"eventId! eventSyncId"},
    [T_EVENT] = {"CUPTI_ACTIVITY_KIND_CUDA_EVENT",
		 "timestamp deviceId! contextId! greenContextId streamId! "
		 "correlationId globalPid eventId! eventSyncId"},
    [T_OVERHEAD] = {"CUPTI_ACTIVITY_KIND_OVERHEAD",
		    "start! end! eventClass! globalTid correlationId nameId "
		    "overheadType!"},
    [T_OSRT] = {"OSRT_API",
		"start! end! eventClass! globalTid nameId! returnValue! "
		"nestingLevel callchainId! argumentsId"},
    [T_SCHED] = {"SCHED_EVENTS",
		 "start! cpu! isSchedIn! globalTid threadState threadBlock"},
    [T_METRICS] = {"GPU_METRICS",
		   "rawTimestamp timestamp! typeId! metricId! value!"},
    [T_MEMORY] = {"CUDA_GPU_MEMORY_USAGE_EVENTS",
		  "start! globalPid! deviceId! contextId! address! pc! bytes! "
		  "memKind! memoryOperationType! name:T correlationId "
		  "localMemoryPoolAddress localMemoryPoolReleaseThreshold "
		  "localMemoryPoolSize localMemoryPoolUtilizedSize "
		  "importedMemoryPoolAddress importedMemoryPoolProcessId"},
    [T_GPU] = {"TARGET_INFO_GPU",
	       "vmId! id! name:T busLocation:T isDiscrete l2CacheSize "
	       "totalMemory memoryBandwidth clockRate smCount pwGpuId uuid:T "
	       "luid chipName:T cuDevice ctxswDevPath:T ctrlDevPath:T "
	       "revision nodeMask constantMemory maxIPC maxRegistersPerBlock "
	       "maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm "
	       "maxRegistersPerSm threadsPerWarp asyncEngines maxWarpsPerSm "
	       "maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY "
	       "maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ "
	       "computeMajor computeMinor smMajor smMinor"},
    [T_CUDA_DEVICE] = {"TARGET_INFO_CUDA_DEVICE",
		       "gpuId cudaId! pid! uuid:T numMultiprocessors"},
    [T_CUDA_CONTEXT] = {"TARGET_INFO_CUDA_CONTEXT_INFO",
			"nullStreamId! hwId! vmId! processId! deviceId! "
			"contextId! parentContextId isGreenContext "
			"numMultiprocessors numTpcs tpcMask:T "
			"workqueueResourceId workqueueConcurrencyLimit "
			"workqueueSharingScope"},
    [T_CUDA_STREAM] = {"TARGET_INFO_CUDA_STREAM",
		       "streamId! hwId! vmId! processId! contextId! "
		       "priority! flag!"},
    [T_GPU_METRICS] = {"TARGET_INFO_GPU_METRICS",
		       "typeId! sourceId! typeName:T! metricId! "
		       "metricName:T!"},
    [T_SYSTEM_ENV] = {"TARGET_INFO_SYSTEM_ENV",
		      "globalVid devStateName:T! name:T! nameEnum! value:T!"},
    [T_SESSION_START] = {"TARGET_INFO_SESSION_START_TIME",
			 "utcEpochNs utcTime:T localTime:T systemClockNs"},
    [T_ANALYSIS] = {"ANALYSIS_DETAILS",
		    "globalVid! duration! startTime! stopTime!"},
    [T_PROCESS] = {"PROCESSES", "globalPid pid name:T"},
    [T_THREAD_NAME] = {"ThreadNames", "nameId! priority globalTid"},
    [T_META_CAPTURE] = {"META_DATA_CAPTURE", "name:T! value:T"},
    [T_META_EXPORT] = {"META_DATA_EXPORT", "name:T! value:T"},
};

void die(const char *fmt, ...)
{
	va_list ap;

	fputs("gen: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(1);
}

void *grow(void *p, size_t n, size_t size)
{
	p = reallocarray(p, n ? n : 1, size);
	if (!p)
		die("no memory for %zu x %zu bytes", n, size);
	return p;
}

static void exec(struct out *o, const char *sql)
{
	if (sqlite3_exec(o->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		die("%s: in: %s", sqlite3_errmsg(o->db), sql);
}

/* Writes the declaration of one table and prepares its insert. */
static void create(struct out *o, enum table t)
{
	char ddl[4096], ins[256], cols[2048];
	char *save = NULL;
	size_t d, n = 0;

	snprintf(cols, sizeof(cols), "%s", tables[t].cols);
	d = (size_t)snprintf(ddl, sizeof(ddl), "CREATE TABLE %s (", tables[t].name);
	for (char *c = strtok_r(cols, " ", &save); c; c = strtok_r(NULL, " ", &save), n++) {
		const char *type = strstr(c, ":T")   ? "TEXT"
				   : strstr(c, ":R") ? "REAL"
						     : "INTEGER";
		const char *rule = strchr(c, '*')   ? " NOT NULL PRIMARY KEY"
				   : strchr(c, '!') ? " NOT NULL"
						    : "";

		c[strcspn(c, ":*!")] = '\0';
		d += (size_t)snprintf(ddl + d, sizeof(ddl) - d,
				      "%s\n    \"%s\" %s%s", n ? "," : "", c, type, rule);
	}
	snprintf(ddl + d, sizeof(ddl) - d, "\n)");
	exec(o, ddl);
	d = (size_t)snprintf(ins, sizeof(ins), "INSERT INTO %s VALUES(?", tables[t].name);
	while (--n)
		d += (size_t)snprintf(ins + d, sizeof(ins) - d, ",?");
	snprintf(ins + d, sizeof(ins) - d, ")");
	if (sqlite3_prepare_v2(o->db, ins, -1, &o->ins[t], NULL) != SQLITE_OK)
		die("%s: in: %s", sqlite3_errmsg(o->db), ins);
}

void out_open(struct out *o, const char *path)
{
	*o = (struct out){0};
	if (unlink(path) && errno != ENOENT)
		die("cannot replace '%s': %s", path, strerror(errno));
	if (sqlite3_open(path, &o->db) != SQLITE_OK)
		die("cannot open '%s': %s", path, sqlite3_errmsg(o->db));
	exec(o, "PRAGMA page_size=4096; PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF; PRAGMA "
		"cache_size=-65536;PRAGMA locking_mode=EXCLUSIVE; BEGIN");
}

/* The insert of a table, which is created at its first row: exports are lazy by default. */
static sqlite3_stmt *insert(struct out *o, enum table t)
{
	if (!o->ins[t])
		create(o, t);
	return o->ins[t];
}

int64_t out_string(struct out *o, const char *text)
{
	int64_t id = ++o->last_string;

	out_text(o, T_STRING, 1, text);
	out_row(o, T_STRING, &id, 1);
	return id;
}

void out_text(struct out *o, enum table t, int col, const char *text)
{
	sqlite3_stmt *s = insert(o, t);
	int rc = text ? sqlite3_bind_text(s, col + 1, text, -1, SQLITE_TRANSIENT)
		     : sqlite3_bind_null(s, col + 1);

	if (rc != SQLITE_OK)
		die("cannot bind to %s", tables[t].name);
}

void out_row(struct out *o, enum table t, const int64_t *v, int n)
{
	sqlite3_stmt *s = insert(o, t);

	for (int i = 0; i < n; i++) {
		if (v[i] == NONE)
			sqlite3_bind_null(s, i + 1);
		else if (v[i] != KEEP)
			sqlite3_bind_int64(s, i + 1, v[i]);
	}
	if (sqlite3_step(s) != SQLITE_DONE)
		die("%s: %s", tables[t].name, sqlite3_errmsg(o->db));
	sqlite3_reset(s);
	o->rows[t]++;
}

void out_sql(struct out *o, const char *fmt, ...)
{
	va_list ap;
	char *sql;

	va_start(ap, fmt);
	sql = sqlite3_vmprintf(fmt, ap);
	va_end(ap);
	if (!sql)
		die("no memory for a statement");
	exec(o, sql);
	sqlite3_free(sql);
}

/* The SQL function scramble(n), a sort key for a random order. */
static void scramble(sqlite3_context *ctx, int argc, sqlite3_value **argv)
{
	struct rng r = {(uint64_t)sqlite3_value_int64(argv[0])};

	(void)argc;
	sqlite3_result_int64(ctx, (sqlite3_int64)(rng_next(&r) >> 1));
}

/* Moves the rows of each table to a copy and inserts them again in a scrambled order. */
void out_shuffle(struct out *o)
{
	if (sqlite3_create_function(o->db, "scramble", 1, SQLITE_UTF8, NULL,
				    scramble, NULL, NULL) != SQLITE_OK)
		die("%s", sqlite3_errmsg(o->db));
	for (enum table t = T_KERNEL; t < T_FIXED; t++) {
		const char *name = tables[t].name;

		if (!o->rows[t])
			continue;
		out_sql(o, "CREATE TEMP TABLE old AS SELECT * FROM %s", name);
		out_sql(o, "DELETE FROM %s", name);
		out_sql(o, "INSERT INTO %s SELECT * FROM old ORDER BY scramble(rowid)", name);
		out_sql(o, "DROP TABLE old");
	}
	o->shuffled = true;
}

void out_close(struct out *o)
{
	for (enum table t = 0; t < T_COUNT; t++)
		sqlite3_finalize(o->ins[t]);
	exec(o, "COMMIT");
	if (o->shuffled)
		exec(o, "VACUUM"); /* an export has no free pages */
	for (enum table t = 0; t < T_FIXED; t++)
		if (o->rows[t])
			printf("%-36s %lld\n", tables[t].name, (long long)o->rows[t]);
	if (sqlite3_close(o->db) != SQLITE_OK)
		die("cannot close the file: %s", sqlite3_errmsg(o->db));
}
