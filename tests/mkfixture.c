/* mkfixture.c - makes an SQLite file from the SQL text of a fixture, so that no binary is
 * committed.
 *
 * usage: mkfixture IN.sql OUT.sqlite
 *
 * A line that starts with one of these is a directive:
 *
 *   -- @include PATH   runs that file here; PATH is always relative to the folder of IN.sql
 *   -- @lazy           drops every table without rows at the end, as nsys export does with
 *                      --lazy=true
 *
 * The same text gives the same bytes. The file is written under another name and renamed, so
 * OUT.sqlite is either complete or absent. Exit code: 0 written, 1 failed (one line names file,
 * line, reason and statement), 2 misuse.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sqlite3.h>

#define MAX_DEPTH 8 /* files that include files; deeper is a loop */

struct build {
	sqlite3 *db;
	const char *in; /* IN.sql; its folder is where includes start */
	bool lazy;
};

static int fail(const char *subject, const char *reason)
{
	fprintf(stderr, "mkfixture: %s: %s\n", subject, reason);
	return -1;
}

/* The contents of a file, NUL-terminated; NULL after a message. Owner: the caller, free(). */
static char *read_text(const char *path)
{
	size_t n = 0, cap = 0, got;
	char *text = NULL;
	FILE *f = fopen(path, "rb");

	if (!f) {
		fail(path, strerror(errno));
		return NULL;
	}
	do {
		if (cap - n < 4096) {
			cap = 2 * cap + 8192;
			text = realloc(text, cap);
			if (!text)
				abort();
		}
		got = fread(text + n, 1, cap - n - 1, f);
		n += got;
	} while (got > 0);
	if (ferror(f) || memchr(text, '\0', n)) {
		fail(path, ferror(f) ? "cannot be read" : "holds a NUL byte");
		free(text);
		text = NULL;
	} else {
		text[n] = '\0';
	}
	fclose(f);
	return text;
}

/* Skips blanks and comments up to the first word of the next statement. */
static const char *next_word(const char *s)
{
	for (;;) {
		s += strspn(s, " \t\r\n");
		if (strncmp(s, "--", 2) != 0)
			return s;
		s += strcspn(s, "\n");
	}
}

/* Runs the statements of a part of the text that begins on the given line. */
static int run_sql(struct build *b, const char *path, int line, const char *sql)
{
	for (;;) {
		const char *word = next_word(sql), *rest = word;
		sqlite3_stmt *stmt = NULL;
		int rc;

		for (; sql < word; sql++)
			line += *sql == '\n';
		if (!*word)
			return 0;
		rc = sqlite3_prepare_v2(b->db, word, -1, &stmt, &rest);
		while (rc == SQLITE_OK || rc == SQLITE_ROW)
			rc = sqlite3_step(stmt);
		if (rc != SQLITE_DONE) {
			fprintf(stderr, "mkfixture: %s:%d: %s, in: %.*s\n",
				path, line, sqlite3_errmsg(b->db), (int)strcspn(word, "\n"), word);
			sqlite3_finalize(stmt);
			return -1;
		}
		sqlite3_finalize(stmt);
		for (; sql < rest; sql++)
			line += *sql == '\n';
	}
}

static int run_file(struct build *b, const char *path, int depth);

static int run_include(struct build *b, const char *name, int depth)
{
	const char *slash = strrchr(b->in, '/');
	int dir = slash ? (int)(slash - b->in) + 1 : 0;
	char *path = sqlite3_mprintf("%.*s%s", dir, b->in, name);
	int rc = run_file(b, path, depth);

	sqlite3_free(path);
	return rc;
}

static int run_file(struct build *b, const char *path, int depth)
{
	static const char include[] = "-- @include ";
	char *text, *start, *line, *end;
	int rc = 0, at = 1, start_at = 1;

	if (depth > MAX_DEPTH)
		return fail(path, "includes itself");
	text = read_text(path);
	if (!text)
		return -1;
	for (start = line = text; !rc && *line; line = end, at++) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		if (!strncmp(line, include, sizeof(include) - 1)) {
			*line = '\0';
			rc = run_sql(b, path, start_at, start);
			if (!rc)
				rc = run_include(b, line + sizeof(include) - 1, depth + 1);
			start = end;
			start_at = at + 1;
			continue;
		}
		if (!strcmp(line, "-- @lazy"))
			b->lazy = true;
		if (end[-1] == '\0')
			end[-1] = '\n';
	}
	if (!rc)
		rc = run_sql(b, path, start_at, start);
	free(text);
	return rc;
}

/* Drops the tables without rows. */
static int drop_empty(struct build *b)
{
	static const char list[] = "SELECT name FROM main.sqlite_schema WHERE type = 'table' AND "
	    "name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY rowid";
	char **name = NULL;
	char *msg = NULL;
	int i, n = 0, rc;

	rc = sqlite3_get_table(b->db, list, &name, &n, NULL, &msg);
	for (i = 1; rc == SQLITE_OK && i <= n; i++) {
		sqlite3_stmt *stmt = NULL;
		char *sql = sqlite3_mprintf("SELECT 1 FROM main.\"%w\"", name[i]);

		rc = sqlite3_prepare_v2(b->db, sql, -1, &stmt, NULL);
		sqlite3_free(sql);
		if (rc == SQLITE_OK)
			rc = sqlite3_step(stmt);
		sqlite3_finalize(stmt);
		if (rc == SQLITE_DONE) {
			sql = sqlite3_mprintf("DROP TABLE main.\"%w\"", name[i]);
			rc = sqlite3_exec(b->db, sql, NULL, NULL, NULL);
			sqlite3_free(sql);
		} else if (rc == SQLITE_ROW) {
			rc = SQLITE_OK;
		}
	}
	sqlite3_free_table(name);
	sqlite3_free(msg);
	return rc == SQLITE_OK ? 0 : fail(b->in, sqlite3_errmsg(b->db));
}

static int exec(struct build *b, const char *sql)
{
	if (sqlite3_exec(b->db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return fail(b->in, sqlite3_errmsg(b->db));
}

static int make(struct build *b, const char *out)
{
	if (sqlite3_open(out, &b->db) != SQLITE_OK)
		return fail(out, sqlite3_errmsg(b->db));
	/* A name in double quotes must be a column, never a string. */
	sqlite3_db_config(b->db, SQLITE_DBCONFIG_DQS_DML, 0, (int *)0);
	sqlite3_db_config(b->db, SQLITE_DBCONFIG_DQS_DDL, 0, (int *)0);
	if (exec(b, "PRAGMA page_size = 4096; PRAGMA journal_mode = OFF;PRAGMA synchronous = OFF; "
		    "PRAGMA temp_store = MEMORY;BEGIN") ||
	    run_file(b, b->in, 0) || (b->lazy && drop_empty(b)) ||
	    exec(b, "COMMIT; VACUUM"))
		return -1;
	return 0;
}

int main(int argc, char **argv)
{
	struct build b = {.in = argc == 3 ? argv[1] : NULL};
	char *tmp;
	int rc;

	if (argc != 3) {
		fprintf(stderr, "usage: mkfixture IN.sql OUT.sqlite\n");
		return 2;
	}
	tmp = sqlite3_mprintf("%s.tmp%d", argv[2], (int)getpid());
	unlink(tmp);
	rc = make(&b, tmp);
	if (sqlite3_close(b.db) != SQLITE_OK && !rc)
		rc = fail(argv[2], "cannot be closed");
	if (!rc && rename(tmp, argv[2]))
		rc = fail(argv[2], strerror(errno));
	if (rc)
		unlink(tmp);
	sqlite3_free(tmp);
	return rc ? 1 : 0;
}
