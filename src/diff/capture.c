/* capture.c - describes a capture: machine, versions, what was traced, and its findings. */
#include <math.h>
#include "base/stat.h"
#include "diff/side.h"
#include "facts/metrics/metrics.h"
#include "facts/steps/limit.h"
#include "passes/pass.h"
#include "schema/viewscan.h"

void nsx_side_name_gpus(struct nsx_side *s, const char **names, size_t n)
{
	struct nsx_buf b = {0}, models = {0};

	nsx_sort(names, n, sizeof(*names), nsx_cmp_text);
	NSX_EACH_RUN(i, next, n, !strcmp(names[i], names[next])) {
		nsx_buf_printf(&b, "%s%zu × %s", i ? ", " : "", next - i, names[i]);
		nsx_buf_printf(&models, "%s%s", i ? ", " : "", names[i]);
	}
	s->gpu_names = nsx_buf_keep(&b, s->arena);
	s->gpu_models = nsx_buf_keep(&models, s->arena);
}

static void note_peaks(struct nsx_side *s, const struct nsx_gpu_info *g)
{
	const struct nsx_llm f32 = {.type = 0}, f16 = {.type = 2};

	s->peaks[NSX_PEAK_F32] = nsx_llm_peak(&f32, g);
	s->peaks[NSX_PEAK_F16] = nsx_llm_peak(&f16, g);
	s->peaks[NSX_PEAK_BYTES] = (double)NSX_MAX(g->bandwidth_bytes_per_s, 0);
}

/* Names the GPUs that did something. */
static void name_gpus(struct nsx_side *s, const struct nsx_trace *t)
{
	const char **names = nsx_arena_get(s->arena, (t->ndevices + 1) * sizeof(*names));
	size_t n = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_gpu_info *g = nsx_device_gpu(t, d);

		if (t->device[d].nops && g && g->name) {
			if (!n)
				note_peaks(s, g);
			names[n++] = nsx_text(t, g->name);
		}
		s->ngpus += t->device[d].nops > 0;
	}
	nsx_side_name_gpus(s, names, n);
}

/* Names the traced activities by the tables that have rows. */
static void name_traced(struct nsx_side *s, const struct nsx_schema *schema)
{
	static const struct {
		enum nsx_view view;
		const char *word;
		bool on_host; /* each event costs the host time */
	} switches[] = {
		{NSX_VIEW_kernel, "kernels", false}, {NSX_VIEW_memcpy, "copies", false},
		{NSX_VIEW_runtime, "CUDA calls", false}, {NSX_VIEW_nvtx, "NVTX", false},
		{NSX_VIEW_osrt, "OS calls", true},
		{NSX_VIEW_cuda_frame, "backtraces of CUDA calls", true},
		{NSX_VIEW_sample, "CPU samples", true},
		{NSX_VIEW_sched, "CPU scheduling", true},
		{NSX_VIEW_gpu_metric, "GPU counters", false},
		{NSX_VIEW_memory_event, "memory usage", false},
	};
	struct nsx_buf b = {0};

	for (size_t i = 0; i < ARRAY_LEN(switches); i++)
		if (nsx_has_view(schema, switches[i].view)) {
			nsx_buf_printf(&b, "%s%s", b.n ? ", " : "", switches[i].word);
			s->on_host |= (unsigned)switches[i].on_host << i;
		}
	s->traced = nsx_buf_keep(&b, s->arena);
}

/* Share of launches with recorded GPU work; NAN: unknown. Launches into a graph under construction
 * have no work either and do not count. The whole trace is used, because a window would cut work
 * off.
 */
static double answered_share(const struct nsx_trace *t)
{
	size_t launches = 0, answered = 0;

	for (size_t i = 0; i < t->calls.n; i++)
		if (t->calls.cls[i] == NSX_CALL_LAUNCH &&
		    !(t->calls.flags[i] & (NSX_CALL_FAILED | NSX_CALL_NESTED | NSX_CALL_GRAPH))) {
			launches++;
			answered += nsx_call_op(&t->calls, i) != NSX_NONE;
		}
	return answered && !nsx_has_window(t) ? (double)answered / (double)launches : NAN;
}

/* Counts the processes that used a GPU. */
static int64_t count_ranks(const struct nsx_trace *t, struct nsx_arena *a)
{
	bool *used = nsx_arena_get(a, t->nprocesses + 1);
	int64_t n = 0;

	for (uint32_t i = 0; i < t->nstreams; i++)
		used[NSX_MIN(t->stream[i].process, t->nprocesses)] = true;
	for (uint32_t p = 0; p < t->nprocesses; p++)
		n += used[p];
	return n;
}

static const char *say_cuda(const char *number, struct nsx_arena *a)
{
	long n = strtol(number, NULL, 10);

	return n >= 1000 ? nsx_arena_printf(a, "%ld.%ld", n / 1000, n % 1000 / 10) : number;
}

/* Mean SM clock from its counter, which may be in Hz whatever its name says. */
static double mean_mhz(const struct nsx_metrics *m)
{
	double sum = 0;
	unsigned n = 0;

	for (size_t i = 0; m && i < m->n; i++) {
		const struct nsx_metric *x = &m->v[i];
		double hz = x->scope[NSX_SCOPE_COMPUTE].mean;

		if (!x->name || !strstr(x->name, "GPC Clock Frequency") || !(hz > 0))
			continue;
		sum += hz > 1e5 ? hz / 1e6 : hz;
		n++;
	}
	return n ? sum / n : NAN;
}

/* Reads the listed keys of TARGET_INFO_SYSTEM_ENV and no others. */
static int capture_on_system(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			     struct nsx_err *err NSX_UNUSED)
{
	struct nsx_side *s = ctx;
	const char *key = nsx_val_text(&v[0], s->arena);

	if (v[1].type != NSX_V_TEXT)
		return 0;
	if (!strcmp(key, "NvDriverVersion"))
		s->driver_version = nsx_val_text(&v[1], s->arena);
	if (!strcmp(key, "CudaDriverVersion")) /* 12080 means 12.8 */
		s->cuda_version = say_cuda(nsx_val_text(&v[1], s->arena), s->arena);
	return 0;
}

static int capture_on_session(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			      struct nsx_err *err NSX_UNUSED)
{
	struct nsx_side *s = ctx;

	if (v[0].type == NSX_V_I64)
		s->session = nsx_session_of(v[0].u.i, v[1].type == NSX_V_I64 ? v[1].u.i : -1);
	return 0;
}

/* Notes what shows that two captures are parts of one run if no clock was recorded: a process that
 * calls CUDA, and its correlation ids, which rise as long as it runs.
 */
static void note_used_process(struct nsx_side *s, const struct nsx_trace *t)
{
	const struct nsx_process *of = NULL;

	for (uint32_t k = 0; k < t->nthreads; k++) {
		const struct nsx_thread *th = &t->thread[k];
		const struct nsx_process *p = &t->process[th->process];

		if (!th->ncalls || (of && p->pid > of->pid))
			continue;
		if (p != of) {
			of = p;
			s->first_id = INT64_MAX;
			s->last_id = 0;
			s->session = nsx_hash_u64((uint64_t)p->pid + 1);
		}
		for (size_t i = th->calls_at; i < th->calls_at + th->ncalls; i++) {
			int64_t id = nsx_unpack(&t->calls.corr, i);

			s->first_id = id ? NSX_MIN(s->first_id, id) : s->first_id;
			s->last_id = NSX_MAX(s->last_id, id);
		}
	}
}

/* Highest peak memory of any GPU; -1: not recorded. */
static int64_t peak_of(const struct nsx_report *r)
{
	const struct nsx_section *s = nsx_report_section(r, "memory_usage");
	const struct nsx_table *t = s && s->status == NSX_S_ANSWERED ?
					    nsx_section_table(s, "devices") :
					    NULL;
	double peak = -1;

	for (size_t i = 0; t && i < t->nrows; i++)
		peak = NSX_MAX(peak, nsx_table_number(t, i, "peak_bytes"));
	return nsx_to_i64(peak);
}

static void keep_findings(struct nsx_side *s, const struct nsx_report *r)
{
	struct nsx_window w = nsx_judged(r->facts);
	double window_ns = (double)(w.end_ns - w.start_ns);

	s->findings = nsx_arena_get(s->arena, (r->found.n + 1) * sizeof(*s->findings));
	for (size_t i = 0; i < r->found.n; i++) {
		const struct nsx_finding *f = &r->found.v[i];

		s->findings[s->nfindings++] = (struct nsx_side_finding){
			.key = nsx_arena_strdup(s->arena, f->key),
			.title = nsx_arena_strdup(s->arena, f->title),
			.place = f->place ? nsx_arena_strdup(s->arena, f->place) : NULL,
			.category = nsx_finding_category(f),
			.severity = f->severity,
			.is_minor = f->is_minor,
			.share = f->price != NSX_PRICE_NONE && window_ns > 0 ?
					 f->headroom_ns / window_ns : NAN,
			.low = f->low_ns / NSX_MAX(window_ns, 1),
			.high = f->high_ns / NSX_MAX(window_ns, 1)};
	}
}

int nsx_side_describe(struct nsx_side *s, const struct nsx_report *r, struct nsx_err *err)
{
	const struct nsx_trace *t = r->trace;
	const struct nsx_schema *schema = t->schema;

	s->size_bytes = nsx_db_size(schema->db);
	s->product_version = nsx_arena_strdup(s->arena, schema->product_version);
	s->graph_mode = nsx_graph_modes[r->facts->graphs.mode];
	s->hides_kernels = r->facts->graphs.hidden_pct >= NSX_GRAPHS_HIDDEN_PCT;
	if (nsx_report_damage(r))
		s->damage = nsx_arena_strdup(s->arena, nsx_report_damage(r));
	s->driver_version = s->cuda_version = "";
	s->sm_mhz = mean_mhz(r->facts->metrics);
	s->nranks = count_ranks(t, s->arena);
	s->answered = answered_share(t);
	s->peak_bytes = peak_of(r);
	name_gpus(s, t);
	name_traced(s, schema);
	keep_findings(s, r);
	s->first_ns = t->window.start_ns;
	s->last_ns = t->window.end_ns;
	nsx_side_keep_kinds(s, r);
	if (nsx_view_each(schema, session, capture_on_session, s, err, utc_epoch_ns,
			  system_clock_ns) ||
	    nsx_view_each(schema, system_env, capture_on_system, s, err, name, value))
		return err->rc;
	if (!s->session)
		note_used_process(s, t);
	return 0;
}
