/* finding.c - the list of findings, and their names. */
#include "report/finding.h"
#include "report/words.h"

const char *const nsx_severity_names[] = {
	[NSX_SEV_LOW] = "low", [NSX_SEV_MEDIUM] = "medium", [NSX_SEV_HIGH] = "high",
};
const char *const nsx_price_names[] = {
	[NSX_PRICE_NONE] = NULL, [NSX_PRICE_ASSUMED] = "assumed",
	[NSX_PRICE_MEASURED] = "measured", [NSX_PRICE_REPLAYED] = "replayed",
};
const char *const nsx_category_names[] = {
	[NSX_CAT_BALANCE] = "balance", [NSX_CAT_COMMUNICATION] = "communication",
	[NSX_CAT_COMPUTE] = "compute", [NSX_CAT_HOST] = "host", [NSX_CAT_IDLE] = "idle",
	[NSX_CAT_ITERATIONS] = "iterations", [NSX_CAT_LAUNCH] = "launch",
	[NSX_CAT_MEMORY] = "memory", [NSX_CAT_STARTUP] = "startup",
	[NSX_CAT_SYNC] = "sync", [NSX_CAT_CAPTURE] = "capture",
};

#define NSX_FINDING(id, category) {#id, NSX_CAT_##category},
#define NSX_CAUSE(id, name, category) {#name, NSX_CAT_##category},
const struct nsx_finding_def nsx_finding_defs[NSX_NFINDING_IDS] = {
#include "report/finding.def"
};
#undef NSX_FINDING
#undef NSX_CAUSE

enum nsx_finding_id nsx_finding_id_of(const char *key)
{
	size_t n = strcspn(key, ":");
	enum nsx_finding_id id = 0;

	while (id < NSX_NFINDING_IDS &&
	       (strlen(nsx_finding_defs[id].name) != n ||
		strncmp(nsx_finding_defs[id].name, key, n) != 0))
		id++;
	return id;
}

/* Unifies texts of many authors: capitalises a plain first word (rarely a name), and
 * removes a final full stop.
 */
static const char *finding_tidy(struct nsx_findings *l, const char *text)
{
	size_t n = strlen(text);
	size_t word = strspn(text, "abcdefghijklmnopqrstuvwxyz");
	char *copy = nsx_arena_strndup(l->arena, text, n - (n && text[n - 1] == '.'));

	if (word && strchr(" ,;", text[word]))
		*copy = (char)(*copy - 'a' + 'A');
	return copy;
}

const char *nsx_evidence_units(const struct nsx_evidence *e)
{
	return nsx_ends_with(e->column, "_ms")	  ? "ms" :
	       nsx_ends_with(e->column, "_pct")	  ? "%" :
	       nsx_ends_with(e->column, "_bytes") ? "bytes" :
						    NULL;
}

void nsx_found(struct nsx_findings *l, const struct nsx_finding *f)
{
	struct nsx_finding *copy;

	nsx_push_or_die(l->v, l->n, l->cap, *f);
	copy = &l->v[l->n - 1];
	copy->title = finding_tidy(l, f->title);
	for (size_t i = 0; i < ARRAY_LEN(f->evidence) && f->evidence[i]; i++)
		copy->evidence[i] = finding_tidy(l, f->evidence[i]);
	for (size_t i = 0; i < ARRAY_LEN(f->recommendation) && f->recommendation[i]; i++)
		copy->recommendation[i] = finding_tidy(l, f->recommendation[i]);
}

const struct nsx_finding *nsx_find_finding(const struct nsx_findings *l, enum nsx_finding_id id)
{
	return NSX_FIRST(i, l->n, l->v[i].id == id, &l->v[i], NULL);
}

void nsx_add_evidence(struct nsx_finding *f, const char *line)
{
	for (size_t i = 0; i + 1 < ARRAY_LEN(f->evidence); i++)
		if (!f->evidence[i]) {
			f->evidence[i] = line;
			return;
		}
}

void nsx_insert_evidence(struct nsx_finding *f, size_t at, const char *line)
{
	memmove(f->evidence + at + 1, f->evidence + at,
		(ARRAY_LEN(f->evidence) - 2 - at) * sizeof(*f->evidence));
	f->evidence[at] = line;
}

void nsx_advise_first(struct nsx_finding *f, const char *advice)
{
	memmove(f->recommendation + 1, f->recommendation,
		(ARRAY_LEN(f->recommendation) - 2) * sizeof(*f->recommendation));
	f->recommendation[0] = advice;
}

const char *nsx_title_within(struct nsx_arena *a, const struct nsx_finding *f)
{
	bool is_name = strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZ_", f->title[1]); /* "GPU", "MPI_Send" */

	return is_name ? f->title : nsx_arena_printf(a, "%c%s", *f->title | 0x20, f->title + 1);
}

void nsx_fine_(struct nsx_findings *l, const char *text)
{
	nsx_push_or_die(l->fine, l->nfine, l->cap_fine, finding_tidy(l, text));
}

void nsx_findings_take(struct nsx_findings *l, struct nsx_findings *from)
{
	nsx_grow_or_die(&l->v, &l->cap, l->n + from->n, sizeof(*l->v));
	nsx_grow_or_die(&l->fine, &l->cap_fine, l->nfine + from->nfine, sizeof(*l->fine));
	for (size_t i = 0; i < from->n; i++)
		l->v[l->n++] = from->v[i];
	for (size_t i = 0; i < from->nfine; i++)
		l->fine[l->nfine++] = from->fine[i];
	nsx_arena_adopt(l->arena, from->arena);
	nsx_findings_done(from);
}

void nsx_findings_done(struct nsx_findings *l)
{
	free(l->v);
	free(l->fine);
}
