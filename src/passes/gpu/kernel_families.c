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
	const struct nsx_kernel_words *words; /* of its first name           */
	int64_t names;
	struct sum sum;
};

/* A family is a text and what it is for: its dtype then is the same. */
static int add_name(struct nsx_groups *families, struct family **v,
		    const struct nsx_kernel_words *k, const struct sum *s,
		    struct nsx_err *err)
{
	struct family *x = nsx_group_value(
		families, v, nsx_hash(k->family, strlen(k->family)),
		k->category, "kernel families", err);

	if (!x)
		return err->rc;
	if (!x->words)
		x->words = k;
	x->names++;
	x->sum.calls += s->calls;
	nsx_add_to(&x->sum.ns, s->ns);
	return 0;
}

static int64_t key_of(const void *index, void *families)
{
	return -((struct family *)families)[*(const uint32_t *)index].sum.ns;
}

static int cmp_families(const void *a, const void *b, void *families)
{
	const char *const *category = nsx_kernel_category_names;
	const struct family *v = families, *x = &v[*(const uint32_t *)a];
	const struct family *y = &v[*(const uint32_t *)b];

	return NSX_CMP(y->sum.ns, x->sum.ns) ?:
	       NSX_CMP(y->sum.calls, x->sum.calls) ?:
	       strcmp(x->words->family, y->words->family) ?:
	       strcmp(category[x->words->category], category[y->words->category]);
}

/* In order of time, calls, name, category. */
static int fill_families(const struct nsx_run *run, struct family *v, size_t n,
			 int64_t total_ns, struct nsx_table *t,
			 struct nsx_err *err)
{
	uint32_t *order;

	if (!nsx_new_array(order, run->scratch, n, "kernel families", err))
		return err->rc;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	nsx_table_expect(t, n, run->opts->held_rows);
	nsx_sort_by_key_r(order, n, t->max_rows ?: n, sizeof(*order), key_of,
			  cmp_families, v);
	for (size_t i = 0; i < n; i++) {
		const struct family *x = &v[order[i]];
		const struct nsx_kernel_words *k = x->words;
		struct nsx_cell *row = nsx_add_row(t);

		row[FAMILY] = nsx_string(k->family);
		row[CATEGORY] = nsx_string(nsx_kernel_category_names[k->category]);
		row[DTYPE] = nsx_string(k->dtype ? nsx_dtype_names[k->dtype] :
						   NULL);
		row[NAMES] = nsx_int(x->names);
		row[CALLS] = nsx_int(x->sum.calls);
		row[TOTAL_NS] = nsx_int(x->sum.ns);
		row[TOTAL_MS] = nsx_ms(x->sum.ns);
		row[PCT] = nsx_part_pct(x->sum.ns, total_ns);
	}
	return 0;
}

/* any_kin: a family has several kernels; else the table of kernels says the same. */
static void show(const struct nsx_table *t, bool any_kin,
		 struct nsx_section *out)
{
	size_t n = nsx_table_total(t);

	if (n)
		nsx_md_text(out, "%s takes %s of the kernel time, in %s; there "
			    "%s.",
			    nsx_md_name(out, nsx_row_at(t, 0)[FAMILY].u.s),
			    nsx_text_share(out->arena,
					   nsx_row_at(t, 0)[PCT].u.f, 100),
			    nsx_text_n(out->arena,
				       (size_t)nsx_row_at(t, 0)[CALLS].u.i,
				       "call", NULL),
			    n == 1 ? "is no other family" :
				     nsx_say(out, "are %zu families", n));
	if (any_kin)
		nsx_md_table(out, t, 3, FAMILY, NAMES, CALLS, TOTAL_MS, PCT);
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_kernel_names *k = &run->facts->kernels;
	struct nsx_table *t = nsx_add_table(out, &layouts[0]);
	struct nsx_groups families = {0};
	struct family *v = NULL;
	struct sum *sums = NULL;
	int64_t total_ns = 0;
	int rc = sum_names(run, &sums, &total_ns, err);
	bool any_kin = false;
	size_t n;

	for (size_t i = 0; !rc && i < k->n; i++)
		if (sums[i].calls || sums[i].ns)
			rc = add_name(&families, &v, k->v[i].words, &sums[i],
				      err);
	n = families.n;
	nsx_groups_done(&families);
	for (size_t i = 0; i < n; i++)
		any_kin |= v[i].names > 1;
	if (!rc)
		rc = fill_families(run, v, n, total_ns, t, err);
	if (!rc)
		show(t, any_kin, out);
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
