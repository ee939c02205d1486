/* fuzz_rows.c - edits a valid trace: rows, columns and tables are added and
 * removed, and cells are changed.
 *
 * Byte 0 chooses a trace of bases.h, and byte 1 how it is read. The others are edits, made in
 * SQL.  Half of the kinds of new values come from the same column or trace, so that rows still
 * belong together. The other kinds are hostile.
 */
#include <sqlite3.h>
#include "bases.h"
#include "fuzz.h"
#include "passes/nvtx/phase.h"

enum { MAX_EDITS = 48, MAX_COPIES = 64, MAX_TEXT = 40 };

struct input {
	const uint8_t *p;
	size_t n;
};

static uint8_t next_byte(struct input *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

static void exec(sqlite3 *db, char *sql)
{
	sqlite3_exec(db, sql, NULL, NULL, NULL); /* an edit that SQLite refuses has no effect */
	sqlite3_free(sql);
}

/* Returns name number k, modulo their number, of those that sql lists; NULL: there are none. */
static char *pick_name(sqlite3 *db, char *sql, unsigned k)
{
	char **v = NULL, *name = NULL;
	int n = 0, ncolumns;

	if (!sqlite3_get_table(db, sql, &v, &n, &ncolumns, NULL) && n)
		name = sqlite3_mprintf("%s", v[1 + k % (unsigned)n]);
	sqlite3_free_table(v);
	sqlite3_free(sql);
	return name;
}

static char *pick_table(sqlite3 *db, unsigned k)
{
	return pick_name(db, sqlite3_mprintf("SELECT name FROM sqlite_schema WHERE type = 'table' "
					     "ORDER BY rowid"), k);
}

static char *pick_column(sqlite3 *db, const char *table, unsigned k)
{
	return pick_name(db, sqlite3_mprintf("SELECT name FROM pragma_table_info(%Q)", table), k);
}

/* Makes an SQL literal of the input's bytes, which may include control characters and invalid
 * UTF-8.
 */
static char *literal_of_input(struct input *in)
{
	static const char hex[] = "0123456789abcdef";
	size_t n = NSX_MIN(next_byte(in) % MAX_TEXT, in->n);
	char digits[2 * MAX_TEXT + 1];

	for (size_t i = 0; i < n; i++) {
		uint8_t b = next_byte(in);

		digits[2 * i] = hex[b >> 4];
		digits[2 * i + 1] = hex[b & 15];
	}
	digits[2 * n] = '\0';
	return sqlite3_mprintf("CAST(x'%s' AS TEXT)", digits);
}

static char *edge_value(struct input *in)
{
	static const char *const edges[] = {
		"9223372036854775807", "-9223372036854775808", "-1", "0", "1",
		"4294967295", "4294967296", "2147483648",
		"2305843009213693952", "2305843009213693951",
		"-2305843009213693952", "9007199254740993", "9e999", "-9e999",
		"1e300", "-0.0", "0.5", "9.3e18", "'12'", "' 7 '", "''", "NULL",
		"x'00ff00'", "zeroblob(70000)", "1700000000000000000"};

	return sqlite3_mprintf("%s", edges[next_byte(in) % ARRAY_LEN(edges)]);
}

/* A name that analyses recognise, or one that could break a page or a parser. */
static char *known_text(struct input *in)
{
	static const char *const texts[] = {
		"ncclDevKernel_AllReduce_Sum_f32_RING_LL",
		"ncclDevKernel_SendRecv", "ncclKernel_Broadcast_RING_LL_Sum_i8",
		"cudaLaunchKernel_v7000", "cudaStreamSynchronize_v3020",
		"cudaMemcpyAsync_v3020", "cudaMemcpy_v3020", "cudaMalloc_v3020",
		"cudaFree_v3020", "cudaMallocAsync_v11020",
		"cudaGraphLaunch_v10000", "cudaGraphInstantiate_v10000",
		"cudaEventSynchronize_v3020", "cudaDeviceSynchronize_v3020",
		"cudaStreamWaitEvent_v3020", "cuModuleLoadData", "cuLaunchKernel",
		"poll", "read", "pthread_cond_wait", "NCCL", "ncclGroupStart",
		"step, seq = 3, op_id = 9", "iteration 7", "aten::mm",
		"NVLink RX Requests User Data [Throughput %]",
		"SMs Active [Throughput %]", "Tensor Active [Throughput %]",
		"GR Active", "EXPORT_SCHEMA_VERSION", "=1+1", "a|b`c\n<script>",
		"{\"Message size [bytes]\":4096,\"Communicator ID\":77}"};

	return sqlite3_mprintf("%Q", texts[next_byte(in) % ARRAY_LEN(texts)]);
}

/* Makes an SQL expression for the new value of a cell of table's column. */
static char *new_value(struct input *in, sqlite3 *db, const char *table, const char *column)
{
	uint8_t kind = next_byte(in) % 16, a = next_byte(in);
	char *other, *sql;

	switch (kind) {
	case 0: /* the value of another row */
	case 1:
		return sqlite3_mprintf("(SELECT \"%w\" FROM \"%w\" LIMIT 1 "
				       "OFFSET %u)", column, table, a);
	case 2: /* the value of a column with the same name in another table */
		other = pick_table(db, a);
		sql = sqlite3_mprintf("(SELECT \"%w\" FROM \"%w\" LIMIT 1 "
				      "OFFSET %u)", column, other, next_byte(in));
		sqlite3_free(other);
		return sql;
	case 3: /* another column of the row */
		other = pick_column(db, table, a);
		sql = sqlite3_mprintf("\"%w\"", other);
		sqlite3_free(other);
		return sql;
	case 4: /* the old value, increased or decreased by some power of ten */
	case 5:
		return sqlite3_mprintf("\"%w\" + (%d << %u)", column, (int8_t)a,
				       next_byte(in) % 62);
	case 6:
		return sqlite3_mprintf("\"%w\" * %u / 16", column, a);
	case 7: /* different in each row */
		return sqlite3_mprintf("(rowid * %u) << %u", a, next_byte(in) % 56);
	case 8:
		return sqlite3_mprintf("(rowid %% %u)", 1 + a % 8);
	case 9:
		return sqlite3_mprintf("%u", a);
	case 10:
		return known_text(in);
	case 11:
		return literal_of_input(in);
	case 12: /* a text longer than a page, or longer than the limit of kept texts */
		return sqlite3_mprintf("replace(hex(zeroblob(%u)), '00', 'a'"
				       " || char(%u))", a * 256, next_byte(in));
	case 13:
		return sqlite3_mprintf("-\"%w\"", column);
	default:
		return edge_value(in);
	}
}

/* Makes an SQL condition that selects one row, every n-th row, or all. */
static char *row_condition(struct input *in)
{
	static const uint16_t every[] = {1, 2, 3, 5, 16, 997, 997, 997};
	unsigned n = every[next_byte(in) % ARRAY_LEN(every)];

	return sqlite3_mprintf("rowid %% %u = %u", n, (next_byte(in) + 1) % n);
}

/* Renames a column to a name that it has in another version of nsys. */
static void rename_column(struct input *in, sqlite3 *db, const char *table, const char *column)
{
	const struct nsx_field_def *f = nsx_field_defs + next_byte(in) % NSX_NFIELDS;
	size_t n = strcspn(f->columns, "|");

	exec(db, sqlite3_mprintf("ALTER TABLE \"%w\" RENAME COLUMN \"%w\" TO "
				 "\"%.*w\"", table, column, (int)n, f->columns));
}

static void copy_rows(struct input *in, sqlite3 *db, const char *table, const char *which)
{
	static const char *const times[] = {"start", "end", "timestamp"};
	int64_t last;
	int8_t by = (int8_t)next_byte(in);
	uint8_t unit = next_byte(in) % 62;
	char *most = pick_name(db, sqlite3_mprintf("SELECT max(rowid) FROM \"%w\"", table), 0);

	last = most ? strtoll(most, NULL, 10) : 0;
	sqlite3_free(most);
	exec(db, sqlite3_mprintf("INSERT INTO \"%w\" SELECT * FROM \"%w\" WHERE %s LIMIT "
				 "%d", table, table, which, MAX_COPIES));
	for (size_t i = 0; by && i < ARRAY_LEN(times); i++)
		exec(db, sqlite3_mprintf("UPDATE \"%w\" SET \"%w\" = \"%w\" + (%d << %u) WHERE "
					 "rowid > %lld", table, times[i], times[i], by, unit,
					 (long long)last));
}

static void change_table(struct input *in, sqlite3 *db, const char *table, const char *column)
{
	switch (next_byte(in) % 6) {
	case 0:
		exec(db, sqlite3_mprintf("DROP TABLE \"%w\"", table));
		break;
	case 1:
		exec(db, sqlite3_mprintf("ALTER TABLE \"%w\" RENAME TO moved; CREATE VIEW \"%w\" "
					      "AS SELECT * FROM moved", table, table));
		break;
	case 2:
		rename_column(in, db, table, column);
		break;
	case 3:
		exec(db, sqlite3_mprintf("ALTER TABLE \"%w\" ADD COLUMN "
					      "\"%w2\" DEFAULT 7", table, column));
		break;
	default:
		exec(db, sqlite3_mprintf("ALTER TABLE \"%w\" DROP COLUMN \"%w\"", table, column));
	}
}

static void edit_trace(struct input *in, sqlite3 *db)
{
	uint8_t kind = next_byte(in);
	char *table = kind % 8 == 7 ? sqlite3_mprintf("StringIds") : pick_table(db, next_byte(in));
	char *column, *which, *to;

	if (!table)
		return;
	column = pick_column(db, table, next_byte(in));
	which = row_condition(in);
	if (column && kind < 200) {
		to = new_value(in, db, table, column);
		exec(db, sqlite3_mprintf("UPDATE \"%w\" SET \"%w\" = %s WHERE "
					 "%s", table, column, to, which));
		sqlite3_free(to);
	} else if (kind < 215) {
		exec(db, sqlite3_mprintf("DELETE FROM \"%w\" WHERE %s", table, which));
	} else if (kind < 235) {
		copy_rows(in, db, table, which);
	} else if (column) {
		change_table(in, db, table, column);
	}
	sqlite3_free(which);
	sqlite3_free(column);
	sqlite3_free(table);
}

struct base {
	unsigned char *p;
	int64_t n;
};

static const struct base *base_of(unsigned i)
{
	static struct base v[ARRAY_LEN(bases)];
	char path[FUZZ_SEED_PATH];
	FILE *f;

	if (v[i].p)
		return &v[i];
	fuzz_seed_path(bases[i], path);
	f = fopen(path, "rb");
	CHECK(f && !fseek(f, 0, SEEK_END));
	v[i].n = ftell(f);
	v[i].p = malloc((size_t)v[i].n);
	rewind(f);
	CHECK(v[i].p && fread(v[i].p, 1, (size_t)v[i].n, f) == (size_t)v[i].n);
	fclose(f);
	return &v[i];
}

static void make_edited_trace(const struct base *from, struct input *in, const char *path)
{
	unsigned char *copy = sqlite3_malloc64((sqlite3_uint64)from->n);
	sqlite3_int64 n;
	sqlite3 *db;

	CHECK(copy && !sqlite3_open(":memory:", &db));
	memcpy(copy, from->p, (size_t)from->n);
	CHECK(!sqlite3_deserialize(db, "main", copy, from->n, from->n,
				   SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE));
	sqlite3_exec(db, "PRAGMA journal_mode = off; BEGIN", NULL, NULL, NULL);
	for (unsigned i = 0; i < MAX_EDITS && in->n; i++)
		edit_trace(in, db);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	copy = sqlite3_serialize(db, "main", &n, 0);
	CHECK(copy);
	fuzz_write(path, copy, (size_t)n);
	sqlite3_free(copy);
	sqlite3_close(db);
}

static struct fuzz_run run_options_of(uint8_t b)
{
	static const char *const windows[] = {NULL, NULL, NULL, NULL,
					      "0.0001..0.001", "1..2",
					      "1000ns..90000ns", "0..0.00005"};
	static const char map[] = "{\"a\": [\"step\", \"re:^aten\"], "
				  "\"b\": \"layer\", \"nccl\": [\"\"]}";
	static struct nsx_phase_map *phases;
	struct nsx_err err;

	if (!phases)
		CHECK(!nsx_phase_map_parse(map, strlen(map), "map", &phases, &err));
	return (struct fuzz_run){.threads = 1,
				 .window = windows[b & 7],
				 .kernel_limit = b & 8 ? 2 : 30,
				 .phases = b & 16 ? phases : NULL,
				 .whole_json = (b & 0xfc) == 0x20};
}

/* The edited database is valid, so SQLite and the page decoder, with one thread and two, must give
 * the same results.
 */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	unsigned which = next_byte(&in);
	const char *path = fuzz_path();
	uint8_t options = next_byte(&in);
	struct fuzz_run run = run_options_of(options);
	char *found, *again;

	if (which >= ARRAY_LEN(bases))
		return 0;
	make_edited_trace(base_of(which), &in, path);
	found = fuzz_whole(path, &run);
	if ((options & 0xe0) == 0x40) {
		run.by_sqlite = true;
		run.threads = 2;
		again = fuzz_whole(path, &run);
		CHECK(!strcmp(found, again));
		free(again);
	}
	free(found);
	unlink(path);
	return 0;
}
