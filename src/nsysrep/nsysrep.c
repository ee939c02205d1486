/* nsysrep.c - presents a report as a source of tables, and describes what could not be read. */
#include <stdio.h>
#include "nsysrep/events.h"
#include "nsysrep/facts.h"
#include "nsysrep/nsysrep.h"
#include "sqlite/source.h"

/* The newest nsys whose reports were verified. */
enum { NEWEST_YEAR = 2026, NEWEST_MINOR = 2 };

/* Missing parts -------------------------------------------------------------------*/

/* The words before the next thing that is missing. */
static const char *damage_prefix(const struct nsx_buf *b)
{
	return b->n ? "; " : "the report is damaged: ";
}

static void describe_damage(const struct nsx_rep *rep, struct nsx_buf *b)
{
	const struct nsx_container *c = &rep->file;
	uint64_t nlost = c->nlost, nblocks = c->nblocks + nlost, nevents = 0, nbroken = 0;

	for (size_t i = 0; i < c->nblocks; i++) {
		nlost += rep->index[i].is_lost;
		nevents += rep->index[i].nevents;
		nbroken += rep->index[i].nbroken;
	}
	if (c->damage)
		nsx_buf_printf(b, "%s%s", damage_prefix(b), c->damage);
	if (!c->damage && rep->strings.n < c->nstrings)
		nsx_buf_printf(b, "%s%llu of its %llu names are missing", damage_prefix(b),
			       (unsigned long long)(c->nstrings - rep->strings.n),
			       (unsigned long long)c->nstrings);
	if (nlost)
		nsx_buf_printf(b, "%s%llu of %llu blocks of events cannot be read",
			       damage_prefix(b), (unsigned long long)nlost,
			       (unsigned long long)nblocks);
	if (nevents < c->nevents)
		nsx_buf_printf(b, "%s%llu of its %llu events are missing", damage_prefix(b),
			       (unsigned long long)(c->nevents - nevents),
			       (unsigned long long)c->nevents);
	if (nevents > c->nevents && !c->is_cut)
		nsx_buf_printf(b, "%sit has %llu events more than it should have, so some may be "
			       "there twice", damage_prefix(b),
			       (unsigned long long)(nevents - c->nevents));
	if (nbroken)
		nsx_buf_printf(b, "%s%llu event%s garbled", damage_prefix(b),
			       (unsigned long long)nbroken, nbroken == 1 ? " is" : "s are");
	if (c->is_garbled || rep->strings.is_more || rep->facts.is_garbled || rep->schemas.is_garbled)
		nsx_buf_printf(b, "%swhat stands beside its events (names, GPUs, streams, clocks, "
			       "options, payloads) is garbled in part", damage_prefix(b));
}

/* Whether nsys of this version may write a format that is not known here. */
static bool is_newer(struct nsx_piece version)
{
	unsigned year = 0, minor = 0;
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)NSX_MIN(version.n, 31), (const char *)version.p);
	if (sscanf(text, "%u.%u", &year, &minor) != 2)
		return false;
	return year > NEWEST_YEAR || (year == NEWEST_YEAR && minor > NEWEST_MINOR);
}

static void describe_unknown(const struct nsx_rep *rep, struct nsx_buf *b)
{
	struct nsx_piece version = nsx_rep_version(&rep->file);

	for (unsigned i = 0; i < rep->nunknown; i++) {
		const struct nsx_unknown *u = &rep->unknown[i];

		nsx_buf_printf(b, "%s%llu ", i ? "; " : "not read: ", (unsigned long long)u->n);
		if (u->type == NSX_CUDA_STACK)
			nsx_buf_printf(b, "stack%s of CUDA calls", u->n == 1 ? "" : "s");
		else
			nsx_buf_printf(b, "event%s of a kind not known, type %llu (%llu, "
				       "%llu)", u->n == 1 ? "" : "s", (unsigned long long)u->type,
				       (unsigned long long)u->body, (unsigned long long)u->kind);
	}
	if (b->n)
		nsx_buf_adds(b, " (nsys itself can export them: --nsys FILE)");
	if (is_newer(version))
		nsx_buf_printf(b, "%sthe report is of nsys %.*s, newer than any "
			       "that was tried (%d.%d): tables may be missing",
			       b->n ? "; " : "", (int)NSX_MIN(version.n, 31),
			       (const char *)version.p, NEWEST_YEAR, NEWEST_MINOR);
}

/* The source -----------------------------------------------------------------------*/

/* Whether the rows of a table are in memory, as one block. Rows of events are spread over the
 * file's blocks.
 */
static bool is_fact(const struct nsx_rep *rep, enum nsx_rep_table t)
{
	return t == NSX_REP_STRING || rep->facts.of[t].n;
}

static size_t facts_of(const struct nsx_rep *rep, enum nsx_rep_table t)
{
	return t == NSX_REP_STRING ? rep->strings.n : rep->facts.of[t].n / rep->def[t].ncolumns;
}

static size_t count_blocks(void *ctx, size_t table)
{
	const struct nsx_rep *rep = ctx;

	return is_fact(rep, rep->table[table]) ? 1 : rep->file.nblocks;
}

static size_t count_rows(void *ctx, size_t table, size_t block)
{
	const struct nsx_rep *rep = ctx;
	enum nsx_rep_table t = rep->table[table];

	return is_fact(rep, t) ? facts_of(rep, t) : rep->index[block].rows[t];
}

static void block_times(void *ctx, size_t table, size_t block, int64_t *least, int64_t *most)
{
	const struct nsx_rep *rep = ctx;
	bool is_known = !is_fact(rep, rep->table[table]);

	*least = is_known ? rep->index[block].least_ns : INT64_MIN;
	*most = is_known ? rep->index[block].most_ns : INT64_MAX;
}

/* The number of events that would be rows of a table but cannot be read. Their types are known only
 * by name (ENUM_NSYS_EVENT_TYPE).
 */
static uint64_t count_unread(void *ctx, const char *table)
{
	static const struct {
		uint64_t type;
		const char *table;
	} named[] = {{113, "CUDA_GRAPH_NODE_EVENTS"},
		     {117, "CUDA_GPU_MEMORY_USAGE_EVENTS"},
		     {119, "CUDA_UM_CPU_PAGE_FAULT_EVENTS"},
		     {120, "CUDA_UM_GPU_PAGE_FAULT_EVENTS"},
		     {NSX_CUDA_STACK, "CUDA_CALLCHAINS"}};
	const struct nsx_rep *rep = ctx;
	uint64_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(named); i++)
		for (unsigned k = 0; k < rep->nunknown; k++)
			if (rep->unknown[k].type == named[i].type && !strcmp(named[i].table, table))
				n += rep->unknown[k].n;
	return n;
}

/* The reader of this source is a walker. */
static int new_reader(void *ctx, struct nsx_source_use *uses, size_t n,
		      struct nsx_source_reader **ret, struct nsx_err *err NSX_UNUSED)
{
	struct nsx_rep *rep = ctx;
	struct nsx_walker *w = nsx_walker_take(rep);

	for (size_t i = 0; i < n; i++)
		w->use[rep->table[uses[i].table]] = &uses[i];
	*ret = (struct nsx_source_reader *)w;
	return 0;
}

static void reader_done(struct nsx_source_reader *r)
{
	nsx_walker_give((struct nsx_walker *)r);
}

/* A value that is in memory; a string's id is its index. */
static struct nsx_val fact(const struct nsx_rep *rep, enum nsx_rep_table t, size_t row, int column)
{
	return column < 0 ? nsx_val_none() :
	       t != NSX_REP_STRING ? rep->facts.of[t].v[row * rep->def[t].ncolumns + (size_t)column] :
	       column ? nsx_val_bytes(rep->strings.v[row]) : nsx_val_int((int64_t)row);
}

static int read_facts(const struct nsx_rep *rep, enum nsx_rep_table t, struct nsx_source_use *use,
		      struct nsx_err *err)
{
	size_t n = facts_of(rep, t);
	struct nsx_val v[NSX_MAX_COLUMNS];
	int rc = 0;

	for (size_t row = 0; !rc && row < n; row++) {
		for (unsigned i = 0; i < use->ncolumns; i++)
			v[i] = fact(rep, t, row, use->columns[i]);
		rc = use->fn(use->ctx, use->rid++, v, err);
	}
	return rc;
}

static int nsysrep_read_rows(struct nsx_source_reader *r, size_t block, struct nsx_err *err)
{
	struct nsx_walker *w = (struct nsx_walker *)r;
	uint64_t wanted = 0;
	int rc = 0;

	for (enum nsx_rep_table t = 0; !rc && t < NSX_REP_NTABLES; t++) {
		struct nsx_source_use *use = w->use[t];

		if (!use || !use->is_wanted)
			continue;
		if (!is_fact(w->rep, t))
			wanted |= UINT64_C(1) << t;
		else if (!block)
			rc = read_facts(w->rep, t, use, err);
	}
	return rc || !wanted ? rc : nsx_walk_block(w, wanted, block, err);
}

static void close_rep(void *ctx)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_rep *rep = ctx;

	nsx_walker_done(rep->idle);
	nsx_rows_done(&rep->facts);
	nsx_rep_schemas_done(&rep->schemas);
	nsx_rep_strings_done(&rep->strings);
	for (enum nsx_rep_stacked k = 0; k < NSX_NSTACKED; k++) {
		pthread_mutex_destroy(&rep->stacks[k].lock);
		nsx_arena_free(rep->stacks[k].arena);
		nsx_groups_done(&rep->stacks[k].groups);
		free(rep->stacks[k].content);
	}
	free(rep->metrics);
	free(rep->mpi);
	free(rep->processes);
	nsx_container_close(&rep->file);
}

/* Lists only tables with rows, as an export does. */
static struct nsx_table_info *make_catalogue(struct nsx_rep *rep)
{
	struct nsx_arena *a = rep->file.arena;
	struct nsx_table_info *v = nsx_arena_get(a, NSX_REP_NTABLES * sizeof(*v));

	for (enum nsx_rep_table t = 0; t < NSX_REP_NTABLES; t++) {
		const struct nsx_rep_def *d = &rep->def[t];
		struct nsx_table_info *to = &v[rep->ntables];
		bool has_rows = is_fact(rep, t);

		for (size_t b = 0; !has_rows && b < rep->file.nblocks; b++)
			has_rows = rep->index[b].rows[t];
		if (!has_rows)
			continue;
		rep->table[rep->ntables++] = t;
		*to = (struct nsx_table_info){.name = d->name,
					      .ncolumns = d->ncolumns};
		to->columns = nsx_arena_get(a, d->ncolumns * sizeof(*to->columns));
		for (unsigned c = 0; c < d->ncolumns; c++) {
			const char *name = d->columns[c].name;
			size_t n = strcspn(name, " ");

			to->columns[c] = (struct nsx_column){
				.name = nsx_arena_strndup(a, name, n),
				.type = name[n] ? name + n + 1 : "INTEGER",
				.is_rowid = nsx_ends_with(name, " KEY")};
			if (to->columns[c].is_rowid)
				to->columns[c].type = "INTEGER";
		}
	}
	return v;
}

static int parse_report(struct nsx_rep *rep, struct nsx_err *err)
{
	int rc;

	nsx_rep_define(rep->def);
	rep->facts = (struct nsx_rep_rows){.arena = rep->file.arena,
					   .defs = rep->def};
	rc = nsx_rep_strings_read(rep->file.strings, rep->file.nstrings, &rep->strings, err);
	nsx_rep_schemas_read(rep->file.schemas, &rep->strings, &rep->schemas);
	nsx_metrics_find(rep);
	rc = rc ?: nsx_rep_index(rep, err);
	nsx_rep_facts(&rep->file, &rep->strings, &rep->facts);
	return rc;
}

int nsx_report_read(const char *path, struct nsx_db **ret, struct nsx_err *err)
{
	struct nsx_source source = {
		.unread = count_unread, .blocks = count_blocks, .rows = count_rows,
		.when = block_times, .reader = new_reader,
		.read = nsysrep_read_rows, .done = reader_done, .close = close_rep};
	struct nsx_rep *rep = nsx_alloc(1, sizeof(*rep));
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf damage = {0}, note = {0};
	int rc = nsx_container_open(path, &rep->file, err);

	if (rc) {
		free(rep);
		return rc;
	}
	rc = parse_report(rep, err);
	if (rc) {
		close_rep(rep);
		return rc;
	}
	describe_damage(rep, &damage);
	describe_unknown(rep, &note);
	source.ctx = rep;
	source.tables = make_catalogue(rep);
	source.ntables = rep->ntables;
	return nsx_db_of_source(&source, path, damage.p, note.p, ret, err);
}
