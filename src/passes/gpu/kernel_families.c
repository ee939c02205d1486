/* kernel_families.c - kernels by family, over all devices. */
#include "passes/pass.h"

#define COLUMNS(X)                                                                                 \
	X(FAMILY, "family", STR, "kernels that would be replaced as a whole")                      \
	X(CATEGORY, "category", STR, "purpose of the kernels, by their names")                     \
	X(DTYPE, "dtype", STR, "data type of the computation; null: not in the names")             \
	X(NAMES, "kernel_count", I64, "different kernels", .title = "kernels")                     \
	X(CALLS, "call_count", I64, "executions that began in the window", .title = "calls")       \
	X(TOTAL_NS, "total_time_ns", I64, "sum of durations")                                      \
	X(TOTAL_MS, "total_time_ms", F64, "sum of durations", .title = "total_ms")                 \
	X(PCT, "pct_total_kernel_time", F64,                                                       \
	  "share of the summed kernel time of all devices", .title = "pct_kernel_time")
NSX_LAYOUT_OF(layout, COLUMNS, .key = "rows", .csv = "kernel_families");

struct family {
	const struct nsx_kernel_words *words; /* words of its first kernel name */
	int64_t ns, calls, names;
};
struct families {
	struct nsx_groups keys;
	struct family *v;
	const struct nsx_run *run;
	struct nsx_near near; /* cache of words, which many names share      */
	/* 1 + index of the family; 0: not looked up yet. of_name is indexed by the facts' kernel
	 * name.
	 */
	uint32_t *of_shape, *of_name;
	int64_t total_ns;
};

/* Finds or adds the family with this text and purpose, which also determine its number format
 * (dtype).
 */
static int kernel_families_find_family(struct families *f, const struct nsx_kernel_words *k,
				       uint32_t *ret, struct nsx_err *err)
{
	struct nsx_near_key *near = nsx_near_place(&f->near, (uintptr_t)k, 0);
	struct family *x;

	if (!near->place || near->a != (uintptr_t)k) {
		x = nsx_group_value(&f->keys, &f->v, nsx_hash(k->family, strlen(k->family)),
				    k->category, "kernel families", err);
		if (!x)
			return err->rc;
		x->words = x->words ?: k;
		*near = (struct nsx_near_key){(uintptr_t)k, 0,
					      (uint32_t)(x - f->v) + 1};
	}
	*ret = near->place;
	return 0;
}

static int kernel_families_add_shape(struct families *f, uint32_t shape, struct nsx_err *err)
{
	const struct nsx_kernel_names *k = &f->run->facts->kernels;
	uint32_t name = k->of_shape[shape], *family = &f->of_name[name];

	if (!*family) {
		if (kernel_families_find_family(f, k->v[name].words, family, err))
			return err->rc;
		f->v[*family - 1].names++;
	}
	f->of_shape[shape] = *family;
	return 0;
}

/* Adds kernels to families. Kernels that neither begin nor run in the window are skipped. */
static int kernel_families_add_kernels(struct families *f, struct nsx_err *err)
{
	const struct nsx_trace *t = f->run->trace;
	struct nsx_arena *a = f->run->scratch;

	if (!nsx_new_array(f->of_shape, a, t->nshapes, "shapes", err) ||
	    !nsx_new_array(f->of_name, a, f->run->facts->kernels.n, "kernel names", err))
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t ns = nsx_op_ns(&t->ops, i);
		uint32_t shape;
		struct family *x;

		if (t->ops.kind[i] != NSX_OP_KERNEL || (!ns && !nsx_op_counts(t, i)))
			continue;
		shape = nsx_op_detail(&t->ops, i);
		if (!f->of_shape[shape] && kernel_families_add_shape(f, shape, err))
			return err->rc;
		x = &f->v[f->of_shape[shape] - 1];
		x->calls += nsx_op_counts(t, i);
		nsx_add_to(&x->ns, ns);
		nsx_add_to(&f->total_ns, ns);
	}
	nsx_arena_drop(a, f->of_shape);
	nsx_arena_drop(a, f->of_name);
	nsx_groups_close(&f->keys);
	return 0;
}

NSX_KEY_IN(family_sort_key, uint32_t, struct family, -c[*x].ns);

NSX_ORDER_IN(cmp_families, uint32_t, struct family, DOWN(c[*x].ns), DOWN(c[*x].calls),
	     TEXT(c[*x].words->family),
	     TEXT(nsx_kernel_category_names[c[*x].words->category]));

/* Fills rows, sorted by time, calls, name, category. */
static int fill_families(const struct nsx_run *run, struct family *v, size_t n,
			 int64_t total_ns, struct nsx_table *t, struct nsx_err *err)
{
	uint32_t *order;

	if (!nsx_new_array(order, run->scratch, n, "kernel families", err))
		return err->rc;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	nsx_table_expect(t, n, run->opts->held_rows);
	nsx_sort_by_key_r(order, n, t->max_rows ?: n, sizeof(*order), family_sort_key,
			  cmp_families, v);
	for (size_t i = 0; i < n; i++) {
		const struct family *x = &v[order[i]];
		const struct nsx_kernel_words *k = x->words;
		struct nsx_cell *row = nsx_add_row(t);

		row[FAMILY] = nsx_string(k->family);
		row[CATEGORY] = nsx_string(nsx_kernel_category_names[k->category]);
		row[DTYPE] = nsx_string(k->dtype ? nsx_dtype_names[k->dtype] : NULL);
		row[NAMES] = nsx_int(x->names);
		row[CALLS] = nsx_int(x->calls);
		row[TOTAL_NS] = nsx_int(x->ns);
		row[TOTAL_MS] = nsx_ms(x->ns);
		row[PCT] = nsx_part_pct(x->ns, total_ns);
	}
	return 0;
}

/* Shows the families in Markdown. is_more: they tell more than the table of kernels. */
static void kernel_families_show(const struct nsx_table *t, int64_t total_ns, bool is_more,
				 struct nsx_section *out)
{
	size_t n = nsx_table_total(t);

	if (n)
		nsx_md_text(out, "%s takes %s of the %s of kernel time, in %s; "
			    "there %s.",
			    nsx_md_name(out, nsx_row_at(t, 0)[FAMILY].u.s),
			    nsx_text_share(out->arena,
					   nsx_row_at(t, 0)[PCT].u.f, 100),
			    nsx_say_time(out, total_ns),
			    nsx_text_n(out->arena,
				       (size_t)nsx_row_at(t, 0)[CALLS].u.i,
				       "call", NULL),
			    n == 1 ? "is no other family" :
				     nsx_say(out, "are %zu families", n));
	if (is_more)
		nsx_md_table(out, t, 3, FAMILY, NAMES, CALLS, TOTAL_MS, PCT);
}

static int kernel_families_run(const struct nsx_run *run, struct nsx_section *out,
			       struct nsx_err *err)
{
	struct nsx_table *t = nsx_add_table(out, &layout);
	NSX_AT_EXIT(nsx_sums_done) struct families f = {.run = run};
	bool any_kin = false; /* some family has several kernels */
	int64_t nkernels = 0;

	if (kernel_families_add_kernels(&f, err))
		return err->rc;
	for (size_t i = 0; i < f.keys.n; i++) {
		any_kin |= f.v[i].names > 1;
		nkernels += f.v[i].names;
	}
	if (fill_families(run, f.v, f.keys.n, f.total_ns, t, err))
		return err->rc;
	kernel_families_show(t, f.total_ns, any_kin && nkernels * run->trace->ndevices >
							      NSX_MAX_MD_ROWS, out);
	return 0;
}

NSX_DEFINE_PASS(kernel_families,
	.title = "Kernels",
	.summary = "kernels summed by families that would be replaced as a whole",
	.doc = "Kernels whose function is the same except for tile sizes, layouts, vector widths "
	       "and the like, over all devices: all matrix multiplies of one precision, one "
	       "elementwise operation on one type, one function with different lambdas. The family "
	       "comes from the function's own name; time is the sum of durations.",
	.derived_from = "kernel rows, grouped by family",
	.limitations = "times of concurrent streams are added up; each function of an unknown "
		       "library is a family of its own",
	.needs = {NSX_NEED_VIEW(kernel)},
	NSX_LAYOUT(layout));
