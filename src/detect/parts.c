/* parts.c - helpers of several detectors: names of ranges, what was recorded, rows of a change. */
#include <assert.h>
#include "detect/detect.h"
#include "report/text.h"

/* Length of the number at s[i] if it is a counter, else 0. A counter ends the name or does not
 * follow a letter: "step 12", "layer_3/attn" and "iter7", but not "conv2d".
 */
static size_t counter_at(const char *s, size_t i)
{
	size_t n = i && nsx_is_digit(s[i - 1]) ? 0 : nsx_number_at(s, i);

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

uint64_t nsx_range_kind(const struct nsx_trace *t, uint32_t range)
{
	const char *s = range == NSX_NONE ? "" : nsx_text(t, t->nvtx.name[range]);
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t n;

	for (size_t i = 0; s[i]; i += n) {
		n = counter_at(s, i);
		h = (h ^ (unsigned char)(n ? '#' : s[i])) * UINT64_C(0x100000001b3);
		n = NSX_MAX(n, 1);
	}
	return h;
}

/* The function's name in a range of PyProf, which writes a call with its arguments as a dictionary:
 * "{'mod': 'torch', 'op': 'add', 'args': ...}" is torch.add. NULL for the range around it, which
 * lists source files.
 */
static const char *without_arguments(struct nsx_arena *a, const char *s)
{
	struct nsx_pyprof_call c;

	if (!strncmp(s, "{'traceMarker': ", strlen("{'traceMarker': ")))
		return NULL;
	return nsx_pyprof_call(s, &c) ?
		       nsx_arena_printf(a, "%.*s.%.*s", c.mod_size, c.mod, c.op_size, c.op) : s;
}

/* Whether both ranges are of one library: "aten::to", "aten::copy_". */
static bool share_prefix(const struct nsx_trace *t, uint32_t x, uint32_t y)
{
	const char *a = x == NSX_NONE ? "" : nsx_text(t, t->nvtx.name[x]);
	const char *b = y == NSX_NONE ? "" : nsx_text(t, t->nvtx.name[y]);
	const char *end = strstr(a, "::");

	return end && !strncmp(a, b, (size_t)(end - a) + 2);
}

/* The range around another; the outermost of nested ranges of one library. */
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

	for (unsigned i = 0; i < DEPTH && range != NSX_NONE; range = step_out(d, range)) {
		const char *name = without_arguments(d->found->arena,
			nsx_text(d->trace, d->trace->nvtx.name[range]));

		if (!name)
			continue;
		name = without_counters(d->found->arena, name);
		if (!strcmp(name, inner))
			continue; /* recursive ranges count once             */
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

struct nsx_window nsx_recorded(const struct nsx_trace *t, const struct nsx_measured *m)
{
	struct nsx_window all = {t->first_ns, t->last_ns};

	if (m->scheduled.start_ns < m->scheduled.end_ns)
		all = all.start_ns == all.end_ns ? m->scheduled : (struct nsx_window){
			NSX_MIN(all.start_ns, m->scheduled.start_ns),
			NSX_MAX(all.end_ns, m->scheduled.end_ns)};
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
	struct nsx_window all = nsx_recorded(t, m);

	return all.end_ns - all.start_ns ?: m->session_ns;
}

bool nsx_is_shared(const struct nsx_trace *t, uint32_t device)
{
	struct nsx_users processes = {0};

	for (uint32_t i = 0; i < t->nstreams; i++)
		if (t->stream[i].device == device)
			nsx_use(&processes, t->stream[i].process);
	return processes.several;
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
		if (!nsx_next_gap(idle, &n, &e->gap) || !e->gap.is_edge)
			continue;
		call = e->gap.op == NSX_NONE ? t->device[dev].beyond.next_call :
					       nsx_op_call(&t->ops, e->gap.op);
		if (call != NSX_NONE)
			e->thread = nsx_call_thread(t, call);
		if (e->gap.op == NSX_NONE)
			break; /* there may be only one gap                  */
	}
}

int64_t nsx_at_edges(const struct nsx_edge edge[2], uint32_t thread, struct nsx_span in)
{
	int64_t ns = 0;

	for (unsigned i = 0; i < 2; i++)
		if (edge[i].thread == thread)
			ns += NSX_MAX(0, NSX_MIN(in.end_ns, edge[i].gap.end_ns) -
					 NSX_MAX(in.start_ns, edge[i].gap.start_ns));
	return ns;
}

const char *nsx_iteration_word(const struct nsx_facts *f)
{
	static const char *const units[NSX_NWAYS] = {
		[NSX_WAY_NVTX] = "iteration", [NSX_WAY_SEQUENCE] = "block",
		[NSX_WAY_GRAPH] = "graph replay", [NSX_WAY_COMM] = "step",
		[NSX_WAY_GAPS] = "burst"};

	return units[f->iteration_method];
}

const char *nsx_thread_text(struct nsx_detect *d, uint32_t thread)
{
	const struct nsx_thread *th = &d->trace->thread[thread];

	return th->name ? nsx_text(d->trace, th->name) :
			  nsx_tell(d->found, "%lld", (long long)th->tid);
}

struct nsx_rows nsx_keep_rows(struct nsx_detect *d, const uint32_t *v, size_t n)
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
	/* Two bytes a run. Running out of memory is fatal here, as with texts. */
	if (nsx_pack_u32(a, first, runs, what, &r.first, &err) ||
	    nsx_pack_u32(a, length, runs, what, &r.length, &err))
		nsx_die_of_memory(n);
	free(first);
	free(length);
	return r;
}

void nsx_plan_add(struct nsx_detect *d, struct nsx_plan *p, struct nsx_change change)
{
	struct nsx_change *v = nsx_arena_get(d->found->arena, (p->n + 1) * sizeof(*v));

	if (p->n)
		memcpy(v, p->v, p->n * sizeof(*v));
	v[p->n] = change;
	*p = (struct nsx_plan){v, p->n + 1};
}

struct nsx_plan nsx_plan_of(struct nsx_detect *d, struct nsx_change change)
{
	struct nsx_plan p = {NULL, 0};

	nsx_plan_add(d, &p, change);
	return p;
}

void nsx_plan_rows(struct nsx_detect *d, struct nsx_plan *p, struct nsx_row_list *rows,
		   struct nsx_change change)
{
	if (!rows->n)
		return;
	nsx_sort(rows->v, rows->n, sizeof(*rows->v), nsx_cmp_u32);
	change.rows = nsx_keep_rows(d, rows->v, rows->n);
	nsx_plan_add(d, p, change);
}

int nsx_list_row(struct nsx_detect *d, struct nsx_row_list *l, size_t row, struct nsx_err *err)
{
	enum { FIRST = 64 };
	uint32_t *v;

	if (l->n == l->cap) {
		if (!nsx_new_array(v, d->scratch, l->cap * 2 + FIRST, "rows", err))
			return err->rc;
		if (l->n)
			memcpy(v, l->v, l->n * sizeof(*v));
		nsx_arena_drop(d->scratch, l->v);
		l->v = v;
		l->cap = l->cap * 2 + FIRST;
	}
	l->v[l->n++] = (uint32_t)row;
	return 0;
}

/* Groups that are freed after a detector, with their values. */
struct nsx_kept {
	struct nsx_groups *groups;
	void **values;
	struct nsx_kept *next;
};

void nsx_keep_groups(struct nsx_detect *d, struct nsx_groups *g, void *values)
{
	struct nsx_kept *x = nsx_arena_get(d->scratch, sizeof(*x));

	*x = (struct nsx_kept){g, values, d->kept};
	d->kept = x;
}

void nsx_free_kept(struct nsx_detect *d)
{
	for (const struct nsx_kept *x = d->kept; x; x = x->next) {
		nsx_groups_done(x->groups);
		free(*x->values);
	}
	nsx_arena_free(d->scratch);
	d->kept = NULL;
}
