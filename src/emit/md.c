/* md.c - the report for people.
 *
 * The first page comes first, then sections in the order of `headings`; other passes come
 * before the closing ones. A heading collects the blocks of all passes with that heading. A
 * section with nothing to show is left out (the first page names it). Sources of figures,
 * limitations and caveats are in one appendix.
 */
#include "emit/classic.h"
#include "emit/emit.h"
#include "emit/md_table.h"

static const char *const headings[] = {
	"Findings in full",
	"Where the time went",
	"What if",
	"Phases and iterations",
	"Steps",
	"Critical path",
	"Idle by cause",
	"Kernels",
	"Communication",
	"NVLink",
	"Copies",
	"Waits and launches",
	"Memory usage",
	"CUDA graphs",
	"GPU metrics",
	"CPU",
	"NVTX",
	"NVTX by process",
	"Processes",
	NULL, /* here come sections whose headings are not in this list */
	"Checked and fine",
	"Capture quality",
};
static const char appendix[] = "Appendix";

static bool md_is_known(const char *heading)
{
	return NSX_ANY(i, ARRAY_LEN(headings), headings[i] && !strcmp(headings[i], heading));
}

size_t nsx_md_headings(const struct nsx_report *r, struct nsx_arena *a, const char *const **ret)
{
	const char **v = nsx_arena_get(a, (ARRAY_LEN(headings) + r->nsections) * sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(headings); i++) {
		if (headings[i])
			v[n++] = headings[i];
		for (size_t k = 0; !headings[i] && k < r->nsections; k++)
			if (r->sections[k].pass->title && !md_is_known(r->sections[k].pass->title))
				v[n++] = r->sections[k].pass->title;
	}
	*ret = v;
	return n;
}

struct md {
	struct nsx_buf *b;
	const struct nsx_report *r;
};

/* Sections ------------------------------------------------------------------*/

static void md_add_block(struct nsx_buf *b, const struct nsx_block *block,
			 const struct nsx_report *report)
{
	switch (block->kind) {
	case NSX_B_SUBHEADING:
		nsx_buf_printf(b, "\n### %s\n\n", block->text);
		break;
	case NSX_B_SUBSUBHEADING:
		nsx_buf_printf(b, "\n#### %s\n\n", block->text);
		break;
	case NSX_B_BULLET:
		nsx_buf_printf(b, "- %s\n", block->text);
		break;
	case NSX_B_TEXT:
		nsx_buf_printf(b, "\n%s\n", block->text);
		break;
	case NSX_B_TABLE:
		nsx_md_add_table(b, block, report);
		break;
	default:
		break;
	}
}

/* Adds the blocks of s under a heading. In a whole report nothing is said of sections that the
 * trace cannot answer.
 */
static void md_add_blocks(struct md *m, struct nsx_buf *b,
			  const struct nsx_section *s, const char *heading)
{
	const char *current = s->pass->title;
	bool own = current && !strcmp(current, heading);

	if (own && (s->status == NSX_S_FAILED || (s->status == NSX_S_CANNOT && !m->r->page))) {
		nsx_buf_adds(b, "- **Not computed**: ");
		nsx_md_escape(b, s->reason ?: "", s->reason ? strlen(s->reason) : 0);
		nsx_buf_adds(b, "\n");
	}
	for (size_t i = 0; i < s->nblocks; i++) {
		if (s->blocks[i].kind == NSX_B_HEADING)
			current = s->blocks[i].text;
		else if (current && !strcmp(current, heading))
			md_add_block(b, &s->blocks[i], m->r);
	}
}

/* Returns whether the heading has any content. */
static bool md_add_heading(struct md *m, const char *heading)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf body = {0};

	for (size_t i = 0; i < m->r->nsections; i++)
		md_add_blocks(m, &body, &m->r->sections[i], heading);
	if (body.n)
		nsx_buf_printf(m->b, "\n## %s\n%s", heading, body.p + strspn(body.p, "\n"));
	return body.n;
}

/* The heading of the section's first block; NULL: it shows none. */
static const char *first_heading_of(const struct nsx_section *s)
{
	const char *heading = s->pass->title;

	for (size_t i = 0; i < s->nblocks && !heading; i++)
		if (s->blocks[i].kind == NSX_B_HEADING)
			heading = s->blocks[i].text;
	return heading;
}

/* Adds the names of the files that hold a section's tables. */
static void md_add_files(struct nsx_buf *b, const struct nsx_section *s)
{
	for (size_t i = 0; i < s->ntables; i++) {
		const struct nsx_table *t = s->tables[i];

		if (t->nrows && t->layout->csv)
			nsx_buf_printf(b, "%s`%s.csv`", b->n ? ", " : " (", t->layout->csv);
	}
	if (b->n)
		nsx_buf_adds(b, ")");
}

/* Adds the id of a section, and what its figures cannot show in this trace. In a whole report that
 * shows them it also adds their files, and what they cannot show in general.
 */
static void add_section_limits(const struct md *m, struct nsx_buf *b,
			       const struct nsx_section *s, bool is_shown)
{
	bool is_told = m->r->page && is_shown &&
		       NSX_ANY(i, s->nblocks, s->blocks[i].kind >= NSX_B_BULLET);
	const char *limits = is_told ? s->pass->limitations : NULL;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf files = {0};

	if (is_told)
		md_add_files(&files, s);
	if (files.n || limits || s->nnotes)
		nsx_buf_printf(b, "%s`%s`%s%s%s", b->n ? ". " : "", s->pass->id,
			       files.n ? files.p : "",
			       limits || s->nnotes ? ": " : "", limits ?: "");
	for (size_t i = 0; i < s->nnotes; i++)
		nsx_buf_printf(b, "%s%s", i || limits ? "; " : "", s->notes[i]);
}

/* Adds the limits of all sections under a heading in one line; NULL: of those without a heading. */
static void add_limits_under(const struct md *m, struct nsx_buf *b,
			     const char *heading, bool is_shown)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf line = {0};

	for (size_t i = 0; i < m->r->nsections; i++) {
		const struct nsx_section *s = &m->r->sections[i];
		const char *of = first_heading_of(s);

		if (s->status == NSX_S_ANSWERED &&
		    (heading && of ? !strcmp(heading, of) : heading == of))
			add_section_limits(m, &line, s, is_shown);
	}
	if (line.n && heading)
		nsx_buf_printf(b, "- **%s**: %s\n", heading, line.p);
	else if (line.n)
		nsx_buf_printf(b, "- %s\n", line.p);
}

/* Adds the windows and the limits, one line a heading. */
static void add_appendix(struct md *m, const char *const *heading, const bool *is_shown, size_t n)
{
	const struct nsx_report *r = m->r;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf body = {0};

	for (size_t i = 0; i < r->nsections; i++)
		md_add_blocks(m, &body, &r->sections[i], appendix);
	for (size_t i = 0; i < n; i++)
		add_limits_under(m, &body, heading[i], is_shown[i]);
	add_limits_under(m, &body, appendix, true);
	add_limits_under(m, &body, NULL, true);
	if (r->page) {
		nsx_buf_printf(&body, "- Generated at %s (UTC) by nsys-explain "
			       NSX_VERSION " from `", r->generated_at);
		nsx_md_add_code(&body, r->path, strlen(r->path));
		nsx_buf_adds(&body, "`\n");
	}
	if (body.n)
		nsx_buf_printf(m->b, "\n## %s\n<details><summary>Windows%s and limits of the "
			       "analyses; for the definition and SQL of one: <code>nsys-explain "
			       "TRACE --explain ID</code>%s</summary>\n\n%s</details>\n",
			       appendix, r->page ? ", files in tables/" : "", r->page ?
			       ", for all its figures: <code>nsys-explain ask TRACE section "
			       "ID</code>" : "", body.p);
}

static void md_add_head(struct nsx_buf *b, const struct nsx_report *r)
{
	const char *file = nsx_base_name(r->path);

	if (r->page) {
		nsx_emit_page(r->page, NSX_PAGE_MD, b);
	} else {
		nsx_buf_adds(b, "# Where the time went: ");
		nsx_md_escape(b, file, strlen(file));
		nsx_buf_adds(b, "\n");
	}
	if (!r->nwarnings)
		return;
	nsx_buf_adds(b, "\n## Warnings\n\n");
	for (size_t i = 0; i < r->nwarnings; i++) {
		nsx_buf_adds(b, "- ");
		nsx_md_escape(b, r->warnings[i], strlen(r->warnings[i]));
		nsx_buf_adds(b, "\n");
	}
}

void nsx_emit_md_section(const struct nsx_section *s, struct nsx_buf *b)
{
	if (s->status == NSX_S_CANNOT)
		nsx_buf_printf(b, "Cannot tell: %s\n", s->reason);
	for (size_t i = 0; i < s->nblocks; i++)
		md_add_block(b, &s->blocks[i], NULL);
	for (size_t i = 0; i < s->nnotes; i++)
		nsx_buf_printf(b, "- Note: %s\n", s->notes[i]);
}

int nsx_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err)
{
	const struct nsx_report *r = f->subject;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	struct md m = {.b = &b, .r = r};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *const *v;
	bool *is_shown;
	size_t n;

	md_add_head(&b, r);
	if (r->is_classic)
		nsx_md_add_classic(&b, r);
	n = nsx_md_headings(r, a, &v);
	is_shown = nsx_arena_get(a, n);
	for (size_t i = 0; i < n; i++)
		is_shown[i] = md_add_heading(&m, v[i]);
	add_appendix(&m, v, is_shown, n);
	fwrite(b.p, 1, b.n, out);
	return nsx_stopped(err);
}
