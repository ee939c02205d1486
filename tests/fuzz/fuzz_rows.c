/* fuzz_rows.c - bytes choose which tables and columns exist and what typed
 * values they hold: a database that is sound, with content that is not.
 */
#include <sqlite3.h>
#include "fuzz.h"

struct input {
	const uint8_t *p;
	size_t n;
};

static uint8_t next(struct input *in)
{
	if (!in->n)
		return 0;
	in->n--;
	return *in->p++;
}

/* Small numbers that collide, with the edges of int64 thrown in. */
static int64_t pick_int(struct input *in)
{
	static const int64_t edges[] = {INT64_MAX, INT64_MIN, -1, 4294967295,
					INT64_C(1) << 61, INT64_C(1) << 53,
					59, 75, 10, 8};
	uint8_t b = next(in);

	if (b < 160)
		return b % 40;
	if (b < 200)
		return (int64_t)next(in) << 24 | next(in);
	if (b < 230)
		return (int64_t)next(in) * 1000 + next(in);
	return edges[b % ARRAY_LEN(edges)];
}

static void bind(struct input *in, sqlite3_stmt *s, int col)
{
	static const char *const texts[] = {
		"", "ncclDevKernel_AllReduce_Sum_f32", "cudaLaunchKernel_v7000",
		"cudaStreamSynchronize", "cudaMemcpyAsync", "=1+1", "a|b`c\n",
		"step, seq = 3, op_id = 9", "\xff\xfe", "NVLink RX",
		"SMs Active [Throughput %]", "cudaGraphLaunch_v10000"};
	uint8_t kind = next(in);

	if (kind < 190)
		sqlite3_bind_int64(s, col, pick_int(in));
	else if (kind < 225)
		sqlite3_bind_text(s, col, texts[next(in) % ARRAY_LEN(texts)],
				  -1, SQLITE_STATIC);
	else if (kind < 240)
		sqlite3_bind_null(s, col);
	else if (kind < 248)
		sqlite3_bind_double(s, col, (double)pick_int(in) / 3);
	else
		sqlite3_bind_blob(s, col, "\0\1\2", 3, SQLITE_STATIC);
}

/* First candidate name of a '|' list, or the second where asked. */
static void candidate(const char *list, bool second, char *ret, size_t size)
{
	size_t n = strcspn(list, "|");

	if (second && list[n]) {
		list += n + 1;
		n = strcspn(list, "|");
	}
	snprintf(ret, size, "%.*s", (int)n, list);
}

static void fill_table(sqlite3 *db, struct input *in, unsigned v)
{
	const struct nsx_view_def *def = &nsx_view_defs[v];
	unsigned nfields = nsx_view_nfields((enum nsx_view)v), n = 0;
	struct nsx_buf create = {0}, insert = {0};
	uint8_t drop = next(in), rows = next(in) % 24;
	sqlite3_stmt *s = NULL;
	char name[128];

	candidate(def->tables, drop & 1, name, sizeof(name));
	nsx_buf_printf(&create, "CREATE TABLE \"%s\" (", name);
	nsx_buf_printf(&insert, "INSERT INTO \"%s\" VALUES (", name);
	for (unsigned i = 0; i < nfields; i++) {
		if (drop > 128 && next(in) % 4 == 0)
			continue; /* a column this file does not have */
		candidate(nsx_field_defs[def->first + i].columns, drop & 2,
			  name, sizeof(name));
		nsx_buf_printf(&create, "%s\"%s\"", n ? ", " : "", name);
		nsx_buf_printf(&insert, "%s?", n ? ", " : "");
		n++;
	}
	nsx_buf_adds(&create, ")");
	nsx_buf_adds(&insert, ")");
	if (n && !sqlite3_exec(db, create.p, NULL, NULL, NULL) &&
	    !sqlite3_prepare_v2(db, insert.p, -1, &s, NULL))
		for (unsigned r = 0; r < rows; r++) {
			for (unsigned i = 1; i <= n; i++)
				bind(in, s, (int)i);
			sqlite3_step(s);
			sqlite3_reset(s);
		}
	sqlite3_finalize(s);
	nsx_buf_done(&create);
	nsx_buf_done(&insert);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = {data, size};
	const char *path = fuzz_path();
	sqlite3 *db;

	unlink(path);
	if (sqlite3_open(path, &db))
		abort();
	sqlite3_exec(db, "PRAGMA journal_mode=off; PRAGMA synchronous=off;"
			 "BEGIN", NULL, NULL, NULL);
	for (unsigned k = 0; k < 40 && in.n > 4; k++)
		fill_table(db, &in, next(&in) % NSX_NVIEWS);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
	fuzz_run(path);
	unlink(path);
	return 0;
}
