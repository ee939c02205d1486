/* md.c - the report for people.
 *
 * Sections appear in the order of `headings`; a pass that is not named there
 * comes before the closing two. A heading collects the blocks of all passes
 * that put blocks under it.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "nsx/emit.h"
#include "nsx/pass.h"

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

/* Escaping ----------------------------------------------------------------*/

enum { NAME_CHARS = 80 }; /* what a table cell shows of a name */

/* Code point at p, its length in *n. The text is valid UTF-8 (str.h). */
static uint32_t code_point(const unsigned char *p, size_t *n)
{
	*n = p[0] < 0x80 ? 1 : p[0] < 0xe0 ? 2 : p[0] < 0xf0 ? 3 : 4;
	switch (*n) {
	case 1:
		return p[0];
	case 2:
		return (p[0] & 0x1fu) << 6 | (p[1] & 0x3fu);
	case 3:
		return (p[0] & 0xfu) << 12 | (p[1] & 0x3fu) << 6 |
		       (p[2] & 0x3fu);
	default:
		return (p[0] & 7u) << 18 | (p[1] & 0x3fu) << 12 |
		       (p[2] & 0x3fu) << 6 | (p[3] & 0x3fu);
	}
}

/* Characters that move the cursor, hide text or turn its direction. */
static bool is_unsafe(uint32_t c)
{
	return c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xad ||
	       (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) ||
	       (c >= 0x2060 && c <= 0x206f) || c == 0xfeff ||
	       (c >= 0xe0000 && c <= 0xe007f);
}

static void escape(struct nsx_buf *b, const char *s, size_t len)
{
	size_t n;

	for (const char *end = s + len; s < end; s += n) {
		uint32_t c = code_point((const unsigned char *)s, &n);

		if (c == '\n' || c == '\t' || c == '\r')
			nsx_buf_adds(b, " ");
		else if (is_unsafe(c))
			nsx_buf_printf(b, "\\\\u%04x", c);
		else if (c == '<')
			nsx_buf_adds(b, "&lt;");
		else if (c == '>')
			nsx_buf_adds(b, "&gt;");
		else if (c == '&')
			nsx_buf_adds(b, "&amp;");
		else if (c < 0x80 && strchr("\\`*_{}[]()#|!~$", (int)c))
			nsx_buf_printf(b, "\\%c", (char)c);
		else
			nsx_buf_add(b, s, n);
	}
}

static size_t count_chars(const char *s)
{
	size_t n = 0;

	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static const char *skip_chars(const char *s, size_t n)
{
	while (n && *s) {
		s++;
		while (((unsigned char)*s & 0xc0) == 0x80)
			s++;
		n--;
	}
	return s;
}

/* Plain words need no markup; single underscores inside a word are none. */
static bool is_plain(const char *s)
{
	size_t n = strlen(s);

	if (n > NAME_CHARS || *s == '_' || (n && s[n - 1] == '_') ||
	    strstr(s, "__"))
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789_ .:/%+-") == n;
}

/* A tag that no kernel or range is called: shown as text even by readers that
 * do not honour code spans.
 */
static bool is_tag(const char *s)
{
	static const char *const tags[] = {"<script", "<img", "<svg", "<iframe",
					   "</", "<!", "<?"};

	for (size_t i = 0; i < ARRAY_LEN(tags); i++)
		if (!strncasecmp(s, tags[i], strlen(tags[i])))
			return true;
	return false;
}

/* The inside of a code span: only what would end the span, the table cell or
 * the line is replaced.
 */
static void add_code(struct nsx_buf *b, const char *s, size_t len)
{
	size_t n;

	for (const char *end = s + len; s < end; s += n) {
		uint32_t c = code_point((const unsigned char *)s, &n);

		if (c == '\n' || c == '\t' || c == '\r')
			nsx_buf_adds(b, " ");
		else if (is_unsafe(c))
			nsx_buf_printf(b, "<U+%04X>", c);
		else if (c == '<' && is_tag(s))
			nsx_buf_adds(b, "&lt;");
		else if (c == '`')
			nsx_buf_adds(b, "'");
		else if (c == '|')
			nsx_buf_adds(b, "\\|");
		else
			nsx_buf_add(b, s, n);
	}
}

static void add_name(struct nsx_buf *b, const char *name)
{
	size_t n = count_chars(name);
	const char *head, *tail;

	if (is_plain(name)) {
		nsx_buf_adds(b, name);
		return;
	}
	nsx_buf_adds(b, "`");
	if (n <= NAME_CHARS) {
		add_code(b, name, strlen(name));
	} else {
		head = skip_chars(name, NAME_CHARS / 2);
		tail = skip_chars(name, n - NAME_CHARS / 2 + 1);
		add_code(b, name, (size_t)(head - name));
		nsx_buf_adds(b, "…");
		add_code(b, tail, strlen(tail));
	}
	nsx_buf_adds(b, "`");
}

const char *nsx_md_name(struct nsx_section *s, const char *name)
{
	struct nsx_buf b = {0};
	const char *p;

	add_name(&b, name);
	p = nsx_arena_strdup(s->arena, b.p ? b.p : "");
	nsx_buf_done(&b);
	return p;
}

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
		add_name(b, c->u.s);
		break;
	default:
		nsx_buf_adds(b, "–");
	}
}

/* "title=key,key,..." as column indices and titles. */
struct shown {
	unsigned n;
	struct {
		int col;
		char title[48];
	} cols[24];
};

static void parse_columns(const struct nsx_table *t, const char *spec,
			  struct shown *ret)
{
	ret->n = 0;
	while (*spec && ret->n < ARRAY_LEN(ret->cols)) {
		size_t n = strcspn(spec, ","), title = strcspn(spec, "=,");
		char key[64];
		const char *from = title < n ? spec + title + 1 : spec;

		snprintf(key, sizeof(key), "%.*s", (int)(spec + n - from),
			 from);
		snprintf(ret->cols[ret->n].title,
			 sizeof(ret->cols[ret->n].title), "%.*s", (int)title,
			 spec);
		ret->cols[ret->n].col = nsx_table_col(t, key);
		ret->n += ret->cols[ret->n].col >= 0;
		spec += n + (spec[n] == ',');
	}
}

static void add_table(struct nsx_buf *b, const struct nsx_block *block)
{
	const struct nsx_table *t = block->table;
	size_t n = NSX_MIN(t->nrows, block->max_rows);
	struct shown s;

	parse_columns(t, block->columns, &s);
	nsx_buf_adds(b, "\n|");
	for (unsigned i = 0; i < s.n; i++)
		nsx_buf_printf(b, " %s |", s.cols[i].title);
	nsx_buf_adds(b, "\n|");
	for (unsigned i = 0; i < s.n; i++) {
		enum nsx_type type = t->layout->cols[s.cols[i].col].type;

		nsx_buf_adds(b, type == NSX_T_STR ? "---|" : "---:|");
	}
	nsx_buf_adds(b, "\n");
	for (size_t r = 0; r < n; r++) {
		nsx_buf_adds(b, "|");
		for (unsigned i = 0; i < s.n; i++) {
			int c = s.cols[i].col;

			nsx_buf_adds(b, " ");
			add_cell(b, &t->layout->cols[c], &nsx_row_at(t, r)[c]);
			nsx_buf_adds(b, " |");
		}
		nsx_buf_adds(b, "\n");
	}
	if (!t->nrows)
		nsx_buf_adds(b, "\n(no rows)\n");
	else if (n < t->nrows)
		nsx_buf_printf(b, "\n%zu of %zu rows%s%s%s.\n", n, t->nrows,
			       t->layout->csv ? "; all in `tables/" : "",
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
		escape(b, s->reason ? s->reason : "",
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
	nsx_buf_adds(b, "# Nsight Systems LLM Hotspot Report\n\n");
	nsx_buf_printf(b, "- Generated at (UTC): %s\n- Trace: `",
		       r->generated_at);
	add_code(b, r->path, strlen(r->path));
	nsx_buf_adds(b, "`\n- Tool: nsys-explain " NSX_VERSION "\n");
	if (!r->nwarnings)
		return;
	nsx_buf_adds(b, "\n## Warnings\n\n");
	for (size_t i = 0; i < r->nwarnings; i++) {
		nsx_buf_adds(b, "- ");
		escape(b, r->warnings[i], strlen(r->warnings[i]));
		nsx_buf_adds(b, "\n");
	}
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
	fwrite(b.p, 1, b.n, out);
	nsx_buf_done(&b);
	return nsx_stopped(err);
}
