/* mkrep.c - writes an SQLite export of nsys as a report file.
 *
 * usage: mkrep IN.sqlite OUT.nsys-rep
 *
 * mkrep.def lists the place of each column in the report. Rows of a table keep their order. The
 * tables alternate, one row at a time, as events of different kinds do in real reports. The same
 * export gives the same bytes.
 *
 * Tables and columns without a known place in the format are left out and named on stderr, one line
 * for each. If there is no such line, the report holds everything that the export has. Exit code: 0
 * written, 1 failed, 2 misuse.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <lz4.h>
#include <sqlite3.h>

#include "wire.h"

enum {
	MAX_FIELDS = 48,
	MAX_COLUMNS = 128,
	MAX_CURSORS = 48,
	EVENTS_PER_BLOCK = 7000, /* as in every report seen */
	VERSION_SYNC = 2025 * 100 + 1, /* from this version on, kinds of waits have other numbers */
	/* The first version with clocks in a section of their own. */
	VERSION_CLOCKS = 2026 * 100 + 2,
	CLOCK_ID = 16, /* length of a clock's id in bytes */
	FIRST_SCHEMA = 4096,
	TYPE_INT64 = 17,
	TYPE_DOUBLE = 20,
	TYPE_STRING_ID = 80,
	FIXED_LIST = 16,
	NVTX_DOMAIN_MADE = 75,
	NVTX_THREAD_NAME = 39,
	MPI_DOMAIN = 19792, /* mkrep.def has the same number */
};

enum place { THREADS, STRINGS, GPUS, MACHINE, NPLACES };

/* The place in a report file for the rows of a table. */
struct table {
	const char *name;
	int type;	     /* type of the event; 0: the row says it */
	uint32_t body;	     /* the event's field for its body, or a field of the place's message */
	const char *fields;
	const char *chains;  /* table of call chains; NULL: none */
	const char *chain;   /* column with a chain's id */
	uint32_t chain_field;
	/* columns that form a payload: each becomes an entry, whose meaning is the path */
	const char *payload;
	const char *json;    /* column with a payload as JSON text */
	enum place place;
};

#define EVENT(table, t, b, f, ...) \
	{.name = #table, .type = t, .body = b, .fields = f, .place = NPLACES, __VA_ARGS__},
#define PLACE(table, to, field, f) \
	{.name = #table, .body = field, .fields = f, .place = to},
#define OPTION(name, field)
#define DERIVED(table, column)
#define LOST(table, condition)
static const struct table tables[] = {
#include "mkrep.def"
};
#undef EVENT
#undef PLACE
#undef OPTION
#undef DERIVED
#undef LOST

#define EVENT(table, ...)
#define PLACE(table, to, field, f)
#define OPTION(name, field) {name, field},
#define DERIVED(table, column)
#define LOST(table, condition)
static const struct {
	const char *name, *field;
} options[] = {
#include "mkrep.def"
};
#undef OPTION
#undef DERIVED
#undef LOST

#define OPTION(name, field)
#define DERIVED(table, column) {table, column},
#define LOST(table, condition)
static const struct {
	const char *table, *column;
} derived[] = {
#include "mkrep.def"
};
#undef DERIVED
#undef LOST

#define DERIVED(table, column)
#define LOST(table, condition) {table, condition},
static const struct {
	const char *table, *condition;
} lost[] = {
#include "mkrep.def"
};

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

struct field {
	uint32_t path[PATH_MAX_DEPTH];
	int n;
	char column[40];
	char kind; /* i integer, s text, d double, f float */
	bool preset;
	int64_t value; /* the value if the column is missing or NULL */
	int64_t class; /* class of the rows that have the field; 0: all rows */
	int at;	       /* index of the statement's column; -1: none */
};

struct fields {
	struct field f[MAX_FIELDS];
	int n;
};

/* A table whose rows are being written. */
struct cursor {
	const struct table *t;
	struct fields fields, payload;
	sqlite3_stmt *rows, *frames;
	struct fields frame;
	bool placed[MAX_COLUMNS];
	int chain_at, json_at, class_at;
};

struct schema {
	int64_t pid;
	struct buf entries;
	size_t size; /* size of the data */
};

struct rep {
	sqlite3 *db;
	int version;	  /* year * 100 + minor */
	char product[64]; /* EXPORT_PRODUCT_VERSION */
	struct message m;
	struct buf block, blocks; /* events of the current block; all packed blocks */
	int in_block;
	int64_t nevents, nmetrics, nthreads;
	struct buf strings;	/* field 1 of the string block */
	int64_t nstrings;
	struct text {
		char *s;
		int64_t id;
	} *texts; /* texts of payloads */
	int ntexts;
	struct buf catalogue;	/* fields HEADER 13 and 14: catalogue of counters */
	struct buf place[NPLACES];
	struct schema *schemas;
	int nschemas;
	char **said; /* the lines printed on stderr, each once */
	int nsaid;
};

static _Noreturn void die(const char *what, const char *why)
{
	fprintf(stderr, "mkrep: %s: %s\n", what, why);
	exit(1);
}

static void *grow(void *p, int n, size_t size)
{
	p = realloc(p, (size_t)n * size);
	if (!p)
		abort();
	return p;
}

static void complain(struct rep *r, const char *table, const char *column,
		     const char *why)
{
	char *s = sqlite3_mprintf("%s%s%s: %s", table, column ? "." : "",
				  column ? column : "", why);

	for (int i = 0; i < r->nsaid; i++)
		if (!strcmp(r->said[i], s)) {
			sqlite3_free(s);
			return;
		}
	fprintf(stderr, "mkrep: %s\n", s);
	r->said = grow(r->said, r->nsaid + 1, sizeof(*r->said));
	r->said[r->nsaid++] = s;
}

/* Prepares a statement; NULL: a table or column is missing. */
static sqlite3_stmt *query(struct rep *r, const char *format, ...)
{
	sqlite3_stmt *stmt = NULL;
	va_list args;
	char *sql;

	va_start(args, format);
	sql = sqlite3_vmprintf(format, args);
	va_end(args);
	if (sqlite3_prepare_v2(r->db, sql, -1, &stmt, NULL) != SQLITE_OK)
		stmt = NULL;
	sqlite3_free(sql);
	return stmt;
}

static bool step(struct rep *r, sqlite3_stmt *stmt)
{
	int rc = stmt ? sqlite3_step(stmt) : SQLITE_DONE;

	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		die(sqlite3_sql(stmt), sqlite3_errmsg(r->db));
	return rc == SQLITE_ROW;
}

static const char *text_of(sqlite3_stmt *stmt, int at)
{
	const char *s = (const char *)sqlite3_column_text(stmt, at);

	return s ? s : "";
}

/* ---- fields -------------------------------------------------------------- */

/* Parses a field as "101.1 name:s=0", with a prefix before the path; returns whether it applies to
 * this version.
 */
static bool field_parse(struct field *f, const char *s, uint32_t prefix,
			int version)
{
	int used = 0;

	memset(f, 0, sizeof(*f));
	f->kind = 'i';
	f->at = -1;
	if ((*s == '<' && version >= VERSION_SYNC) ||
	    (*s == '>' && version < VERSION_SYNC))
		return false;
	s += *s == '<' || *s == '>';
	if (*s == '@')
		f->class = strtoll(s + 1, (char **)&s, 10);
	s += *s == ' ';
	if (prefix)
		f->path[f->n++] = prefix;
	do {
		f->path[f->n++] = (uint32_t)strtoul(s, (char **)&s, 10);
	} while (*s == '.' && s++ && f->n < PATH_MAX_DEPTH);
	if (*s == ' ') {
		sscanf(s, " %39[A-Za-z0-9]%n", f->column, &used);
		s += used;
	}
	if (*s == ':') {
		f->kind = s[1];
		s += 2;
	}
	if (*s == '=') {
		f->preset = true;
		f->value = strtoll(s + 1, (char **)&s, 10);
	}
	return true;
}

static void fields_parse(struct fields *fs, const char *s, uint32_t prefix,
			 int version)
{
	fs->n = 0;
	for (const char *next; s && *s; s = next) {
		next = strchr(s, ',');
		next = next ? next + 1 : s + strlen(s);
		if (fs->n == MAX_FIELDS)
			die(s, "too many fields");
		if (field_parse(&fs->f[fs->n], s, prefix, version))
			fs->n++;
	}
}

static int column_of(sqlite3_stmt *rows, const char *name)
{
	for (int i = 0; name && i < sqlite3_column_count(rows); i++)
		if (!sqlite3_stricmp(sqlite3_column_name(rows, i), name))
			return i;
	return -1;
}

static void fields_bind(struct cursor *c, struct fields *fs, sqlite3_stmt *rows)
{
	for (int i = 0; i < fs->n; i++) {
		fs->f[i].at = column_of(rows, fs->f[i].column);
		if (c && fs->f[i].at >= 0 && fs->f[i].at < MAX_COLUMNS)
			c->placed[fs->f[i].at] = true;
	}
}

/* Whether a cell of an SQLite type can be written to its field. */
static bool fits(const struct field *f, int type)
{
	if (f->kind == 's')
		return type == SQLITE_TEXT;
	return type == SQLITE_INTEGER || (type == SQLITE_FLOAT && f->kind != 'i');
}

static void field_put(struct rep *r, const char *table, const struct field *f,
		      sqlite3_stmt *rows)
{
	int type = f->at < 0 ? SQLITE_NULL : sqlite3_column_type(rows, f->at);
	uint32_t id = f->path[f->n - 1];
	struct buf *b;

	if (type == SQLITE_NULL) {
		if (f->preset)
			put_int(message_at(&r->m, f->path, f->n), id, f->value);
		return;
	}
	if (!fits(f, type)) {
		complain(r, table, f->column, "a cell of another type");
		return;
	}
	b = message_at(&r->m, f->path, f->n);
	if (f->kind == 's') {
		const char *s = text_of(rows, f->at);

		put_bytes(b, id, s, (size_t)sqlite3_column_bytes(rows, f->at));
	} else if (f->kind == 'd') {
		double d = sqlite3_column_double(rows, f->at);

		put_fixed(b, id, &d, sizeof(d));
	} else if (f->kind == 'f') {
		float d = (float)sqlite3_column_double(rows, f->at);

		put_fixed(b, id, &d, sizeof(d));
	} else {
		put_int(b, id, sqlite3_column_int64(rows, f->at));
	}
}

/* ---- events -------------------------------------------------------------- */

/* Writes a block: a message after its length, packed with LZ4. */
static void pack(struct buf *out, const struct buf *message)
{
	struct buf plain = {0};
	char *packed;
	int n;

	put_varint(&plain, message->n);
	put_raw(&plain, message->p, message->n);
	n = LZ4_compressBound((int)plain.n);
	packed = grow(NULL, n, 1);
	n = LZ4_compress_default((const char *)plain.p, packed, (int)plain.n, n);
	if (n <= 0)
		die("lz4", "does not compress");
	put_varint(out, (uint64_t)n);
	put_varint(out, plain.n);
	put_raw(out, packed, (size_t)n);
	free(packed);
	free(plain.p);
}

static void block_end(struct rep *r)
{
	if (r->in_block)
		pack(&r->blocks, &r->block);
	r->block.n = 0;
	r->in_block = 0;
}

static void event_put(struct rep *r, struct buf *event)
{
	put_buf(&r->block, 1, event);
	event->n = 0;
	if (++r->in_block == EVENTS_PER_BLOCK)
		block_end(r);
}

/* The id of the process's schema with these entries for data of this size; a new one if there is
 * none.
 */
static int64_t schema_of(struct rep *r, int64_t pid, const struct buf *entries, size_t size)
{
	struct schema *s;

	for (int i = 0; i < r->nschemas; i++) {
		s = &r->schemas[i];
		if (s->pid == pid && s->entries.n == entries->n &&
		    !memcmp(s->entries.p, entries->p, entries->n))
			return FIRST_SCHEMA + i;
	}
	r->schemas = grow(r->schemas, r->nschemas + 1, sizeof(*r->schemas));
	s = &r->schemas[r->nschemas];
	memset(s, 0, sizeof(*s));
	s->pid = pid;
	s->size = size;
	put_raw(&s->entries, entries->p, entries->n);
	return FIRST_SCHEMA + r->nschemas++;
}

/* n: the number of values of a list; 0: it is no list. */
static void entry_put(struct buf *entries, const char *name, int64_t type,
		      size_t offset, uint32_t meaning, int64_t n)
{
	struct buf e = {0};

	put_int(&e, 1, type);
	if (n) {
		put_int(&e, 2, FIXED_LIST);
		put_int(&e, 4, n);
	}
	put_int(&e, 3, (int64_t)offset);
	put_text(&e, 7, name);
	if (meaning)
		put_int(&e, 9, meaning);
	put_buf(entries, 4, &e);
	free(e.p);
}

static int64_t string_add(struct rep *r, const char *s)
{
	put_text(&r->strings, 1, s);
	return r->nstrings++;
}

/* Writes field 8 of an NVTX event: the payload's bytes, and the schema that describes them. */
static void payload_put(struct rep *r, uint32_t body, int64_t pid,
			struct buf *entries, struct buf *data)
{
	const uint32_t path[] = {body, 8, 9, 1};
	struct buf *b = message_at(&r->m, path, 4);

	put_int(b, 1, schema_of(r, pid, entries, data->n));
	put_bytes(b, 2, data->p, data->n);
	free(entries->p);
	free(data->p);
}

static void payload_of_columns(struct rep *r, struct cursor *c, int64_t pid)
{
	struct buf entries = {0}, data = {0};

	for (int i = 0; i < c->payload.n; i++) {
		const struct field *f = &c->payload.f[i];
		bool null = f->at < 0 ||
			    sqlite3_column_type(c->rows, f->at) == SQLITE_NULL;
		int64_t v = null ? f->value : sqlite3_column_int64(c->rows, f->at);

		if (null && !f->preset)
			continue;
		entry_put(&entries, f->column, TYPE_INT64, data.n, f->path[0], 0);
		put_raw(&data, &v, sizeof(v));
	}
	payload_put(r, c->t->body, pid, &entries, &data);
}

/* The id of a text of a payload, which often repeats. */
static int64_t text_id(struct rep *r, const char *s)
{
	for (int i = 0; i < r->ntexts; i++)
		if (!strcmp(r->texts[i].s, s))
			return r->texts[i].id;
	r->texts = grow(r->texts, r->ntexts + 1, sizeof(*r->texts));
	r->texts[r->ntexts].s = strdup(s);
	return r->texts[r->ntexts++].id = string_add(r, s);
}

static void json_put(struct rep *r, int64_t pid, const char *json, struct buf *entries,
		     struct buf *data);

/* Makes an entry and data from a JSON list of objects that have the same keys. */
static void list_put(struct rep *r, int64_t pid, const char *key, const char *json,
		     struct buf *entries, struct buf *data)
{
	sqlite3_stmt *each = query(r, "SELECT value FROM json_each(?)");
	struct buf all = {0};
	int64_t type = 0, n = 0;

	sqlite3_bind_text(each, 1, json, -1, SQLITE_TRANSIENT);
	for (; step(r, each); n++) {
		struct buf parts = {0}, one = {0};

		json_put(r, pid, text_of(each, 0), &parts, &one);
		type = schema_of(r, pid, &parts, one.n);
		put_raw(&all, one.p, one.n);
		free(parts.p);
		free(one.p);
	}
	sqlite3_finalize(each);
	entry_put(entries, key, type, data->n, 0, n);
	put_raw(data, all.p, all.n);
	free(all.p);
}

/* Makes entries and data from a JSON object of whole numbers, fractions, texts and lists. */
static void json_put(struct rep *r, int64_t pid, const char *json, struct buf *entries,
		     struct buf *data)
{
	sqlite3_stmt *each = query(r, "SELECT key, type, value FROM json_each(?)");

	sqlite3_bind_text(each, 1, json, -1, SQLITE_TRANSIENT);
	while (step(r, each)) {
		const char *key = text_of(each, 0), *type = text_of(each, 1);
		int64_t v = sqlite3_column_int64(each, 2);
		double d = sqlite3_column_double(each, 2);

		if (!strcmp(type, "array")) {
			list_put(r, pid, key, text_of(each, 2), entries, data);
			continue;
		}
		if (!strcmp(type, "integer")) {
			entry_put(entries, key, TYPE_INT64, data->n, 0, 0);
		} else if (!strcmp(type, "real")) {
			entry_put(entries, key, TYPE_DOUBLE, data->n, 0, 0);
			memcpy(&v, &d, sizeof(v));
		} else if (!strcmp(type, "text")) {
			entry_put(entries, key, TYPE_STRING_ID, data->n, 0, 0);
			v = text_id(r, text_of(each, 2));
		} else {
			complain(r, "JSON", key, type);
		}
		put_raw(data, &v, sizeof(v));
	}
	sqlite3_finalize(each);
}

static void payload_of_json(struct rep *r, struct cursor *c, int64_t pid)
{
	struct buf entries = {0}, data = {0};

	json_put(r, pid, text_of(c->rows, c->json_at), &entries, &data);
	payload_put(r, c->t->body, pid, &entries, &data);
}

static void frames_put(struct rep *r, struct cursor *c)
{
	if (!c->frames || c->chain_at < 0)
		return;
	sqlite3_bind_int64(c->frames, 1, sqlite3_column_int64(c->rows, c->chain_at));
	while (step(r, c->frames)) {
		const uint32_t path[] = {c->t->body, c->t->chain_field, 1};

		message_at(&r->m, path, 3);
		for (int i = 0; i < c->frame.n; i++)
			field_put(r, c->t->chains, &c->frame.f[i], c->frames);
		message_at(&r->m, path, 2); /* closes the frame */
	}
	sqlite3_reset(c->frames);
}

static int64_t class_of(const struct cursor *c)
{
	return c->class_at < 0 ? 0 : sqlite3_column_int64(c->rows, c->class_at);
}

/* The type of the row's event: starts and finishes of tracers have their own. */
static int64_t event_type(const struct cursor *c)
{
	int64_t class = class_of(c);

	if (!c->t->type) {
		int at = c->fields.f[0].at;

		return at < 0 ? c->fields.f[0].value
			      : sqlite3_column_int64(c->rows, at);
	}
	return c->t->type == 48 && (class == 31 || class == 32) ? 47 : c->t->type;
}

static void row_put(struct rep *r, struct cursor *c)
{
	const struct table *t = c->t;
	int tid_at = column_of(c->rows, "globalTid");
	int64_t pid = tid_at < 0 ? 0 : sqlite3_column_int64(c->rows, tid_at) & ~0xffffffLL;

	for (int i = 0; i < sqlite3_column_count(c->rows) && i < MAX_COLUMNS; i++)
		if (!c->placed[i] && sqlite3_column_type(c->rows, i) != SQLITE_NULL)
			complain(r, t->name, sqlite3_column_name(c->rows, i),
				 "no known place");
	if (t->place == NPLACES)
		put_int(&r->m.level[0], 1, event_type(c));
	for (int i = 0; i < c->fields.n; i++)
		if (!c->fields.f[i].class || c->fields.f[i].class == class_of(c))
			field_put(r, t->name, &c->fields.f[i], c->rows);
	if (c->payload.n)
		payload_of_columns(r, c, pid);
	if (c->json_at >= 0 && sqlite3_column_type(c->rows, c->json_at) == SQLITE_TEXT)
		payload_of_json(r, c, pid);
	frames_put(r, c);
	if (t->place == NPLACES) {
		r->nevents++;
		event_put(r, message_end(&r->m));
		return;
	}
	r->nthreads += t->place == THREADS;
	put_raw(&r->place[t->place], message_end(&r->m)->p, message_end(&r->m)->n);
	r->m.level[0].n = 0;
}

static void frames_open(struct rep *r, struct cursor *c)
{
	static const char frame[] = "1 symbol,2 module,4 kernelMode,5 thumbCode,"
		"6 unresolved,7 specialEntry,8 originalIP,9 unwindMethod";
	char *sql = sqlite3_mprintf(
	    "CREATE TEMP TABLE \"of %w\" AS SELECT * FROM \"%w\";"
	    "CREATE INDEX temp.\"by %w\" ON \"of %w\"(id, stackDepth)",
	    c->t->chains, c->t->chains, c->t->chains, c->t->chains);

	c->chain_at = column_of(c->rows, c->t->chain);
	if (sqlite3_exec(r->db, sql, NULL, NULL, NULL) == SQLITE_OK) {
		c->frames = query(r, "SELECT * FROM temp.\"of %w\" WHERE id = ? "
				     "ORDER BY stackDepth", c->t->chains);
		fields_parse(&c->frame, frame, c->t->chain_field, r->version);
		for (int i = 0; i < c->frame.n; i++) { /* BODY before it */
			struct field *f = &c->frame.f[i];

			memmove(f->path + 1, f->path, sizeof(f->path[0]) * 2);
			f->path[0] = c->t->body;
			f->n++;
		}
		fields_bind(NULL, &c->frame, c->frames);
	}
	sqlite3_free(sql);
}

/* Opens a table. Returns whether the export has it. */
static bool cursor_open(struct rep *r, const struct table *t, struct cursor *c)
{
	memset(c, 0, sizeof(*c));
	c->t = t;
	c->rows = query(r, "SELECT * FROM \"%w\"", t->name);
	if (!c->rows)
		return false;
	fields_parse(&c->fields, t->fields, t->body, r->version);
	fields_bind(c, &c->fields, c->rows);
	fields_parse(&c->payload, t->payload, 0, r->version);
	fields_bind(c, &c->payload, c->rows);
	for (int i = 0; i < COUNT(derived); i++) {
		int at = strcmp(derived[i].table, t->name)
			     ? -1 : column_of(c->rows, derived[i].column);

		if (at >= 0 && at < MAX_COLUMNS)
			c->placed[at] = true;
	}
	c->json_at = column_of(c->rows, t->json);
	c->class_at = column_of(c->rows, "eventClass");
	c->chain_at = -1;
	if (t->chains)
		frames_open(r, c);
	return true;
}

/* Writes all rows of the tables of this kind, alternately. */
static void rows_put(struct rep *r, bool events)
{
	struct cursor *open = grow(NULL, MAX_CURSORS, sizeof(*open));
	int n = 0, left;

	for (int i = 0; i < COUNT(tables) && n < MAX_CURSORS; i++)
		if ((tables[i].place == NPLACES) == events)
			n += cursor_open(r, &tables[i], &open[n]);
	do {
		left = 0;
		for (int i = 0; i < n; i++) {
			if (!open[i].rows)
				continue;
			if (step(r, open[i].rows)) {
				row_put(r, &open[i]);
				left++;
			} else {
				sqlite3_finalize(open[i].rows);
				sqlite3_finalize(open[i].frames);
				open[i].rows = NULL;
			}
		}
	} while (left);
	free(open);
}

/* Writes the names of the threads of ranks, and the events that create MPI's NVTX domain. A
 * reader recognises the ranges of that domain by its event.
 */
static void mpi_begin(struct rep *r)
{
	static const char *const tables_of_mpi[] = {
	    "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS",
	    "MPI_OTHER_EVENTS"};
	sqlite3_stmt *rows = query(r, "SELECT globalTid, rank FROM MPI_RANKS");

	for (; step(r, rows); r->nevents++) {
		char name[40];
		struct buf event = {0}, body = {0};

		snprintf(name, sizeof(name), "MPI Rank %lld",
			 (long long)sqlite3_column_int64(rows, 1));
		put_int(&event, 1, NVTX_THREAD_NAME);
		put_int(&body, 1, NVTX_THREAD_NAME);
		put_text(&body, 7, name);
		put_int(&body, 9, sqlite3_column_int64(rows, 0));
		put_buf(&event, 102, &body);
		event_put(r, &event);
		free(event.p);
		free(body.p);
	}
	sqlite3_finalize(rows);
	for (int i = 0; i < COUNT(tables_of_mpi); i++) {
		rows = query(r, "SELECT DISTINCT globalTid & ~0xffffff FROM %s",
			     tables_of_mpi[i]);
		for (; step(r, rows); r->nevents++) {
			struct buf event = {0}, body = {0};

			put_int(&event, 1, NVTX_DOMAIN_MADE);
			put_int(&body, 1, NVTX_DOMAIN_MADE);
			put_text(&body, 7, "MPI");
			put_int(&body, 9, sqlite3_column_int64(rows, 0));
			put_int(&body, 13, MPI_DOMAIN);
			put_buf(&event, 102, &body);
			event_put(r, &event);
			free(event.p);
			free(body.p);
		}
		sqlite3_finalize(rows);
	}
}

/* ---- GPU metrics --------------------------------------------------------- */

enum { METRIC_SIZE = 8 };

/* Writes HEADER 13 and 14: the source, and a layout for each type. */
static void metrics_catalogue(struct rep *r)
{
	sqlite3_stmt *types = query(r, "SELECT DISTINCT typeId, typeId >> 32 << 32"
				       " FROM TARGET_INFO_GPU_METRICS ORDER BY 1");
	int64_t source = -1;

	while (step(r, types)) {
		struct buf layout = {0}, b = {0};
		sqlite3_stmt *of = query(r, "SELECT metricName FROM TARGET_INFO_GPU_METRICS"
				    " WHERE typeId = %lld ORDER BY metricId",
				    (long long)sqlite3_column_int64(types, 0));

		if (source != sqlite3_column_int64(types, 1)) {
			source = sqlite3_column_int64(types, 1);
			put_int(&b, 1, source);
			put_int(&b, 3, string_add(r, "GpuMetrics"));
			put_buf(&r->catalogue, 13, &b);
		}
		put_int(&layout, 1, sqlite3_column_int64(types, 0));
		for (int i = 0; step(r, of); i++) {
			b.n = 0;
			put_int(&b, 1, string_add(r, text_of(of, 0)));
			put_int(&b, 2, (int64_t)i * METRIC_SIZE);
			put_int(&b, 3, METRIC_SIZE);
			put_buf(&layout, 3, &b);
		}
		put_buf(&r->catalogue, 14, &layout);
		sqlite3_finalize(of);
		free(layout.p);
		free(b.p);
	}
	sqlite3_finalize(types);
}

static void metric_event(struct rep *r, int64_t type, int64_t time,
			 struct buf *values)
{
	struct buf e = {0};

	put_int(&e, 1, type);
	put_int(&e, 2, time);
	put_bytes(&e, 3, values->p, values->n);
	event_put(r, &e);
	r->nmetrics++;
	values->n = 0;
	free(e.p);
}

/* Writes one event with all values that one type has at one time. */
static void metrics_put(struct rep *r)
{
	sqlite3_stmt *rows = query(r,
		"SELECT g.typeId, g.timestamp, g.value, t.place, t.n, typeof(g.value)"
		" FROM GPU_METRICS g LEFT JOIN (SELECT typeId, metricId,"
		" row_number() OVER (PARTITION BY typeId ORDER BY metricId) - 1 AS place,"
		" count(*) OVER (PARTITION BY typeId) AS n"
		" FROM TARGET_INFO_GPU_METRICS) t USING (typeId, metricId)");
	struct buf values = {0};
	int64_t type = 0, time = 0;

	while (step(r, rows)) {
		int64_t v = sqlite3_column_int64(rows, 2);

		if (!values.n) {
			type = sqlite3_column_int64(rows, 0);
			time = sqlite3_column_int64(rows, 1);
		}
		if (type != sqlite3_column_int64(rows, 0) ||
		    time != sqlite3_column_int64(rows, 1) ||
		    sqlite3_column_type(rows, 3) == SQLITE_NULL ||
		    sqlite3_column_int64(rows, 3) * METRIC_SIZE != (int64_t)values.n ||
		    strcmp(text_of(rows, 5), "integer") != 0) {
			complain(r, "GPU_METRICS", NULL, "not all values of a moment, in order");
			break;
		}
		put_raw(&values, &v, sizeof(v));
		if (sqlite3_column_int64(rows, 3) + 1 == sqlite3_column_int64(rows, 4))
			metric_event(r, type, time, &values);
	}
	sqlite3_finalize(rows);
	free(values.p);
}

/* ---- around the events --------------------------------------------------- */

static void strings_read(struct rep *r)
{
	sqlite3_stmt *rows = query(r, "SELECT id, value FROM StringIds ORDER BY id");

	while (step(r, rows)) {
		int64_t id = sqlite3_column_int64(rows, 0);

		if (id < r->nstrings || id > 100000000) {
			complain(r, "StringIds", "id", "not a place in a list");
			break;
		}
		while (r->nstrings < id)
			string_add(r, "");
		put_bytes(&r->strings, 1, text_of(rows, 1),
			  (size_t)sqlite3_column_bytes(rows, 1));
		r->nstrings++;
	}
	sqlite3_finalize(rows);
}

/* Writes a conversion of clocks: {1 from, 2 to, 5 offset as text, 6 "Offset"}. */
static void offset_put(struct buf *clocks, int from, int to, int64_t offset)
{
	struct buf e = {0};
	char s[24];

	snprintf(s, sizeof(s), "%lld", (long long)offset);
	put_int(&e, 1, from);
	put_int(&e, 2, to);
	put_text(&e, 5, s);
	put_text(&e, 6, "Offset");
	put_buf(clocks, 1, &e);
	free(e.p);
}

/* Writes an entry of the section 'Time Conversion Data': time x on one clock is time y on the
 * other.
 */
static void point_put(struct buf *lines, const char *from, const char *to,
		      int64_t x, int64_t y)
{
	struct buf point = {0}, line = {0}, e = {0};
	double slope = 1;

	put_int(&point, 1, x);
	put_int(&point, 2, y);
	put_buf(&line, 1, &point);
	put_fixed(&line, 2, &slope, sizeof(slope));
	put_bytes(&e, 1, from, CLOCK_ID);
	put_bytes(&e, 2, to, CLOCK_ID);
	put_buf(&e, 3, &line);
	put_buf(lines, 1, &e);
	free(point.p);
	free(line.p);
	free(e.p);
}

static void clock_kind(struct buf *kinds, const char *id, int kind)
{
	struct buf e = {0};

	put_bytes(&e, 1, id, CLOCK_ID);
	put_int(&e, 2, kind);
	put_buf(kinds, 1, &e);
	free(e.p);
}

/* Writes the section 'Time Conversion Data': the kinds of clocks, then their relations. */
static void clocks_put(struct buf *out, int64_t start, int64_t utc, int64_t local)
{
	static const struct {
		char id[CLOCK_ID + 1];
		int kind;
	} clock[] = {{"clock of session", 15}, {"clock, monotonic", 14},
		     {"clock of counter", 10}, {"the clock of UTC", 11},
		     {"clock local time", 12}};
	struct buf kinds = {0}, lines = {0};

	for (int i = 0; i < COUNT(clock); i++)
		clock_kind(&kinds, clock[i].id, clock[i].kind);
	point_put(&lines, clock[0].id, clock[1].id, start, 0);
	point_put(&lines, clock[3].id, clock[2].id, utc, start);
	point_put(&lines, clock[4].id, clock[3].id, utc + local, utc);
	put_buf(out, 1, &kinds);
	put_buf(out, 2, &lines);
	free(kinds.p);
	free(lines.p);
}

/* Writes when the session began and ended, on all clocks: in FIRST or, in later versions, in
 * CLOCKS, a section of its own.
 */
static void times_put(struct rep *r, struct buf *first, struct buf *clocks)
{
	sqlite3_stmt *s = query(r, "SELECT systemClockNs, utcEpochNs, ifnull(strftime('%%s', localTime)"
		" - strftime('%%s', utcTime), 0) FROM TARGET_INFO_SESSION_START_TIME");
	sqlite3_stmt *stop = query(r, "SELECT startTime, stopTime FROM ANALYSIS_DETAILS");
	int64_t start, utc, local;

	if (!s) /* before systemClockNs was exported */
		s = query(r, "SELECT startTime, utcEpochNs, 0 FROM"
			     " TARGET_INFO_SESSION_START_TIME, ANALYSIS_DETAILS");
	if (step(r, s)) {
		start = sqlite3_column_int64(s, 0);
		utc = sqlite3_column_int64(s, 1);
		local = sqlite3_column_int64(s, 2) * 1000000000;
		put_int(first, 17, start);
		if (r->version >= VERSION_CLOCKS) {
			clocks_put(clocks, start, utc, local);
		} else {
			struct buf b = {0};

			offset_put(&b, 7, 1, -start);
			offset_put(&b, 1, 3, 0);
			offset_put(&b, 3, 9, start - utc);
			offset_put(&b, 9, 10, -local);
			put_buf(first, 16, &b);
			free(b.p);
		}
	}
	if (step(r, stop)) {
		if (!sqlite3_stmt_busy(s))
			put_int(first, 17, sqlite3_column_int64(stop, 0));
		put_int(first, 18, sqlite3_column_int64(stop, 1));
	}
	sqlite3_finalize(s);
	sqlite3_finalize(stop);
}

/* Writes FIRST 1: the machine and its properties. */
static void device_put(struct rep *r, struct buf *first)
{
	sqlite3_stmt *rows = query(r, "SELECT nameEnum, CASE nameEnum WHEN 610 THEN"
		" replace(value, ';', char(0)) ELSE value END, devStateName, globalVid"
		" FROM TARGET_INFO_SYSTEM_ENV");
	struct buf device = {0}, all = {0}, e = {0};
	int64_t vid = 0;

	while (step(r, rows)) {
		if (!all.n)
			put_text(&device, 1, text_of(rows, 2));
		vid = sqlite3_column_int64(rows, 3);
		e.n = 0;
		put_int(&e, 1, sqlite3_column_int64(rows, 0));
		put_bytes(&e, 2, text_of(rows, 1), (size_t)sqlite3_column_bytes(rows, 1));
		put_buf(&all, 1, &e);
	}
	if (!all.n) {
		sqlite3_finalize(rows);
		rows = query(r, "SELECT globalVid FROM ANALYSIS_DETAILS");
		if (step(r, rows))
			vid = sqlite3_column_int64(rows, 0);
	}
	if (all.n || vid) {
		put_buf(&device, 2, &all);
		put_int(&device, 3, vid);
		put_buf(first, 1, &device);
	}
	sqlite3_finalize(rows);
	free(device.p);
	free(all.p);
	free(e.p);
}

/* The rows of META_DATA_CAPTURE for an option of options[]: its name, or NAME=VALUE. */
static sqlite3_stmt *option_rows(struct rep *r, const char *option)
{
	const char *value = strchr(option, '=');
	sqlite3_stmt *rows = query(r, "SELECT value FROM META_DATA_CAPTURE"
				      " WHERE name = ?1 AND (?2 IS NULL OR value = ?2)");

	if (rows) {
		sqlite3_bind_text(rows, 1, option,
				  value ? (int)(value - option) : -1, SQLITE_STATIC);
		if (value)
			sqlite3_bind_text(rows, 2, value + 1, -1, SQLITE_STATIC);
	}
	return rows;
}

static void options_put(struct rep *r, struct buf *out)
{
	sqlite3_stmt *rows;
	int64_t known = 0;

	for (int i = 0; i < COUNT(options); i++) {
		struct field f;

		rows = option_rows(r, options[i].name);
		for (; step(r, rows); known++) {
			const char *value = text_of(rows, 0);
			struct buf *b;

			if (!options[i].field)
				continue;
			field_parse(&f, options[i].field, 0, r->version);
			b = message_at(&r->m, f.path, f.n);
			if (f.kind == 's')
				put_text(b, f.path[f.n - 1], value);
			else
				put_int(b, f.path[f.n - 1],
					f.preset ? f.value : strtoll(value, NULL, 10));
			if (f.path[0] == 2)
				message_end(&r->m); /* each event type has a message of its own */
		}
		sqlite3_finalize(rows);
	}
	rows = query(r, "SELECT count(*) FROM META_DATA_CAPTURE");
	if (step(r, rows) && sqlite3_column_int64(rows, 0) != known)
		complain(r, "META_DATA_CAPTURE", NULL, "options with no known place");
	sqlite3_finalize(rows);
	put_raw(out, message_end(&r->m)->p, message_end(&r->m)->n);
	r->m.level[0].n = 0;
}

/* Writes the block of NVTX schemas; returns the number of processes that have schemas. */
static int schemas_put(struct rep *r, struct buf *out)
{
	static const int size[] = {1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1,
				   2, 2, 4, 4, 8, 8, 4, 8};
	struct buf b = {0};
	int npids = 0;

	put_int(out, 1, COUNT(size));
	for (int i = 0; i < COUNT(size); i++) {
		b.n = 0;
		put_int(&b, 1, size[i]);
		put_int(&b, 2, size[i]);
		put_buf(out, 2, &b);
	}
	for (int i = 0; i < r->nschemas; i++) {
		struct buf process = {0};
		int64_t pid = r->schemas[i].pid;
		bool seen = false;

		for (int k = 0; k < i; k++)
			seen |= r->schemas[k].pid == pid;
		put_int(&process, 1, pid);
		for (int k = i; !seen && k < r->nschemas; k++) {
			if (r->schemas[k].pid != pid)
				continue;
			b.n = 0;
			put_int(&b, 1, FIRST_SCHEMA + k);
			put_int(&b, 2, 1);
			put_raw(&b, r->schemas[k].entries.p, r->schemas[k].entries.n);
			put_int(&b, 6, (int64_t)r->schemas[k].size);
			put_buf(&process, 2, &b);
		}
		if (!seen)
			put_buf(out, 3, &process);
		npids += !seen;
		free(process.p);
	}
	free(b.p);
	return npids;
}

static void with_length(struct buf *out, const struct buf *message)
{
	put_varint(out, message->n);
	put_raw(out, message->p, message->n);
}

/* Writes section 'Raw Sampling Data'; returns the end of its events, counted from the end of
 * 'QDTEXT00'.
 */
static size_t raw_put(struct rep *r, struct buf *first, struct buf *out)
{
	struct buf header = {0}, schemas = {0}, vm = {0};
	int npids = schemas_put(r, &schemas);
	size_t end;

	put_int(&header, 1, r->nevents);
	put_int(&header, 3, r->nstrings);
	if (r->nthreads)
		put_int(&header, 5, r->nthreads);
	put_text(&header, 9, "lz4");
	put_int(&header, 10, 1);
	put_int(&header, 12, 1);
	put_raw(&header, r->catalogue.p, r->catalogue.n);
	if (r->nmetrics)
		put_int(&header, 15, r->nmetrics);
	if (npids)
		put_int(&header, 17, npids);
	put_raw(out, "QDTEXT00", 8);
	with_length(out, first);
	with_length(out, &header);
	put_raw(out, r->blocks.p, r->blocks.n);
	end = out->n - 8;
	put_raw(&r->strings, r->place[STRINGS].p, r->place[STRINGS].n);
	pack(out, &r->strings);
	if (r->nthreads)
		with_length(out, &r->place[THREADS]);
	if (r->place[GPUS].n) {
		sqlite3_stmt *id = query(r, "SELECT vmId FROM TARGET_INFO_GPU");

		if (step(r, id))
			put_int(&vm, 1, sqlite3_column_int64(id, 0));
		sqlite3_finalize(id);
		put_buf(&vm, 2, &r->place[GPUS]);
		header.n = 0;
		put_buf(&header, 1, &vm);
	} else {
		header.n = 0;
	}
	put_raw(&header, r->place[MACHINE].p, r->place[MACHINE].n);
	with_length(out, &header);
	if (npids)
		pack(out, &schemas);
	free(header.p);
	free(schemas.p);
	free(vm.p);
	return end;
}

static void section_put(struct buf *file, struct buf *directory,
			const char *name, struct buf *section)
{
	struct buf e = {0};

	put_text(&e, 1, name);
	put_int(&e, 2, (int64_t)file->n);
	put_int(&e, 3, (int64_t)section->n);
	put_buf(directory, 1, &e);
	put_raw(file, section->p, section->n);
	free(e.p);
	free(section->p);
}

static void file_put(struct rep *r, struct buf *file)
{
	struct buf options_section = {0}, raw = {0}, offsets = {0}, ui = {0};
	struct buf first = {0}, clocks = {0}, directory = {0};
	uint64_t at;
	char version[96];

	options_put(r, &options_section);
	device_put(r, &first);
	times_put(r, &first, &clocks);
	put_text(&offsets, 1, "lz4");
	put_int(&offsets, 2, (int64_t)raw_put(r, &first, &raw));
	snprintf(version, sizeof(version), "%s-0v0", r->product);
	put_int(&ui, 2, 1);
	put_text(&ui, 6, version);
	put_text(&ui, 7, version);
	put_text(&ui, 21, version);
	put_raw(file, "NVIDIA Tegra Profiler Report 1.\n", 32);
	section_put(file, &directory, "Analysis Options Data", &options_section);
	section_put(file, &directory, "Raw Sampling Data", &raw);
	section_put(file, &directory, "Sampling Data Offsets", &offsets);
	section_put(file, &directory, "UI Data", &ui);
	if (clocks.n)
		section_put(file, &directory, "Time Conversion Data", &clocks);
	at = file->n;
	put_raw(file, directory.p, directory.n);
	put_raw(file, &at, sizeof(at));
	put_raw(file, "U3w[END]", 8);
	free(first.p);
	free(directory.p);
}

/* ---- tables that are not written ----------------------------------------- */

/* Names the tables with rows that were not written. */
static void tables_check(struct rep *r)
{
	sqlite3_stmt *names = query(r, "SELECT name, type FROM sqlite_schema WHERE"
		" type IN ('table', 'view') AND name NOT LIKE 'sqlite\\_%%' ESCAPE '\\'"
		" AND name NOT LIKE 'ENUM\\_%%' ESCAPE '\\' AND name NOT IN ('StringIds',"
		" 'TARGET_INFO_SESSION_START_TIME', 'ANALYSIS_DETAILS', 'TARGET_INFO_SYSTEM_ENV',"
		" 'META_DATA_CAPTURE', 'META_DATA_EXPORT', 'GPU_METRICS', 'TARGET_INFO_GPU_METRICS',"
		" 'MPI_RANKS', 'OSRT_CALLCHAINS', 'SAMPLING_CALLCHAINS', 'UnwindMethodType',"
		" 'NVTX_PAYLOAD_SCHEMAS', 'NVTX_PAYLOAD_SCHEMA_ENTRIES')");

	while (step(r, names)) {
		const char *name = text_of(names, 0);
		sqlite3_stmt *row;
		bool known = false;

		for (int i = 0; i < COUNT(tables); i++)
			known |= !strcmp(tables[i].name, name);
		if (!strcmp(text_of(names, 1), "view"))
			complain(r, name, NULL, "a view");
		if (known)
			continue;
		row = query(r, "SELECT 1 FROM \"%w\"", name);
		if (step(r, row))
			complain(r, name, NULL, "no known place");
		sqlite3_finalize(row);
	}
	sqlite3_finalize(names);
	for (int i = 0; i < COUNT(lost); i++) {
		sqlite3_stmt *row = query(r, "SELECT 1 FROM %s WHERE %s",
					  lost[i].table, lost[i].condition);

		if (step(r, row))
			complain(r, lost[i].table, NULL, lost[i].condition);
		sqlite3_finalize(row);
	}
}

static void version_read(struct rep *r)
{
	sqlite3_stmt *row = query(r, "SELECT value FROM META_DATA_EXPORT"
				     " WHERE name = 'EXPORT_PRODUCT_VERSION'");
	int year = 0, minor = 0;

	if (step(r, row))
		snprintf(r->product, sizeof(r->product), "%s", text_of(row, 0));
	sqlite3_finalize(row);
	if (sscanf(r->product, "%d.%d", &year, &minor) != 2)
		complain(r, "META_DATA_EXPORT", NULL, "no version");
	r->version = year * 100 + minor;
}

int main(int argc, char **argv)
{
	struct rep r = {0};
	struct buf file = {0};
	FILE *out;

	if (argc != 3) {
		fprintf(stderr, "usage: mkrep IN.sqlite OUT.nsys-rep\n");
		return 2;
	}
	if (sqlite3_open_v2(argv[1], &r.db, SQLITE_OPEN_READONLY, NULL) != SQLITE_OK)
		die(argv[1], sqlite3_errmsg(r.db));
	version_read(&r);
	tables_check(&r);
	strings_read(&r);
	mpi_begin(&r);
	rows_put(&r, true);
	metrics_catalogue(&r);
	metrics_put(&r);
	block_end(&r);
	rows_put(&r, false);
	file_put(&r, &file);
	sqlite3_close(r.db);
	out = fopen(argv[2], "wb");
	if (!out || fwrite(file.p, 1, file.n, out) != file.n || fclose(out))
		die(argv[2], strerror(errno));
	return 0;
}
