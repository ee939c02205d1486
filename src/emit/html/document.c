/* document.c - our own Markdown as HTML: headings, lists, tables, lines.
 *
 * Such a page needs no script, and none may run.
 */
#include "emit/html/html.h"

/* Blocks ------------------------------------------------------------------------*/

enum block { TEXT, LIST, TABLE, CODE };

struct state {
	enum block was;
	size_t depth;	  /* number of open lists                            */
	const char *rule; /* the dashes below the current table's header; NULL: at its
			     start                                           */
	const char *heading; /* the last heading; NULL: none yet */
	unsigned tables;     /* number of tables under it */
};

static void set_depth(struct nsx_buf *b, struct state *s, size_t depth)
{
	for (; s->depth < depth; s->depth++)
		nsx_buf_adds(b, "<ul>");
	for (; s->depth > depth; s->depth--)
		nsx_buf_adds(b, "</ul>\n");
}

static void close_block(struct nsx_buf *b, struct state *s)
{
	set_depth(b, s, 0);
	if (s->was == TABLE)
		nsx_buf_adds(b, "</tbody></table></div>\n");
	if (s->was == CODE)
		nsx_buf_adds(b, "</pre>\n");
	s->rule = NULL;
}

/* The end of a cell: an unescaped bar. */
static char *cell_end(char *s)
{
	while (*s && *s != '|')
		s += s[0] == '\\' && s[1] ? 2 : 1;
	return s;
}

/* Whether a row is a note on the table, "| *12 more in `tables/ranks.csv`* |". Adds it, as wide as
 * the table.
 */
static bool add_note(struct nsx_buf *b, char *line, const char *rule)
{
	char *end = cell_end(line + 1);
	unsigned n = 0;

	if (strncmp(line, "| *", 3) != 0 || end - line < 6 || strcmp(end - 2, "* |") != 0)
		return false;
	for (; rule && *rule; rule++)
		n += *rule == '|';
	end[-2] = '\0';
	nsx_buf_printf(b, "<tr><td class=\"soft\" colspan=\"%u\">", n > 2 ? n - 1 : 1);
	nsx_html_inline(b, line + 3);
	nsx_buf_adds(b, "</td></tr>\n");
	return true;
}

static void document_add_cells(struct nsx_buf *b, char *line, const char *rule, bool is_head)
{
	nsx_buf_adds(b, "<tr>");
	for (char *s = line + 1, *end; *s; s = end + 1) {
		bool right = rule && strncmp(rule + strcspn(rule, "-"), "---:", 4) == 0;

		end = cell_end(s);
		if (!*end)
			break;
		*end = '\0';
		while (*s == ' ')
			s++;
		for (char *last = end; last > s && last[-1] == ' ';)
			*--last = '\0';
		/* A header without text would be announced as one by screen readers. */
		nsx_buf_adds(b, is_head && *s ? "<th scope=\"col\"" : "<td");
		nsx_buf_adds(b, right ? " class=\"r\">" : ">");
		nsx_html_inline(b, s);
		nsx_buf_adds(b, is_head && *s ? "</th>" : "</td>");
		if (rule) {
			rule += strcspn(rule, "-");
			rule += strcspn(rule, "|");
		}
	}
	nsx_buf_adds(b, "</tr>\n");
}

static void document_add_line(struct nsx_buf *b, char *line, struct state *s, const char *next)
{
	size_t indent = strspn(line, " ");
	bool is_fence = !strcmp(line, "```");
	enum block now = (s->was == CODE) != is_fence ? CODE : *line == '|' ? TABLE :
			 !strncmp(line + indent, "- ", 2) ? LIST : TEXT;

	if (now != s->was)
		close_block(b, s);
	s->was = now;
	if (is_fence) {
		nsx_buf_adds(b, now == CODE ? "<pre class=\"wide\" tabindex=\"0\">" : "");
	} else if (now == CODE) {
		nsx_html_text(b, line);
		nsx_buf_adds(b, "\n");
	} else if (now == TABLE && !s->rule) {
		s->rule = next;
		nsx_buf_adds(b, "<div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"");
		nsx_html_text(b, s->heading ? s->heading : "table");
		if (++s->tables > 1) /* names of regions are unique */
			nsx_buf_printf(b, ", table %u", s->tables);
		nsx_buf_adds(b, "\"><table><thead>");
		document_add_cells(b, line, s->rule, true);
		nsx_buf_adds(b, "</thead><tbody>");
	} else if (now == TABLE) {
		if (line[1] != '-' && !add_note(b, line, s->rule))
			document_add_cells(b, line, s->rule, false);
	} else if (now == LIST) {
		set_depth(b, s, 1 + indent / 2);
		nsx_buf_adds(b, "<li>"); /* ends at the next item */
		nsx_html_inline(b, line + indent + 2);
		nsx_buf_adds(b, "\n");
	} else if (*line == '#') {
		size_t level = strspn(line, "#");

		s->heading = line + level + 1;
		s->tables = 0;
		nsx_buf_printf(b, "<h%zu>", level);
		nsx_html_inline(b, line + level + 1);
		nsx_buf_printf(b, "</h%zu>\n", level);
	} else if (!strcmp(line, "---")) {
		nsx_buf_adds(b, "<hr>\n");
	} else if (*line) {
		nsx_buf_adds(b, "<p>");
		nsx_html_inline(b, line);
		nsx_buf_adds(b, "</p>\n");
	}
}

static void add_markdown(struct nsx_buf *b, const char *markdown)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};
	struct state s = {.was = TEXT};

	nsx_buf_adds(&text, markdown);
	for (char *line = text.p, *next; line && *line; line = next) {
		size_t n = strcspn(line, "\n");

		next = line + n + (line[n] == '\n');
		line[n] = '\0';
		document_add_line(b, line, &s, next);
	}
	close_block(b, &s);
}

void nsx_html_document(const char *title, struct nsx_buf *pictures,
		       struct nsx_buf *markdown, FILE *out)
{
	char *rest = strstr(markdown->p, "\n## ");
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_html_head(&b, title, false);
	nsx_buf_adds(&b, "<main>\n");
	if (rest) /* the newline before the heading now ends the part before it */
		*rest = '\0';
	add_markdown(&b, markdown->p);
	nsx_buf_adds(&b, pictures->n ? pictures->p : "");
	add_markdown(&b, rest ? rest + 1 : "");
	nsx_buf_adds(&b, "</main>\n</body>\n</html>\n");
	fwrite(b.p, 1, b.n, out);
	nsx_buf_done(pictures);
	nsx_buf_done(markdown);
}
