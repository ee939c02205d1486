/* first_page.c - fills the first page from trace, facts and findings. */
#include "detect/detect.h"
#include "detect/verdict.h"
#include "facts/replay/replay.h"
#include "report/failures.h"
#include "report/text.h"
#include "schema/recapture.h"

#define EVEN_CV 0.1
#define LITTLE 0.25 /* a judged window below this share of the recording is noted */
#define MOSTLY 0.75 /* least share of the judged window that iterations cover */
enum {
	MAX_TRUST = 4, /* greatest number of lines   */
	MAX_MODELS = 3,
};

const char nsx_use_marks[NSX_NUSES] = {
	[NSX_USE_COMPUTE] = '#', [NSX_USE_COPY] = '=', [NSX_USE_COMM] = '~',
	[NSX_USE_IDLE] = '.',
};
const char *const nsx_use_words[NSX_NUSES] = {
	[NSX_USE_COMPUTE] = "compute", [NSX_USE_COPY] = "copy",
	[NSX_USE_COMM] = "exposed communication", [NSX_USE_IDLE] = "idle",
};

/* Header ------------------------------------------------------------------*/

static const char *model_of(const struct nsx_gpu_info *g, const struct nsx_trace *t)
{
	const char *name = g && g->name ? nsx_text(t, g->name) : "";

	return name + (!strncmp(name, "NVIDIA ", 7) ? 7 : 0);
}

/* The words of a model that the first model does not begin with: "4090" behind "RTX 3090". */
static const char *other_words(const char *model, const char *first)
{
	size_t same = 0, word;

	while (model[same] && model[same] == first[same])
		same++;
	if (!first[same] && model[same] == ' ')
		return model + same + 1;
	for (word = same; word && model[word - 1] != ' '; word--)
		;
	return model + word;
}

/* "2 × A100" or "RTX 3090, 4090": the GPUs that ran work, or else those of the machine; "5 GPUs" if
 * models are unknown or many.
 */
static const char *say_gpus(const struct nsx_trace *t, struct nsx_arena *a)
{
	uint32_t n = t->ndevices ?: t->ngpus, of[MAX_MODELS] = {0}, nmodels = 0;
	bool is_known = t->ndevices;
	const char *name[MAX_MODELS] = {NULL}, *text = NULL;

	for (uint32_t i = 0; i < t->ndevices; i++)
		is_known = is_known && nsx_device_gpu(t, i);
	/* a MIG slice has its own model */
	for (uint32_t i = 0; i < (is_known ? n : t->ngpus); i++) {
		const char *model = model_of(is_known ? nsx_device_gpu(t, i) : &t->gpu[i], t);
		uint32_t k = 0;

		while (k < nmodels && strcmp(model, name[k]))
			k++;
		if (!*model || k == (is_known ? MAX_MODELS : 1))
			return nsx_text_n(a, n, "GPU", NULL);
		name[k] = model;
		nmodels = NSX_MAX(nmodels, k + 1);
		of[k]++;
	}
	if (!nmodels)
		return n ? nsx_text_n(a, n, "GPU", NULL) : NULL;
	of[0] = is_known ? of[0] : n;
	for (uint32_t k = 0; k < nmodels; k++) {
		const char *one = k ? other_words(name[k], name[0]) : name[0];

		one = of[k] > 1 ? nsx_arena_printf(a, "%u × %s", of[k], one) : one;
		text = k ? nsx_arena_printf(a, "%s, %s", text, one) : one;
	}
	return text;
}

/* "2 processes (python3)": processes that called CUDA or ran work. */
static const char *say_processes(const struct nsx_trace *t, struct nsx_arena *a)
{
	bool *is_in = nsx_arena_get(a, t->nprocesses + 1);
	const char *name = NULL, *count;
	bool alike = true;
	size_t n = 0;

	for (uint32_t i = 0; i < t->nthreads; i++)
		is_in[t->thread[i].process] |= t->thread[i].ncalls > 0;
	for (uint32_t i = 0; i < t->nstreams; i++)
		if (t->stream[i].process != NSX_NONE)
			is_in[t->stream[i].process] = true;
	for (uint32_t p = 0; p < t->nprocesses; p++) {
		const char *own;

		if (!is_in[p])
			continue;
		own = nsx_process_name(t, p);
		alike = alike && own && (!n || !strcmp(own, name));
		name = own;
		n++;
	}
	if (!n)
		return NULL;
	count = nsx_text_n(a, n, "process", "processes");
	return alike ? nsx_arena_printf(a, "%s (%s)", count, name) : count;
}

/* "nsys 2025.3", from "NVIDIA Nsight Systems 2025.3.1.90-..." or "2023.1.2/target-linux-x64"; NULL
 * if the text has no number.
 */
static const char *say_version(const char *before, const char *text, struct nsx_arena *a)
{
	const char *p = strpbrk(text, "0123456789");
	size_t n = p ? strspn(p, "0123456789") : 0;

	if (n && p[n] == '.')
		n += 1 + strspn(p + n + 1, "0123456789");
	return n ? nsx_arena_printf(a, "%snsys %.*s", before, (int)n, p) : NULL;
}

/* The version of the capturing nsys, from the folder that it was installed in,
 * "/opt/nvidia/nsight-systems/2023.1.2/target-linux-x64". A folder such as that of the HPC SDK does
 * not have it, and an export then has only the version of the exporting nsys.
 */
static const char *say_product(const struct nsx_trace *t, struct nsx_arena *a)
{
	for (const char *p = strcasestr(t->schema->installed, "nsight");
	     p && (p = strstr(p, "20")); p++)
		if (nsx_nsys_version(p))
			return say_version("", p, a);
	return say_version(*t->schema->installed && *t->schema->schema_version ? "exported by " : "",
			   t->schema->product_version, a);
}

/* The range that marks iterations, as shown ("step #"); NULL if they were found without ranges. */
static const char *iteration_range(const struct nsx_facts *f)
{
	for (size_t i = 0; i < f->ncadences; i++)
		if (f->cadences[i].chosen && f->iteration_method == NSX_WAY_NVTX)
			return nsx_fact_text(f, f->cadences[i].name);
	return NULL;
}

/* Lists lengths of a loop's iterations in the judged window. */
static size_t list_lengths(const struct nsx_facts *f, const struct nsx_loop *x, int64_t *v)
{
	struct nsx_window w = nsx_judged(f);
	size_t n = 0;

	for (size_t i = 0; i < x->n; i++)
		if (x->v[i].start_ns >= w.start_ns && x->v[i].end_ns <= w.end_ns)
			v[n++] = x->v[i].end_ns - x->v[i].start_ns;
	return n;
}

/* Lists lengths of iterations of the process and GPU with most of them in the window. The window
 * spans one GPU's iterations; those of another GPU may begin and end a little later.
 */
static size_t list_units(const struct nsx_facts *f, int64_t *v)
{
	struct nsx_loop most = {.n = 0};
	size_t n = 0;

	for (const struct nsx_loop *x = f->loops; x < f->loops + f->nloops; x++) {
		size_t k = list_lengths(f, x, v);

		if (k > n || (k == n && x->v->device == f->limiting)) {
			n = k;
			most = *x;
		}
	}
	return list_lengths(f, &most, v);
}

/* "22 repetitions of 29.3 ms": what repeats, if it covers most of the window, with its median if the
 * mean reads differently. A user's window may cut the first and the last iteration. The last is
 * dropped; the first does not matter for a median of three or more.
 */
static const char *say_unit(const struct nsx_report *r, struct nsx_arena *a)
{
	const struct nsx_facts *f = r->facts;
	enum { MOST_NAME = 60 }; /* bytes of a range's name: the line has other parts, too */
	const char *range = iteration_range(f), *mean, *median;
	int64_t *v = nsx_arena_get(a, (f->niterations + 1) * sizeof(*v));
	struct nsx_window w = nsx_judged(f);
	size_t n = list_units(f, v);
	double sum_ns = n ? nsx_mean(v, n) * (double)n : 0;

	if (nsx_has_window(r->trace))
		n = n > 3 ? n - 1 : 0;
	if (n < 2 || !f->iteration_method || sum_ns < MOSTLY * (double)(w.end_ns - w.start_ns))
		return NULL;
	mean = nsx_text_ns(a, nsx_mean(v, n));
	median = nsx_text_ns(a, nsx_quantile(v, n, 0.5));
	return nsx_arena_printf(a, "%s of %s%s",
		range && strlen(range) <= MOST_NAME ?
			nsx_arena_printf(a, "%zu × %s", n, range) :
			nsx_text_n(a, n, nsx_iteration_word(f), NULL),
		median, strcmp(mean, median) ? " (median)" : "");
}

static void fill_header(const struct nsx_report *r, const struct nsx_measured *m,
			struct nsx_first_page *p)
{
	const struct nsx_trace *t = r->trace;

	p->file = nsx_base_name(r->path);
	p->recorded_ns = nsx_recorded_ns(t, m);
	p->gpus = say_gpus(t, r->arena);
	p->processes = say_processes(t, r->arena);
	p->product = say_product(t, r->arena);
	p->judged = nsx_judged(r->facts);
	p->damage = nsx_report_damage(r);
	if (t->ops.n)
		p->unit = say_unit(r, r->arena);
}

/* Shares and strips ---------------------------------------------------------*/

static void add_uses(const struct nsx_facts *f, uint32_t device,
		     int64_t start_ns, int64_t end_ns, int64_t ret[NSX_NUSES])
{
	static const enum nsx_use use[NSX_NPARTS] = {
		[NSX_P_COMPUTE_ONLY] = NSX_USE_COMPUTE,
		[NSX_P_COMPUTE_COPY] = NSX_USE_COMPUTE,
		[NSX_P_COMPUTE_COMM] = NSX_USE_COMPUTE,
		[NSX_P_COMM_EXPOSED] = NSX_USE_COMM,
		[NSX_P_COPY_EXPOSED] = NSX_USE_COPY, [NSX_P_IDLE] = NSX_USE_IDLE,
	};
	struct nsx_partition part;

	nsx_partition(&f->device[device], start_ns, end_ns, &part);
	memset(ret, 0, NSX_NUSES * sizeof(*ret));
	for (unsigned i = 0; i < NSX_NPARTS; i++)
		ret[use[i]] += part.ns[i];
}

static void add_strip(const struct nsx_report *r, uint32_t device, struct nsx_first_page *p)
{
	const char *label = nsx_gpu_label(r->trace, device);
	int64_t length = p->judged.end_ns - p->judged.start_ns, at = p->judged.start_ns;
	struct nsx_strip s;

	for (int i = 0; i < NSX_STRIP_CELLS; i++) {
		int64_t end = p->judged.start_ns + length / NSX_STRIP_CELLS * (i + 1) +
			      length % NSX_STRIP_CELLS * (i + 1) / NSX_STRIP_CELLS;
		int64_t ns[NSX_NUSES];

		add_uses(r->facts, device, at, end, ns);
		s.cell[i] = NSX_USE_COMPUTE;
		for (unsigned u = 1; u < NSX_NUSES; u++)
			if (ns[u] > ns[s.cell[i]])
				s.cell[i] = (uint8_t)u;
		at = end;
	}
	for (unsigned i = 0; i < p->nstrips; i++)
		if (!memcmp(p->strip[i].cell, s.cell, sizeof(s.cell))) {
			const char *more = strchr(p->strip[i].gpus, ' ');

			p->strip[i].gpus = nsx_arena_printf(r->arena, "GPUs%s, %s", more, label);
			return;
		}
	s.gpus = nsx_arena_printf(r->arena, "GPU %s", label);
	if (p->nstrips == NSX_MAX_STRIPS)
		p->nstrips_more++;
	else
		p->strip[p->nstrips++] = s;
}

static void fill_shares(const struct nsx_report *r, struct nsx_first_page *p)
{
	double length = (double)(p->judged.end_ns - p->judged.start_ns);
	double least[NSX_NUSES], most[NSX_NUSES];

	if (length <= 0)
		return;
	for (uint32_t d = 0; d < r->trace->ndevices; d++) {
		int64_t ns[NSX_NUSES];

		add_uses(r->facts, d, p->judged.start_ns, p->judged.end_ns, ns);
		if (ns[NSX_USE_IDLE] == p->judged.end_ns - p->judged.start_ns)
			continue;
		for (unsigned u = 0; u < NSX_NUSES; u++) {
			double x = (double)ns[u] / length;

			p->share[u] += x;
			least[u] = p->ngpus ? NSX_MIN(least[u], x) : x;
			most[u] = p->ngpus ? NSX_MAX(most[u], x) : x;
		}
		p->ngpus++;
		add_strip(r, d, p);
	}
	for (unsigned u = 0; u < NSX_NUSES && p->ngpus; u++) {
		p->share[u] /= p->ngpus;
		p->spread = NSX_MAX(p->spread, most[u] - least[u]);
	}
}

/* Findings, and what is fine ------------------------------------------------------*/

static void first_page_fill_findings(const struct nsx_report *r, struct nsx_first_page *p)
{
	struct nsx_won all = {{0}}, least = {{0}};
	double won = 0, sure = 0;

	p->now_ns = (double)(p->judged.end_ns - p->judged.start_ns);
	for (size_t i = 0; i < r->found.n; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		if (nsx_finding_category(f) == NSX_CAT_CAPTURE || f->is_minor)
			continue;
		if (p->nfindings == NSX_PAGE_FINDINGS) {
			p->nsmaller++;
			continue;
		}
		p->finding[p->nfindings] = f;
		if (f->has_disjoint && f->price >= NSX_PRICE_MEASURED && !f->only) {
			p->counted[p->nfindings] = true;
			won = nsx_win(&all, f->set, f->disjoint_ns);
			sure = nsx_win(&least, f->set, nsx_is_open(f) && f->low_ns >= f->headroom_ns ?
				0 : NSX_MIN(f->sure_ns, f->low_ns));
		}
		p->nfindings++;
	}
	p->then_ns = won > 0 ? NSX_MAX(p->now_ns - won, 0) : -1;
	p->then_most_ns = NSX_MAX(p->now_ns - sure, 0);
}

/* Fills in the commands that the page suggests, beginning with those for its findings. */
static void fill_ask(const struct nsx_report *r, struct nsx_first_page *p)
{
	struct nsx_buf trace = {0}, opts = {0};
	const char *typed, *part;

	nsx_buf_add_word(&trace, r->ask && !strchr(r->ask, '`') ? r->ask : "TRACE");
	typed = nsx_buf_keep(&trace, r->arena);
	if (r->window) {
		nsx_buf_adds(&opts, " --window");
		nsx_buf_add_word(&opts, strchr(r->window, '`') ? "A..B" : r->window);
	}
	if (r->reach_s > 0)
		nsx_buf_printf(&opts, " --reach %g", r->reach_s);
	part = nsx_buf_keep(&opts, r->arena);
	if (p->nfindings)
		p->ask[0] = nsx_arena_printf(r->arena, say_nsys_explain_ask_finding_1, typed, part,
			p->nfindings > 1 ? " (or 2)" : "");
	else if (r->trace->ops.n)
		p->ask[0] = nsx_arena_printf(r->arena, say_nsys_explain_ask_gaps, typed, part);
	if (p->ask[0] && !r->ask)
		p->ask[1] = say_with_export_keep_export;
}

/* The categories of a finding and of its alternatives, with memory added if copies belong to it. */
static unsigned categories_of(const struct nsx_finding *f)
{
	unsigned ret = 1u << nsx_finding_category(f) | f->also;

	for (size_t i = 0; i < f->remedy.n; i++)
		if (f->remedy.v[i].op == NSX_ON_COPIES)
			ret |= 1u << NSX_CAT_MEMORY;
	return ret;
}

/* Whether the lengths of iterations after the warm-up differ little (standard deviation by mean).
 * Those after the judged ones count, too: the judged ones were chosen because they are alike.
 */
static bool are_even(const struct nsx_report *r)
{
	const struct nsx_facts *f = r->facts;
	int64_t *v = nsx_arena_get(r->arena, (f->niterations + 1) * sizeof(*v));
	size_t n = 0;

	for (size_t i = 0; i < f->niterations; i++)
		if (f->iterations[i].start_ns >= f->steady.window.start_ns)
			v[n++] = f->iterations[i].end_ns - f->iterations[i].start_ns;
	return n > 2 && nsx_stddev(v, n) <= EVEN_CV * nsx_mean(v, n);
}

/* Names the row with most time, and the next ones that have a hundredth of the time or more. */
static void fill_most_time(const struct nsx_report *r, const struct nsx_ledger *l,
			 struct nsx_first_page *p)
{
	enum { MOST = 3 };

	if (!l->total_ns)
		return;
	p->most_time = nsx_arena_get(r->arena, (MOST + 1) * sizeof(char *));
	for (size_t i = 0; i < l->n && i < MOST; i++)
		if (!i || !nsx_holds_little(l, l->v[i].ns))
			p->most_time[i] = nsx_say_account(r->facts, l, &l->v[i], r->arena);
}

/* Lists areas that are fine: the trace shows them, the ledger holds little of them and no finding
 * names them. For GPU work most of its inside must also have been recorded.
 */
static void fill_fine(const struct nsx_report *r, const struct nsx_ledger *l,
		      struct nsx_first_page *p)
{
	const struct nsx_trace *t = r->trace;
	bool sees_gpu = !nsx_graphs_hide(&r->facts->graphs);
	bool sees_idle = !nsx_is_idle_unknown(&r->facts->lost);
	bool joins = t->matching.no_call <= t->matching.matched; /* most launches are known */
	struct nsx_idle_words idle = nsx_sum_words(l);
	unsigned calls = 0, ops = 0; /* the classes that occur, as bits */

	for (size_t i = 0; i < t->calls.n && sees_idle; i++)
		calls |= 1u << t->calls.cls[i];
	for (size_t i = 0; i < t->ops.n && sees_gpu; i++)
		ops |= 1u << t->ops.cls[i];
	const struct {
		const char *area;
		bool is_seen;
		unsigned categories;
		int64_t ns;
	} areas[] = {
		{"launches", joins && calls >> NSX_CALL_LAUNCH & 1,
			1u << NSX_CAT_LAUNCH | 1u << NSX_CAT_STARTUP,
			idle.ns[NSX_V_LAUNCH] - l->short_host_ns},
		{say_waits_gpu, calls >> NSX_CALL_SYNC & 1, 1u << NSX_CAT_SYNC,
			idle.ns[NSX_V_SYNC]},
		{"host code", calls >> NSX_CALL_LAUNCH & 1, 1u << NSX_CAT_HOST,
			idle.ns[NSX_V_HOST] + l->short_host_ns},
		{"copies", ops >> NSX_C_COPY & 1, 1u << NSX_CAT_MEMORY,
			l->ns[NSX_L_COPY] + l->idle_ns[NSX_CAUSE_MIGRATION]},
		{"communication", ops >> NSX_C_COMM & 1, 1u << NSX_CAT_COMMUNICATION,
			l->ns[NSX_L_COMM] + l->mpi_ns},
		{"balance between GPUs", sees_idle && p->ngpus > 1 && p->spread < NSX_ALIKE,
			1u << NSX_CAT_BALANCE | 1u << NSX_CAT_COMMUNICATION, 0},
		{"even iterations", sees_idle && are_even(r),
			1u << NSX_CAT_ITERATIONS, 0},
	};
	size_t n = 0;

	p->fine = nsx_arena_get(r->arena, (ARRAY_LEN(areas) + 1) * sizeof(char *));
	for (size_t i = 0; l->total_ns && i < ARRAY_LEN(areas); i++)
		if (areas[i].is_seen && nsx_holds_little(l, areas[i].ns) &&
		    !NSX_ANY(k, r->found.n, areas[i].categories & categories_of(&r->found.v[k])))
			p->fine[n++] = areas[i].area;
}

/* Names the data that another capture would need to settle a finding. NULL if none would, or if
 * `capture` does not run on that system.
 */
static const char *say_capture(const struct nsx_report *r, const struct nsx_finding *f)
{
	static const char no_osrt[] = "calls of the operating system were not traced";
	static const char host_waits[] = "what the host waits for";
	static const struct {
		enum nsx_finding_id id;
		enum nsx_view lacks;
		unsigned record;
		const char *without, *shows; /* without: NULL if the title already says it */
	} list[] = {
		{NSX_ID_top_kernel, NSX_VIEW_gpu_metric, NSX_REC_COUNTERS,
			say_no_gpu_counter_was_sampled, say_what_binds_kernels},
		{NSX_ID_idle_by_host_code, NSX_VIEW_osrt, NSX_REC_BASIC, no_osrt, host_waits},
		{NSX_ID_slow_iterations, NSX_VIEW_osrt, NSX_REC_BASIC, no_osrt, host_waits},
		{NSX_ID_gpu_idle, NSX_VIEW_osrt, NSX_REC_BASIC, no_osrt, host_waits},
		{NSX_ID_unified_memory, NSX_VIEW_um_gpu_fault, NSX_REC_FAULTS,
			say_page_faults_were_not, say_which_move_pages},
		{NSX_ID_gpu_activity, NSX_VIEW_kernel, NSX_REC_BASIC, NULL, "the GPU's work"},
		{NSX_ID_graph_coverage, NSX_NVIEWS, NSX_REC_GRAPHS, NULL, "its kernels"},
		{NSX_ID_graph_inside, NSX_NVIEWS, NSX_REC_GRAPHS, NULL, "the kernels inside"},
	};

	for (size_t i = 0; i < ARRAY_LEN(list); i++)
		if (list[i].id == f->id && !r->trace->schema->on_windows &&
		    (list[i].lacks == NSX_NVIEWS ||
		     (!nsx_has_view(r->trace->schema, list[i].lacks) &&
		      !(list[i].record & NSX_REC_EXPORTED &&
			r->trace->schema->refused[list[i].lacks]))))
			return nsx_arena_printf(r->arena, say_nsys_explain_capture,
				list[i].without ? list[i].without : "", list[i].without ? "; " : "",
				nsx_recapture_preset(list[i].record, r->trace->ndevices > 1),
				list[i].shows);
	return NULL;
}

/* Fills in what the capture lacks, what the profiler reported, and which capture would settle these
 * gaps or the first finding.
 */
static void fill_trust(const struct nsx_report *r, const struct nsx_ledger *l,
		       struct nsx_first_page *p)
{
	const char *line = NULL;
	bool is_priced = false;
	size_t n = 0;

	for (unsigned i = 0; i < p->nfindings; i++)
		is_priced |= p->finding[i]->price != NSX_PRICE_NONE;
	p->trust = nsx_arena_get(r->arena, (MAX_TRUST + 4) * sizeof(char *));
	for (size_t i = 0; i < r->found.n && n < MAX_TRUST; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		if (nsx_finding_category(f) != NSX_CAT_CAPTURE)
			continue;
		p->trust[n++] = nsx_title_within(r->arena, f);
		line = line ? line : say_capture(r, f);
	}
	if (l->between_nodes_ns > l->ns[NSX_L_IDLE] / 2 &&
	    !nsx_holds_little(l, l->between_nodes_ns))
		p->trust[n++] = nsx_arena_printf(r->arena, say_time_idle_between_nodes,
			nsx_text_share(r->arena, (double)l->between_nodes_ns, (double)l->total_ns));
	if (r->unpriced && r->trace->ops.n && is_priced)
		p->trust[n++] =
			nsx_arena_printf(r->arena, say_nothing_could_be_replayed, r->unpriced);
	if (!line && p->nfindings)
		line = say_capture(r, p->finding[0]);
	if (!line && !r->found.n && !r->trace->has_gpu_work && !r->trace->schema->on_windows)
		line = say_nsys_explain_capture_2;
	p->trust[n] = line;
}

/* Whether the tables that the pass needs are in the file, but were not read. */
static bool were_tables_refused(const struct nsx_report *r, const struct nsx_pass *pass)
{
	const char *const *refused = r->trace->schema->refused;

	return pass->any_of[0] && !NSX_ANY(i, NSX_MAX_NEEDS, pass->any_of[i] &&
					   !refused[pass->any_of[i] - 1]);
}

/* Collects the sections' answers, and the subjects of sections without one. Links between GPUs
 * count as a subject only if there are several GPUs. Without the number of multiprocessors nothing
 * tells how much of the GPU a launch leaves empty.
 */
static void fill_from_sections(const struct nsx_report *r, struct nsx_first_page *p)
{
	uint32_t device = r->facts->limiting;
	const struct nsx_gpu_info *gpu = device == NSX_NONE ? NULL : nsx_device_gpu(r->trace, device);
	size_t n = 0;

	p->missing = nsx_arena_get(r->arena, (r->nsections + 2) * sizeof(char *));
	if (device != NSX_NONE && !(gpu && gpu->sm_count > 0))
		p->missing[n++] = "the GPU's number of multiprocessors";
	for (size_t i = 0; i < r->nsections; i++) {
		p->asked = p->asked ?: r->sections[i].asked;
		if (r->sections[i].pass->subject &&
		    r->sections[i].status == NSX_S_CANNOT &&
		    !were_tables_refused(r, r->sections[i].pass) &&
		    (r->trace->ndevices > 1 ||
		     strcmp(r->sections[i].pass->subject, "NVLink")))
			p->missing[n++] = r->sections[i].pass->subject;
	}
}

/* Adds failures that the program survived to the verdict, as they come before its speed. */
static void tell_failures(const struct nsx_report *r, struct nsx_first_page *p)
{
	const struct nsx_failures *f = &r->trace->failures;

	for (unsigned i = 0; i < f->n && p->verdict != NSX_V_FAILED; i++)
		if (nsx_advise_failure(&f->v[i]))
			p->because = nsx_arena_printf(
				r->arena, "%s%s%s", p->because ?: "", p->because ? "; " : "",
				nsx_say_failure(r->trace, &f->v[i], r->arena));
}

int nsx_first_page_build(struct nsx_report *r, const struct nsx_measured *m, struct nsx_err *err)
{
	struct nsx_first_page *p = nsx_arena_get(r->arena, sizeof(*p));

	fill_header(r, m, p);
	fill_shares(r, p);
	first_page_fill_findings(r, p);
	fill_ask(r, p);
	nsx_judge(r, &m->ledger, p);
	fill_most_time(r, &m->ledger, p);
	fill_fine(r, &m->ledger, p);
	fill_trust(r, &m->ledger, p);
	fill_from_sections(r, p);
	if (!p->because && !nsx_has_window(r->trace) && p->ngpus &&
	    (double)(p->judged.end_ns - p->judged.start_ns) < LITTLE * (double)p->recorded_ns)
		p->because = nsx_arena_printf(r->arena, say_judged_on_recording,
			nsx_text_share(r->arena, (double)(p->judged.end_ns - p->judged.start_ns),
				(double)p->recorded_ns));
	if (p->verdict == NSX_V_COMPUTE && nsx_graphs_hide(&r->facts->graphs))
		p->because = say_what_runs_inside_cuda;
	tell_failures(r, p);
	r->page = p;
	return nsx_list_unjudged(r, m, &p->unjudged, err);
}
