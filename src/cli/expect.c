/* expect.c - "kernel:/flash/ > 40 %": a subject, a comparison, a share of the judged time. */
#include <math.h>
#include "base/regex.h"
#include "cli/expect.h"
#include "report/first_page.h"

static const struct {
	const char *word;
	enum nsx_use use;
} subjects[] = {
	{"compute", NSX_USE_COMPUTE}, {"copy", NSX_USE_COPY},
	{"communication", NSX_USE_COMM}, {"idle", NSX_USE_IDLE},
};
static const char kernels[] = "kernel:/";

struct expectation {
	char pattern[256]; /* pattern of kernel names; "": use a class        */
	enum nsx_use use;
	/* is_least: "at least", otherwise "at most"; is_open: the bound itself does not count */
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

/* Time of the kernels whose name or label matches, summed over all GPUs. */
static int64_t matching_ns(const struct nsx_report *r, const char *pattern)
{
	enum { MATCHES = 1, OTHER };
	const struct nsx_trace *t = r->trace;
	const struct nsx_window *w = &r->page->judged;
	uint8_t *is = nsx_arena_get(r->arena, nsx_strings_bound(t->strings));
	int64_t sum_ns = 0;
	struct nsx_err err;
	struct nsx_regex *re;

	if (nsx_regex_new(pattern, &re, &err))
		return 0;
	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t ns = NSX_MIN(nsx_op_end(&t->ops, i), w->end_ns) -
			     NSX_MAX(nsx_op_start(&t->ops, i), w->start_ns);
		nsx_str name;

		if (t->ops.kind[i] != NSX_OP_KERNEL || ns <= 0)
			continue;
		name = nsx_op_name(t, i);
		if (!is[name])
			is[name] = nsx_regex_matches(re, nsx_text(t, name)) ||
				   nsx_regex_matches(re, nsx_kernel_label(&r->facts->kernels,
									  name)) ?
					   MATCHES : OTHER;
		if (is[name] == MATCHES)
			nsx_add_to(&sum_ns, ns);
	}
	nsx_regex_free(re);
	return sum_ns;
}

bool nsx_expect_is_met(const struct nsx_report *r, const char *text, double *ret_share)
{
	const struct nsx_first_page *p = r->page;
	struct expectation e;

	*ret_share = NAN;
	if (!expect_parse(text, &e) || !p || !p->ngpus)
		return false;
	*ret_share = *e.pattern ? (double)matching_ns(r, e.pattern) / p->ngpus /
				  (double)(p->judged.end_ns - p->judged.start_ns) :
				  p->share[e.use];
	if (*ret_share == e.share)
		return !e.is_open;
	return e.is_least == (*ret_share > e.share);
}
