/* page.c - the first page as text: Markdown for report.md, plain for stdout, and the same lines as
 * HTML, where pictures and findings are drawn separately.
 *
 * Plain lines are cut at PLAIN_CHARS; `bold` uses terminal codes for what is bold in Markdown.
 */
#include <ctype.h>
#include <math.h>
#include "emit/emit.h"
#include "emit/html/html.h"
#include "report/words.h"

enum { PLAIN_CHARS = 160 };

#define OPEN 0.1 /* the page gives a range if this share of the gain is uncertain */
/* A finding gets a note if what it adds to the others differs from its price by this share of the
 * judged time: then prices and their sum do not match.
 */
#define DIFFERS 0.01

struct page {
	struct nsx_buf *b;
	enum nsx_page_form form;
	struct nsx_arena *a;
	struct nsx_buf line; /* the current line, as Markdown */
};

/* Parts of a line ----------------------------------------------------------- */

static void page_put(struct page *p, const char *markdown)
{
	nsx_buf_adds(&p->line, markdown);
}

static void put_bold_mark(struct page *p, bool begin)
{
	page_put(p, p->form == NSX_PAGE_PLAIN  ? "" :
		    p->form != NSX_PAGE_BOLD ? "**" : begin ? "\x1b[1m" : "\x1b[0m");
}

/* Adds a name from the trace. */
static void page_put_name(struct page *p, const char *name)
{
	nsx_md_escape(&p->line, name, strlen(name));
}

static bool page_is_plain(const struct page *p)
{
	return p->form == NSX_PAGE_PLAIN || p->form == NSX_PAGE_BOLD;
}

/* Adds the current line in the page's form, without an end. */
static void flush_line(struct page *p)
{
	const char *text = p->line.p ?: "";
	struct nsx_buf *b = p->b;
	size_t from = b->n;

	if (p->form == NSX_PAGE_HTML)
		nsx_html_inline(b, text);
	else if (p->form == NSX_PAGE_MD)
		nsx_buf_adds(b, text);
	else
		nsx_md_add_plain(b, text);
	if (page_is_plain(p) && nsx_count_chars(b->p + from, b->n - from) > PLAIN_CHARS) {
		b->n = (size_t)(nsx_skip_chars(b->p + from, PLAIN_CHARS - 1) - b->p);
		nsx_buf_adds(b, "…");
	}
	nsx_buf_clear(&p->line);
}

/* Ends the line. goes_on: in Markdown the following text begins a new line. */
static void end_page_line(struct page *p, bool goes_on)
{
	flush_line(p);
	nsx_buf_adds(p->b, p->form == NSX_PAGE_HTML		? "</p>\n" :
			   p->form == NSX_PAGE_MD && goes_on ? "  \n" : "\n");
}

/* Begins an HTML paragraph; other forms need no beginning. */
static void begin_paragraph(struct page *p, const char *class)
{
	if (p->form == NSX_PAGE_HTML)
		nsx_buf_printf(p->b, "<p class=\"%s\">", class);
}

/* Lines ---------------------------------------------------------------------*/

static void add_header_lines(struct page *p, const struct nsx_first_page *x)
{
	bool is_html = p->form == NSX_PAGE_HTML, is_bold = p->form == NSX_PAGE_BOLD;
	const char *parts[] = {x->gpus, x->processes, x->product};

	nsx_buf_adds(p->b, is_html ? "<h1>" : p->form == NSX_PAGE_MD ? "# " : "");
	if (is_bold)
		put_bold_mark(p, true);
	page_put(p, "Where the time went: ");
	page_put_name(p, x->file);
	if (is_bold)
		put_bold_mark(p, false);
	flush_line(p);
	nsx_buf_adds(p->b, is_html ? "</h1>\n" : "\n\n");
	begin_paragraph(p, "soft");
	if (x->recorded_ns)
		nsx_buf_printf(&p->line, "%s recorded", nsx_text_ns(p->a, (double)x->recorded_ns));
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (parts[i]) {
			page_put(p, p->line.n ? " · " : "");
			page_put_name(p, parts[i]);
		}
	if (x->judged.start_ns < x->judged.end_ns) {
		page_put(p, p->line.n ? " · judged on " : "judged on ");
		page_put(p, nsx_text_window(p->a, &x->judged));
		page_put(p, x->unit ? ": " : "");
		page_put_name(p, x->unit ? x->unit : "");
	}
	end_page_line(p, false);
	nsx_buf_adds(p->b, "\n");
}

static void add_shares(struct page *p, const struct nsx_first_page *x)
{
	bool any = false;

	for (unsigned done = 0; done != (1u << NSX_NUSES) - 1;) {
		unsigned best = 0;

		while (done >> best & 1)
			best++;
		for (unsigned u = best + 1; u < NSX_NUSES; u++)
			if (!(done >> u & 1) && x->share[u] > x->share[best])
				best = u;
		done |= 1u << best;
		if (x->share[best] < 0.0005)
			continue;
		nsx_buf_printf(&p->line, "%s%s %s", any ? ", " : "",
			       nsx_text_share(p->a, x->share[best], 1), nsx_use_words[best]);
		any = true;
	}
	if (x->ngpus < 2)
		return;
	if (x->spread >= NSX_ALIKE) {
		nsx_buf_printf(&p->line, "; the mean of %u GPUs, up to %s apart", x->ngpus,
			       nsx_text_share(p->a, x->spread, 1));
		return;
	}
	if (x->ngpus == 2)
		page_put(p, "; both GPUs alike");
	else
		nsx_buf_printf(&p->line, "; all %u GPUs alike", x->ngpus);
	if (x->spread >= 0.002)
		nsx_buf_printf(&p->line, " (±%s)", nsx_text_share(p->a, x->spread / 2, 1));
}

static void put_verdict(struct page *p, const struct nsx_first_page *x)
{
	const char *word = nsx_verdict_words[x->verdict];
	bool has_shares = x->ngpus && x->verdict != NSX_V_FAILED;

	put_bold_mark(p, true);
	nsx_buf_printf(&p->line, "%c%s", *word & ~0x20, word + 1);
	put_bold_mark(p, false);
	if (x->verdict == NSX_V_MIXED)
		nsx_buf_printf(&p->line, " (%s and %s)", nsx_verdict_words[x->first],
			       nsx_verdict_words[x->second]);
	if (has_shares || x->because)
		page_put(p, ": ");
	if (has_shares)
		add_shares(p, x);
	if (x->because) {
		page_put(p, has_shares ? "; " : "");
		page_put(p, x->because);
	}
	if (x->damage) {
		page_put(p, "; this is of a part: ");
		page_put(p, x->damage);
	}
}

void nsx_emit_verdict(const struct nsx_first_page *x, struct nsx_arena *a, struct nsx_buf *b)
{
	struct page p = {.b = b, .form = NSX_PAGE_MD, .a = a};

	put_verdict(&p, x);
	flush_line(&p);
	nsx_buf_done(&p.line);
}

/* The GPUs of a strip. Of a long list the first ones are named, and the others counted. */
static const char *strip_label(struct nsx_arena *a, const char *gpus)
{
	enum { MOST = 40, MORE = sizeof(", 9 more") - 1 };
	int cut = 0, depth = 0;
	unsigned more = 0;

	/* a comma within parentheses separates no GPUs */
	for (int i = 0; gpus[i]; i++) {
		depth += (gpus[i] == '(') - (gpus[i] == ')');
		if (depth || gpus[i] != ',')
			continue;
		if (!cut || i <= MOST - MORE) {
			cut = i;
			more = 0;
		}
		more++;
	}
	return cut && strlen(gpus) > MOST ?
		nsx_arena_printf(a, "%.*s, %u more", cut, gpus, more) : gpus;
}

static void add_strips_of_gpus(struct page *p, const struct nsx_first_page *x)
{
	const char *label[NSX_MAX_STRIPS];
	size_t widest = 0;

	if (!x->nstrips)
		return;
	for (unsigned i = 0; i < x->nstrips; i++) {
		label[i] = strip_label(p->a, x->strip[i].gpus);
		widest = NSX_MAX(widest, strlen(label[i]));
	}
	nsx_buf_adds(p->b, "\n");
	nsx_buf_adds(p->b, p->form == NSX_PAGE_MD ? "```\n" : "");
	for (unsigned i = 0; i < x->nstrips; i++) {
		nsx_buf_printf(&p->line, "%-*s  ", (int)widest, label[i]);
		for (int k = 0; k < NSX_STRIP_CELLS; k++)
			nsx_buf_add(&p->line, &nsx_use_marks[x->strip[i].cell[k]], 1);
		end_page_line(p, false);
	}
	if (x->nstrips_more) {
		nsx_buf_printf(&p->line, "and %u GPUs more", x->nstrips_more);
		end_page_line(p, false);
	}
	nsx_buf_printf(&p->line, "%*s", (int)widest, "");
	for (unsigned u = 0; u < NSX_NUSES; u++)
		nsx_buf_printf(&p->line, "  %c %s", nsx_use_marks[u], nsx_use_words[u]);
	end_page_line(p, false);
	nsx_buf_adds(p->b, p->form == NSX_PAGE_MD ? "```\n" : "");
}

static size_t plain_chars(const char *markdown)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_md_add_plain(&b, markdown);
	return nsx_count_chars(b.p, b.n);
}

static void add_price(struct page *p, const struct nsx_first_page *x, const struct nsx_finding *f)
{
	if (f->price == NSX_PRICE_NONE)
		return;
	nsx_buf_printf(&p->line, "−%s (%s%s, %s%s%s", nsx_text_ns(p->a, f->headroom_ns),
		       nsx_text_share(p->a, f->headroom_ns, x->now_ns), f->step_ns > 0 ?
		       nsx_arena_printf(p->a, ", %s a step", nsx_text_ns(p->a, f->step_ns)) : "",
		       nsx_price_names[f->price],
		       nsx_is_open(f) ? ", at most" :
		       f->is_least && f->price == NSX_PRICE_MEASURED ?
				     ", at least" : "",
		       f->only ? nsx_arena_printf(p->a, ", for process %s", f->only) : "");
	page_put(p, ")  ");
}

/* Says what a finding wins in addition to those applied before it; NULL if that is about its price.
 * x: NULL without a first page.
 */
static const char *say_additional_gain(struct page *p, const struct nsx_first_page *x,
				       const struct nsx_finding *f)
{
	if (!x || !f->has_disjoint || f->price < NSX_PRICE_MEASURED ||
	    f->sure_ns - f->disjoint_ns >= DIFFERS * x->now_ns ||
	    fabs(f->disjoint_ns - f->headroom_ns) < DIFFERS * x->now_ns)
		return NULL;
	return nsx_arena_printf(p->a, ". Applied after the other remedies it wins %s",
				f->disjoint_ns > 0 ? nsx_text_ns(p->a, f->disjoint_ns) :
						     "nothing");
}

/* Adds the place, unless the title has it, and the evidence: the first line, and another one if it
 * fits. The first line is always whole. The assumption of an assumed price is always shown, if need
 * be instead of the place. The process that wins the price stands beside the price.
 */
static void add_place_and_evidence(struct page *p, const struct nsx_first_page *x,
				   const struct nsx_finding *f)
{
	const char *rest = say_additional_gain(p, x, f);
	size_t left = PLAIN_CHARS - strlen("   ") - (rest ? strlen(rest) : 0), n;
	bool any = f->place && !strstr(f->title, f->place);
	unsigned assumption = f->only ? 2 : 1;

	if (any && strlen("from ; ") + plain_chars(f->place) + plain_chars(f->evidence[0]) +
			   (f->is_assumed ? strlen(". ") + plain_chars(f->evidence[assumption]) : 0) > left)
		any = false;
	if (any) {
		page_put(p, "from ");
		page_put(p, f->place);
		left -= NSX_MIN(left, strlen("from ") + plain_chars(f->place));
	}
	for (unsigned k = 0, told = 0; told < 2 && f->evidence[k]; k++) {
		if (f->place && nsx_ends_with(f->evidence[k], f->place))
			continue; /* the finding's first line already shows it */
		n = strlen("; ") + plain_chars(f->evidence[k]);
		if (told && (n > left || (k == 1 && f->only)))
			continue;
		/* Figures continue the sentence about the place; a sentence stands alone. */
		page_put(p, !told && !any ? "" :
		       told || !isdigit((unsigned char)*f->evidence[k]) ? ". " :
									  "; ");
		page_put(p, f->evidence[k]);
		left -= NSX_MIN(left, n);
		told++;
	}
	page_put(p, rest && left ? rest : "");
}

static unsigned first_finding_with_advice(const struct nsx_first_page *x, const char *advice)
{
	unsigned i = 0;

	while (!x->finding[i]->recommendation[0] ||
	       strcmp(x->finding[i]->recommendation[0], advice))
		i++;
	return i;
}

static void add_finding_lines(struct page *p, const struct nsx_first_page *x, unsigned i)
{
	const struct nsx_finding *f = x->finding[i];

	nsx_buf_printf(&p->line, "%u. ", i + 1);
	put_bold_mark(p, true);
	nsx_buf_printf(&p->line, "\\[%s\\] ", nsx_severity_names[f->severity]);
	add_price(p, x, f);
	page_put(p, f->title);
	put_bold_mark(p, false);
	end_page_line(p, true);
	page_put(p, "   ");
	add_place_and_evidence(p, x, f);
	end_page_line(p, true);
	if (f->recommendation[0]) {
		unsigned same = first_finding_with_advice(x, f->recommendation[0]);

		page_put(p, "   → ");
		if (same < i)
			nsx_buf_printf(&p->line, "The same as for %u", same + 1);
		else
			page_put(p, f->recommendation[0]);
		end_page_line(p, false);
	}
}

/* Adds texts as a paragraph. A text that begins bold, as each kind of steps does, begins a line. */
static void page_add_list(struct page *p, const char *what,
			  const char *const *texts, const char *separator)
{
	size_t chars = strlen(what);

	if (!texts || !*texts)
		return;
	begin_paragraph(p, "told");
	page_put(p, what);
	for (size_t i = 0; texts[i]; i++) {
		size_t n = plain_chars(texts[i]) + strlen("; ");

		page_put(p, i ? separator : "");
		if (i && (!strncmp(texts[i], "**", 2) ||
			  (page_is_plain(p) && chars + n > PLAIN_CHARS))) {
			p->line.p[--p->line.n] = '\0'; /* removes the separator's space */
			end_page_line(p, true);
			begin_paragraph(p, "told");
			nsx_buf_printf(&p->line, "%*s", (int)strlen(what), "");
			chars = strlen(what);
		}
		page_put(p, texts[i]);
		chars += n;
	}
	page_put(p, ".");
	end_page_line(p, true);
}

/* Says which findings the sum includes: "all of this were", "1 and 3 were". */
static const char *say_included_findings(struct page *p, const struct nsx_first_page *x)
{
	unsigned n = 0, k = 0;
	const char *text = "";

	for (unsigned i = 0; i < x->nfindings; i++)
		n += x->counted[i];
	if (n == x->nfindings)
		return n == 1 ? "this were" : "all of this were";
	for (unsigned i = 0; i < x->nfindings; i++)
		if (x->counted[i])
			text = nsx_arena_printf(p->a, "%s%s%u", text, !k++ ? "" :
						k == n ? " and " : ", ", i + 1);
	return nsx_arena_printf(p->a, "%s were", text);
}

/* Says what remains of the judged time, as a range if the trace leaves open how much is won. */
static const char *say_remaining(struct page *p, const struct nsx_first_page *x)
{
	const char *least = nsx_text_ns(p->a, x->then_ns), *most = nsx_text_ns(p->a, x->then_most_ns);

	if (x->then_most_ns - x->then_ns < OPEN * (x->now_ns - x->then_ns))
		return least;
	return strcmp(most, nsx_text_ns(p->a, x->now_ns)) ?
		nsx_arena_printf(p->a, "between %s and %s", least, most) :
		nsx_arena_printf(p->a, "%s at best", least);
}

static void add_sum(struct page *p, const struct nsx_first_page *x)
{
	if (x->then_ns >= 0) {
		begin_paragraph(p, "told");
		nsx_buf_printf(&p->line, "If %s done: %s → %s", say_included_findings(p, x),
			       nsx_text_ns(p->a, x->now_ns), say_remaining(p, x));
		page_put(p, ".");
		end_page_line(p, true);
	}
	if (x->nsmaller && p->form != NSX_PAGE_HTML) { /* the HTML page shows all findings */
		begin_paragraph(p, "told");
		nsx_buf_printf(&p->line, "Under Findings in full: %s.",
			       nsx_text_n(p->a, x->nsmaller, "smaller one", "smaller ones"));
		end_page_line(p, true);
	}
	page_add_list(p, "Steps: ", x->steps, "; ");
	page_add_list(p, "Asked: ", x->asked, "; ");
	page_add_list(p, "Elsewhere: ", x->unjudged, "; ");
	page_add_list(p, "Fine: ", x->fine, ", ");
	page_add_list(p, "Trust: ", x->trust, "; ");
	page_add_list(p, "Not in this trace: ", x->missing, ", ");
	page_add_list(p, "Ask next: ", x->ask, ", ");
}

static void page_add_opening(struct page *p, const struct nsx_first_page *x)
{
	add_header_lines(p, x);
	begin_paragraph(p, "verdict");
	put_verdict(p, x);
	end_page_line(p, x->most_time);
	page_add_list(p, "Most time: ", x->most_time, "; ");
}

void nsx_emit_page(const struct nsx_first_page *x, enum nsx_page_form form, struct nsx_buf *b)
{
	struct page p = {.b = b, .form = form, .a = nsx_arena_new()};

	page_add_opening(&p, x);
	add_strips_of_gpus(&p, x);
	for (unsigned i = 0; i < x->nfindings; i++) {
		if (!i || form != NSX_PAGE_MD)
			nsx_buf_adds(b, "\n");
		add_finding_lines(&p, x, i);
	}
	nsx_buf_adds(b, "\n");
	add_sum(&p, x);
	nsx_buf_done(&p.line);
	nsx_arena_free(p.a);
}

void nsx_html_page(struct nsx_buf *b, enum nsx_page_part part, const struct nsx_first_page *x,
		   const struct nsx_finding *f)
{
	struct page p = {.b = b, .form = NSX_PAGE_HTML, .a = nsx_arena_new()};

	switch (part) {
	case NSX_PAGE_HEAD:
		page_add_opening(&p, x);
		break;
	case NSX_PAGE_SUM:
		add_sum(&p, x);
		break;
	case NSX_PAGE_PRICE:
		add_price(&p, x, f);
		break;
	case NSX_PAGE_PROOF:
		add_place_and_evidence(&p, x, f);
		break;
	}
	flush_line(&p);
	nsx_buf_done(&p.line);
	nsx_arena_free(p.a);
}
