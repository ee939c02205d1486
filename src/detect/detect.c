/* detect.c - runs the detectors. */
#include <assert.h>
#include <string.h>
#include "base/par.h"
#include "detect/detect.h"
#include "report/text.h"

enum when {
	NSX_GPU_WINDOW,	 /* if a window of GPU work is judged                */
	NSX_GPU_WINDOW_NEXT, /* ... after the detector above, whose findings it reads */
	NSX_IDLE_KNOWN,	 /* ... and what looks idle in it is                 */
	NSX_NO_GPU_WORK, /* if the trace has no GPU work                     */
	NSX_ALWAYS,
};
static const struct {
	int (*run)(struct nsx_detect *d, struct nsx_err *err);
	enum when when;
} detectors[] = {
#define NSX_DETECTOR(name, when) {nsx_detect_##name, when},
#include "detect/detect.def"
#undef NSX_DETECTOR
};

enum {
#define NSX_DETECTOR(name, when) AT_##name,
#include "detect/detect.def"
#undef NSX_DETECTOR
	LONGEST = AT_memory, /* slow with many kernel names, as `kernels` follows it */
};

struct search {
	const struct nsx_detect *d;
	struct nsx_findings found[ARRAY_LEN(detectors)]; /* by detector      */
};

static bool applies(const struct nsx_detect *d, enum when when)
{
	if (when == NSX_NO_GPU_WORK)
		return !d->trace->has_gpu_work;
	if (when == NSX_IDLE_KNOWN && nsx_is_idle_unknown(&d->facts->lost))
		return false;
	return when == NSX_ALWAYS || d->w.start_ns < d->w.end_ns;
}

/* Runs a detector and those that read its findings, on a list of their own. The longest comes
 * first, or it would end last.
 */
static int run_detector(void *ctx, size_t task, struct nsx_err *err)
{
	struct search *s = ctx;
	struct nsx_detect d = *s->d;
	size_t i = !task ? LONGEST : task <= LONGEST ? task - 1 : task, k = i;
	int rc = 0;

	d.found = &s->found[i];
	if (detectors[i].when == NSX_GPU_WINDOW_NEXT)
		return 0;
	do {
		d.scratch = nsx_arena_new();
		if (applies(&d, detectors[k].when))
			rc = detectors[k].run(&d, err);
		nsx_arena_free(d.scratch);
		k++;
	} while (!rc && k < ARRAY_LEN(detectors) &&
		 detectors[k].when == NSX_GPU_WINDOW_NEXT);
	return rc;
}

/* Input of all detectors from calls and idle time, computed in parallel. */
struct preparation {
	const struct nsx_detect *d;
	uint8_t *bits; /* by call; becomes nsx_detect.library                */
	bool has_trials;
	int64_t idle_ns[NSX_NCAUSES];
};

static void sum_idle(struct preparation *p)
{
	const struct nsx_facts *f = p->d->facts;
	const struct nsx_idle *idle =
		f->limiting == NSX_NONE ? NULL : &f->idle[f->limiting];

	for (size_t i = 0; idle && i < idle->n; i++) {
		struct nsx_idle_piece x = nsx_idle_at(idle, i);
		int64_t a = NSX_MAX(x.start_ns, p->d->w.start_ns);
		int64_t b = NSX_MIN(x.end_ns, p->d->w.end_ns);

		p->idle_ns[x.cause] += NSX_MAX(0, b - a);
	}
}

static int (*const marks[])(struct nsx_detect *d, uint8_t *bits, struct nsx_err *err) = {
	nsx_mark_trials, nsx_mark_staged};

static int prepare_some(void *ctx, size_t task, struct nsx_err *err)
{
	struct preparation *p = ctx;
	struct nsx_detect d = *p->d;
	int rc;

	if (task == ARRAY_LEN(marks)) {
		sum_idle(p);
		return 0;
	}
	d.scratch = nsx_arena_new();
	rc = marks[task](&d, p->bits, err);
	nsx_arena_free(d.scratch);
	if (d.has_trials)
		p->has_trials = true;
	return rc;
}

static int prepare(struct nsx_detect *d, struct nsx_err *err)
{
	struct preparation p = {.d = d};

	if (!nsx_new_array(p.bits, d->scratch, d->trace->calls.n / 8 + 1, "calls", err) ||
	    nsx_par(d->opts->threads, ARRAY_LEN(marks) + 1, prepare_some, &p, err))
		return err->rc;
	d->library = p.bits;
	d->has_trials = p.has_trials;
	memcpy(d->idle_ns, p.idle_ns, sizeof(d->idle_ns));
	return 0;
}

int nsx_detect(struct nsx_detect *d, struct nsx_err *err)
{
	struct search s = {.d = d};
	int rc;

	d->w = nsx_judged(d->facts);
	d->is_pytorch = nsx_sees_pytorch(d->trace);
	d->scratch = nsx_arena_new();
	for (size_t i = 0; i < ARRAY_LEN(detectors); i++)
		s.found[i].arena = nsx_arena_new();
	rc = prepare(d, err) ?:
	     nsx_par(d->opts->threads, ARRAY_LEN(detectors), run_detector, &s,
		     err);
	nsx_arena_free(d->scratch);
	for (size_t i = 0; i < ARRAY_LEN(detectors); i++)
		nsx_findings_take(d->found, &s.found[i]);
	return rc;
}

/* Length of a number at s[i] if it is a counter, else 0: it ends the name or does not follow a
 * letter ("step 12", "layer_3/attn", "iter7", but not "conv2d").
 */
static size_t counter_at(const char *s, size_t i)
{
	size_t n = 0;

	if (!nsx_is_digit(s[i]) || (i && nsx_is_digit(s[i - 1])))
		return 0;
	while (nsx_is_digit(s[i + n]))
		n++;
	return !s[i + n] || !i || !nsx_is_letter(s[i - 1]) ? n : 0;
}

static const char *without_counters(struct nsx_arena *a, const char *s)
{
	char *copy = nsx_arena_strdup(a, s);
	size_t k = 0, n;

	for (size_t i = 0; s[i]; i += n) {
		n = counter_at(s, i);
		copy[k++] = (char)(n ? '#' : s[i]);
		n = NSX_MAX(n, 1);
	}
	copy[k] = '\0';
	return copy;
}

const char *nsx_range_shown(struct nsx_detect *d, uint32_t range)
{
	return without_counters(d->found->arena,
				nsx_text(d->trace, d->trace->nvtx.name[range]));
}

uint64_t nsx_range_kind(const struct nsx_trace *t, uint32_t range)
{
	const char *s = range == NSX_NONE ? "" :
			nsx_text(t, t->nvtx.name[range]);
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t n;

	for (size_t i = 0; s[i]; i += n) {
		n = counter_at(s, i);
		h = (h ^ (unsigned char)(n ? '#' : s[i])) *
		    UINT64_C(0x100000001b3);
		n = NSX_MAX(n, 1);
	}
	return h;
}

/* PyProf writes a call with its arguments as a dictionary, inside another range with the source
 * files that led there: "{'mod': 'torch', 'op': 'add', 'args': ...}" is torch.add. NULL: it is
 * the range with the files.
 */
static const char *without_arguments(struct nsx_arena *a, const char *s)
{
	struct nsx_pyprof_call c;

	if (!strncmp(s, "{'traceMarker': ", strlen("{'traceMarker': ")))
		return NULL;
	return nsx_pyprof_call(s, &c) ?
		       nsx_arena_printf(a, "%.*s.%.*s", c.mod_size, c.mod,
					c.op_size, c.op) : s;
}

/* Whether both ranges are of one library: "aten::to", "aten::copy_". */
static bool share_prefix(const struct nsx_trace *t, uint32_t x, uint32_t y)
{
	const char *a = x == NSX_NONE ? "" : nsx_text(t, t->nvtx.name[x]);
	const char *b = y == NSX_NONE ? "" : nsx_text(t, t->nvtx.name[y]);
	const char *end = strstr(a, "::");

	return end && !strncmp(a, b, (size_t)(end - a) + 2);
}

/* The range around one; of nested ranges of one library, the outermost. */
static uint32_t step_out(const struct nsx_detect *d, uint32_t range)
{
	const struct nsx_nvtx_facts *f = &d->facts->nvtx;
	uint32_t next = nsx_range_parent(f, range);

	while (share_prefix(d->trace, range, next) &&
	       share_prefix(d->trace, range, nsx_range_parent(f, next)))
		next = nsx_range_parent(f, next);
	return next;
}

const char *nsx_range_path(struct nsx_detect *d, uint32_t range)
{
	enum { DEPTH = 3 };
	const char *path = NULL, *inner = "";

	for (unsigned i = 0; i < DEPTH && range != NSX_NONE;
	     range = step_out(d, range)) {
		const char *name = without_arguments(
			d->found->arena,
			nsx_text(d->trace, d->trace->nvtx.name[range]));

		if (!name)
			continue;
		name = without_counters(d->found->arena, name);
		if (!strcmp(name, inner))
			continue; /* of recursive ranges only one            */
		inner = name;
		path = path ? nsx_tell(d->found, "%s > %s", name, path) : name;
		i++;
	}
	return path ? nsx_tell_name(d->found, path) : NULL;
}

uint32_t nsx_range_of_gap(const struct nsx_detect *d, uint32_t range,
			  int64_t from_ns, int64_t to_ns)
{
	const struct nsx_nvtx *x = &d->trace->nvtx;

	while (range != NSX_NONE) {
		int64_t a = NSX_MAX(from_ns, nsx_range_start(x, range));
		int64_t b = NSX_MIN(to_ns, nsx_range_end(x, range));

		if (b - a >= (to_ns - from_ns) / 2)
			break;
		range = nsx_range_parent(&d->facts->nvtx, range);
	}
	return range;
}

bool nsx_on_several_gpus(const struct nsx_trace *t, uint32_t process)
{
	struct nsx_users gpus = {0};

	for (uint32_t i = 0; i < t->nstreams; i++)
		if (process == NSX_SEVERAL || t->stream[i].process == process)
			nsx_use(&gpus, t->stream[i].device);
	return gpus.several;
}

struct nsx_window nsx_recorded(const struct nsx_trace *t)
{
	struct nsx_window all = {t->first_ns, t->last_ns};

	if (all.start_ns == all.end_ns)
		return all;
	for (size_t i = 0; i < t->library.n; i++) {
		int64_t start_ns = nsx_unpack(&t->library.start, i);

		nsx_widen(&all, start_ns, start_ns + nsx_unpack(&t->library.length, i));
	}
	for (size_t i = 0; i < t->samples.n; i++) {
		int64_t at_ns = nsx_unpack(&t->samples.start, i);

		nsx_widen(&all, at_ns, at_ns);
	}
	return all;
}

int64_t nsx_recorded_ns(const struct nsx_trace *t, const struct nsx_measured *m)
{
	struct nsx_window all = nsx_recorded(t);

	return NSX_MAX(all.end_ns - all.start_ns, (int64_t)(m->busiest.of_ms * 1e6)) ?:
		       m->session_ns;
}

bool nsx_is_shared(const struct nsx_trace *t, uint32_t device)
{
	struct nsx_users processes = {0};

	for (uint32_t i = 0; i < t->nstreams; i++)
		if (t->stream[i].device == device)
			nsx_use(&processes, t->stream[i].process);
	return processes.several;
}

uint32_t nsx_launcher(const struct nsx_detect *d)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_device *dev = &t->device[d->facts->limiting];
	size_t *n = nsx_arena_get(d->scratch, (t->nthreads + 1) * sizeof(*n));
	uint32_t best = NSX_NONE;

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		uint32_t call = nsx_op_call(&t->ops, i);

		if (call != NSX_NONE && nsx_is_judged(d, nsx_op_start(&t->ops, i)))
			n[nsx_call_thread(t, call)]++;
	}
	for (uint32_t h = 0; h < t->nthreads; h++)
		if (n[h] && (best == NSX_NONE || n[h] > n[best]))
			best = h;
	return best;
}

void nsx_find_edges(const struct nsx_detect *d, struct nsx_edge edge[2])
{
	const struct nsx_trace *t = d->trace;
	uint32_t dev = d->facts->limiting;
	size_t n = 0;

	edge[0].thread = edge[1].thread = NSX_NONE;
	if (dev == NSX_NONE || !nsx_has_window(t))
		return;
	for (unsigned i = 0; i < 2; i++) {
		const struct nsx_idle *idle = &d->facts->idle[dev];
		struct nsx_edge *e = &edge[i];
		uint32_t call;

		if (i)
			n = nsx_idle_from(idle, t->window.end_ns - 1);
		e->at = n;
		if (!nsx_next_gap(idle, &n, &e->gap) || !e->gap.is_edge)
			continue;
		call = e->gap.op == NSX_NONE ? t->device[dev].beyond.next_call :
					       nsx_op_call(&t->ops, e->gap.op);
		if (call != NSX_NONE)
			e->thread = nsx_call_thread(t, call);
		if (e->gap.op == NSX_NONE)
			break; /* there may be just one gap                  */
	}
}

const char *nsx_thread_text(struct nsx_detect *d, uint32_t thread)
{
	const struct nsx_thread *th = &d->trace->thread[thread];

	return th->name ? nsx_text(d->trace, th->name) :
			  nsx_tell(d->found, "%lld", (long long)th->tid);
}

struct nsx_rows nsx_keep_rows(struct nsx_detect *d, const uint32_t *v,
			      size_t n)
{
	static const char what[] = "rows of a change";
	struct nsx_rows r = {.only = true, .n = n};
	struct nsx_arena *a = d->found->arena;
	uint32_t *first, *length;
	struct nsx_err err;
	size_t runs = 0, k = 0;

	for (size_t i = 0; i < n; i++) {
		assert(!i || v[i] >= v[i - 1]);
		runs += !i || v[i] != v[i - 1] + 1;
	}
	first = nsx_alloc(runs + 1, sizeof(*first));
	length = nsx_alloc(runs + 1, sizeof(*length));
	for (size_t i = 0; i < n; i++) {
		if (!i || v[i] != v[i - 1] + 1)
			first[k++] = v[i];
		length[k - 1]++;
	}
	r.nruns = runs;
	/* Two bytes a run: as with texts, running out of memory here is fatal. */
	if (nsx_pack_u32(a, first, runs, what, &r.first, &err) ||
	    nsx_pack_u32(a, length, runs, what, &r.length, &err))
		nsx_die_of_memory(n);
	free(first);
	free(length);
	return r;
}

struct nsx_plan nsx_plan_of(struct nsx_detect *d, struct nsx_change change)
{
	struct nsx_change *v = nsx_arena_get(d->found->arena, sizeof(*v));

	*v = change;
	return (struct nsx_plan){v, 1};
}

void nsx_add_change(struct nsx_detect *d, struct nsx_change *v, size_t *n,
		    struct nsx_row_list *rows, struct nsx_change change)
{
	if (!rows->n)
		return;
	nsx_sort(rows->v, rows->n, sizeof(*rows->v), nsx_cmp_u32);
	change.rows = nsx_keep_rows(d, rows->v, rows->n);
	v[(*n)++] = change;
}

int nsx_list_row(struct nsx_row_list *l, size_t row, struct nsx_err *err)
{
	return nsx_push(l->v, l->n, l->cap, "rows", err, (uint32_t)row);
}
