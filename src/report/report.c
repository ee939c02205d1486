/* report.c - building sections and finding things in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "report/report.h"

/* Small lists: running out of memory for one is the end (arena.h). */
static void grow_or_die(void *list, size_t *cap, size_t want, size_t size)
{
	struct nsx_err err;

	if (nsx_grow_(list, cap, want, size, "report", &err)) {
		fprintf(stderr, "nsys-explain: %s\n", err.msg);
		_Exit(3);
	}
}
#define APPEND(s, list, n, cap)                                               \
	(grow_or_die(&(s)->list, &(s)->cap, (s)->n + 1, sizeof(*(s)->list)),  \
	 &(s)->list[(s)->n++])

static NSX_PRINTF(2, 0) const char *say(struct nsx_section *s, const char *fmt,
					va_list ap)
{
	return nsx_arena_vprintf(s->arena, fmt, ap);
}

const char *nsx_say(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;
	const char *p;

	va_start(ap, fmt);
	p = say(s, fmt, ap);
	va_end(ap);
	return p;
}

const char *nsx_say_bytes(struct nsx_section *s, int64_t bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB",
					    "EB"};
	double x = (double)bytes;
	unsigned u = 0;

	while (x >= 999.95 && u + 1 < ARRAY_LEN(units)) {
		x /= 1000;
		u++;
	}
	return nsx_say(s, u ? "%.2f %s" : "%.0f %s", x, units[u]);
}

int nsx_cannot(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	s->status = NSX_S_CANNOT;
	s->reason = say(s, fmt, ap);
	va_end(ap);
	return 0;
}

void nsx_put(struct nsx_section *s, const char *key, struct nsx_cell cell)
{
	*APPEND(s, values, nvalues, cap_values) = (struct nsx_value){key, cell};
}

struct nsx_table *nsx_add_table(struct nsx_section *s,
				const struct nsx_layout *layout)
{
	struct nsx_table *t = nsx_arena_get(s->arena, sizeof(*t));

	t->layout = layout;
	*APPEND(s, tables, ntables, cap_tables) = t;
	return t;
}

void nsx_note(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*APPEND(s, notes, nnotes, cap_notes) = say(s, fmt, ap);
	va_end(ap);
}

void nsx_cleared(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*APPEND(s, cleared, ncleared, cap_cleared) = say(s, fmt, ap);
	va_end(ap);
}

void nsx_warn(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*APPEND(s, warnings, nwarnings, cap_warnings) = say(s, fmt, ap);
	va_end(ap);
}

void nsx_headline(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	s->headline = say(s, fmt, ap);
	va_end(ap);
}

void nsx_add_candidate(struct nsx_section *s, const struct nsx_candidate *c)
{
	*APPEND(s, candidates, ncandidates, cap_candidates) = *c;
}

static struct nsx_block *block(struct nsx_section *s, enum nsx_block_kind kind)
{
	struct nsx_block *b = APPEND(s, blocks, nblocks, cap_blocks);

	*b = (struct nsx_block){.kind = kind};
	return b;
}

void nsx_md_heading(struct nsx_section *s, const char *heading)
{
	block(s, NSX_B_HEADING)->text = heading;
}

void nsx_md_subheading(struct nsx_section *s, const char *heading)
{
	block(s, NSX_B_SUBHEADING)->text = heading;
}

void nsx_md_subsubheading(struct nsx_section *s, const char *heading)
{
	block(s, NSX_B_SUBSUBHEADING)->text = heading;
}

void nsx_md_bullet(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	block(s, NSX_B_BULLET)->text = say(s, fmt, ap);
	va_end(ap);
}

void nsx_md_text(struct nsx_section *s, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	block(s, NSX_B_TEXT)->text = say(s, fmt, ap);
	va_end(ap);
}

void nsx_md_table(struct nsx_section *s, const struct nsx_table *t,
		  const char *columns, size_t max_rows)
{
	struct nsx_block *b = block(s, NSX_B_TABLE);

	b->table = t;
	b->columns = columns;
	b->max_rows = max_rows ? max_rows : NSX_MAX_MD_ROWS;
}

const struct nsx_section *nsx_report_section(const struct nsx_report *r,
					     const char *pass_id)
{
	for (size_t i = 0; i < r->nsections; i++)
		if (!strcmp(r->sections[i].pass->id, pass_id))
			return &r->sections[i];
	return NULL;
}

const struct nsx_table *nsx_section_table(const struct nsx_section *s,
					  const char *key)
{
	for (size_t i = 0; s && i < s->ntables; i++)
		if (s->tables[i]->layout->key &&
		    !strcmp(s->tables[i]->layout->key, key))
			return s->tables[i];
	return NULL;
}

const struct nsx_cell *nsx_section_value(const struct nsx_section *s,
					 const char *key)
{
	for (size_t i = 0; s && i < s->nvalues; i++)
		if (!strcmp(s->values[i].key, key))
			return &s->values[i].cell;
	return NULL;
}

void nsx_section_done(struct nsx_section *s)
{
	for (size_t i = 0; i < s->ntables; i++)
		free(s->tables[i]->cells);
	free(s->values);
	free(s->tables);
	free(s->notes);
	free(s->blocks);
	free(s->candidates);
	free(s->cleared);
	free(s->warnings);
	nsx_arena_free(s->arena);
}
