/* reply.c - writes as much of an answer as the budget allows.
 *
 * The amount is found by trying: the document is written with k lines or k rows, and k is
 * bisected. A document has at most 45 000 bytes, so a try takes less than a millisecond.
 */
#include <inttypes.h>
#include "agent/reply.h"
#include "agent/tools.h"

const struct nsx_tool nsx_tools[NSX_NTOOLS] = {
#define NSX_TOOL(id, name, title, text) {name, title, text},
#include "agent/tools.def"
#undef NSX_TOOL
};

enum { MAX_PARTS = 16, NESTED_ROWS = 5, BYTES_A_TOKEN = 3,
       LEAST_ROW = 20 }; /* least bytes of a row */

const char *const nsx_window_kinds[NSX_NWINDOW_KINDS] = {
	[NSX_WINDOW_FULL] = "full", [NSX_WINDOW_STEADY] = "steady",
	[NSX_WINDOW_ASKED] = "asked",
};

struct part { /* rows [from, from + shown) of a table of the answer */
	const char *key;
	const struct nsx_table *t;
	size_t from, shown;
};
struct page {
	const struct nsx_answer *a;
	const struct nsx_reply *r;
	struct part part[MAX_PARTS];
	unsigned nparts;
	const char **says; /* sentences of the answer                           */
	size_t nsays;
	size_t lines;	   /* lines of text that may be shown                */
	size_t line;	   /* lines written or left out so far               */
	size_t bytes_left; /* estimated size of the omitted parts            */
};

void nsx_reply_text(struct nsx_buf *b, const char *text, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf whole = {0};
	size_t length;

	nsx_buf_add_utf8(&whole, text, strlen(text));
	nsx_buf_adds(b, "");
	for (const char *s = whole.p; s && *s; s += length) {
		uint32_t c = nsx_code_point(s, &length);

		if (!n--) {
			nsx_buf_adds(b, "…");
			break;
		}
		if (nsx_is_unsafe(c))
			nsx_buf_printf(b, "<U+%04X>", c);
		else
			nsx_buf_add(b, s, length);
	}
}

void nsx_reply_put_text(struct nsx_jsonw *w, const char *key, const char *text, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_reply_text(&b, text, n);
	nsx_jsonw_strn(w, key, b.p, b.n);
}

/* How many characters of s to replace if it begins like a tool's command; 0: it does not. */
static size_t command_length(const char *s)
{
	static const char command[] = "nsys-explain ";

	for (unsigned i = 0; i < NSX_NTOOLS && !strncmp(s, command, strlen(command)); i++) {
		const char *name = nsx_tools[i].name + strlen("nsys_");

		if (!strncmp(s + strlen(command), name, strlen(name)))
			return strlen(command);
	}
	return 0;
}

/* The length of the words at the beginning of s for which agents have another word, which is *ret;
 * 0: there are none.
 */
static size_t length_of_shell_word(const char *s, const char **ret)
{
	static const char *const words[][2] = {
		{" -- COMMAND", ""}, {" -- PROGRAM", ""}, {"--preset ", "preset "},
		{"--window ", "window "}, {"--unit ", "unit "},
		{"nsys-explain with", "nsys_explain with"}};

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (!strncmp(s, words[i][0], strlen(words[i][0])))
			return *ret = words[i][1], strlen(words[i][0]);
	return *ret = "nsys_", command_length(s);
}

/* The length of the quoted name of a trace with which s begins; 0: none. What this program itself
 * quotes is a command, a table or a window.
 */
static size_t length_of_quoted_name(const char *s)
{
	static const char *const own[] = {"nsys-explain ", "tables/", "--window phase:"};
	const char *end = *s == '`' || !strncmp(s, "'--", 3) ? strchr(s + 1, *s) : NULL;

	for (size_t i = 0; end && i < ARRAY_LEN(own); i++)
		if (!strncmp(s + 1, own[i], strlen(own[i])))
			return 0;
	if (end && !strncmp(s + 1, "--window ", 9) && strchr("0123456789", s[10]))
		return 0;
	return end ? (size_t)(end + 1 - s) : 0;
}

void nsx_reply_as_tools(struct nsx_buf *b, const char *s, const char *trace_id)
{
	static const char tables[] = "tables/";
	bool in_code = false;

	while (*s) {
		const char *word;
		size_t name = in_code ? 0 : length_of_quoted_name(s);
		size_t n = name ?: length_of_shell_word(s, &word);

		in_code ^= *s == '`' && !name;
		if (!n && trace_id && !strncmp(s, tables, strlen(tables)))
			nsx_buf_printf(b, "nsys://%s/", trace_id);
		if (n && !name)
			nsx_buf_adds(b, word);
		else
			nsx_buf_add(b, s, n = NSX_MAX(n, 1u));
		s += n;
	}
}

/* Which rows ----------------------------------------------------------------------*/

static void reply_add_part(struct page *p, const char *key, const struct nsx_table *t)
{
	if (p->nparts < MAX_PARTS && t && t->nrows)
		p->part[p->nparts++] = (struct part){
			.key = strcmp(key, "*") ? key : "rows", .t = t};
}

static void reply_find_parts(struct page *p)
{
	const struct nsx_section *s = p->a->out;

	p->says = nsx_arena_get(s->arena, s->nblocks * sizeof(*p->says));
	for (size_t i = 0; i < s->nblocks; i++)
		if ((s->blocks[i].kind == NSX_B_BULLET || s->blocks[i].kind == NSX_B_TEXT) &&
		    s->blocks[i].text && *s->blocks[i].text)
			p->says[p->nsays++] = s->blocks[i].text;
	for (size_t i = 0; i < s->ntables; i++)
		if (s->tables[i]->layout->key)
			reply_add_part(p, s->tables[i]->layout->key, s->tables[i]);
	for (size_t i = 0; i < s->nvalues; i++)
		if (s->values[i].cell.type == NSX_T_TABLE) {
			const char *key = s->values[i].key;

			if (!strncmp(key, "tables.", 7))
				key += 7;
			reply_add_part(p, key, s->values[i].cell.u.table);
		}
}

/* Reads a cursor such as "12,0,3": for each table, the first row to show. */
static int read_cursor(struct page *p, struct nsx_err *err)
{
	const char *s = p->r->cursor;

	for (unsigned i = 0; s && i < p->nparts; i++) {
		char *end;
		unsigned long long n = strtoull(s, &end, 10);

		if (end == s || n > p->part[i].t->nrows || *end != (i + 1 < p->nparts ? ',' : '\0'))
			return nsx_fail(err, NSX_E_USAGE, "the cursor '%s' does not belong to this "
					"answer: leave it out, or give that of the previous answer",
					p->r->cursor);
		p->part[i].from = (size_t)n;
		s = end + 1;
	}
	return 0;
}

/* Shows k rows in total, taken from all tables in turn. */
static void show_rows(struct page *p, size_t k)
{
	for (unsigned i = 0; i < p->nparts; i++)
		p->part[i].shown = 0;
	for (bool any = true; any && k;) {
		any = false;
		for (unsigned i = 0; i < p->nparts && k; i++) {
			struct part *x = &p->part[i];

			if (x->from + x->shown == x->t->nrows)
				continue;
			x->shown++;
			k--;
			any = true;
		}
	}
}

static size_t rows_left(const struct page *p)
{
	size_t n = 0;

	for (unsigned i = 0; i < p->nparts; i++)
		n += p->part[i].t->nrows - p->part[i].from - p->part[i].shown;
	return n;
}

/* Structure -----------------------------------------------------------------------*/

static double round_for_reply(const struct page *p, double x)
{
	char text[40];

	if (p->r->is_full)
		return x;
	snprintf(text, sizeof(text), "%.4g", x);
	return strtod(text, NULL);
}

/* Appends the program's own Markdown, in which names are quoted already. */
static void reply_add_own(const struct page *p, struct nsx_buf *b, const char *text, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf said = {0};

	nsx_reply_as_tools(&said, text, p->r->window ? NULL : p->r->trace_id);
	nsx_reply_text(b, said.p ?: "", n);
}

static void reply_put_own(const struct page *p, struct nsx_jsonw *w, const char *key,
			  const char *text, size_t n)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	reply_add_own(p, &b, text, n);
	nsx_jsonw_strn(w, key, b.p, b.n);
}

static bool has_line(struct page *p)
{
	return p->line++ < p->lines;
}

/* Puts a list of lines, or nothing if there is none or no room for one. */
static void reply_put_list(struct page *p, struct nsx_jsonw *w, const char *key,
			   const char *const *v, size_t n)
{
	bool is_open = false;

	for (size_t i = 0; i < n; i++) {
		if (!has_line(p))
			continue;
		if (!is_open)
			nsx_jsonw_array(w, key);
		is_open = true;
		reply_put_own(p, w, NULL, v[i], NSX_REPLY_PROSE);
	}
	if (is_open)
		nsx_jsonw_end(w);
}

static size_t count_list(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

static void reply_put_row(struct page *p, struct nsx_jsonw *w,
			  const struct nsx_table *t, size_t row);

static void reply_put_cell(struct page *p, struct nsx_jsonw *w, const char *key,
			   const struct nsx_col *col, const struct nsx_cell *c)
{
	switch (c->type) {
	case NSX_T_I64:
		nsx_jsonw_int(w, key, c->u.i);
		break;
	case NSX_T_F64:
		nsx_jsonw_real(w, key, round_for_reply(p, c->u.f));
		break;
	case NSX_T_STR:
		if (col && col->is_prose)
			reply_put_own(p, w, key, c->u.s, NSX_REPLY_PROSE);
		else
			nsx_reply_put_text(w, key, c->u.s, p->r->is_full ?
					   NSX_REPLY_FULL_CELL : NSX_REPLY_CELL);
		break;
	case NSX_T_BOOL:
		nsx_jsonw_bool(w, key, c->u.b);
		break;
	case NSX_T_LIST:
		reply_put_list(p, w, key, c->u.list, count_list(c->u.list));
		break;
	case NSX_T_TABLE:
		if (!c->u.table || !c->u.table->nrows)
			break;
		nsx_jsonw_array(w, key);
		for (size_t i = 0; i < c->u.table->nrows && i < NESTED_ROWS; i++)
			reply_put_row(p, w, c->u.table, i);
		nsx_jsonw_end(w);
		break;
	default: /* unknown values are left out */
		break;
	}
}

static void reply_put_row(struct page *p, struct nsx_jsonw *w,
			  const struct nsx_table *t, size_t row)
{
	const struct nsx_cell *c = nsx_row_at(t, row);

	if (!strcmp(t->layout->cols[0].key, "*")) {
		reply_put_cell(p, w, NULL, NULL, c);
		return;
	}
	nsx_jsonw_object(w, NULL);
	for (unsigned i = 0; i < t->layout->ncols; i++)
		reply_put_cell(p, w, t->layout->cols[i].key, &t->layout->cols[i], &c[i]);
	nsx_jsonw_end(w);
}

static bool is_same_window(const struct nsx_window *a, const struct nsx_window *b)
{
	return a->start_ns == b->start_ns && a->end_ns == b->end_ns;
}

static const char *window_kind(const struct nsx_answer *a)
{
	struct nsx_window judged = nsx_judged(a->r->facts);

	return nsx_window_kinds[
		is_same_window(&a->window, &a->r->trace->full) ? NSX_WINDOW_FULL :
		is_same_window(&a->window, &judged) ? NSX_WINDOW_STEADY : NSX_WINDOW_ASKED];
}

static bool has_window(const struct nsx_answer *a)
{
	return a->r && a->window.start_ns < a->window.end_ns;
}

static void reply_put_window(const struct nsx_answer *a, struct nsx_jsonw *w)
{
	if (!has_window(a))
		return;
	nsx_jsonw_str(w, "window.at", nsx_text_window(a->out->arena, &a->window));
	nsx_jsonw_str(w, "window.kind", window_kind(a));
	nsx_jsonw_int(w, "window.length_ns", a->window.end_ns - a->window.start_ns);
}

/* Writes a question to ask next. The verdict is a tool of its own. */
static void put_next(const struct page *p, struct nsx_jsonw *w, const struct nsx_next *n)
{
	enum nsx_tool_id tool = n->question == NSX_Q_verdict ? NSX_TOOL_explain : NSX_TOOL_ask;

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_str(w, "tool", nsx_tools[tool].name);
	if (n->trace || p->r->trace)
		nsx_jsonw_str(w, "arguments.trace", n->trace ? n->trace : p->r->trace);
	if (p->r->window && !n->trace)
		nsx_jsonw_str(w, "arguments.window", p->r->window);
	if (tool == NSX_TOOL_ask)
		nsx_jsonw_str(w, "arguments.question", nsx_questions[n->question].name);
	if (n->argument)
		nsx_jsonw_str(w, "arguments.argument", n->argument);
	nsx_jsonw_str(w, "why", n->why);
	nsx_jsonw_end(w);
}

static const char *cursor_after(const struct page *p)
{
	struct nsx_buf b = {0};

	for (unsigned i = 0; i < p->nparts; i++)
		nsx_buf_printf(&b, "%s%zu", i ? "," : "", p->part[i].from + p->part[i].shown);
	return nsx_buf_keep(&b, p->a->out->arena);
}

static void put_truncated(const struct page *p, struct nsx_jsonw *w)
{
	size_t shown = 0, total = 0;

	for (unsigned i = 0; i < p->nparts; i++) {
		shown += p->part[i].shown;
		total += p->part[i].t->nrows;
	}
	if (p->line > p->lines)
		nsx_jsonw_int(w, "truncated.lines_left_out", (int64_t)(p->line - p->lines));
	if (!rows_left(p))
		return;
	nsx_jsonw_int(w, "truncated.shown", (int64_t)shown);
	nsx_jsonw_int(w, "truncated.total", (int64_t)total);
	nsx_jsonw_str(w, "truncated.cursor", cursor_after(p));
	if (p->bytes_left)
		nsx_jsonw_int(w, "truncated.cost_of_rest_tokens",
			      (int64_t)(p->bytes_left / BYTES_A_TOKEN));
}

/* Whether a value lists what the trace cannot show. */
static bool is_gap(const struct nsx_value *v)
{
	return v->cell.type == NSX_T_LIST && !strcmp(v->key, "cannot_tell");
}

/* Whether the value is a single figure. Lists are written as sentences, and tables row by row. */
static bool is_figure(const struct nsx_value *v)
{
	return v->cell.type != NSX_T_NULL && nsx_is_scalar(v->cell.type);
}

/* The key of a value in the reply; a section that is a bare value has the section's name. */
static const char *value_key(const struct nsx_value *v)
{
	return strcmp(v->key, "*") ? v->key : "value";
}

static void reply_put_values(struct page *p, struct nsx_jsonw *w)
{
	const struct nsx_section *s = p->a->out;

	for (size_t i = 0; i < s->nvalues; i++) {
		const struct nsx_value *v = &s->values[i];

		if (is_gap(v))
			reply_put_list(p, w, v->key, v->cell.u.list, count_list(v->cell.u.list));
		else if (is_figure(v))
			reply_put_cell(p, w, nsx_say(p->a->out, "values.%s",
						     value_key(v)), NULL, &v->cell);
	}
	if (s->status == NSX_S_CANNOT)
		reply_put_list(p, w, "cannot_tell", (const char *const[]){s->reason}, 1);
}

static struct nsx_jsonw *reply_document(struct page *p)
{
	struct nsx_jsonw *w = nsx_jsonw_new();

	p->line = 0;
	nsx_jsonw_object(w, NULL);
	if (p->r->trace) {
		nsx_jsonw_str(w, "trace", p->r->trace);
		nsx_jsonw_str(w, "trace_id", p->r->trace_id);
	}
	if (p->r->question)
		nsx_jsonw_str(w, "question", p->r->question);
	if (p->a->argument)
		nsx_reply_put_text(w, "argument", p->a->argument, NSX_REPLY_FULL_CELL);
	reply_put_window(p->a, w);
	nsx_jsonw_str(w, "confidence", nsx_confidence_names[p->a->confidence]);
	reply_put_list(p, w, "says", p->says, p->nsays);
	reply_put_values(p, w);
	reply_put_list(p, w, "notes", (const char *const *)p->a->out->notes, p->a->out->nnotes);
	for (unsigned i = 0; i < p->nparts; i++) {
		const struct part *x = &p->part[i];

		if (!x->shown)
			continue;
		nsx_jsonw_array(w, nsx_say(p->a->out, "tables.%s", x->key));
		for (size_t r = x->from; r < x->from + x->shown; r++)
			reply_put_row(p, w, x->t, r);
		nsx_jsonw_end(w);
	}
	put_truncated(p, w);
	nsx_jsonw_array(w, "next");
	for (unsigned i = 0; i < p->a->nnext; i++)
		put_next(p, w, &p->a->next[i]);
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return w;
}

/* Measures the document as the page is now, in bytes. */
static int reply_measure(struct page *p, size_t *ret, struct nsx_err *err)
{
	struct nsx_jsonw *w = reply_document(p);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	int rc = nsx_jsonw_add_to(w, &b, err);

	*ret = b.n;
	nsx_jsonw_free(w);
	return rc;
}

/* Finds out how many lines, or rows, fit in `room` bytes, and shows that many. */
static int show_what_fits(struct page *p, bool rows, size_t most, size_t room, struct nsx_err *err)
{
	size_t lo = 0, hi = most + 1, bytes;

	while (lo + 1 < hi) {
		size_t k = lo + (hi - lo) / 2;

		if (rows)
			show_rows(p, k);
		else
			p->lines = k;
		if (reply_measure(p, &bytes, err))
			return err->rc;
		if (bytes <= room)
			lo = k;
		else
			hi = k;
	}
	if (rows)
		show_rows(p, lo);
	else
		p->lines = lo;
	return 0;
}

/* Fills the page: lines first, in half of the room if there are rows for the rest. */
static int fill_page(struct page *p, struct nsx_err *err)
{
	size_t room = NSX_MIN((size_t)p->r->budget * BYTES_A_TOKEN, (size_t)NSX_REPLY_MAX_BYTES);
	size_t rows, base = 0, whole = 0, left;

	p->lines = SIZE_MAX;
	show_rows(p, 0);
	p->bytes_left = room; /* the final value has no more digits */
	if (reply_measure(p, &base, err))
		return err->rc;
	if (base > (p->nparts ? room / 2 : room) &&
	    show_what_fits(p, false, p->line, p->nparts ? room / 2 : room, err))
		return err->rc;
	rows = rows_left(p);
	if (show_what_fits(p, true, NSX_MIN(rows, room / LEAST_ROW), room, err) ||
	    reply_measure(p, &whole, err))
		return err->rc;
	left = rows_left(p);
	if (left && rows > left && whole > base)
		p->bytes_left = (whole - base) / (rows - left) * left;
	else if (!left || rows == left)
		p->bytes_left = 0;
	return 0;
}

/* Text ----------------------------------------------------------------------------*/

static void add_quoted(struct nsx_buf *b, const char *text, size_t n)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_.:/%+-";
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf cut = {0};

	nsx_reply_text(&cut, text, n);
	if (*cut.p && !cut.p[strspn(cut.p, plain)]) {
		nsx_buf_add(b, cut.p, cut.n);
	} else if (*cut.p) {
		nsx_buf_adds(b, "`");
		nsx_md_add_code(b, cut.p, cut.n);
		nsx_buf_adds(b, "`");
	}
}

static void reply_add_cell(const struct page *p, struct nsx_buf *b,
			   const struct nsx_col *col, const struct nsx_cell *c)
{
	size_t chars = p->r->is_full ? NSX_REPLY_FULL_CELL : NSX_REPLY_CELL;

	switch (c->type) {
	case NSX_T_I64:
		nsx_buf_printf(b, "%" PRId64, c->u.i);
		break;
	case NSX_T_F64:
		nsx_buf_printf(b, "%.15g", round_for_reply(p, c->u.f));
		break;
	case NSX_T_STR:
		if (col && col->is_prose)
			reply_add_own(p, b, c->u.s, NSX_REPLY_PROSE);
		else
			add_quoted(b, c->u.s, chars);
		break;
	case NSX_T_BOOL:
		nsx_buf_adds(b, c->u.b ? "yes" : "no");
		break;
	case NSX_T_LIST:
		for (size_t i = 0; c->u.list && c->u.list[i]; i++) {
			nsx_buf_adds(b, i ? ", " : "");
			add_quoted(b, c->u.list[i], NSX_REPLY_FULL_CELL);
		}
		break;
	case NSX_T_TABLE:
		nsx_buf_printf(b, "%zu rows", c->u.table ? c->u.table->nrows : 0);
		break;
	default:
		break;
	}
}

/* The columns that have a value in some shown row, as bits; other columns are left out. */
static uint64_t columns_with_values(const struct part *x)
{
	uint64_t bits = 0;

	for (size_t r = x->from; r < x->from + x->shown; r++)
		for (unsigned c = 0; c < x->t->layout->ncols; c++)
			if (nsx_row_at(x->t, r)[c].type != NSX_T_NULL)
				bits |= UINT64_C(1) << c;
	return bits;
}

static void reply_add_table(const struct page *p, struct nsx_buf *b, const struct part *x)
{
	const struct nsx_layout *l = x->t->layout;
	uint64_t columns = columns_with_values(x);

	if (!x->shown)
		return;
	nsx_buf_printf(b, "\n%s:\n|", x->key);
	for (unsigned c = 0; c < l->ncols; c++)
		if (columns >> c & 1)
			nsx_buf_printf(b, "%s|", l->cols[c].key);
	nsx_buf_adds(b, "\n|");
	for (unsigned c = 0; c < l->ncols; c++)
		nsx_buf_adds(b, columns >> c & 1 ? "-|" : "");
	nsx_buf_adds(b, "\n");
	for (size_t r = x->from; r < x->from + x->shown; r++) {
		nsx_buf_adds(b, "|");
		for (unsigned c = 0; c < l->ncols; c++) {
			if (!(columns >> c & 1))
				continue;
			reply_add_cell(p, b, &l->cols[c], &nsx_row_at(x->t, r)[c]);
			nsx_buf_adds(b, "|");
		}
		nsx_buf_adds(b, "\n");
	}
}

static void reply_add_line(struct page *p, struct nsx_buf *b, const char *mark, const char *text)
{
	if (!has_line(p))
		return;
	nsx_buf_adds(b, mark);
	reply_add_own(p, b, text, NSX_REPLY_PROSE);
	nsx_buf_adds(b, "\n");
}

static void add_values(struct page *p, struct nsx_buf *b)
{
	const struct nsx_section *s = p->a->out;

	for (size_t i = 0; i < s->nvalues; i++) {
		const struct nsx_value *v = &s->values[i];

		if (is_figure(v)) {
			nsx_buf_printf(b, "%s: ", value_key(v));
			reply_add_cell(p, b, NULL, &v->cell);
			nsx_buf_adds(b, "\n");
		}
		for (size_t k = 0; is_gap(v) && v->cell.u.list[k]; k++)
			reply_add_line(p, b, "cannot tell: ", v->cell.u.list[k]);
	}
	if (s->status == NSX_S_CANNOT)
		reply_add_line(p, b, "cannot tell: ", s->reason);
}

static int add_next(const struct page *p, struct nsx_buf *b,
		    const struct nsx_next *n, struct nsx_err *err)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	int rc;

	put_next(p, w, n);
	nsx_buf_adds(b, "next: ");
	rc = nsx_jsonw_add_to(w, b, err);
	nsx_buf_adds(b, "\n");
	nsx_jsonw_free(w);
	return rc;
}

static int reply_add_text(struct page *p, struct nsx_buf *b, struct nsx_err *err)
{
	const struct nsx_answer *a = p->a;
	int rc = 0;

	p->line = 0;
	for (size_t i = 0; i < p->nsays; i++)
		reply_add_line(p, b, "- ", p->says[i]);
	add_values(p, b);
	for (unsigned i = 0; i < p->nparts; i++)
		reply_add_table(p, b, &p->part[i]);
	nsx_buf_adds(b, "\n");
	for (size_t i = 0; i < a->out->nnotes; i++)
		reply_add_line(p, b, "note: ", a->out->notes[i]);
	if (has_window(a))
		nsx_buf_printf(b, "%s (%s), ", nsx_answer_when(a), window_kind(a));
	nsx_buf_printf(b, "confidence %s\n", nsx_confidence_names[a->confidence]);
	if (rows_left(p))
		nsx_buf_printf(b, "%zu more rows, about %zu tokens: cursor \"%s\"\n", rows_left(p),
			       p->bytes_left / BYTES_A_TOKEN, cursor_after(p));
	for (unsigned i = 0; i < a->nnext && !rc; i++)
		rc = add_next(p, b, &a->next[i], err);
	return rc;
}

int nsx_reply_write(const struct nsx_answer *a, const struct nsx_reply *r,
		    struct nsx_jsonw **ret, struct nsx_buf *b, struct nsx_err *err)
{
	struct page p = {.a = a, .r = r};
	int rc;

	reply_find_parts(&p);
	rc = read_cursor(&p, err) ?: fill_page(&p, err) ?: reply_add_text(&p, b, err);
	if (!rc)
		*ret = reply_document(&p);
	return rc;
}
