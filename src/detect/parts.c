/* parts.c - helpers of several detectors: names of ranges, what was recorded, rows of a change, and
 * the place in the program where most of a time comes from.
 */
#include <assert.h>
#include "detect/detect.h"
#include "report/text.h"

uint64_t nsx_range_kind(const struct nsx_trace *t, uint32_t range)
{
	const char *s = range == NSX_NONE ? "" : nsx_text(t, t->nvtx.name[range]);
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	size_t n;

	for (size_t i = 0; s[i]; i += n) {
		n = nsx_counter_at(s, i);
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
		name = nsx_without_counters(nsx_arena_strdup(d->found->arena, name));
		if (!strcmp(name, inner))
			continue; /* recursive ranges count once             */
		inner = name;
		path = path ? nsx_tell(d->found, "%s > %s", name, path) : name;
		i++;
	}
	return path ? nsx_tell_name(d->found, path) : NULL;
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
	if (all.start_ns == all.end_ns) { /* nothing was recorded, or CPU samples only */
		if (!t->samples.n)
			return all;
		all.start_ns = all.end_ns = nsx_unpack(&t->samples.start, 0);
	}
	for (size_t i = 0; i < t->library.n; i++) {
		int64_t start_ns = nsx_unpack(&t->library.start, i);

		nsx_widen(&all, start_ns, start_ns + nsx_unpack(&t->library.length, i));
	}
	for (size_t i = 0; i < t->samples.n; i++) {
		int64_t at_ns = nsx_unpack(&t->samples.start, i);

		nsx_widen(&all, at_ns, at_ns);
	}
	if (t->session_end_ns > all.start_ns && nsx_is_beyond_session(t, all.end_ns))
		all.end_ns = NSX_MIN(all.end_ns, t->has_gpu_work ?
			NSX_MAX(t->session_end_ns, t->full.end_ns) : t->session_end_ns);
	return all;
}

int64_t nsx_recorded_ns(const struct nsx_trace *t, const struct nsx_measured *m)
{
	struct nsx_window all = nsx_recorded(t, m);

	return all.end_ns - all.start_ns ?: t->session_end_ns;
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
		[NSX_WAY_NVTX] = "iteration", [NSX_WAY_SEQUENCE] = "repetition",
		[NSX_WAY_GRAPH] = "graph replay", [NSX_WAY_COMM] = "step",
		[NSX_WAY_GAPS] = "burst"};

	return units[f->iteration_method];
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
	/* A run takes two bytes. Running out of memory is fatal here, as with texts. */
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

/* Frames, votes ----------------------------------------------------------------------- */

const char *nsx_frame_words(struct nsx_detect *d, uint32_t frame)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_frame *f = &t->frame[frame];
	const char *module = f->module ? nsx_tell_name(d->found, nsx_text(t, f->module)) : NULL;
	const char *function = f->function ?
		nsx_tell_name(d->found, nsx_text(t, f->function)) : NULL;

	if (function && module)
		return nsx_tell(d->found, "%s in %s", function, module);
	return function ?: module && strstr(module, "[kernel.") ? say_linux_kernel : module;
}

struct nsx_votes {
	struct nsx_groups keys; /* (group, frame)                            */
	int64_t *weight;
};

struct nsx_votes *nsx_new_votes(struct nsx_detect *d)
{
	struct nsx_votes *v = nsx_arena_get(d->scratch, sizeof(*v));

	nsx_keep_groups(d, &v->keys, &v->weight);
	return v;
}

int nsx_vote(struct nsx_votes *v, uint32_t group, uint32_t frame,
	     int64_t weight, struct nsx_err *err)
{
	int64_t *sum = nsx_group_value(&v->keys, &v->weight, group, frame, "call sites", err);

	if (!sum)
		return err->rc;
	nsx_add_to(sum, weight);
	return 0;
}

/* The frame with most votes in a group; of equal sums the first to have voted. */
struct nsx_winner nsx_votes_won(const struct nsx_votes *v, uint32_t group)
{
	struct nsx_winner w = {NSX_NONE, 0, 0};

	for (size_t i = 0; i < v->keys.n; i++) {
		if (nsx_group_key(&v->keys, i).a != group)
			continue;
		nsx_add_to(&w.all, v->weight[i]);
		if (nsx_group_key(&v->keys, i).b == NSX_NONE || v->weight[i] <= w.weight)
			continue;
		w.frame = (uint32_t)nsx_group_key(&v->keys, i).b;
		w.weight = v->weight[i];
	}
	return w;
}

NSX_ORDER(cmp_sampled, struct nsx_sampled, UP(global_tid));

int nsx_vote_samples(struct nsx_detect *d, struct nsx_votes *v, uint32_t group,
		     uint32_t thread, size_t *cursor, struct nsx_span in, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_sampled want = {.global_tid = t->thread[thread].global_tid};
	const struct nsx_sampled *s = t->nsampled ?
		bsearch(&want, t->sampled, t->nsampled, sizeof(want), cmp_sampled) : NULL;

	if (t->npython) {
		struct nsx_python_slice python = nsx_python_of(t, want.global_tid, in);

		for (size_t i = 0; i < python.n; i++)
			if (nsx_vote(v, group, python.v[i].site, 1, err))
				return err->rc;
		if (python.n)
			return 0;
	}
	for (; s && *cursor < s->n; ++*cursor) {
		int64_t at_ns = nsx_unpack(&t->samples.start, s->at + *cursor);

		if (at_ns >= in.end_ns)
			break;
		if (at_ns >= in.start_ns &&
		    nsx_vote(v, group, nsx_sample_frame(t, s->at + *cursor), 1, err))
			return err->rc;
	}
	return 0;
}

/* Places ------------------------------------------------------------------------*/

enum { RECENT_KINDS = 64 };
struct nsx_places {
	struct nsx_detect *d;
	struct nsx_groups keys; /* (thing, kind of range)                    */
	struct place {
		int64_t ns;
		uint32_t range; /* 1 + the first range of its kind           */
	} *v;
	struct nsx_votes *sites; /* time by calling frame, for each thing    */
	struct {
		nsx_str name;
		uint64_t kind; /* nsx_range_kind; 0: the slot is free        */
	} recent[RECENT_KINDS]; /* cache by name, because names repeat and hashing is slow */
};

struct nsx_places *nsx_new_places(struct nsx_detect *d)
{
	struct nsx_places *p = nsx_arena_get(d->scratch, sizeof(*p));

	p->d = d;
	p->sites = nsx_new_votes(d);
	nsx_keep_groups(d, &p->keys, &p->v);
	return p;
}

static uint64_t sites_kind_of(struct nsx_places *p, const struct nsx_trace *t, uint32_t range)
{
	nsx_str name = t->nvtx.name[range];
	size_t i = name % RECENT_KINDS;

	if (p->recent[i].name != name || !p->recent[i].kind) {
		p->recent[i].name = name;
		p->recent[i].kind = nsx_range_kind(t, range);
	}
	return p->recent[i].kind;
}

/* Votes for the site at which Python mostly was, or for `frame` without Python samples. */
static int vote_site(struct nsx_places *p, uint32_t thing, uint32_t thread, struct nsx_span in,
		     uint32_t frame, int64_t ns, struct nsx_err *err)
{
	const struct nsx_trace *t = p->d->trace;
	const struct nsx_python_stack *most = t->npython ? nsx_python_most(t, thread, in) : NULL;

	return nsx_vote(p->sites, thing, most ? most->site : frame, ns, err);
}

int nsx_places_add_stack(struct nsx_places *p, uint32_t thing, uint32_t thread, struct nsx_span in,
			 uint32_t stack, struct nsx_err *err)
{
	return vote_site(p, thing, thread, in, nsx_site(p->d->trace, stack),
			 in.end_ns - in.start_ns, err);
}

int nsx_places_add(struct nsx_places *p, uint32_t thing, uint32_t range, uint32_t call, int64_t ns,
		   struct nsx_err *err)
{
	const struct nsx_trace *t = p->d->trace;
	struct place *x;

	if ((t->backtraces.n || t->npython) && call != NSX_NONE &&
	    vote_site(p, thing, nsx_call_thread(t, call),
		      (struct nsx_span){nsx_call_start(&t->calls, call),
					nsx_call_end(&t->calls, call)},
		      nsx_call_site(t, call), ns, err))
		return err->rc;
	if (range == NSX_NONE)
		return 0;
	x = nsx_group_value(&p->keys, &p->v, thing, sites_kind_of(p, t, range), "places", err);
	if (!x)
		return err->rc;
	x->range = x->range ?: range + 1;
	nsx_add_to(&x->ns, ns);
	return 0;
}

int nsx_places_add_op(struct nsx_places *p, uint32_t thing, size_t op, int64_t ns,
		      struct nsx_err *err)
{
	return nsx_places_add(p, thing, nsx_op_range(&p->d->facts->nvtx, op),
			      nsx_op_call(&p->d->trace->ops, op), ns, err);
}

void nsx_places_tell(const struct nsx_places *p, uint32_t thing, struct nsx_finding *f)
{
	struct nsx_detect *d = p->d;
	struct nsx_winner site = nsx_votes_won(p->sites, thing);
	const char *from = site.frame == NSX_NONE ? NULL : nsx_frame_words(d, site.frame);
	struct nsx_findings *l = d->found;
	struct place most = {0, 0};
	const char *path;
	int64_t all_ns = 0;

	for (size_t i = 0; i < p->keys.n; i++) {
		if (nsx_group_key(&p->keys, i).a != thing)
			continue;
		nsx_add_to(&all_ns, p->v[i].ns);
		if (p->v[i].ns > most.ns)
			most = p->v[i];
	}
	path = nsx_range_path(d, most.range - 1);
	if (most.ns >= all_ns / 2)
		f->place = d->trace->npython ? from ?: path : path ?: from;
	if (path)
		nsx_add_evidence(f, nsx_tell(l, say_largest_part_comes_from, path));
	if (from)
		nsx_add_evidence(
			f, nsx_tell(l, say_called_from,
				   site.weight == site.all ? "all" : nsx_tell_ns(l, site.weight),
				   from));
}
