/* text.c - names from the trace as Markdown. */
#include <strings.h>
#include "report/report.h"
#include "report/text.h"

enum { NAME_CHARS = 80 }; /* length limit in table cells */
static const char escaped[] = "\\`*_{}[]#|~$"; /* escaped by a backslash in running text */

static bool text_is_in_word(char c)
{
	return nsx_is_digit(c) || nsx_is_letter(c);
}

/* Escapes a text for Markdown. Parentheses need no escape: a link also needs brackets. */
void nsx_md_escape(struct nsx_buf *b, const char *s, size_t len)
{
	const char *begin = s;
	size_t n;

	for (const char *end = s + len; s < end; s += n) {
		uint32_t c = nsx_code_point(s, &n);

		if (c == '\n' || c == '\t' || c == '\r')
			nsx_buf_adds(b, " ");
		else if (nsx_is_unsafe(c))
			nsx_buf_printf(b, "\\\\u%04x", c);
		else if (c == '<')
			nsx_buf_adds(b, "&lt;");
		else if (c == '>')
			nsx_buf_adds(b, "&gt;");
		else if (c == '&')
			nsx_buf_adds(b, "&amp;");
		else if (c == '_' && s > begin && s + 1 < end &&
			 text_is_in_word(s[-1]) && text_is_in_word(s[1]))
			nsx_buf_adds(b, "_");
		else if (c < 0x80 && strchr(escaped, (int)c))
			nsx_buf_printf(b, "\\%c", (char)c);
		else
			nsx_buf_add(b, s, n);
	}
}

/* Whether a name needs no code span: plain words do not, and single underscores inside a word are
 * no markup.
 */
static bool text_is_plain(const char *s)
{
	size_t n = strlen(s);

	if (n > NAME_CHARS || *s == '_' || (n && s[n - 1] == '_') || strstr(s, "__"))
		return false;
	return strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
			 "0123456789_ .:/%+-") == n;
}

/* Whether a text looks like an HTML tag. No kernel or range has such a name, so it is escaped even
 * for readers that ignore code spans.
 */
static bool is_tag(const char *s)
{
	static const char *const tags[] = {"<script", "<img", "<svg", "<iframe", "</", "<!", "<?"};

	return NSX_ANY(i, ARRAY_LEN(tags), !strncasecmp(s, tags[i], strlen(tags[i])));
}

/* Adds the inside of a code span. Replaces only characters that would end the span, the table cell
 * or the line.
 */
void nsx_md_add_code(struct nsx_buf *b, const char *s, size_t len)
{
	size_t n;

	for (const char *end = s + len; s < end; s += n) {
		uint32_t c = nsx_code_point(s, &n);

		if (c == '\n' || c == '\t' || c == '\r')
			nsx_buf_adds(b, " ");
		else if (nsx_is_unsafe(c))
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

void nsx_md_add_plain(struct nsx_buf *b, const char *markdown)
{
	static const char *const signs[][2] = {
		{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"**", ""},
		{"`", ""}};
	const char *p = markdown;
	bool is_code = false; /* inside a code span, "**" belongs to a name  */

	while (*p) {
		size_t i = 0;

		if (*p == '\\' && p[1] && strchr(escaped, p[1])) {
			nsx_buf_add(b, p + 1, 1);
			p += 2;
			continue;
		}
		while (i < ARRAY_LEN(signs) && strncmp(p, signs[i][0], strlen(signs[i][0])))
			i++;
		is_code ^= *p == '`';
		if (i == ARRAY_LEN(signs) || (is_code && *p == '*')) {
			nsx_buf_add(b, p++, 1);
			continue;
		}
		nsx_buf_adds(b, signs[i][1]);
		p += strlen(signs[i][0]);
	}
}

/* The offset at which the arguments of a function begin; 0 if it has none. */
static size_t arguments_at(const char *s)
{
	const char *last = strrchr(s, ')');
	size_t i = last ? (size_t)(last - s) + 1 : strcspn(s, "(");
	int depth = 0;

	if (!last)
		return s[i] ? i : 0;
	do {
		i--;
		depth += (s[i] == ')') - (s[i] == '(');
	} while (depth && i);
	return i;
}

/* Adds the most telling part of a long name: a function without its arguments, the ends of
 * a path, or its end.
 */
static void add_gist(struct nsx_buf *b, const char *name)
{
	static const char step[] = " > ";
	const char *first = strstr(name, step), *last = first, *next = first;
	size_t n;

	while (next) {
		last = next;
		next = strstr(next + 1, step);
	}
	n = first ? (size_t)(first - name) : arguments_at(name);
	if (first != last)
		nsx_buf_printf(b, "%.*s > …%s", (int)n, name, last);
	else if (first) /* keeps the inner one of two parts */
		nsx_buf_printf(b, "…%s", last);
	else if (n)
		nsx_buf_printf(b, "%.*s(…)", (int)n, name);
	else
		nsx_buf_adds(b, name);
}

/* Adds a code span; longer names are cut in the middle to `most` characters. */
static void add_code_span(struct nsx_buf *b, const char *name, size_t most)
{
	size_t n = nsx_count_chars(name, strlen(name));
	const char *head, *tail;

	nsx_buf_adds(b, "`");
	if (n <= most) {
		nsx_md_add_code(b, name, strlen(name));
	} else {
		head = nsx_skip_chars(name, most / 2);
		tail = nsx_skip_chars(name, n - most / 2 + 1);
		nsx_md_add_code(b, name, (size_t)(head - name));
		nsx_buf_adds(b, "…");
		nsx_md_add_code(b, tail, strlen(tail));
	}
	nsx_buf_adds(b, "`");
}

void nsx_md_add_name(struct nsx_buf *b, const char *name)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf gist = {0};

	if (text_is_plain(name)) {
		nsx_buf_adds(b, name);
		return;
	}
	if (nsx_count_chars(name, strlen(name)) > NAME_CHARS)
		add_gist(&gist, name);
	add_code_span(b, gist.n ? gist.p : name, NAME_CHARS);
}

const char *nsx_text_whole_name(struct nsx_arena *a, const char *name)
{
	struct nsx_buf b = {0};

	add_code_span(&b, name, SIZE_MAX);
	return nsx_buf_keep(&b, a);
}

const char *nsx_text_name(struct nsx_arena *a, const char *name)
{
	struct nsx_buf b = {0};

	if (text_is_plain(name) && strchr(name, ' '))
		nsx_buf_printf(&b, "`%s`", name);
	else
		nsx_md_add_name(&b, name);
	return nsx_buf_keep(&b, a);
}
