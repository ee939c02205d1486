/* expect.c - reads and judges expectations such as "kernel:/flash/ > 40 %": a subject, a
 * comparison, a share of the judged time.
 */
#include <math.h>
#include "base/regex.h"
#include "cli/expect.h"

static const struct {
	const char *word;
	enum nsx_use use;
} subjects[] = {
	{"compute", NSX_USE_COMPUTE}, {"copy", NSX_USE_COPY},
	{"communication", NSX_USE_COMM}, {"idle", NSX_USE_IDLE},
};
static const char kernels[] = "kernel:/";

struct expectation {
	char pattern[256]; /* pattern of kernel names; "": the subject is a class */
	enum nsx_use use;
	/* is_least: "at least", otherwise "at most". is_open: a share equal to the bound fails. */
	bool is_least, is_open;
	double share;
};

/* Reads the subject of an expectation. Returns its end; NULL: not a subject. */
static const char *read_subject(const char *s, struct expectation *ret)
{
	size_t n = strlen(kernels);

	for (size_t i = 0; i < ARRAY_LEN(subjects); i++)
		if (!strncmp(s, subjects[i].word, strlen(subjects[i].word))) {
			ret->use = subjects[i].use;
			return s + strlen(subjects[i].word);
		}
	if (strncmp(s, kernels, n))
		return NULL;
	for (const char *end = strrchr(s + n, '/'); end && end > s + n; end = NULL)
		if ((size_t)(end - s) - n < sizeof(ret->pattern)) {
			memcpy(ret->pattern, s + n, (size_t)(end - s) - n);
			return end + 1;
		}
	return NULL;
}

static bool expect_parse(const char *text, struct expectation *ret)
{
	const char *s;
	char *end;

	*ret = (struct expectation){.pattern = ""};
	s = read_subject(text, ret);
	if (!s)
		return false;
	s += strspn(s, " ");
	if (*s != '<' && *s != '>')
		return false;
	ret->is_least = *s++ == '>';
	ret->is_open = *s != '=';
	s += !ret->is_open;
	ret->share = strtod(s, &end) / 100;
	if (end == s || !(ret->share >= 0 && ret->share <= 1))
		return false;
	end += strspn(end, " ");
	end += *end == '%';
	return !*end;
}

int nsx_expect_check(const char *text, struct nsx_err *err)
{
	struct expectation e;
	struct nsx_regex *re;

	if (!expect_parse(text, &e))
		return nsx_fail(err, NSX_E_USAGE, "cannot read --expect '%s': give a share of the "
				"judged time, such as 'kernel:/flash/ > 40 %%' or 'idle < 10 %%' "
				"(also compute, copy, communication)", text);
	if (nsx_regex_new(e.pattern, &re, err))
		return nsx_wrap(err, "cannot use --expect '%s'", text);
	nsx_regex_free(re);
	return 0;
}

/* The judged time of the kernels whose name or label matches, over all GPUs; -1: none matches. */
static int64_t matching_ns(const struct nsx_report *r, const char *pattern)
{
	enum { MATCHES = 1, OTHER };
	const struct nsx_trace *t = r->trace;
	const struct nsx_window *w = &r->page->judged;
	uint8_t *is = nsx_arena_get(r->arena, nsx_strings_bound(t->strings));
	int64_t sum_ns = -1;
	struct nsx_err err;
	struct nsx_regex *re;

	if (nsx_regex_new(pattern, &re, &err))
		return sum_ns;
	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t ns = NSX_MIN(nsx_op_end(&t->ops, i), w->end_ns) -
			     NSX_MAX(nsx_op_start(&t->ops, i), w->start_ns);
		nsx_str name;

		if (t->ops.kind[i] != NSX_OP_KERNEL)
			continue;
		name = nsx_op_name(t, i);
		if (!is[name])
			is[name] = nsx_regex_matches(re, nsx_text(t, name)) ||
				   nsx_regex_matches(re, nsx_kernel_label(&r->facts->kernels,
									  name)) ?
					   MATCHES : OTHER;
		if (is[name] == MATCHES) {
			sum_ns = NSX_MAX(sum_ns, 0);
			nsx_add_to(&sum_ns, NSX_MAX(ns, 0));
		}
	}
	nsx_regex_free(re);
	return sum_ns;
}

/* Whether the report meets an expectation. *ret_figure: the share, or why there is none: where GPU
 * activity was lost, shares prove nothing.
 */
static bool is_met(const struct nsx_report *r, const struct expectation *e, struct nsx_arena *a,
		   const char **ret_figure)
{
	const struct nsx_first_page *p = r->page;
	double share;

	*ret_figure = "nothing was judged";
	if (!p || !p->ngpus)
		return false;
	*ret_figure = "undecided: GPU work is missing";
	if (p->verdict == NSX_V_LOST || p->verdict == NSX_V_UNREAD)
		return false;
	share = p->share[e->use];
	if (*e->pattern) {
		int64_t ns = matching_ns(r, e->pattern);

		*ret_figure = "no kernel of the trace matches";
		if (ns < 0)
			return false;
		share = (double)ns / p->ngpus / (double)(p->judged.end_ns - p->judged.start_ns);
	}
	*ret_figure = nsx_text_share(a, share, 1);
	return share == e->share ? !e->is_open : e->is_least == (share > e->share);
}

struct nsx_notice nsx_expect_notice(const struct nsx_report *r, const char *text,
				    struct nsx_arena *a)
{
	struct nsx_notice ret = {"expect", text, "", "", NSX_SEV_HIGH, NSX_FAILED};
	struct nsx_buf b = {0};
	struct expectation e;

	if (expect_parse(text, &e) && is_met(r, &e, a, &ret.text))
		ret.outcome = NSX_PASSED;
	nsx_buf_adds(&b, "--expect ");
	nsx_md_escape(&b, text, strlen(text));
	ret.title = nsx_buf_keep(&b, a);
	return ret;
}
