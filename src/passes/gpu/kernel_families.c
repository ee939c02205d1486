/* kernel_families.c - kernels by family, over all devices. */
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

/* A family is a text and what it is for: its dtype then is the same. */
static int add_name(struct nsx_table *t, struct nsx_groups *families,
		    const struct nsx_kernel_words *k, const struct sum *s,
		    struct nsx_err *err)
{
	struct nsx_cell *row;
	int64_t total_ns;
	uint32_t i;

	if (nsx_group(families, nsx_hash(k->family, strlen(k->family)),
		      k->category, &i, err))
		return err->rc;
	if (i == t->nrows) {
		row = nsx_add_row(t);
		if (nsx_table_whole(t, err))
			return err->rc; /* groups are told by their row */
		row[FAMILY] = nsx_string(k->family);
		row[CATEGORY] = nsx_string(nsx_kernel_category_names[k->category]);
		row[DTYPE] = nsx_string(k->dtype ? nsx_dtype_names[k->dtype] :
						   NULL);
		row[NAMES] = row[CALLS] = row[TOTAL_NS] = nsx_int(0);
	}
	row = (struct nsx_cell *)nsx_row_at(t, i);
	row[NAMES].u.i++;
	row[CALLS].u.i += s->calls;
	total_ns = row[TOTAL_NS].u.i;
	nsx_add_to(&total_ns, s->ns);
	row[TOTAL_NS] = nsx_int(total_ns);
	return 0;
}

static int run(const struct nsx_run *run, struct nsx_section *out,
	       struct nsx_err *err)
{
	const struct nsx_kernel_names *k = &run->facts->kernels;
	struct nsx_table *t = nsx_add_table(out, &layouts[0]);
	struct nsx_groups families = {0};
	struct sum *sums = NULL;
	int64_t total_ns = 0;
	int rc = sum_names(run, &sums, &total_ns, err);
	bool any_kin = false;

	for (size_t i = 0; !rc && i < k->n; i++)
		if (sums[i].calls || sums[i].ns)
			rc = add_name(t, &families, k->v[i].words, &sums[i],
				      err);
	nsx_groups_done(&families);
	for (size_t i = 0; !rc && i < t->nrows; i++) {
		struct nsx_cell *row = (struct nsx_cell *)nsx_row_at(t, i);

		row[TOTAL_MS] = nsx_ms(row[TOTAL_NS].u.i);
		row[PCT] = nsx_part_pct(row[TOTAL_NS].u.i, total_ns);
	}
	nsx_table_sort(t, NSX_DESC(TOTAL_NS), NSX_DESC(CALLS), FAMILY, CATEGORY);
	if (t->nrows)
		nsx_md_text(out, "%s takes %s of the kernel time, in %s; there "
			    "%s.",
			    nsx_md_name(out, nsx_row_at(t, 0)[FAMILY].u.s),
			    nsx_text_share(out->arena,
					   nsx_row_at(t, 0)[PCT].u.f, 100),
			    nsx_text_n(out->arena,
				       (size_t)nsx_row_at(t, 0)[CALLS].u.i,
				       "call", NULL),
			    t->nrows == 1 ? "is no other family"
					  : nsx_say(out, "are %zu families",
						    t->nrows));
	for (size_t i = 0; i < t->nrows; i++)
		any_kin |= nsx_row_at(t, i)[NAMES].u.i > 1;
	if (any_kin) /* else the table of kernels says the same */
		nsx_md_table(out, t, 3, FAMILY, NAMES, CALLS, TOTAL_MS, PCT);
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
