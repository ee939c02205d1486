/* several.c - diff and fleet for other programs (include/nsx/several.h). */
#include <nsx/several.h>
#include "api/problem.h"
#include "diff/emit.h"
#include "fleet/input.h"
#include "fleet/report.h"

struct nsx_several {
	struct nsx_diff_opts opts;
	struct nsx_diff_output diff; /* diff.diff NULL: this is a fleet      */
	struct nsx_fleet *fleet;
	struct nsx_left_out left_out; /* inputs of the fleet that could not be read */
	struct nsx_freport *report;
	struct nsx_arena *arena; /* also holds this struct                   */
	char *document[NSX_DOC_MARKDOWN + 1]; /* NULL: not requested         */
};

static struct nsx_several *new_several(void)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_several *s = nsx_arena_get(a, sizeof(*s));

	s->arena = a;
	return s;
}

void nsx_several_free(struct nsx_several *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ARRAY_LEN(s->document); i++)
		free(s->document[i]);
	nsx_diff_tables_done(&s->diff.tables);
	nsx_diff_free((struct nsx_diff *)s->diff.diff);
	nsx_freport_free(s->report);
	nsx_fleet_free(s->fleet);
	nsx_buf_done(&s->left_out.why);
	nsx_arena_free(s->arena);
}

static char **copy_list(struct nsx_several *s, const char *const *v, size_t *ret_n)
{
	char **copy;

	for (*ret_n = 0; v && v[*ret_n]; ++*ret_n)
		;
	copy = nsx_arena_get(s->arena, (*ret_n + 1) * sizeof(*copy));
	for (size_t i = 0; i < *ret_n; i++)
		copy[i] = nsx_arena_strdup(s->arena, v[i]);
	return copy;
}

static int several_finish(struct nsx_several *s, int rc, struct nsx_several **ret,
			  const struct nsx_err *err, struct nsx_problem *problem)
{
	if (rc) {
		nsx_several_free(s);
		return nsx_tell_problem(err, problem);
	}
	*ret = s;
	return 0;
}

static unsigned threads_or_one(unsigned threads)
{
	return NSX_MAX(1, NSX_MIN(threads, NSX_MAX_THREADS));
}

int nsx_several_diff(const char *const *before, const char *const *after,
		     const char *unit, unsigned threads, struct nsx_several **ret,
		     struct nsx_problem *problem)
{
	const char *const *sides[] = {before, after};
	struct nsx_several *s = new_several();
	struct nsx_diff *d = NULL;
	struct nsx_err err;
	int rc = 0;

	s->opts = (struct nsx_diff_opts){
		.alpha = 0.05, .seed = 1,
		.side = {.last = -1, .device = -1, .pid = -1, .rank = -1,
			 .threads = threads_or_one(threads)}};
	for (unsigned i = 0; i < 2; i++) {
		struct nsx_captures *c = &s->opts.captures[i];

		c->v = (const char *const *)copy_list(s, sides[i], &c->n);
		if (!c->n)
			rc = nsx_fail(&err, NSX_E_USAGE, "a comparison needs captures "
				      "on both sides");
	}
	if (unit)
		unit = nsx_arena_strdup(s->arena, unit);
	if (!rc)
		rc = nsx_side_unit_parse(unit, &s->opts.side, &err) ?:
		     nsx_diff_run(&s->opts, &d, &err);
	s->diff.diff = d;
	if (!rc)
		rc = nsx_diff_tabulate(d, 0, &s->diff.tables, &err);
	return several_finish(s, rc, ret, &err, problem);
}

int nsx_several_fleet(const char *const *inputs, unsigned threads,
		      struct nsx_several **ret, struct nsx_problem *problem)
{
	const struct nsx_digest_opts o = {.rank = -1, .threads = 1,
					  .detail = NSX_DETAIL_COLLS,
					  .keep = NSX_KEEP_COLUMNS};
	struct nsx_several *s = new_several();
	struct nsx_fleet_inputs in = {0};
	NSX_AT_EXIT(nsx_free_at) struct nsx_digest **v = NULL;
	struct nsx_err err;
	size_t n, nv = 0;
	char **list = copy_list(s, inputs, &n);
	int rc = nsx_fleet_list(list, (int)n, &in, &err) ?:
		 nsx_fleet_read(&in, &o, threads_or_one(threads), &v, &nv, &s->left_out, &err);

	if (!rc && !nv)
		rc = nsx_fail(&err, NSX_E_DATA, "none of %zu inputs could be read: "
			      "%.*s", in.n, (int)strcspn(s->left_out.why.p ?: "", "\n"),
			      s->left_out.why.p ?: "");
	if (!rc)
		rc = nsx_fleet_new(v, nv, &s->fleet, &err);
	if (!rc)
		rc = nsx_fleet_analyse(s->fleet, &err) ?:
		     nsx_freport_new(s->fleet, &s->left_out, &s->report, &err);
	nsx_arena_free(in.arena);
	return several_finish(s, rc, ret, &err, problem);
}

int nsx_several_document(struct nsx_several *s, enum nsx_document which,
			 const char **ret, struct nsx_problem *problem)
{
	const void *subject = s->diff.diff ? (const void *)&s->diff : s->report;
	const struct nsx_out_file as[] = {
		[NSX_DOC_JSON] = {.write = s->report ? nsx_freport_write_json :
						       nsx_diff_write_json,
				  .subject = subject},
		[NSX_DOC_MARKDOWN] = {.write = s->report ? nsx_freport_write_md :
							   nsx_diff_write_md,
				      .subject = subject}};
	struct nsx_buf text = {0};
	struct nsx_err err;
	int rc = 0;

	if (which == NSX_DOC_VERDICT && !s->document[which]) {
		if (s->diff.diff)
			nsx_buf_adds(&text, nsx_diff_headline(s->diff.diff, s->arena));
		else
			nsx_freport_page(s->report, false, &text);
	}
	if ((unsigned)which >= ARRAY_LEN(as) || (!as[which].write && which != NSX_DOC_VERDICT))
		rc = nsx_fail(&err, NSX_E_USAGE, "no document %d of several traces", (int)which);
	else if (!s->document[which] && !text.p)
		rc = nsx_out_string(&as[which], &text, &err);
	if (rc)
		nsx_buf_done(&text);
	if (rc)
		return nsx_tell_problem(&err, problem);
	if (text.p)
		s->document[which] = text.p;
	*ret = s->document[which];
	return 0;
}

const struct nsx_rows *nsx_several_table(const struct nsx_several *s, size_t i)
{
	const struct nsx_table *t = s->report ? s->report->t : s->diff.tables.t;
	size_t n = s->report ? (size_t)NSX_NFTABLES : (size_t)NSX_NDT;

	return i < n ? (const struct nsx_rows *)&t[i] : NULL;
}
