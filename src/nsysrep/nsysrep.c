/* nsysrep.c - reads a report, and says what of it could not be read. */
#include <stdio.h>
#include <string.h>
#include "nsysrep/events.h"
#include "nsysrep/facts.h"
#include "nsysrep/nsysrep.h"

/* The newest nsys whose reports were compared with what is read here. */
enum { NEWEST_YEAR = 2026, NEWEST_MINOR = 2 };

static void say_damage(const struct nsx_container *c, const struct nsx_events *e,
		       struct nsx_buf *b)
{
	if (c->damage)
		nsx_buf_printf(b, "the report is damaged: %s", c->damage);
	if (e->nlost)
		nsx_buf_printf(b, "%s%llu of %llu blocks of events cannot be "
			       "read", b->n ? "; " : "the report is damaged: ",
			       (unsigned long long)e->nlost,
			       (unsigned long long)(e->nlost + e->nblocks));
	if (e->nevents < c->nevents)
		nsx_buf_printf(b, "%s%llu of its %llu events are missing",
			       b->n ? "; " : "the report is damaged: ",
			       (unsigned long long)(c->nevents - e->nevents),
			       (unsigned long long)c->nevents);
	if (e->nbroken)
		nsx_buf_printf(b, "%s%llu events are garbled",
			       b->n ? "; " : "the report is damaged: ",
			       (unsigned long long)e->nbroken);
}

static bool is_newer(struct nsx_piece version)
{
	unsigned year = 0, minor = 0;
	char text[32];

	snprintf(text, sizeof(text), "%.*s", (int)NSX_MIN(version.n, 31),
		 (const char *)version.p);
	if (sscanf(text, "%u.%u", &year, &minor) != 2)
		return false;
	return year > NEWEST_YEAR || (year == NEWEST_YEAR && minor > NEWEST_MINOR);
}

static void say_unknown(const struct nsx_container *c,
			const struct nsx_events *e, struct nsx_buf *b)
{
	struct nsx_piece version = nsx_rep_version(c);
	uint64_t n = 0;

	for (unsigned i = 0; i < e->nunknown; i++)
		n += e->unknown[i].n;
	if (n)
		nsx_buf_printf(b, "%llu events are of kinds that this program "
			       "does not know, so they were not read:",
			       (unsigned long long)n);
	for (unsigned i = 0; i < NSX_MIN(e->nunknown, 8); i++)
		nsx_buf_printf(b, "%s %llu of type %llu (%llu, %llu)",
			       i ? "," : "",
			       (unsigned long long)e->unknown[i].n,
			       (unsigned long long)e->unknown[i].type,
			       (unsigned long long)e->unknown[i].body,
			       (unsigned long long)e->unknown[i].kind);
	if (is_newer(version))
		nsx_buf_printf(b, "%sthe report is of nsys %.*s, newer than any "
			       "that was tried (%d.%d): tables may be missing",
			       b->n ? "; " : "", (int)NSX_MIN(version.n, 31),
			       (const char *)version.p, NEWEST_YEAR, NEWEST_MINOR);
}

static int fill_rows(const struct nsx_container *c, struct nsx_rep_rows *rows,
		     struct nsx_events *e, struct nsx_err *err)
{
	return nsx_db_exec(rows->db, "BEGIN", err) ?:
	       nsx_rep_facts(c, rows, err) ?: nsx_events_read(c, rows, e, err) ?:
	       nsx_db_exec(rows->db, "COMMIT", err);
}

static int read_container(const char *path, const struct nsx_container *c,
			  struct nsx_db *db, struct nsx_err *err)
{
	struct nsx_rep_rows rows = {.db = db};
	struct nsx_events *e = nsx_alloc(1, sizeof(*e));
	struct nsx_buf damage = {0}, note = {0};
	int rc = fill_rows(c, &rows, e, err);

	nsx_rows_done(&rows);
	if (!rc) {
		say_damage(c, e, &damage);
		say_unknown(c, e, &note);
		rc = nsx_db_settle(db, path, damage.p, note.p, err);
	}
	nsx_events_done(e);
	free(e);
	nsx_buf_done(&damage);
	nsx_buf_done(&note);
	return rc;
}

int nsx_report_read(const char *path, struct nsx_db **ret, struct nsx_err *err)
{
	struct nsx_container c;
	struct nsx_db *db = NULL;
	int rc = nsx_container_open(path, &c, err);

	if (rc)
		return rc;
	rc = nsx_db_new(&db, err);
	if (!rc)
		rc = read_container(path, &c, db, err);
	nsx_container_close(&c);
	if (rc)
		nsx_db_close(db);
	else
		*ret = db;
	return rc;
}
