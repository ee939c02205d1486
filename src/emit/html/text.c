/* text.c - names and our own Markdown as HTML. */
#include "emit/html/html.h"

void nsx_html_textn(struct nsx_buf *b, const char *s, size_t len)
{
	size_t n;

	for (const char *end = s + len; s < end; s += n) {
		uint32_t c = nsx_code_point(s, &n);

		if (c == '\n' || c == '\t' || c == '\r')
			nsx_buf_adds(b, " ");
		else if (nsx_is_unsafe(c))
			nsx_buf_printf(b, "\\u%04x", c);
		else if (c == '<')
			nsx_buf_adds(b, "&lt;");
		else if (c == '>')
			nsx_buf_adds(b, "&gt;");
		else if (c == '&')
			nsx_buf_adds(b, "&amp;");
		else if (c == '"')
			nsx_buf_adds(b, "&quot;");
		else
			nsx_buf_add(b, s, n);
	}
}

void nsx_html_text(struct nsx_buf *b, const char *s)
{
	nsx_html_textn(b, s, strlen(s));
}

/* The length of an entity that our Markdown uses; 0 if there is none. */
static size_t entity_length(const char *s)
{
	static const char *const ours[] = {"&lt;", "&gt;", "&amp;"};

	return NSX_FIRST(i, ARRAY_LEN(ours), !strncmp(s, ours[i], strlen(ours[i])),
			 strlen(ours[i]), 0);
}

/* Whether s begins with an escape: a backslash before one of the characters of `which`. */
static bool is_escape(const char *s, const char *which)
{
	return s[0] == '\\' && s[1] && strchr(which, s[1]);
}

static const char *code_span(struct nsx_buf *b, const char *s)
{
	const char *end = strchr(s, '`');

	if (!end)
		end = s + strlen(s);
	nsx_buf_adds(b, "<code>");
	while (s < end) {
		size_t n = entity_length(s);

		if (n) {
			nsx_buf_add(b, s, n);
		} else {
			s += is_escape(s, "|");
			nsx_code_point(s, &n);
			nsx_html_textn(b, s, n);
		}
		s += n;
	}
	nsx_buf_adds(b, "</code>");
	return end + (*end == '`');
}

void nsx_html_inline(struct nsx_buf *b, const char *s)
{
	bool bold = false;
	size_t n;

	while (*s) {
		if (*s == '`') {
			s = code_span(b, s + 1);
		} else if (!strncmp(s, "**", 2)) {
			nsx_buf_adds(b, bold ? "</strong>" : "<strong>");
			bold = !bold;
			s += 2;
		} else if ((n = entity_length(s))) {
			nsx_buf_add(b, s, n);
			s += n;
		} else {
			s += is_escape(s, "\\`*_{}[]()#|!~$<>&");
			nsx_code_point(s, &n);
			nsx_html_textn(b, s, n);
			s += n;
		}
	}
	if (bold)
		nsx_buf_adds(b, "</strong>");
}
