/* sites.c - call stacks of CPU samples, CUDA calls and OS calls.
 *
 * Stacks are reduced while their frames stream by, in any order: only the innermost frame and the
 * site are kept.
 */
#include <strings.h>
#include "trace/load.h"

/* The origin of a module, by a prefix of its file name. All other modules are the program's. */
static const struct {
	enum nsx_origin origin;
	const char *prefixes[23]; /* NULL: end */
} modules[] = {
	{NSX_ORIGIN_PROFILER, {"libToolsInjection", "libcupti"}},
	{NSX_ORIGIN_CUDA, {"libcuda.", "libcudart", "libnvidia-", "nvcuda",
		"cudart64", "[nvidia"}},
	{NSX_ORIGIN_SYSTEM, {"[", "vmlinux", "libc.", "libc-", "libm.", "libm-",
		"libpthread", "libdl.", "libdl-", "librt.", "librt-", "ld-",
		"ld.", "libgcc_s", "libstdc++", "linux-vdso", "ntdll",
		"ntoskrnl", "kernel32", "kernelbase", "ucrtbase", "win32u"}},
	{NSX_ORIGIN_LIBRARY, {"libmpi", "libfabric", "libopen-", "libuc",
		"libnccl", "libcublas", "libcudnn", "libcufft", "libcusolver",
		"libcusparse", "libcurand", "libnvrtc", "libnvinfer",
		"libtorch", "libc10", "libgomp", "libiomp", "libomp", "libacc",
		"libpython", "python"}},
};

const char *const nsx_origin_names[NSX_NORIGINS] = {
	[NSX_ORIGIN_PROGRAM] = "program", [NSX_ORIGIN_LIBRARY] = "library",
	[NSX_ORIGIN_SYSTEM] = "system", [NSX_ORIGIN_CUDA] = "cuda",
	[NSX_ORIGIN_PROFILER] = "profiler",
};

struct frame { /* a cached frame of the file, and what was learned about it */
	nsx_str symbol, path;
	bool unresolved, known;
	uint32_t id;   /* id in the frames map                               */
	/* Preference as a site, without the depth: the lowest rank wins; NSX_NONE: it cannot be a
	 * site.
	 */
	uint32_t rank;
};
struct chain { /* a stack, reduced to its innermost frame and its site */
	int64_t id;
	uint32_t leaf, leaf_depth;
	uint32_t site, site_rank; /* site: index of a frame; NSX_NONE: none yet */
};
struct own { /* results of one part of the table */
	struct chain *v;
	size_t n, cap;
	struct frame recent[4096];
};
/* Depths above MOST_DEPTH come from broken stacks. */
enum { RANK_BITS = 24, MOST_DEPTH = (1 << RANK_BITS) - 1 };

static enum nsx_origin sites_origin_of(const char *path)
{
	const char *name = nsx_file_name(path);

	if (strcasestr(path, "nsight-systems") || strcasestr(path, "nsight systems"))
		return NSX_ORIGIN_PROFILER;
	for (unsigned i = 0; i < ARRAY_LEN(modules); i++)
		for (const char *const *at = modules[i].prefixes; *at; at++)
			if (!strncasecmp(name, *at, strlen(*at)))
				return modules[i].origin;
	return NSX_ORIGIN_PROGRAM;
}

/* Whether a function of the program is a template or a static copy of CUDA's own. */
static bool is_cuda_function(const char *function)
{
	return !strncmp(function, "cuda", 4) || strstr(function, "cudart") ||
	       (!strncmp(function, "cu", 2) && function[2] >= 'A' &&
		function[2] <= 'Z');
}

/* Fills in a frame's origin and rank. A site in the program's own code ranks before one in a
 * library. A frame without name and module cannot be a site.
 */
static int classify_frame(struct nsx_part *p, struct frame *f, struct nsx_err *err)
{
	const char *path = nsx_strings_text(p->l->strings, f->path);
	const char *symbol = nsx_strings_text(p->l->strings, f->symbol);
	const char *file = strcmp(path, "[Unknown]") ? nsx_file_name(path) : "";
	enum nsx_origin origin = sites_origin_of(path);
	bool has_name = *symbol && !f->unresolved && strncmp(symbol, "0x", 2);
	struct nsx_key key = {{0}};
	nsx_str module = 0;

	if (*file && nsx_strings_add(p->l->strings, file, strlen(file), &module, err))
		return err->rc;
	if (origin == NSX_ORIGIN_PROGRAM && has_name && is_cuda_function(symbol))
		origin = NSX_ORIGIN_CUDA;
	key.w[0] = has_name ? f->symbol : 0;
	key.w[1] = module;
	key.w[2] = origin;
	f->known = true;
	f->rank = origin > NSX_ORIGIN_LIBRARY || (!has_name && !module) ?
			  NSX_NONE : (uint32_t)origin << RANK_BITS;
	return nsx_keymap_add(&p->l->frames_map, p->cache[0], &key, &f->id, err);
}

enum { ID, DEPTH, SYMBOL, MODULE, UNRESOLVED };

static int find_frame(struct nsx_part *p, const struct nsx_val *v,
		      const struct frame **ret, struct nsx_err *err)
{
	struct own *own = p->own;
	struct frame f = {.unresolved = nsx_i64_or(&v[UNRESOLVED], 0) != 0};
	struct frame *known;
	int rc = nsx_read_name(p, &v[SYMBOL], &f.symbol, err) ?:
		 nsx_read_name(p, &v[MODULE], &f.path, err);

	if (rc)
		return rc;
	known = &own->recent[(f.symbol * 31 + f.path) % ARRAY_LEN(own->recent)];
	*ret = known;
	if (known->known && known->symbol == f.symbol &&
	    known->path == f.path && known->unresolved == f.unresolved)
		return 0;
	*known = f;
	return classify_frame(p, known, err);
}

static int read_frame(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct own *own = p->own;
	int64_t depth = nsx_i64_or(&v[DEPTH], -1);
	const struct frame *f;
	struct chain *c;
	uint32_t rank;
	int rc;

	if (v[ID].type != NSX_V_I64 || depth < 0 || depth > MOST_DEPTH) {
		p->defects.mistyped++;
		return 0;
	}
	rc = find_frame(p, v, &f, err);
	if (rc)
		return rc;
	rank = f->rank == NSX_NONE ? NSX_NONE : f->rank | (uint32_t)depth;
	c = own->n ? &own->v[own->n - 1] : NULL;
	/* A new chain also begins if two frames share a depth; join_chains chooses between the two
	 * chains.
	 */
	if (!c || c->id != v[ID].u.i || c->leaf_depth == depth ||
	    (c->site_rank == rank && rank != NSX_NONE)) {
		if (nsx_push(own->v, own->n, own->cap, "stacks", err,
			     (struct chain){v[ID].u.i, NSX_NONE, NSX_NONE,
					    NSX_NONE, NSX_NONE}))
			return err->rc;
		c = &own->v[own->n - 1];
	}
	if (depth < c->leaf_depth) {
		c->leaf = f->id;
		c->leaf_depth = (uint32_t)depth;
	}
	if (rank < c->site_rank) {
		c->site = f->id;
		c->site_rank = rank;
	}
	return 0;
}

/* Adds a stack that equals an earlier one. A part with defects needs the rows to count them. */
static bool repeat_stack(void *part, int64_t first, int64_t id)
{
	const struct nsx_part *p = part;
	struct own *own = p->own;
	size_t at = NSX_SEARCH((size_t)0, own->n, i, own->v[i].id < first), end = own->n;
	struct nsx_err err;

	if (p->defects.mistyped || p->defects.dangling)
		return false;
	for (; at < end && own->v[at].id == first; at++) {
		struct chain c = own->v[at];

		c.id = id;
		if (nsx_push(own->v, own->n, own->cap, "stacks", &err, c))
			return false;
	}
	return true;
}

/* Compares frames by content, because their ids depend on thread timing. */
static int cmp_frames(const struct nsx_loader *l, uint32_t a, uint32_t b)
{
	const uint64_t *x = l->frames_map.keys[a].w;
	const uint64_t *y = l->frames_map.keys[b].w;

	return nsx_str_cmp(l->strings, (nsx_str)x[0], (nsx_str)y[0]) ?:
	       nsx_str_cmp(l->strings, (nsx_str)x[1], (nsx_str)y[1]) ?:
	       NSX_CMP(x[2], y[2]);
}

NSX_ORDER(cmp_chains, struct chain, UP(id));

static void merge_chain(const struct nsx_loader *l, struct chain *to, const struct chain *from)
{
	if (from->leaf_depth < to->leaf_depth ||
	    (from->leaf_depth == to->leaf_depth &&
	     cmp_frames(l, from->leaf, to->leaf) < 0)) {
		to->leaf = from->leaf;
		to->leaf_depth = from->leaf_depth;
	}
	if (from->site_rank < to->site_rank ||
	    (from->site_rank == to->site_rank && to->site != NSX_NONE &&
	     cmp_frames(l, from->site, to->site) < 0)) {
		to->site = from->site;
		to->site_rank = from->site_rank;
	}
}

/* Collects the stacks of a table, each once, ordered by id. A stack is stored as the index of its
 * pair (innermost frame, site).
 */
static int join_chains(struct nsx_loader *l, struct own *own,
		       struct nsx_stacks *ret, struct nsx_err *err)
{
	struct own *all = own;
	size_t kept = 0;
	int rc = 0;

	for (size_t p = 1; !rc && p < l->threads; p++) {
		rc = nsx_grow(&all->v, &all->cap, all->n + own[p].n, sizeof(*all->v), "stacks", err);
		if (!rc && own[p].n)
			memcpy(all->v + all->n, own[p].v, own[p].n * sizeof(*all->v));
		all->n += own[p].n;
		free(own[p].v);
		own[p].v = NULL;
	}
	if (rc || !all->n)
		return rc;
	nsx_sort(all->v, all->n, sizeof(*all->v), cmp_chains);
	for (size_t i = 0; i < all->n; i++)
		if (kept && all->v[kept - 1].id == all->v[i].id)
			merge_chain(l, &all->v[kept - 1], &all->v[i]);
		else
			all->v[kept++] = all->v[i];
	ret->id = nsx_try_alloc(kept, sizeof(*ret->id), "stacks", err);
	ret->stack = nsx_try_alloc(kept, sizeof(*ret->stack), "stacks", err);
	rc = ret->id && ret->stack ? 0 : err->rc;
	for (size_t i = 0; !rc && i < kept; i++) {
		ret->id[i] = all->v[i].id;
		rc = nsx_group(&l->stacks, all->v[i].leaf, all->v[i].site, &ret->stack[i], err);
	}
	ret->n = rc ? 0 : kept;
	return rc;
}

uint32_t nsx_find_stack(const struct nsx_stacks *s, int64_t id)
{
	size_t lo;

	if (!s->n || id < s->id[0])
		return NSX_NONE; /* most calls have no stack, and id 0 */
	lo = NSX_SEARCH(0, s->n, mid, s->id[mid] < id);
	return lo < s->n && s->id[lo] == id ? s->stack[lo] : NSX_NONE;
}

#define FRAME_FIELDS(view) {NSX_FIELDS(view, id, depth, symbol, module, unresolved)}

int nsx_load_stacks(struct nsx_loader *l, struct nsx_err *err)
{
	enum { NTABLES = 3, NFIELDS = UNRESOLVED + 1 };
	static const enum nsx_field fields[NTABLES][NFIELDS] = {
		FRAME_FIELDS(sample_frame), FRAME_FIELDS(cuda_frame),
		FRAME_FIELDS(osrt_frame)};
	static const enum nsx_view views[NTABLES] = {
		NSX_VIEW_sample_frame, NSX_VIEW_cuda_frame,
		NSX_VIEW_osrt_frame};
	struct nsx_stacks *to[NTABLES] = {&l->sample_stacks, &l->cuda_stacks, &l->osrt_stacks};
	int rc = 0;

	for (unsigned i = 0; !rc && i < NTABLES; i++) {
		struct nsx_tableload table = {.view = views[i],
					      .fields = fields[i],
					      .nfields = NFIELDS,
					      .row = read_frame,
					      .again = repeat_stack,
					      .own_size = sizeof(struct own)};
		NSX_AT_EXIT(nsx_free_at) struct own *own = NULL;

		if (!nsx_has_view(l->schema, views[i]))
			continue;
		own = nsx_alloc(l->threads, sizeof(*own));
		table.own = own;
		rc = nsx_load_tables(l, &table, 1, "stacks", err) ?:
		     join_chains(l, own, to[i], err);
		for (unsigned p = 0; p < l->threads; p++)
			free(own[p].v);
	}
	return rc;
}

/* Samples -----------------------------------------------------------------------*/

enum { S_ID, S_START, S_TID, S_CYCLES };
static const enum nsx_field sample_fields[] = {
	NSX_FIELDS(sample, id, start_ns, global_tid, cycles)};

static int sites_read_sample(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_samples_rw *s = &p->l->samples;
	const struct nsx_window *read = &p->l->t->read;
	size_t at = p->at + p->n;

	(void)err;
	if (!nsx_read_instant(p, &v[S_START], &s->start_ns[at]) ||
	    s->start_ns[at] < read->start_ns ||
	    s->start_ns[at] >= read->end_ns ||
	    nsx_i64_or(&v[S_CYCLES], 1) == 0)
		return 0;
	s->global_tid[at] = (uint64_t)nsx_i64_or(&v[S_TID], 0);
	s->stack[at] = v[S_ID].type == NSX_V_I64 ?
			       nsx_find_stack(&p->l->sample_stacks, v[S_ID].u.i) : NSX_NONE;
	p->n++;
	return 0;
}

NSX_ROW_ORDER(cmp_samples, samples, UP(global_tid), UP(start_ns));

static void slice_samples_by_thread(struct nsx_loader *l, size_t n)
{
	struct nsx_trace *t = l->t;
	const struct nsx_samples_rw *s = &l->samples;
	uint32_t nthreads = 0;

	for (size_t i = 0; i < n; i++)
		nthreads += !i || s->global_tid[i] != s->global_tid[i - 1];
	nsx_few(t->sampled, t->arena, nthreads);
	for (size_t i = 0; i < n; i++) {
		if (!i || s->global_tid[i] != s->global_tid[i - 1])
			t->sampled[t->nsampled++] = (struct nsx_sampled){
				.global_tid = s->global_tid[i], .at = i};
		t->sampled[t->nsampled - 1].n++;
	}
}

NSX_ORDER(cmp_sampled, struct nsx_sampled, UP(global_tid));

/* Names a sampled thread. If it has several rows, the last one wins. */
static void name_sampled(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_sampled want = {.global_tid =
					   (uint64_t)nsx_i64_or(&v[0], 0)};
	struct nsx_sampled *s = l->t->nsampled ?
		bsearch(&want, l->t->sampled, l->t->nsampled, sizeof(want), cmp_sampled) : NULL;

	if (s)
		s->name = nsx_read_thread_name(l, &v[1]);
}

int nsx_load_samples(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_samples_rw *s = &l->samples;
	struct nsx_colset set = {"CPU samples", {
		NSX_COL(s->start_ns), NSX_COL(s->global_tid),
		NSX_COL(s->stack)}, 0};
	struct nsx_tableload table = NSX_TABLE(sample, sample_fields,
					       sites_read_sample, .set = &set);

	if (nsx_load_tables(l, &table, 1, "samples", err) ||
	    nsx_colset_sort(&set, NULL, 0, cmp_samples, l, err) ||
	    nsx_pack_i64(t->arena, s->start_ns, set.n, set.what, &t->samples.start, err))
		return err->rc;
	slice_samples_by_thread(l, set.n);
	nsx_arena_drop(t->arena, s->start_ns);
	nsx_arena_drop(t->arena, s->global_tid);
	NSX_LOAD_EACH(l, thread_name, name_sampled, global_tid, name);
	t->samples.n = set.n;
	t->samples.stack = s->stack;
	return 0;
}

/* Backtraces of calls --------------------------------------------------------------*/

void nsx_count_backtrace(struct nsx_loader *l, const struct nsx_val *id)
{
	if (id->type != NSX_V_I64 || !l->cuda_stacks.n)
		return;
	pthread_mutex_lock(&l->lock);
	l->nfrom_zero += !id->u.i;
	l->most_backtrace = NSX_MAX(l->most_backtrace, id->u.i);
	pthread_mutex_unlock(&l->lock);
}

int nsx_keep_backtrace(struct nsx_part *p, uint64_t process_key,
		       const struct nsx_val *corr, const struct nsx_val *id, struct nsx_err *err)
{
	struct nsx_loader *l = p->l;
	struct nsx_backtrace b = {process_key, 0, nsx_u32_or(corr, 0), NSX_NONE, NSX_NONE};
	bool is_none;
	int rc;

	if (id->type != NSX_V_I64 || !b.corr || !l->cuda_stacks.n)
		return 0;
	b.id = id->u.i;
	pthread_mutex_lock(&l->lock);
	l->most_backtrace = NSX_MAX(l->most_backtrace, b.id);
	/* a reference to id 0 means "no stack", unless it is the only one */
	is_none = !b.id && l->nfrom_zero++;
	rc = is_none ? 0 : nsx_push(l->backtraces, l->nbacktraces,
				    l->cap_backtraces, "backtraces", err, b);
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* The number to add to a call's stack id. It is 1 in exports of 2022, which number stacks from 1
 * but refer to them from 0. Exactly one call then refers to 0, and none to the last stack.
 */
static int64_t stack_id_offset(const struct nsx_loader *l)
{
	const struct nsx_stacks *s = &l->cuda_stacks;

	return l->nfrom_zero == 1 && s->id[0] == 1 && s->id[s->n - 1] - 1 == l->most_backtrace;
}

/* Orders backtraces by call, then by the text of their site, because a call keeps its first
 * backtrace.
 */
static int cmp_backtraces(const void *a, const void *b, void *ctx)
{
	const struct nsx_loader *l = ctx;
	const struct nsx_backtrace *x = a, *y = b;
	uint32_t s, u;

	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	if (x->call == NSX_NONE)
		return 0;
	s = (uint32_t)nsx_group_key(&l->stacks, x->stack).b;
	u = (uint32_t)nsx_group_key(&l->stacks, y->stack).b;
	if (s == NSX_NONE || u == NSX_NONE)
		return (s == NSX_NONE) - (u == NSX_NONE);
	return cmp_frames(l, s, u);
}

int nsx_tie_backtraces(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_backtrace *b = l->backtraces;
	uint32_t *call, *stack, process;
	size_t n = l->nbacktraces, kept = 0;
	int64_t from = stack_id_offset(l);

	for (size_t i = 0; i < n; i++) {
		process = nsx_process_find(t, b[i].process_key);
		b[i].stack = nsx_find_stack(&l->cuda_stacks, b[i].id + from);
		if (process != NSX_NONE && b[i].stack != NSX_NONE)
			b[i].call = nsx_host_call(l, process, b[i].corr, INT64_MIN);
	}
	nsx_sort_r(b, n, sizeof(*b), cmp_backtraces, l);
	if (nsx_new_arrays(t->arena, n, "backtraces", err, call, stack))
		return err->rc;
	for (size_t i = 0; i < n && b[i].call != NSX_NONE; i++)
		if (!kept || call[kept - 1] != b[i].call) {
			call[kept] = b[i].call;
			stack[kept++] = b[i].stack;
		}
	t->backtraces = (struct nsx_backtraces){kept, call, stack};
	return 0;
}

uint32_t nsx_call_stack(const struct nsx_trace *t, uint32_t call)
{
	const struct nsx_backtraces *b = &t->backtraces;
	size_t lo = NSX_SEARCH(0, b->n, mid, b->call[mid] < call);

	return lo < b->n && b->call[lo] == call ? b->stack[lo] : NSX_NONE;
}

/* Hands frames and stacks to the trace. */
int nsx_publish_stacks(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;

	if (nsx_new_arrays(t->arena, l->frames_map.n, "frames", err,
			   t->frame) ||
	    nsx_new_arrays(t->arena, l->stacks.n, "stacks", err, t->stack))
		return err->rc;
	for (size_t i = 0; i < l->frames_map.n; i++) {
		const uint64_t *w = l->frames_map.keys[i].w;

		t->frame[i] = (struct nsx_frame){(nsx_str)w[0], (nsx_str)w[1],
						 (enum nsx_origin)w[2]};
	}
	for (size_t i = 0; i < l->stacks.n; i++)
		t->stack[i] = (struct nsx_stack){
			(uint32_t)nsx_group_key(&l->stacks, i).a,
			(uint32_t)nsx_group_key(&l->stacks, i).b};
	return 0;
}
