/* kernel_families.c - kernels by family, over all devices. */
#include <stdlib.h>
#include <string.h>
#include "passes/pass.h"

#define COLUMNS(X)                                                            \
	X(FAMILY, "family", STR, "kernels that one would replace as a whole") \
	X(CATEGORY, "category", STR, "what they are for, by their names")     \
	X(DTYPE, "dtype", STR,                                                \
	  "what they compute in; null: their names do not say")               \
	X(NAMES, "kernel_count", I64, "different kernels",                    \
	  .title = "kernels")                                                 \
	X(CALLS, "call_count", I64,                                           \
	  "executions that began in the window", .title = "calls")            \
	X(TOTAL_NS, "total_time_ns", I64, "sum of durations")                 \
	X(TOTAL_MS, "total_time_ms", F64, "sum of durations",                 \
	  .title = "total_ms")                                                \
	X(PCT, "pct_total_kernel_time", F64,                                  \
	  "share of the summed kernel time of all devices",                   \
	  .title = "pct_kernel_time")
NSX_COLUMNS(cols, COLUMNS);
static const struct nsx_layout layouts[] = {
	{.key = "rows", .csv = "kernel_families", NSX_COLS(cols)},
};

struct sum {
	int64_t ns, calls;
};

/* Time and executions of each kernel name, by its index in the facts. */
static int sum_names(const struct nsx_run *run, struct sum **ret,
		     int64_t *ret_total_ns, struct nsx_err *err)
{
	const struct nsx_trace *t = run->trace;
	const struct nsx_kernel_names *k = &run->facts->kernels;
	struct sum *by_name, *by_shape;

	if (!nsx_new_array(by_name, run->scratch, k->n, "kernel names", err) ||
	    !nsx_new_array(by_shape, run->scratch, t->nshapes, "shapes", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		struct sum *s;

		if (t->ops.kind[i] != NSX_OP_KERNEL)
			continue;
		s = &by_shape[nsx_op_detail(&t->ops, i)];
		s->calls += nsx_op_counts(t, i);
		nsx_add_to(&s->ns, nsx_op_ns(&t->ops, i));
	}
	for (uint32_t i = 0; i < t->nshapes; i++) {
		size_t at = (size_t)(nsx_kernel_name(k, t->shape_name[i]) -
				     k->v);

		by_name[at].calls += by_shape[i].calls;
		nsx_add_to(&by_name[at].ns, by_shape[i].ns);
		nsx_add_to(ret_total_ns, by_shape[i].ns);
	}
	*ret = by_name;
	return 0;
}

struct family {
	const struct nsx_kernel_words *words; /* of its first kernel         */
	int64_t names, calls, ns;
};

/* A family is a text and what it is for: its dtype then is the same.  *ret: owner: the
 * caller, free().
 */
static int add_names(const struct nsx_kernel_names *k, const struct sum *sums,
		     struct nsx_groups *families, struct family **ret,
		     struct nsx_err *err)
{
	for (size_t i = 0; i < k->n; i++) {
		const struct nsx_kernel_words *words = k->v[i].words;
		struct family *f;

		if (!sums[i].calls && !sums[i].ns)
			continue;
		f = nsx_group_value(families, ret,
				    nsx_hash(words->family, strlen(words->family)),
				    words->category, "kernel families", err);
		if (!f)
			return err->rc;
		f->words = f->words ?: words;
		f->names++;
		f->calls += sums[i].calls;
		nsx_add_to(&f->ns, sums[i].ns);
	}
	return 0;
}

static int64_t key_of(const void *family)
{
	return ~((const struct family *)family)->ns;
}

/* In order of time, calls, family, category. */
static int cmp_families(const void *a, const void *b)
{
	const struct family *x = a, *y = b;

	return NSX_CMP(y->ns, x->ns) ?: NSX_CMP(y->calls, x->calls) ?:
	       strcmp(x->words->family, y->words->family) ?:
	       strcmp(nsx_kernel_category_names[x->words->category],
		      nsx_kernel_category_names[y->words->category]);
}

static void fill_families(const struct family *v, size_t n, int64_t total_ns,
			  struct nsx_table *t)
{
	for (size_t i = 0; i < n; i++) {
		const struct nsx_kernel_words *words = v[i].words;
		struct nsx_cell *row = nsx_add_row(t);

		if (!nsx_table_holds(t))
			continue; /* no column adds */
		row[FAMILY] = nsx_string(words->family);
		row[CATEGORY] = nsx_string(
			nsx_kernel_category_names[words->category]);
		row[DTYPE] = nsx_string(words->dtype ?
						nsx_dtype_names[words->dtype] :
						NULL);
		row[NAMES] = nsx_int(v[i].names);
		row[CALLS] = nsx_int(v[i].calls);
		row[TOTAL_NS] = nsx_int(v[i].ns);
		row[TOTAL_MS] = nsx_ms(v[i].ns);
		row[PCT] = nsx_part_pct(v[i].ns, total_ns);
	}
}

static void show(const struct family *v, size_t n, const struct nsx_table *t,
		 struct nsx_section *out)
{
	bool any_kin = false;

	if (n)
		nsx_md_text(out, "%s takes %s of the kernel time, in %s; there "
			    "%s.",
			    nsx_md_name(out, v->words->family),
			    nsx_text_share(out->arena,
					   nsx_row_at(t, 0)[PCT].u.f, 100),
			    nsx_text_n(out->arena, (size_t)v->calls, "call",
				       NULL),
			    n == 1 ? "is no other family" :
				     nsx_say(out, "are %zu families", n));
	for (size_t i = 0; i < n; i++)
		any_kin |= v[i].names > 1;
	if (any_kin) /* else the table of kernels says the same */
		nsx_md_table(out, t, 3, FAMILY, NAMES, CALLS, TOTAL_MS, PCT);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	struct nsx_table *t = nsx_add_table(out, &layouts[0]);
	struct nsx_groups families = {0};
	struct family *v = NULL;
	struct sum *sums = NULL;
	int64_t total_ns = 0;
	int rc = sum_names(run, &sums, &total_ns, err) ?:
		 add_names(&run->facts->kernels, sums, &families, &v, err);
	size_t n = rc ? 0 : families.n;

	nsx_groups_done(&families);
	nsx_sort_by_key(v, n, sizeof(*v), key_of, cmp_families);
	nsx_table_expect(t, n, run->opts->held_rows);
	fill_families(v, n, total_ns, t);
	show(v, n, t, out);
	free(v);
	return rc;
}

NSX_DEFINE_PASS(kernel_families,
	.title = "Kernels",
	.no_query = "names are taken apart by a parser",
	.summary = "kernels added up by what one would replace as a whole",
	.doc = "Kernels whose own function is the same but for tile sizes, "
	       "layouts, vector widths and the like, over all devices: all "
	       "matrix multiplies of one precision, one elementwise operation "
	       "on one type, one function whose lambdas differ. The family "
	       "comes from the function's own name; time is the sum of "
	       "durations.",
	.derived_from = "kernel rows, grouped by family",
	.limitations = "sums over concurrent streams; a library whose names "
		       "are not known gives a family a function",
	.needs = {NSX_NEED_VIEW(kernel)},
	NSX_LAYOUTS(layouts));
