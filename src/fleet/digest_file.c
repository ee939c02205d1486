/* digest_file.c - digests as SQLite files. One description of the tables serves the schema,
 * the writer, the reader and the content hash.
 *
 * Ranks are numbered from 1 in order, the rows of every table follow that order, and pages
 * have a fixed size. So the same ranks give the same bytes.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/open.h"
#include "base/stat.h"
#include "emit/emit.h"
#include "facts/steps/steps.h"
#include "fleet/digest.h"
#include "nsysrep/nsysrep.h"
#include "schema/viewscan.h"
#include "sqlite/db.h"

/* Limits the memory that a hostile compressed file can fill. Real digests expand to at most
 * 20 times their size.
 */
#define LARGE (1 << 20) /* bytes of a file that is not read into memory as a whole */
#define LEAST_ROOM ((size_t)64 << 20)
enum { MOST_RATIO = 100 };
/* Most collectives that a file may hold: the first number, plus the second for each byte of the
 * file. Real digests have one collective for three bytes.
 */
enum { LEAST_COLLS = 2 << 20, COLLS_A_BYTE = 16 };

static const char *const detail_names[NSX_NDETAILS] = {
	[NSX_DETAIL_STEPS] = "steps", [NSX_DETAIL_COLLS] = "colls",
	[NSX_DETAIL_FULL] = "full"};

enum kind { INT, HASH, TEXT, BOOL, NAME, BLOB };

struct column {
	const char *name;
	const char *help;
	enum kind kind;
	unsigned n;		  /* number of names */
	const char *const *names; /* NAME: the words; INT: one column for each */
	size_t offset;
	int64_t least;		  /* INT: least value allowed */
	/* TEXT, INT: version that brought it; an older file lacks it, and it is empty or 0 then.
	 * The hash passes over such a number and an empty text, so that a capture has one hash in all
	 * versions.
	 */
	unsigned since;
};
struct table {
	const char *name, *help;
	const struct column *columns;
	unsigned ncolumns;
	size_t size; /* size of the struct that holds a row */
	/* offsets of the list and of its length in the owner: see owner_of */
	size_t list, n;
};

#define COLUMN(type, member, kind_, help_, ...)                               \
	{.name = #member, .kind = kind_, .offset = offsetof(struct type, member), \
	 .help = help_ __VA_ARGS__}
#define LEAST(x) , .least = x
#define SINCE(x) , .since = x
#define NAMES(array) , .names = array, .n = ARRAY_LEN(array)
#define RANK(member, kind, ...) COLUMN(nsx_digest, member, kind, __VA_ARGS__)
static const struct column rank_columns[] = {
	RANK(who, HASH, "hash of host, session, process and device", ),
	RANK(content, HASH, "hash of all that is recorded here", ),
	RANK(rank, INT, "rank in the job, -1 not known", LEAST(-1)),
	RANK(rank_from, NAME, "how the rank is known", NAMES(nsx_rank_from_names)),
	RANK(world, INT, "ranks of the job, -1 not known", LEAST(-1)),
	RANK(detail, NAME, "how much is recorded", NAMES(detail_names)),
	RANK(host, HASH, "hash of the host's name, 0 not known", ),
	RANK(gpu, HASH, "hash of the GPU's uuid, 0 not known", ),
	RANK(gpu_model, TEXT, "model of the GPU", ),
	RANK(product, TEXT, "version of nsys", ),
	RANK(schema, TEXT, "version of its export", ),
	RANK(method, NAME, "how the steps were found, empty: there are none",
	     NAMES(nsx_way_methods)),
	RANK(unit, TEXT, "range or kernel that begins a step", ),
	RANK(pid, INT, "process", LEAST(-NSX_TIME_MAX)),
	RANK(device, INT, "CUDA ordinal, -1 none", LEAST(-1)),
	RANK(gpu_label, TEXT, "the GPU in reports, empty: by its ordinal", SINCE(10)),
	RANK(utc_ns, INT, "UTC at the zero of the times, -1 not known", LEAST(-1)),
	RANK(system_ns, INT, "the host's steady clock there, -1 not known", LEAST(-1)),
	RANK(first_ns, INT, "first event", LEAST(-NSX_TIME_MAX)),
	RANK(last_ns, INT, "end of the last", LEAST(-NSX_TIME_MAX)),
	RANK(launches, INT, "calls that launch", ),
	RANK(launch_ns, INT, "their time", ),
	RANK(syncs, INT, "calls that wait", ),
	RANK(sync_ns, INT, "their time", ),
	RANK(copies, INT, "copies and memsets", ),
	RANK(copied_bytes, INT, "their bytes", ),
	RANK(copy_ns, INT, "their time", ),
	RANK(peak_bytes, INT, "most GPU memory in use, -1 not recorded", LEAST(-1)),
	RANK(is_partial, BOOL, "the capture lost rows", ),
};
static const char *const total_names[NSX_NTOTALS] = {
	[NSX_TOTAL_KERNELS] = "kernels", [NSX_TOTAL_COPIES] = "copies",
	[NSX_TOTAL_ONE_TIME] = "start_up", [NSX_TOTAL_IDLE] = "idle"};
#define WHOLE(member, kind, ...) COLUMN(nsx_totals, member, kind, __VA_ARGS__)
#define OF_WAY(member, way, help_)                                            \
	{.name = #way "_" #member, .kind = INT, .help = help_,                \
	 .offset = offsetof(struct nsx_totals, member[NSX_##way])}
static const struct column whole_columns[] = {
	WHOLE(ns, INT, "of the time from first to last GPU operation; they add up",
	      NAMES(total_names)),
	WHOLE(recorded_ns, INT, "length of the recording", ),
	WHOLE(judged_ns, INT, "length of the part on which findings are judged", SINCE(9)),
	OF_WAY(bytes, TO_GPU, "copied"), OF_WAY(bytes, FROM_GPU, "copied"),
	OF_WAY(bytes, OTHER_WAY, "copied"), OF_WAY(copy_ns, TO_GPU, "sum of the copies' lengths"),
	OF_WAY(copy_ns, FROM_GPU, "same"), OF_WAY(copy_ns, OTHER_WAY, "same"),
	WHOLE(launches, INT, "kernels", ),
	WHOLE(threads, INT, "their blocks times threads", ),
	WHOLE(kernel_ns, INT, "sum of their lengths", ),
	WHOLE(migrates, BOOL, "unified memory moves pages", ),
	WHOLE(one_time, TEXT, "longest call in the longest gap of start-up", ),
	WHOLE(one_time_ns, INT, "length of that gap", ),
	WHOLE(sequence, HASH, "hash of the kernels' names in order, 0 few", ),
};
static const struct column block_columns[] = {
	COLUMN(nsx_launch_block, ns, INT, "sum of the lengths of as many kernels in order", ),
};
static const struct column call_columns[] = {
	COLUMN(nsx_call_speed, name, TEXT, "a call that waits for nothing", ),
	COLUMN(nsx_call_speed, count, INT, "how often", ),
	COLUMN(nsx_call_speed, median_ns, INT, "median of its length", ),
};
#define STEP(member, ...) COLUMN(nsx_dstep, member, INT, __VA_ARGS__)
static const struct column step_columns[] = {
	STEP(start_ns, "where the iteration begins", LEAST(-NSX_TIME_MAX)),
	STEP(wall_ns, "its length", ),
	STEP(part_ns, "of it; the six add up", NAMES(nsx_part_names)),
	STEP(cause_ns, "of the idle time; they add up", NAMES(nsx_cause_names)),
	STEP(kernels, "kernels that do not communicate", ),
	STEP(kernel_ns, "sum of their lengths", ),
	STEP(mpi_ns, "idle inside MPI calls that wait", ),
	STEP(colls, "collectives that began before it", ),
	COLUMN(nsx_dstep, steady, BOOL, "lies in the steady window", ),
};
static const struct column idle_columns[] = {
	COLUMN(nsx_didle, cause, NAME, "why the GPU had nothing to do", NAMES(nsx_cause_names)),
	COLUMN(nsx_didle, detail, TEXT, "call or range", ), COLUMN(nsx_didle, ns, INT, "time", ),
	COLUMN(nsx_didle, count, INT, "times", ),
};
static const struct column family_columns[] = {
	COLUMN(nsx_dfamily, name, TEXT, "base name of the kernels", ),
	COLUMN(nsx_dfamily, count, INT, "executions", ),
	COLUMN(nsx_dfamily, total_ns, INT, "sum of their lengths", ),
	COLUMN(nsx_dfamily, sketch, BLOB, "pairs (buckets further, count); "
	       "bucket i begins at 1 us x 1.02^(i-1)", ),
};
static const struct column kind_columns[] = {
	COLUMN(nsx_dkind, kind, NAME, "of steps of an engine", NAMES(nsx_step_kinds)),
	COLUMN(nsx_dkind, size, INT, "requests or tokens, from it to less than "
	       "twice it; -1 of all", LEAST(-1)),
	COLUMN(nsx_dkind, count, INT, "steps", ),
	COLUMN(nsx_dkind, total_ns, INT, "their GPU time", ),
	COLUMN(nsx_dkind, p50_ns, INT, "median of it", ),
	COLUMN(nsx_dkind, sizes, INT, "sum of their requests or tokens", SINCE(9)),
};
#define WORDS(array, last) , .names = array, .n = last + 1
static const struct column finding_columns[] = {
	COLUMN(nsx_dfinding, key, TEXT, "what costs time, and where", ),
	COLUMN(nsx_dfinding, title, TEXT, "the same in words", ),
	COLUMN(nsx_dfinding, severity, NAME, "how much it matters",
	       WORDS(nsx_severity_names, NSX_SEV_HIGH)),
	COLUMN(nsx_dfinding, confidence, NAME, "in cause and price",
	       WORDS(nsx_confidence_names, NSX_CONF_HIGH)),
	COLUMN(nsx_dfinding, share_ppm, INT, "that can be won, of the judged "
	       "window; -1 not priced", LEAST(-1)),
	COLUMN(nsx_dfinding, low_ppm, INT, "at least", LEAST(-NSX_TIME_MAX)),
	COLUMN(nsx_dfinding, high_ppm, INT, "at most", LEAST(-NSX_TIME_MAX)),
	COLUMN(nsx_dfinding, is_minor, BOOL, "not on the first page", ),
	COLUMN(nsx_dfinding, place, TEXT, "range or line that costs most of it", SINCE(9)),
};
#define CHANNEL(member, ...) COLUMN(nsx_dchannel, member, __VA_ARGS__)
#define BYTES(name_, member, help_)                                           \
	{.name = name_, .kind = BLOB, .help = help_,                          \
	 .offset = offsetof(struct nsx_dchannel, bytes[member])}
static const struct column channel_columns[] = {
	CHANNEL(number, INT, "of the rank's, from 0", ),
	CHANNEL(is_mpi, BOOL, "MPI, else NCCL", ),
	CHANNEL(comm, HASH, "hash of the communicator; of messages the other side and "
		"the tag; 0 not known", ),
	CHANNEL(stream, INT, "CUDA stream, -1 none, -2 no collectives but calls of "
		"MPI that wait for messages", LEAST(NSX_OF_MESSAGES)),
	CHANNEL(n, INT, "collectives", ),
	BYTES("code", NSX_CODE, "op of each; this and what follows is zstd"),
	BYTES("start", NSX_START, "start of each after the end of the last, ns"),
	BYTES("length", NSX_LENGTH, "ns"),
	BYTES("exposed", NSX_EXPOSED, "255ths of it without a kernel that computes"),
};
static const struct column op_columns[] = {
	COLUMN(nsx_dop, channel, INT, "channel.number", ),
	COLUMN(nsx_dop, name, TEXT, "operation; codes count them from 0", ),
	COLUMN(nsx_dop, bytes, INT, "size, to three bits; -1 not known", LEAST(-1)),
};

enum { T_RANK, T_WHOLE, T_BLOCK, T_CALL, T_STEP, T_IDLE, T_FAMILY, T_KIND, T_FINDING, T_CHANNEL, T_OP,
       NTABLES };
#define TABLE(t, type, help, ...)                                             \
	{#t, help, t##_columns, ARRAY_LEN(t##_columns), sizeof(struct type),  \
	 __VA_ARGS__}
#define OF(owner, member)                                                     \
	offsetof(struct owner, member), offsetof(struct owner, n##member)
static const struct table tables[NTABLES] = {
	TABLE(rank, nsx_digest, "a process on a device; id counts from 1", 0, 0),
	TABLE(whole, nsx_totals, "the trace of this rank and those after it",
	      OF(nsx_digest, whole)),
	TABLE(block, nsx_launch_block, "its kernels in order, in 32 parts",
	      OF(nsx_totals, blocks)),
	TABLE(call, nsx_call_speed, "how fast its host is", OF(nsx_totals, calls)),
	TABLE(step, nsx_dstep, "an iteration", OF(nsx_digest, steps)),
	TABLE(idle, nsx_didle, "idle time by cause, most expensive first", OF(nsx_digest, idle)),
	TABLE(family, nsx_dfamily, "kernels, most expensive first", OF(nsx_digest, families)),
	TABLE(kind, nsx_dkind, "steps of an engine by kind and size", OF(nsx_digest, kinds)),
	TABLE(finding, nsx_dfinding, "findings of its trace, most expensive first",
	      OF(nsx_digest, findings)),
	TABLE(channel, nsx_dchannel, "collectives of a communicator, or stream",
	      OF(nsx_digest, channels)),
	TABLE(op, nsx_dop, "operations of a channel", OF(nsx_dchannel, ops)),
};

/* The owner of the list that holds rows of a table, in a digest or one of its channels; NULL: none. */
static void *owner_of(unsigned table, struct nsx_digest *d, size_t channel)
{
	return table == T_BLOCK || table == T_CALL ? (void *)(d->nwhole ? d->whole : NULL) :
	       table == T_OP ? (void *)(channel < d->nchannels ? &d->channels[channel] : NULL) :
			       (void *)d;
}

static void *list_of(const struct table *t, const void *owner)
{
	void *list;

	memcpy(&list, (const char *)owner + t->list, sizeof(list));
	return list;
}

static size_t *length_of(const struct table *t, const void *owner)
{
	return (size_t *)((char *)owner + t->n);
}

const char *const nsx_rank_from_names[NSX_NRANK_FROM] = {
	[NSX_RANK_PAYLOAD] = "payload", [NSX_RANK_MPI] = "mpi",
	[NSX_RANK_ENV] = "environment", [NSX_RANK_FILE] = "file name",
	[NSX_RANK_MARK] = "mark", [NSX_RANK_TITLE] = "title",
	[NSX_RANK_ORDER] = "order",
};

int nsx_detail_parse(const char *word, enum nsx_detail *ret, struct nsx_err *err)
{
	*ret = NSX_DETAIL_COLLS;
	for (unsigned i = 0; word; i++) {
		if (i == NSX_NDETAILS)
			return nsx_fail(err, NSX_E_USAGE, "--detail must be "
					"steps, colls or full, not '%s'", word);
		*ret = i;
		if (!strcmp(word, detail_names[i]))
			break;
	}
	return 0;
}

/* Rows as cells -----------------------------------------------------------------*/

enum { MOST_CELLS = 64 };

/* Number of 8-byte cells in a member; each is a column of the table. */
static unsigned cells_in(const struct column *c)
{
	return c->kind == INT && c->names ? c->n : 1;
}

static struct nsx_val cell_of(const struct column *c, const char *row)
{
	const void *p = row + c->offset;
	const struct nsx_blob *blob = p;

	switch (c->kind) {
	case TEXT:
		return nsx_val_str(*(const char *const *)p);
	case BOOL:
		return nsx_val_int(*(const bool *)p);
	case NAME:
		return nsx_val_str(c->names[*(const unsigned *)p]);
	case BLOB:
		return nsx_val_blob(blob->p ? blob->p : "", blob->n);
	case INT: /* sums of hostile figures may exceed what the reader accepts */
		return nsx_val_int(NSX_MAX(c->least, NSX_MIN(*(const int64_t *)p, NSX_TIME_MAX)));
	default:
		return nsx_val_int(*(const int64_t *)p);
	}
}

/* Fills v with the rank's number and the row's cells. Returns how many. */
static int cells_of(const struct table *t, const void *row, int64_t id, struct nsx_val *v)
{
	int n = 0;

	v[n++] = nsx_val_int(id);
	for (unsigned i = 0; i < t->ncolumns; i++) {
		struct column c = t->columns[i];

		for (unsigned k = 0; k < cells_in(&c); k++, c.offset += 8)
			v[n++] = cell_of(&c, row);
	}
	return n;
}

static bool take_name(const struct column *c, const char *text, unsigned *ret)
{
	for (*ret = 0; *ret < c->n; ++*ret)
		if (!strcmp(c->names[*ret], text))
			return true;
	return false;
}

static bool take_cell(const struct column *c, const struct nsx_val *v,
		      char *row, struct nsx_arena *a)
{
	void *p = row + c->offset;

	if (v->type != (c->kind == BLOB ? NSX_V_BLOB :
			c->kind == TEXT || c->kind == NAME ? NSX_V_TEXT :
							     NSX_V_I64))
		return false;
	switch (c->kind) {
	case TEXT:
		*(const char **)p = nsx_val_text(v, a);
		return true;
	case BOOL:
		*(bool *)p = v->u.i != 0;
		return true;
	case NAME:
		return take_name(c, nsx_val_text(v, a), p);
	case BLOB:
		*(struct nsx_blob *)p = (struct nsx_blob){
			nsx_arena_strndup(a, v->len ? v->u.p : "", v->len),
			v->len};
		return true;
	default:
		*(int64_t *)p = v->u.i;
		return c->kind == HASH || (v->u.i >= c->least && v->u.i <= NSX_TIME_MAX);
	}
}

/* Writing ---------------------------------------------------------------------------*/

/* Takes rows: inserts them into a database or, without one, adds them to a hash. */
struct nsx_digest_writer {
	struct nsx_db *db;
	struct nsx_stmt *insert[NTABLES];
	int64_t n; /* ranks written so far */
	uint64_t hash;
};

static void hash_cell(uint64_t *h, const struct column *c, const struct nsx_val *v)
{
	bool is_number = v->type == NSX_V_I64;

	if (c->since && (is_number || !v->len))
		return;
	*h = nsx_hash_u64(*h ^ nsx_hash(is_number ? (const void *)&v->u.i :
						    v->u.p, is_number ? 8 : v->len));
}

static int put_row(struct nsx_digest_writer *w, unsigned table, const void *row,
		   struct nsx_err *err)
{
	const struct table *t = &tables[table];
	struct nsx_val v[MOST_CELLS], *at = v + 1; /* the number of the rank is not hashed */
	int n = cells_of(t, row, w->n, v);

	if (w->db)
		return nsx_run_with(w->insert[table], v, n, err);
	for (unsigned i = 0; i < t->ncolumns; i++)
		for (unsigned k = 0; k < cells_in(&t->columns[i]); k++)
			hash_cell(&w->hash, &t->columns[i], at++);
	return 0;
}

static int digest_file_put(struct nsx_digest_writer *w, struct nsx_digest *d, struct nsx_err *err)
{
	int rc = put_row(w, T_RANK, d, err);

	for (unsigned k = T_WHOLE; k < NTABLES; k++) {
		const struct table *t = &tables[k];
		const void *owner;

		for (size_t i = 0; i < (k == T_OP ? d->nchannels : 1); i++)
			if ((owner = owner_of(k, d, i)))
				for (size_t n = 0; n < *length_of(t, owner) && !rc; n++)
					rc = put_row(w, k, (char *)list_of(t, owner) +
							   n * t->size, err);
	}
	return rc;
}

int nsx_digest_seal(struct nsx_digest *d, struct nsx_err *err)
{
	struct nsx_digest_writer w = {0};
	int rc = 0;

	d->content = 0;
	for (size_t i = 0; i < d->nchannels && !rc; i++) {
		struct nsx_dchannel *c = &d->channels[i];

		c->number = (int64_t)i;
		for (size_t k = 0; k < c->nops; k++)
			c->ops[k].channel = c->number;
		rc = nsx_channel_pack(c, d->arena, err);
	}
	if (!rc)
		rc = digest_file_put(&w, d, err);
	d->content = w.hash;
	return rc;
}

/* Composes the CREATE and INSERT statements of a table. */
static void digest_file_describe(unsigned table, struct nsx_buf *create, struct nsx_buf *insert)
{
	const struct table *t = &tables[table];

	nsx_buf_printf(create, "CREATE TABLE %s ( -- %s\n    %s", t->name,
		       t->help, table == T_RANK ? "id INTEGER PRIMARY KEY" :
						  "rank_id INTEGER");
	nsx_buf_printf(insert, "INSERT INTO %s VALUES (?", t->name);
	for (unsigned i = 0; i < t->ncolumns; i++) {
		const struct column *c = &t->columns[i];
		bool is_list = cells_in(c) > 1;

		for (unsigned k = 0; k < cells_in(c); k++) {
			nsx_buf_printf(create, "\n  , %s%s %s -- %s",
				       is_list ? c->names[k] : c->name, is_list ? "_ns" : "",
				       c->kind == BLOB ? "BLOB" :
				       c->kind == TEXT || c->kind == NAME ?
							 "TEXT" : "INTEGER", c->help);
			nsx_buf_adds(insert, ", ?");
		}
	}
	nsx_buf_adds(create, "\n)");
	nsx_buf_adds(insert, ")");
}

static int make_table(struct nsx_digest_writer *w, unsigned table, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf create = {0}, insert = {0};

	digest_file_describe(table, &create, &insert);
	return nsx_db_exec(w->db, create.p, err) ||
	     nsx_db_prepare(w->db, insert.p, &w->insert[table], err) ?
	     err->rc : 0;
}

int nsx_digest_writer_new(struct nsx_digest_writer **ret, struct nsx_err *err)
{
	struct nsx_digest_writer *w = nsx_try_alloc(1, sizeof(*w), "a digest", err);
	char head[160];
	int rc;

	snprintf(head, sizeof(head), "PRAGMA page_size=4096;PRAGMA journal_mode=OFF;PRAGMA "
		 "application_id=%d;PRAGMA user_version=%d;BEGIN", NSX_DIGEST_MAGIC,
		 NSX_DIGEST_VERSION);
	rc = !w || nsx_db_new(&w->db, err) || nsx_db_exec(w->db, head, err) ? err->rc : 0;
	for (unsigned t = 0; t < NTABLES && !rc; t++)
		rc = make_table(w, t, err);
	if (rc)
		nsx_digest_writer_free(w);
	else
		*ret = w;
	return rc;
}

int nsx_digest_add(struct nsx_digest_writer *w, struct nsx_digest *d, struct nsx_err *err)
{
	w->n++;
	return digest_file_put(w, d, err);
}

int nsx_digest_image(struct nsx_digest_writer *w, const void **ret,
		     size_t *ret_n, struct nsx_err *err)
{
	return nsx_db_exec(w->db, "COMMIT", err) ||
	       nsx_db_image(w->db, ret, ret_n, err) ? err->rc : 0;
}

void nsx_digest_writer_free(struct nsx_digest_writer *w)
{
	if (!w)
		return;
	for (unsigned t = 0; t < NTABLES; t++)
		nsx_stmt_done(&w->insert[t]);
	nsx_db_close(w->db);
	free(w);
}

/* The kind of a file, by its first bytes. */
enum looks { LOOKS_OTHER, LOOKS_PLAIN, LOOKS_SQUEEZED };

static enum looks digest_file_look_at(const char *path)
{
	unsigned char head[100] = {0};
	struct stat st;
	FILE *f = !stat(path, &st) && S_ISREG(st.st_mode) ? nsx_open_stream(path) : NULL;
	size_t n = f ? fread(head, 1, sizeof(head), f) : 0;
	uint32_t id;

	if (f)
		(void)fclose(f);
	memcpy(&id, head + 68, 4);
	return nsx_is_squeezed(head, n) ? LOOKS_SQUEEZED :
	       n == sizeof(head) && !memcmp(head, "SQLite format 3", 16) &&
	       be32toh(id) == NSX_DIGEST_MAGIC ? LOOKS_PLAIN : LOOKS_OTHER;
}

/* Whether a file may be replaced as a digest; any version counts. A compressed file could
 * be anything, so it is read.
 */
static bool is_digest(const char *path)
{
	enum looks looks = digest_file_look_at(path);
	struct nsx_digest **v = NULL;
	struct nsx_err ignored;
	size_t n = 0;
	bool is = looks == LOOKS_PLAIN || (looks == LOOKS_SQUEEZED &&
					   !nsx_digest_load(path, 0, &v, &n, &ignored));

	nsx_digests_free(v, n);
	return is;
}

struct nsx_target nsx_digest_target(const char *path, const char *const *inputs, size_t ninputs)
{
	return (struct nsx_target){.path = path, .inputs = inputs,
				   .ninputs = ninputs, .is_ours = is_digest,
				   .fd = -1};
}

static int save(struct nsx_target *to, const void *image, size_t n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf small = {0};

	if (nsx_ends_with(to->path, ".zst")) {
		if (nsx_squeeze(image, n, &small, err))
			return err->rc;
		image = small.p;
		n = small.n;
	}
	return nsx_target_write(to, image, n, err);
}

int nsx_digest_write(struct nsx_target *to, struct nsx_digest *const *v,
		     size_t n, size_t *ret_size, struct nsx_err *err)
{
	struct nsx_digest_writer *w = NULL;
	const void *image = NULL;
	size_t size = 0;
	int rc = nsx_digest_writer_new(&w, err);

	for (size_t i = 0; i < n && !rc; i++)
		rc = nsx_digest_add(w, v[i], err);
	if (rc || nsx_digest_image(w, &image, &size, err) || save(to, image, size, err))
		rc = err->rc;
	else if (ret_size)
		*ret_size = size;
	nsx_digest_writer_free(w);
	return rc;
}

/* Reading ---------------------------------------------------------------------------*/

struct reader {
	struct nsx_db *db;
	const char *name;
	int64_t version;
	unsigned keep;
	struct nsx_digest **v;
	size_t n, cap;
	uint64_t *hash; /* for each rank: hash of its rows so far */
	size_t cap_hash;
	struct nsx_arena *scratch;
	size_t colls_left; /* collectives that the remaining channels may still have */
};

static int digest_file_refuse(const struct reader *r, const char *table, const char *column,
			      struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_DATA, "cannot read '%s': the digest is damaged at %s.%s; make "
			"it again", r->name, table, column);
}

static int digest_file_take_row(const struct reader *r, struct nsx_stmt *s,
				const struct table *t, void *row, struct nsx_arena *a,
				uint64_t *hash, struct nsx_err *err)
{
	int at = 1;

	memset(row, 0, t->size);
	for (unsigned i = 0; i < t->ncolumns; i++) {
		struct column c = t->columns[i];

		for (unsigned k = 0; k < cells_in(&c); k++, c.offset += 8) {
			struct nsx_val v = c.kind == TEXT ? nsx_val_str("") :
							    nsx_val_int(0);

			if (c.since <= r->version)
				nsx_read_val(s, at++, &v);
			if (!take_cell(&c, &v, row, a))
				return digest_file_refuse(r, t->name, c.name, err);
			/* the cell of the hash itself counts as 0 */
			if (c.offset == offsetof(struct nsx_digest, content) &&
			    t == &tables[T_RANK])
				v.u.i = 0;
			hash_cell(hash, &c, &v);
		}
	}
	return 0;
}

void *nsx_one_more(struct nsx_arena *a, void *list, size_t n, size_t size,
		   const char *what, struct nsx_err *err)
{
	size_t eights = n / 8 + 1;
	void *more;

	if (n % 8 || (eights & (eights - 1)))
		return list;
	more = nsx_arena_try_array(a, 2 * n + 8, size, what, err);
	if (more && n) {
		memcpy(more, list, n * size);
		nsx_arena_drop(a, list);
	}
	return more;
}

/* Appends a row to its owner's list; NULL without memory. */
static void *new_row(const struct table *t, void *owner, struct nsx_arena *a, struct nsx_err *err)
{
	size_t *n = length_of(t, owner);
	char *list = nsx_one_more(a, list_of(t, owner), *n, t->size, t->name, err);

	if (!list)
		return NULL;
	memcpy((char *)owner + t->list, &list, sizeof(list));
	return list + (*n)++ * t->size;
}

static int take_channel(struct reader *r, struct nsx_digest *d, struct nsx_dchannel *c,
			struct nsx_err *err)
{
	if (c->number + 1 != (int64_t)d->nchannels)
		return digest_file_refuse(r, "channel", "number", err);
	if (c->n > r->colls_left)
		return digest_file_refuse(r, "channel", "n", err);
	r->colls_left -= c->n;
	if (nsx_channel_unpack(c, r->keep & NSX_KEEP_COLUMNS ? d->arena : NULL, err))
		return err->rc == NSX_E_NOMEM ? err->rc :
		       digest_file_refuse(r, "channel", "columns", err);
	if (!(r->keep & NSX_KEEP_BYTES))
		memset(c->bytes, 0, sizeof(c->bytes));
	nsx_arena_clear(r->scratch);
	return 0;
}

static int read_row(struct reader *r, unsigned table, size_t rank, struct nsx_stmt *s,
		    struct nsx_err *err)
{
	struct nsx_digest *d = r->v[rank];
	bool is_channel = table == T_CHANNEL, is_apart = is_channel && !(r->keep & NSX_KEEP_BYTES);
	void *owner, *row;
	struct nsx_val first; /* in the table of operations: the cell that names the channel */

	nsx_read_val(s, 1, &first);
	owner = owner_of(table, d, first.type == NSX_V_I64 ? (size_t)first.u.i : SIZE_MAX);
	if (!owner)
		return digest_file_refuse(r, tables[table].name, tables[table].columns[0].name, err);
	row = new_row(&tables[table], owner, d->arena, err);
	return !row || digest_file_take_row(r, s, &tables[table], row, is_apart ? r->scratch :
					    d->arena, &r->hash[rank], err) ||
	       (is_channel && take_channel(r, d, row, err)) ? err->rc : 0;
}

static int digest_file_read_rank(struct reader *r, int64_t id, struct nsx_stmt *s,
				 struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_digest *d = nsx_arena_get(a, sizeof(*d));

	if (nsx_grow(&r->hash, &r->cap_hash, r->n + 1, sizeof(*r->hash), "ranks", err) ||
	    digest_file_take_row(r, s, &tables[T_RANK], d, a, &r->hash[r->n], err) ||
	    (id != (int64_t)r->n + 1 && digest_file_refuse(r, "rank", "id", err)) ||
	    nsx_push(r->v, r->n, r->cap, "ranks", err, d)) {
		nsx_arena_free(a);
		return err->rc;
	}
	d->arena = a;
	return 0;
}

/* Reads a table of all ranks. Its rows are ordered by rank, as they were written. */
static int read_table(struct reader *r, unsigned table, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_buf sql = {0};
	struct nsx_val id;
	int64_t rank = 1;
	int rc;

	nsx_buf_printf(&sql, "SELECT * FROM main.%s ORDER BY rowid", tables[table].name);
	rc = nsx_db_prepare(r->db, sql.p, &s, err);
	nsx_buf_done(&sql);
	while (!rc && (rc = nsx_step(s, err)) == 1) {
		nsx_read_val(s, 0, &id);
		if (table == T_RANK) {
			rc = digest_file_read_rank(r, id.type == NSX_V_I64 ? id.u.i : 0, s, err);
			continue;
		}
		if (id.type != NSX_V_I64 || id.u.i < rank || id.u.i > (int64_t)r->n)
			return digest_file_refuse(r, tables[table].name, "rank_id", err);
		rank = id.u.i;
		rc = read_row(r, table, (size_t)rank - 1, s, err);
	}
	return rc;
}

/* Checks that every code has its operation, times ascend and parts add up. */
static int check(const struct reader *r, const struct nsx_digest *d, struct nsx_err *err)
{
	for (size_t c = 0; c < d->nchannels; c++)
		if (d->channels[c].ncodes > d->channels[c].nops)
			return digest_file_refuse(r, "channel", "code", err);
	for (size_t i = 0; i < d->nsteps; i++) {
		const struct nsx_dstep *s = &d->steps[i];
		int64_t sum = 0;

		for (unsigned p = 0; p < NSX_NPARTS; p++)
			sum = nsx_add_sat(sum, s->part_ns[p]);
		if (sum != s->wall_ns ||
		    (i && s->start_ns < s[-1].start_ns + s[-1].wall_ns) ||
		    (i && s->colls < s[-1].colls))
			return digest_file_refuse(r, "step", "wall_ns", err);
	}
	return 0;
}

static int check_kind(struct reader *r, struct nsx_err *err)
{
	int64_t magic;

	if (nsx_db_number(r->db, "PRAGMA application_id", 0, &magic, err) ||
	    nsx_db_number(r->db, "PRAGMA user_version", 0, &r->version, err))
		return err->rc;
	if (magic != NSX_DIGEST_MAGIC)
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is no digest; make one "
				"with: nsys-explain digest TRACE.sqlite -o F.nsxd", r->name);
	if (r->version < NSX_OLDEST_DIGEST || r->version > NSX_DIGEST_VERSION)
		return nsx_fail(err, NSX_E_SCHEMA, "cannot read '%s': this is a digest of version "
				"%lld, known are %d to %d; make it again with this nsys-explain",
				r->name, (long long)r->version, NSX_OLDEST_DIGEST,
				NSX_DIGEST_VERSION);
	for (unsigned t = 0; t < NTABLES; t++) {
		const struct nsx_table_info *info = nsx_db_table(r->db, tables[t].name);

		if (!info || !nsx_is_readable(info))
			return digest_file_refuse(r, tables[t].name, "columns", err);
	}
	return 0;
}

/* Reads the ranks of a database of n bytes and closes it. */
static int digest_file_read_ranks(struct nsx_db *db, size_t n, const char *name, unsigned keep,
				  struct nsx_digest ***ret, size_t *ret_n, struct nsx_err *err)
{
	struct reader r = {.db = db, .name = name, .keep = keep,
			   .scratch = nsx_arena_new(),
			   .colls_left = LEAST_COLLS + COLLS_A_BYTE * n};
	int rc = check_kind(&r, err);

	for (unsigned t = 0; t < NTABLES && !rc; t++)
		rc = read_table(&r, t, err);
	for (size_t i = 0; i < r.n && !rc; i++)
		rc = r.hash[i] == r.v[i]->content ?
			     check(&r, r.v[i], err) :
			     digest_file_refuse(&r, "rank", "content", err);
	nsx_db_close(r.db);
	nsx_arena_free(r.scratch);
	free(r.hash);
	if (rc) {
		nsx_digests_free(r.v, r.n);
		return rc;
	}
	*ret = r.v;
	*ret_n = r.n;
	return 0;
}

int nsx_digest_parse(const void *image, size_t n, const char *name,
		     unsigned keep, struct nsx_digest ***ret, size_t *ret_n, struct nsx_err *err)
{
	struct nsx_db *db;

	return nsx_db_open_image(image, n, name, &db, err) ? err->rc :
	       digest_file_read_ranks(db, n, name, keep, ret, ret_n, err);
}

/* Files ---------------------------------------------------------------------------*/

static int digest_file_read_file(const char *path, struct nsx_buf *ret, struct nsx_err *err)
{
	FILE *f = nsx_open_stream(path);
	char *p = NULL;
	long n = -1;
	int rc = 0;

	if (f && !fseek(f, 0, SEEK_END))
		n = ftell(f);
	if (n < 0)
		rc = nsx_fail(err, NSX_E_IO, "cannot read '%s': %s", path, strerror(errno));
	else if (!(p = nsx_try_alloc((size_t)n + 1, 1, "a digest", err)))
		rc = err->rc;
	else if (fseek(f, 0, SEEK_SET) || fread(p, 1, (size_t)n, f) != (size_t)n)
		rc = nsx_fail(err, NSX_E_IO, "cannot read '%s': it was changed meanwhile", path);
	if (f)
		(void)fclose(f);
	if (rc)
		free(p);
	else
		*ret = (struct nsx_buf){p, (size_t)n, (size_t)n + 1};
	return rc;
}

int nsx_digest_load(const char *path, unsigned keep, struct nsx_digest ***ret,
		    size_t *ret_n, struct nsx_err *err)
{
	struct nsx_buf raw = {0}, image = {0};
	struct nsx_db *db;
	struct stat st;
	int rc;

	/* SQLite reads a large file piece by piece */
	if (digest_file_look_at(path) == LOOKS_PLAIN && !stat(path, &st) && st.st_size > LARGE)
		return nsx_db_open(path, &db, err) ? err->rc :
		       digest_file_read_ranks(db, (size_t)st.st_size, path, keep, ret, ret_n, err);
	rc = digest_file_read_file(path, &raw, err);
	if (!rc && nsx_is_squeezed(raw.p, raw.n)) {
		rc = nsx_expand(raw.p, raw.n, LEAST_ROOM + MOST_RATIO * raw.n, &image, err);
		if (rc)
			nsx_wrap(err, "cannot read '%s'", path);
		nsx_buf_done(&raw);
		raw = image;
	}
	if (!rc)
		rc = nsx_digest_parse(raw.p, raw.n, path, keep, ret, ret_n, err);
	nsx_buf_done(&raw);
	return rc;
}

bool nsx_digest_is(const char *path)
{
	return digest_file_look_at(path) != LOOKS_OTHER && !nsx_is_report(path);
}

void nsx_digest_free(struct nsx_digest *d)
{
	if (d)
		nsx_arena_free(d->arena);
}

void nsx_digests_free(struct nsx_digest **v, size_t n)
{
	while (n)
		nsx_digest_free(v[--n]);
	free(v);
}

int nsx_digest_cmp(const struct nsx_digest *a, const struct nsx_digest *b)
{
	return NSX_CMP(a->rank, b->rank) ?: NSX_CMP(a->who, b->who) ?:
	       NSX_CMP(a->is_partial, b->is_partial) ?: NSX_CMP(a->first_ns, b->first_ns) ?:
	       NSX_CMP(b->detail, a->detail) ?: NSX_CMP(b->content, a->content);
}
