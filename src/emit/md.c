/* md.c - the report for people.
 *
 * Sections appear in the order of `headings`; a pass that is not named there
 * comes before the closing two. A heading collects the blocks of all passes
 * that put blocks under it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "emit/emit.h"
#include "report/report.h"
#include "report/text.h"

static const char *const headings[] = {
	"Capture quality",
	"What to do next",
	"Global critical path suspects",
	"Where the time went",
	"Four dimensions",
	"Top NCCL ops",
	"NVLink during NCCL",
	"Global: top CUDA kernels (by total time)",
	"Kernel shape",
	"Per-process breakdown",
	"Top CPU↔GPU barriers",
	"Launch storm per PID (best-effort)",
	"Sync indicators per PID",
	"Global: launch storm",
	"Global: CPU↔GPU synchronization (CUDA runtime/driver)",
	"GPU idle estimate (from kernel timeline)",
	"Memory copies",
	"Memory usage",
	"CUDA graphs",
	"GPU metrics",
	"CPU and OS runtime",
	"NVTX ranges",
	"NVTX per PID (best-effort)",
	"Iterations",
};
static const char *const closing[] = {
	"Checked, not a problem",
	"Derivation & assumptions",
};

/* Tables ------------------------------------------------------------------*/

static bool ends_in(const char *key, const char *end)
{
	size_t n = strlen(key), m = strlen(end);

	return n >= m && !strcmp(key + n - m, end);
}

static int decimals(const char *key)
{
	const char *dot = strrchr(key, '.');

	key = dot ? dot + 1 : key;
	if (strstr(key, "pct"))
		return 1;
	if (ends_in(key, "_ms") || ends_in(key, "_s"))
		return 3;
	return 2;
}

static void add_cell(struct nsx_buf *b, const struct nsx_col *col,
		     const struct nsx_cell *c)
{
	switch (c->type) {
	case NSX_T_I64:
		nsx_buf_printf(b, "%" PRId64, c->u.i);
		break;
	case NSX_T_F64:
		nsx_buf_printf(b, "%.*f", decimals(col->key), c->u.f);
		break;
	case NSX_T_BOOL:
		nsx_buf_adds(b, c->u.b ? "yes" : "no");
		break;
	case NSX_T_STR:
		nsx_md_add_name(b, c->u.s);
		break;
	default:
		nsx_buf_adds(b, "–");
	}
}

static void add_table(struct nsx_buf *b, const struct nsx_block *block)
{
	const struct nsx_table *t = block->table;
	size_t n = NSX_MIN(t->nrows, block->max_rows);
	const struct nsx_col *cols = t->layout->cols;

	nsx_buf_adds(b, "\n|");
	for (size_t i = 0; i < block->ncolumns; i++)
		nsx_buf_printf(b, " %s |", nsx_col_title(&cols[block->columns[i]]));
	nsx_buf_adds(b, "\n|");
	for (size_t i = 0; i < block->ncolumns; i++)
		nsx_buf_adds(b, cols[block->columns[i]].type == NSX_T_STR ?
					"---|" : "---:|");
	nsx_buf_adds(b, "\n");
	for (size_t r = 0; r < n; r++) {
		nsx_buf_adds(b, "|");
		for (size_t i = 0; i < block->ncolumns; i++) {
			int c = block->columns[i];

			nsx_buf_adds(b, " ");
			add_cell(b, &cols[c], &nsx_row_at(t, r)[c]);
			nsx_buf_adds(b, " |");
		}
		nsx_buf_adds(b, "\n");
	}
	if (!t->nrows)
		nsx_buf_adds(b, "\n(no rows)\n");
	else if (n < t->nrows)
		nsx_buf_printf(b, "\n%zu of %zu rows%s%s%s.\n", n, t->nrows,
			       !t->layout->csv ? "" :
			       t->nrows > NSX_MAX_CSV_ROWS ? "; more in `tables/" :
							     "; all in `tables/",
			       t->layout->csv ? t->layout->csv : "",
			       t->layout->csv ? ".csv`" : "");
	nsx_buf_adds(b, "\n");
}

/* Sections ------------------------------------------------------------------*/

static void add_intro(struct nsx_buf *b, const struct nsx_section *s)
{
	const struct nsx_pass *p = s->pass;

	if (p->derived_from)
		nsx_buf_printf(b, "- **Derived from**: %s\n", p->derived_from);
	if (p->limitations)
		nsx_buf_printf(b, "- **Limitations**: %s\n", p->limitations);
	if (s->status != NSX_S_ANSWERED) {
		nsx_buf_printf(b, "- **Not computed**: ");
		nsx_md_escape(b, s->reason ? s->reason : "",
		       s->reason ? strlen(s->reason) : 0);
		nsx_buf_adds(b, "\n");
	}
}

static void add_block(struct nsx_buf *b, const struct nsx_block *block)
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
		add_table(b, block);
		break;
	default:
		break;
	}
}

/* The blocks of s under this heading; whether there was anything. */
static bool add_blocks(struct nsx_buf *b, const struct nsx_section *s,
		       const char *heading)
{
	const char *current = s->pass->title;
	bool own = current && !strcmp(current, heading);
	bool any = own && s->status != NSX_S_NULL &&
		   s->status != NSX_S_SKIPPED;

	if (any)
		add_intro(b, s);
	for (size_t i = 0; i < s->nblocks; i++) {
		if (s->blocks[i].kind == NSX_B_HEADING)
			current = s->blocks[i].text;
		else if (current && !strcmp(current, heading)) {
			add_block(b, &s->blocks[i]);
			any = true;
		}
	}
	if (own)
		for (size_t i = 0; i < s->nnotes; i++)
			nsx_buf_printf(b, "- Note: %s\n", s->notes[i]);
	return any;
}

static void add_heading(struct nsx_buf *b, const struct nsx_report *r,
			const char *heading)
{
	struct nsx_buf body = {0};
	bool any = false;

	for (size_t i = 0; i < r->nsections; i++)
		any |= add_blocks(&body, &r->sections[i], heading);
	if (any)
		nsx_buf_printf(b, "\n## %s\n\n%s", heading,
			       body.p ? body.p : "");
	nsx_buf_done(&body);
}

static bool is_known(const char *heading)
{
	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		if (!strcmp(headings[i], heading))
			return true;
	for (size_t i = 0; i < ARRAY_LEN(closing); i++)
		if (!strcmp(closing[i], heading))
			return true;
	return false;
}

static void add_head(struct nsx_buf *b, const struct nsx_report *r)
{
	const char *slash = strrchr(r->path, '/');
	const char *file = slash ? slash + 1 : r->path;

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

static void add_foot(struct nsx_buf *b, const struct nsx_report *r)
{
	nsx_buf_printf(b, "\n## This report\n\n"
		       "- Generated at (UTC): %s\n- Trace: `", r->generated_at);
	nsx_md_add_code(b, r->path, strlen(r->path));
	nsx_buf_adds(b, "`\n- Tool: nsys-explain " NSX_VERSION "\n");
}

void nsx_emit_md_section(const struct nsx_section *s, struct nsx_buf *b)
{
	if (s->status == NSX_S_CANNOT)
		nsx_buf_printf(b, "Cannot tell: %s\n", s->reason);
	for (size_t i = 0; i < s->nblocks; i++)
		add_block(b, &s->blocks[i]);
	for (size_t i = 0; i < s->nnotes; i++)
		nsx_buf_printf(b, "- Note: %s\n", s->notes[i]);
}

int nsx_emit_md(const struct nsx_report *r, FILE *out, struct nsx_err *err)
{
	struct nsx_buf b = {0};

	add_head(&b, r);
	for (size_t i = 0; i < ARRAY_LEN(headings); i++)
		add_heading(&b, r, headings[i]);
	for (size_t i = 0; i < r->nsections; i++)
		if (r->sections[i].pass->title &&
		    !is_known(r->sections[i].pass->title))
			add_heading(&b, r, r->sections[i].pass->title);
	for (size_t i = 0; i < ARRAY_LEN(closing); i++)
		add_heading(&b, r, closing[i]);
	if (r->page)
		add_foot(&b, r);
	fwrite(b.p, 1, b.n, out);
	nsx_buf_done(&b);
	return nsx_stopped(err);
}
