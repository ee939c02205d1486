/* steps_layers.c - the GPU time of steps by layer. */
#include "passes/gpu/steps.h"
#include "passes/nvtx/phase.h"

static const char *layer_name(const struct steps_work *w, size_t c)
{
	return c < NSX_STEP_REPLAYS ? nsx_kernel_category_names[c] :
	       c == NSX_STEP_REPLAYS ? "CUDA graphs" :
			nsx_phase_name(w->run->opts->kernel_classes,
				       (unsigned)(c - NSX_STEP_CLASSES));
}

/* Finds the layer class of each kernel. A user's class has priority; one with the name of a
 * built-in class extends that.
 */
static int classify_kernels_by_layer(struct steps_work *w, uint32_t *of_name, struct nsx_err *err)
{
	const struct nsx_phase_map *m = w->run->opts->kernel_classes;
	const struct nsx_kernel_names *k = &w->run->facts->kernels;
	nsx_str *full;

	for (size_t i = 0; i < k->n; i++)
		of_name[i] = k->v[i].words->category;
	if (!m)
		return 0;
	if (nsx_kernel_full_names(k, w->run->scratch, &full, err))
		return err->rc;
	for (size_t i = 0; i < k->n; i++) {
		unsigned c = nsx_phase_of(m, nsx_text(w->run->trace, full[i]));
		uint32_t own = 0;

		if (c == nsx_phase_count(m))
			continue;
		while (own < NSX_NKERNEL_CATEGORIES &&
		       strcmp(nsx_kernel_category_names[own], nsx_phase_name(m, c)) != 0)
			own++;
		of_name[i] = own < NSX_NKERNEL_CATEGORIES ? own : NSX_STEP_CLASSES + c;
	}
	return 0;
}

NSX_ORDER(cmp_layers, struct steps_layer, DOWN(ns), TEXT(name));

/* Adds rows by layer that sum up to the GPU time of a kind. */
static void add_layers(struct steps_work *w, size_t group, const int64_t *ns, size_t n,
		       struct steps_layer *v)
{
	const struct nsx_cell *kind = nsx_row_at(w->table[KINDS], group);
	size_t k = 0;

	for (size_t c = 0; c < n; c++)
		v[k++] = (struct steps_layer){layer_name(w, c), ns[c]};
	v[k++] = (struct steps_layer){"exposed communication", kind[COMM].u.i};
	v[k++] = (struct steps_layer){"exposed copies", kind[COPY].u.i};
	v[k++] = (struct steps_layer){"idle inside steps", kind[IDLE].u.i};
	v[k++] = (struct steps_layer){"idle between steps", kind[BETWEEN].u.i};
	nsx_sort(v, k, sizeof(*v), cmp_layers);
	for (size_t i = 0; i < k && v[i].ns; i++) {
		struct nsx_cell *row = nsx_add_row(w->table[LAYERS]);

		row[L_ENGINE] = kind[ENGINE];
		row[L_KIND] = kind[KIND];
		row[L_LAYER] = nsx_string(v[i].name);
		row[L_NS] = nsx_int(v[i].ns);
		row[L_PCT] = nsx_part_pct(v[i].ns, kind[TOTAL].u.i);
	}
	steps_tell_kind(w, kind, w->sizes_at[group], v, k);
}

/* Lists the kernels that no layer class fits, by their time in steps. */
static int add_unclassified_kernels(struct steps_work *w, const uint32_t *of_name,
				    const int64_t *name_ns, struct nsx_err *err)
{
	const struct nsx_kernel_names *k = &w->run->facts->kernels;
	struct steps_layer *v;
	nsx_str *full;
	size_t n = 0;
	int64_t all_ns = 0, ns = 0;

	if (!nsx_new_array(v, w->run->scratch, k->n, "kernels", err) ||
	    nsx_kernel_full_names(k, w->run->scratch, &full, err))
		return err->rc;
	for (size_t i = 0; i < w->n; i++)
		all_ns += STEPS_NS(&w->v[i], COMPUTE);
	for (size_t i = 0; i < k->n; i++)
		if (of_name[i] == NSX_K_OTHER && name_ns[i]) {
			v[n++] = (struct steps_layer){nsx_text(w->run->trace, full[i]), name_ns[i]};
			ns += name_ns[i];
		}
	nsx_sort(v, n, sizeof(*v), cmp_layers);
	nsx_table_expect(w->table[UNSURE], n, w->run->opts->held_rows);
	for (size_t i = 0; i < n; i++) {
		struct nsx_cell *row = nsx_add_row(w->table[UNSURE]);

		row[U_NAME] = nsx_string(v[i].name);
		row[U_NS] = nsx_int(v[i].ns);
		row[U_PCT] = nsx_part_pct(v[i].ns, all_ns);
	}
	if (n)
		nsx_md_bullet(w->out, "Not classified: %s of the computing time is in %s, above "
			      "all %s; `--kernel-classes` can state their purpose.",
			      nsx_text_share(w->out->arena, (double)ns, (double)all_ns),
			      nsx_text_n(w->out->arena, n, "kernel with an unclear name",
					 "kernels with unclear names"),
			      nsx_md_name(w->out, v[0].name));
	return 0;
}

int steps_add_layers(struct steps_work *w, struct nsx_err *err)
{
	const struct nsx_opts *o = w->run->opts;
	struct nsx_arena *a = w->run->scratch;
	struct nsx_step_classes classes = {
		.group = w->group, .ngroups = w->table[KINDS]->nrows,
		.n = NSX_STEP_CLASSES +
		     (o->kernel_classes ? nsx_phase_count(o->kernel_classes) : 0)};
	struct nsx_step_layers layers;
	struct steps_layer *v;
	uint32_t *of_name;

	if (!nsx_new_array(of_name, a, w->run->facts->kernels.n + 1, "kernels", err) ||
	    !nsx_new_array(v, a, classes.n + NSX_NPARTS, "layers", err) ||
	    classify_kernels_by_layer(w, of_name, err))
		return err->rc;
	classes.of_name = of_name;
	if (nsx_steps_layers(w->run->facts, w->run->trace, w->steps, &classes, a, &layers, err))
		return err->rc;
	w->page = nsx_arena_get(w->out->arena,
				(STEPS_LINES * classes.ngroups + 2) * sizeof(*w->page));
	for (size_t g = 0; g < classes.ngroups; g++)
		add_layers(w, g, layers.ns + g * classes.n, classes.n, v);
	if (w->npage && !o->model)
		w->page[w->npage++] = "--model FILE tells how far from the GPU's peak";
	w->out->page = w->npage ? w->page : NULL;
	return add_unclassified_kernels(w, of_name, layers.name_ns, err);
}
