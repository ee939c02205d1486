/* mkseeds.c - makes the seeds, the inputs from which the fuzz targets start.
 *
 * usage: mkseeds OUT_DIR FIXTURE.sqlite...
 *
 * OUT_DIR/TARGET/ gets inputs, OUT_DIR/TARGET.dict words for libFuzzer.
 * Fixtures are made small, because small files are read quickly: tables without rows and tables
 * that the program does not know are dropped, and pages have 512 bytes.
 */
#include <libgen.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include "bases.h"
#include "fuzz.h"
#include "agent/ask.h"
#include "cli/opt.h"
#include "fleet/digest.h"

enum { MAX_SEED = 64 << 10 };
static const char *out_dir;

/* The dictionary of libFuzzer, one word per line. */
#define SQL_WORDS "\"SELECT \"\n\" FROM \"\n\" WHERE \"\n\" GROUP BY \"\n\" ORDER BY \"\n"  \
	"\" UNION ALL \"\n\"WITH RECURSIVE \"\n\" OVER (\"\n\"kernel\"\n\"string\"\n\"memcpy\"\n" \
	"\"runtime\"\n\"nvtx\"\n\"process\"\n\"_names\"\n\"sqlite_master\"\n\"printf(\"\n"       \
	"\"replace(\"\n\"zeroblob(\"\n\"group_concat(\"\n\"load_extension(\"\n\"PRAGMA \"\n"      \
	"\"ATTACH \"\n\"META_DATA_CAPTURE\"\n\"StringIds\"\n\"pragma_table_info(\"\n"
#define MCP_WORDS "\"\\\"method\\\":\"\n\"\\\"params\\\":{\"\n\"\\\"id\\\":\"\n\"tools/call\"\n"  \
	"\"tools/list\"\n\"resources/read\"\n\"\\\"uri\\\":\\\"nsys://\"\n\"prompts/list\"\n"       \
	"\"server/discover\"\n\"\\\"question\\\":\"\n\"\\\"argument\\\":\"\n\"\\\"cursor\\\":\"\n" \
	"\"\\\"budget\\\":\"\n\"expect_trace_id\"\n\"progressToken\"\n\"notifications/cancelled\"\n"

static FILE *create(const char *target, const char *name)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", out_dir, target);
	mkdir(path, 0777);
	snprintf(path, sizeof(path), "%s/%s%s%s", out_dir, target, *name == '.' ? "" : "/", name);
	f = fopen(path, "wb");
	CHECK(f);
	return f;
}

static void write_seed(const char *target, const char *name, const void *p, size_t n)
{
	FILE *f = create(target, name);

	CHECK(fwrite(p, 1, n, f) == n && !fclose(f));
}

/* Databases -----------------------------------------------------------------*/

static bool is_known(const char *table)
{
	size_t n = strlen(table);

	for (unsigned v = 0; v < NSX_NVIEWS; v++)
		for (const char *p = nsx_view_defs[v].tables; *p;) {
			size_t k = strcspn(p, "|");

			if (k == n && !strncmp(p, table, n))
				return true;
			p += k + (p[k] == '|');
		}
	return false;
}

static void exec(sqlite3 *db, char *sql)
{
	CHECK(!sqlite3_exec(db, sql, NULL, NULL, NULL));
	sqlite3_free(sql);
}

static bool has_rows(sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\"", table);
	sqlite3_stmt *s = NULL;
	bool any = !sqlite3_prepare_v2(db, sql, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW;

	sqlite3_finalize(s);
	sqlite3_free(sql);
	return any;
}

static void write_small_fixture(const char *fixture)
{
	char *path = strdup(fixture), *name = basename(path), **v = NULL;
	char to[4096];
	struct stat st;
	sqlite3 *db;
	int n = 0;

	name[strcspn(name, ".")] = '\0';
	fclose(create("fuzz_open", name));
	snprintf(to, sizeof(to), "%s/fuzz_open/%s", out_dir, name);
	CHECK(!sqlite3_open(fixture, &db));
	exec(db, sqlite3_mprintf("PRAGMA page_size = 512; VACUUM INTO %Q", to));
	sqlite3_close(db);
	CHECK(!sqlite3_open(to, &db));
	CHECK(!sqlite3_get_table(db, "SELECT name FROM sqlite_schema WHERE "
				 "type = 'table'", &v, &n, NULL, NULL));
	for (int i = 1; i <= n; i++)
		if (!is_known(v[i]) || !has_rows(db, v[i]))
			exec(db, sqlite3_mprintf("DROP TABLE \"%w\"", v[i]));
	exec(db, sqlite3_mprintf("VACUUM"));
	sqlite3_free_table(v);
	sqlite3_close(db);
	if (stat(to, &st) || st.st_size > MAX_SEED)
		unlink(to);
	free(path);
}

/* Writes a seed for fuzz_page: the byte with its choices, and the pages of a table from page 2 on.
 * Pages have 512 << size bytes; shape chooses the contents.
 */
static void seed_pages(unsigned size, int reserved, unsigned shape)
{
	static const char *const value[] = {
		/* These are integers of every width, and leaves below interior pages. */
		"(i * i * i) << (i % 45), i, i % 3, i % 2, NULL, -i, i / 2",
		/* These are reals, texts and blobs of many lengths. */
		"i * 0.37, i * 0.5, substr('abcdefghijklmnop', i % 11, i % 13),"
		"zeroblob(i % 9), 'x' || i, i % 7, i",
		/* These are chains of overflow pages. */
		"i, 0.5, replace(hex(zeroblob(i * size / 9)), '0', 'z'),"
		"zeroblob(size * 2 / i), 1, hex(zeroblob(size / i)), 2",
	};
	static const int rows[] = {60, 50, 5};
	uint8_t chooser = (uint8_t)(size | 4 | (unsigned)reserved << 3);
	int tail = reserved; /* a copy: SQLite stores the former value there */
	unsigned char *p;
	char name[32];
	sqlite3_int64 n;
	sqlite3 *db;
	FILE *f;

	CHECK(!sqlite3_open(":memory:", &db));
	sqlite3_file_control(db, "main", SQLITE_FCNTL_RESERVE_BYTES, &tail);
	exec(db, sqlite3_mprintf("PRAGMA page_size = %u; CREATE TABLE t (c0, c1 REAL, c2, c3, c4, "
				 "c5, c6 REAL);WITH RECURSIVE r (i, size) AS (SELECT 1, %u UNION "
				 "ALL SELECT i + 1, size FROM r WHERE i < %d) INSERT INTO t SELECT "
				 "%s FROM r", 512U << size, 512U << size,
				 shape < 2 ? rows[shape] << size : rows[shape], value[shape]));
	p = sqlite3_serialize(db, "main", &n, 0);
	snprintf(name, sizeof(name), "%u-%d-%u", 512U << size, reserved, shape);
	f = create("fuzz_page", name);
	fputc(chooser, f);
	CHECK(fwrite(p + (512U << size), (size_t)n - (512U << size), 1, f));
	CHECK(!fclose(f));
	sqlite3_free(p);
	sqlite3_close(db);
}

/* Writes seeds for fuzz_digest of two kinds, which the first byte distinguishes: digests of the
 * ranks of a fixture, and numbers from which the fuzzer makes ranks.
 */
static void seed_digests(const char *fixture)
{
	const struct nsx_digest_opts o = {.rank = -1, .threads = 1};
	struct nsx_digest_writer *w;
	struct nsx_digest **v;
	unsigned char numbers[600];
	struct nsx_err err;
	const void *image;
	size_t n, size;
	FILE *f;

	CHECK(!nsx_digest_read_trace(fixture, &o, &v, &n, &err));
	CHECK(!nsx_digest_writer_new(&w, &err));
	for (size_t i = 0; i < n; i++) {
		CHECK(!nsx_digest_add(w, v[i], &err));
		nsx_digest_free(v[i]);
	}
	free(v);
	CHECK(!nsx_digest_image(w, &image, &size, &err));
	f = create("fuzz_digest", "file");
	fputc(1, f);
	CHECK(fwrite(image, size, 1, f) && !fclose(f));
	nsx_digest_writer_free(w);
	for (unsigned i = 0; i < sizeof(numbers); i++)
		numbers[i] = i ? (unsigned char)(i * 37 % 128) : 6;
	write_seed("fuzz_digest", "four", numbers, sizeof(numbers));
}

/* Texts ---------------------------------------------------------------------*/

static void seed_arguments(void)
{
	FILE *dict = create("fuzz_args", ".dict");

	fputs("\"--\"\n\"--no-such\"\n\"=\"\n\"-\"\n\"9223372036854775808\"\n"
	      "\"1e308\"\n\"nan\"\n\"0x10\"\n", dict);
	for (unsigned c = 0; c < nsx_ncommands; c++) {
		const struct nsx_cmd *cmd = nsx_commands[c];
		FILE *f = create("fuzz_args", cmd->name);

		for (unsigned i = 0; i < cmd->nopts; i++) {
			const struct nsx_opt *o = &cmd->opts[i];

			fprintf(f, "--%s%s\n", o->name, o->arg ? "=7" : "");
			fprintf(dict, "\"--%s\"\n", o->name);
			if (o->letter)
				fprintf(f, "-%c\n%s", o->letter, o->arg ? "12\n" : "");
		}
		fputs("--\n-x\n", f);
		CHECK(!fclose(f));
	}
	CHECK(!fclose(dict));
}

static void seed_texts(const char *target, const char *const *v, size_t n)
{
	char name[8];

	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "%zu", i);
		write_seed(target, name, v[i], strlen(v[i]));
	}
}

/* Writes one seed for each question: about the first trace of bases.h, with a suitable argument. */
static void seed_questions(void)
{
	static const char *const arguments[NSX_NQUESTIONS] = {
		[NSX_Q_finding] = "1", [NSX_Q_at] = "0.001",
		[NSX_Q_window] = "0..0.001", [NSX_Q_gaps] = "1000ns..90000ns",
		[NSX_Q_why] = "0.0005", [NSX_Q_range] = "step",
		[NSX_Q_kernel] = "^(compute|b){1,3}[[:alpha:]]*", [NSX_Q_stream] = "7",
		[NSX_Q_thread] = "111", [NSX_Q_iteration] = "1",
		[NSX_Q_steps] = "decode", [NSX_Q_section] = "partition",
		[NSX_Q_what_if] = "kernel:/ncclBroad|x/:2x",
		[NSX_Q_sql] = "SELECT 1",
	};
	FILE *f;

	for (unsigned i = 0; i < NSX_NQUESTIONS; i++) {
		f = create("fuzz_ask", nsx_questions[i].name);
		fprintf(f, "%c%c%s", 0, i, arguments[i] ? arguments[i] : "");
		CHECK(!fclose(f));
	}
}

static void seed_selects(void)
{
	static const char *const v[] = {
		"\1SELECT s.value, count(*), sum(k.end_ns - k.start_ns) FROM kernel k JOIN "
		"string s ON s.id = k.name GROUP BY 1 ORDER BY 3 DESC LIMIT 5",
		"\2WITH w(a) AS (VALUES (1), (2.5), ('x'), (NULL), (x'00ff')) SELECT * "
		"FROM w a, w b WHERE a.a IS NOT b.a",
		"\x20SELECT id, value FROM string UNION ALL SELECT rid, pid FROM process",
		"\3SELECT replace(upper(name), '0', substr(value, 2)) AS \"a.b\" FROM nvtx, string",
		"\x20SELECT name, sql FROM sqlite_master; PRAGMA page_size",
	};

	seed_texts("fuzz_sql", v, ARRAY_LEN(v));
	write_seed("fuzz_sql", ".dict", SQL_WORDS, sizeof(SQL_WORDS) - 1);
}

/* Writes the messages of a client, one session for each revision of the protocol. */
static void seed_sessions(void)
{
#define CALL(id, tool, arguments)                                             \
	"{\"jsonrpc\":\"2.0\",\"id\":" #id ",\"method\":\"tools/call\",\"params\":{"  \
	"\"name\":\"nsys_" tool "\",\"arguments\":{" arguments "}}}\n"
#define START(version)                                                        \
	"{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"initialize\",\"params\":{"     \
	"\"protocolVersion\":\"" version "\",\"capabilities\":{}}}\n"
	static const char *const v[] = {
		START("2024-11-05") CALL(1, "explain", "\"trace\":\"synthetic\"")
		CALL(2, "ask", "\"trace\":\"synthetic\",\"question\":\"at\","
		     "\"argument\":\"0.001\",\"budget\":500"),
		START("2025-03-26") "[" "{\"jsonrpc\":\"2.0\",\"id\":\"a\","
		"\"method\":\"ping\"},{\"jsonrpc\":\"2.0\",\"method\":"
		"\"notifications/cancelled\",\"params\":{\"requestId\":\"a\"}}]\n",
		START("2025-06-18") CALL(1, "sql", "\"trace\":\"secrets\",\"sql\":"
		"\"SELECT * FROM kernel\",\"detail\":\"full\"")
		CALL(2, "capture", "\"topic\":\"counters\""),
		START("2025-11-25") CALL(1, "diff", "\"before\":[\"synthetic\"],"
		"\"after\":[\"copy_bound\"],\"unit\":\"launch\"")
		CALL(2, "fleet", "\"traces\":[\"two_rank_straggler\"]"),
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\",\"params\":"
		"{\"_meta\":{\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
		"\"io.modelcontextprotocol/clientCapabilities\":{}}}}\n",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"prompts/get\"}\n[]\n{\"a\":",
	};

	seed_texts("fuzz_mcp", v, ARRAY_LEN(v));
	write_seed("fuzz_mcp", ".dict", MCP_WORDS, sizeof(MCP_WORDS) - 1);
}

int main(int argc, char **argv)
{
	static const char *const maps[] = {
		"{\"forward\": [\"fwd\", \"re:^layer[0-9]+$\"], \"io\": \"read\"}",
		"\xef\xbb\xbf{\"a\\u00e9\\n\\\"\": [], \"b\": [\"\\ud83d\\ude00\"]}",
		"{\"r\": [\"re:a|(b+c?)*[[:alpha:]_-]{2,3}\", \"re:\\\\.\"]}",
		"{\"x\": [1, null, true, {\"y\": [2.5e-3]}]}",
		"[\"no map\"]", "{\"re\": \"re:(\"}", "{\"d\": [\"re:\\\\d\"]}",
	};
	static const char *const cells[] = {
		"plain\x1e a|b`c` \\ <i>&amp;\x1e\"q\",'r'\n\t\x7f",
		"=1+1\x1e-2\x1e@x\x1e+3\x1e\xff\xfe\xed\xa0\x80\x1e  blank  ",
		"\xc3\xa9\xe2\x80\xa8\xf0\x9f\x98\x80\x1e$a_b*c#d!~{}[]()\x1e",
	};

	CHECK(argc > 2);
	out_dir = argv[1];
	mkdir(out_dir, 0777);
	for (int i = 2; i < argc; i++) {
		write_small_fixture(argv[i]);
		if (strstr(argv[i], "two_rank_straggler"))
			seed_digests(argv[i]);
	}
	for (unsigned size = 0; size < 4; size++)
		for (unsigned shape = 0; shape < 3; shape++)
			seed_pages(size, size == 1 ? 16 : 0, shape);
	for (uint8_t i = 0; i < ARRAY_LEN(bases); i++)
		write_seed("fuzz_rows", bases[i], (uint8_t[]){i, 0x40}, 2);
	seed_arguments();
	seed_texts("fuzz_phase_map", maps, ARRAY_LEN(maps));
	write_seed("fuzz_phase_map", ".dict", "\"re:\"\n\"[[:alpha:]]\"\n\"\\\\u\"\n"
		   "\"{2,3}\"\n\"\\\\\\\\d\"\n\"null\"\n\"true\"\n\"\\\"\"\n", 56);
	seed_texts("fuzz_emit", cells, ARRAY_LEN(cells));
	seed_questions();
	seed_selects();
	seed_sessions();
	return 0;
}
