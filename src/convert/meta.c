/* meta.c - names and order of processes and threads, as viewers show them. */
#include "convert/convert.h"
#include "schema/viewscan.h"

struct meta {
	struct nsx_conv *c;
	struct nsx_arena *arena;
	const char **process; /* for each process key: escaped name; NULL: none */
	size_t nprocesses;
	struct nsx_val *thread; /* for each real thread id: its name cell */
	size_t nthreads;
	bool has_hosts; /* processes of several hosts, whose pids may be equal */
	const char *gpu; /* escaped model if all GPUs have the same one, otherwise "" */
	struct nsx_buf b;
};

static int use_thread_name(void *ctx, int64_t rid NSX_UNUSED,
			   const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_conv *c = ctx;

	return nsx_names_use(c->names, &v[0], err);
}

int nsx_convert_use_names(struct nsx_conv *c, struct nsx_err *err)
{
	return nsx_view_each(c->schema, thread_name, use_thread_name, c, err, name, global_tid);
}

/* Reading ----------------------------------------------------------------------*/

static const char *escape_name(struct meta *m, const struct nsx_val *v)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (v->type == NSX_V_TEXT)
		nsx_names_text(m->c->names, &b, v->u.p, NSX_MIN(v->len, 256));
	return nsx_arena_strndup(m->arena, b.p ? b.p : "", b.n);
}

/* Cuts an escaped name down to the part that `label` returns of a plain one. Single backslashes,
 * which begin the escape of another character, are no separators.
 */
static const char *cut_path(struct meta *m, const char *name, const char *(*label)(const char *))
{
	char *plain = nsx_arena_strndup(m->arena, name, strlen(name));

	for (char *p = plain; !m->c->names->is_plain && (p = strchr(p, '\\')) && p[1]; p += 2)
		if (p[1] != '\\')
			p[0] = p[1] = ' ';
	return name + (label(plain) - plain);
}

static int read_thread(void *ctx, int64_t rid NSX_UNUSED,
		       const struct nsx_val *v, struct nsx_err *err)
{
	struct meta *m = ctx;
	struct nsx_tracks *t = &m->c->tracks;
	uint32_t at;

	if (nsx_group(&t->tids, (uint64_t)nsx_i64_or(&v[1], 0), 0, &at, err))
		return err->rc;
	if (at < m->nthreads && v[0].type == NSX_V_I64)
		m->thread[at] = v[0]; /* the last row wins */
	return 0;
}

static int meta_read_process(void *ctx, int64_t rid NSX_UNUSED,
			     const struct nsx_val *v, struct nsx_err *err)
{
	struct meta *m = ctx;
	uint32_t at;

	if (nsx_tracks_process(&m->c->tracks, nsx_read_process_key(&v[0], &v[1]), &at, err))
		return err->rc;
	if (at >= m->nprocesses)
		return 0;
	m->process[at] = cut_path(m, escape_name(m, &v[2]), nsx_title_label);
	return 0;
}

static int read_gpu(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
		    struct nsx_err *err NSX_UNUSED)
{
	struct meta *m = ctx;
	const char *name = escape_name(m, &v[0]);

	m->gpu = !m->gpu || !strcmp(m->gpu, name) ? name : "";
	return 0;
}

static int meta_read_names(struct meta *m, struct nsx_err *err)
{
	const struct nsx_schema *s = m->c->schema;
	const struct nsx_groups *keys = &m->c->tracks.process_keys;
	int64_t host = 0;

	m->nthreads = m->c->tracks.tids.n;
	m->nprocesses = keys->n;
	for (size_t i = 0; i < m->nprocesses; i++) {
		int64_t of = nsx_vm_of(nsx_group_key(keys, i).a);

		m->has_hosts |= of && host && of != host;
		if (of)
			host = of;
	}
	if (!nsx_new_array(m->thread, m->arena, m->nthreads, "threads", err) ||
	    !nsx_new_array(m->process, m->arena, m->nprocesses, "processes", err))
		return err->rc;
	return nsx_view_each(s, thread_name, read_thread, m, err, name,
			     global_tid) ?:
	       nsx_view_each(s, process, meta_read_process, m, err, global_pid, pid,
			     name) ?:
	       nsx_view_each(s, gpu, read_gpu, m, err, name);
}

/* Writing ----------------------------------------------------------------------*/

/* Orders groups by process, then CPU, GPU, counters; orders tracks also by stream or thread, then
 * activity.
 */
struct by_words {
	const struct nsx_key *keys;
	unsigned order[5], n; /* which words of the keys are compared, in this order */
};

static int meta_cmp_words(const void *a, const void *b, void *ctx)
{
	const struct by_words *by = ctx;
	const uint64_t *x = by->keys[*(const uint32_t *)a].w;
	const uint64_t *y = by->keys[*(const uint32_t *)b].w;

	return NSX_FIRST(i, by->n, x[by->order[i]] != y[by->order[i]],
			 x[by->order[i]] < y[by->order[i]] ? -1 : 1, 0);
}

static uint32_t *sort_track_indices(struct meta *m, size_t n, struct by_words by,
				    struct nsx_err *err)
{
	uint32_t *v = nsx_arena_try_array(m->arena, n, sizeof(*v), "tracks", err);

	if (!v)
		return NULL;
	for (uint32_t i = 0; i < n; i++)
		v[i] = i;
	nsx_sort_r(v, n, sizeof(*v), meta_cmp_words, &by);
	return v;
}

static int meta_name_group(struct meta *m, uint32_t g, size_t order, struct nsx_err *err)
{
	const struct nsx_key *key = &m->c->tracks.group_keys.keys[g];
	const char *process = "process";
	uint32_t at, pid = (uint32_t)nsx_pid_of(key->w[1]);

	nsx_buf_clear(&m->b);
	if (key->w[0] == NSX_G_REPORT) {
		nsx_buf_adds(&m->b, "nsys-explain");
	} else if (key->w[0] == NSX_G_METRIC) {
		nsx_buf_printf(&m->b, "GPU %d counters", (int)(key->w[1] & 0xff));
	} else {
		if (nsx_tracks_process(&m->c->tracks, key->w[1], &at, err))
			return err->rc;
		if (at < m->nprocesses && m->process[at] && *m->process[at])
			process = m->process[at];
		if (key->w[0] == NSX_G_GPU)
			nsx_buf_printf(&m->b, "GPU %lld%s%s of ", (long long)key->w[2],
				       m->gpu && *m->gpu ? " " : "", m->gpu ? m->gpu : "");
		nsx_buf_printf(&m->b, "%s %u", process, pid);
		if (m->has_hosts)
			nsx_buf_printf(&m->b, " (host %lld)", (long long)nsx_vm_of(key->w[1]));
	}
	m->c->writer->name_group(m->c, g, m->b.p, order);
	return 0;
}

/* Fills m->b with the owner of the track. Returns the kind of its content. */
static const char *meta_thread_label(struct meta *m, const struct nsx_key *key)
{
	static const char *const what[] = {
		[NSX_A_NVTX] = "NVTX", [NSX_A_API] = "CUDA API",
		[NSX_A_LIBRARY] = "libraries",
		[NSX_A_OSRT] = "OS runtime", [NSX_A_SCHED] = "on CPU",
	};
	struct nsx_tracks *t = &m->c->tracks;
	struct nsx_err ignored;
	const char *name = NULL, *label;
	uint32_t at;
	size_t n = 0, id, begin = m->b.n;

	if (!nsx_group(&t->tids, key->w[1] | key->w[4], 0, &at, &ignored) &&
	    at < m->nthreads && m->thread[at].type == NSX_V_I64)
		name = nsx_names_get(m->c->names, m->thread[at].u.i, &n, &id);
	nsx_buf_add(&m->b, name ? name : "thread", name ? n : 6);
	if (m->b.n > begin) {
		label = cut_path(m, m->b.p + begin, nsx_thread_label);
		m->b.n = begin + strlen(label);
		memmove(m->b.p + begin, label, strlen(label) + 1);
	}
	nsx_buf_printf(&m->b, " %llu", (unsigned long long)key->w[4]);
	return what[key->w[0]];
}

static const char *meta_stream_label(struct meta *m, const struct nsx_key *key)
{
	static const char *const what[] = {
		[NSX_A_KERNEL] = "kernels", [NSX_A_MEMCPY] = "copies",
		[NSX_A_MEMSET] = "memsets", [NSX_A_GRAPH] = "graphs",
	};

	if (key->w[0] == NSX_A_NVTX_GPU) {
		nsx_buf_printf(&m->b, "NVTX of thread %lld", (long long)key->w[4]);
		return NULL;
	}
	nsx_buf_printf(&m->b, "context %lld stream %lld",
		       (long long)key->w[3], (long long)key->w[4]);
	return what[key->w[0]];
}

static void name_track(struct meta *m, uint32_t at, size_t *order)
{
	const struct nsx_track *t = &m->c->tracks.tracks[at];
	struct nsx_key key = m->c->tracks.track_keys.keys[at];
	const char *what = NULL, *name;

	nsx_buf_clear(&m->b);
	if (key.w[0] == NSX_A_FINDING) {
		name = nsx_findings_track(m->c, key.w[4]);
		nsx_names_text(m->c->names, &m->b, name, strlen(name));
	} else {
		what = key.w[0] < NSX_A_KERNEL ? meta_thread_label(m, &key) :
						 meta_stream_label(m, &key);
	}
	for (size_t i = 0; i < t->nlanes; i++)
		m->c->writer->name_lane(m->c, at, i, m->b.p, what, (*order)++);
}

static int put_names(struct meta *m, struct nsx_err *err)
{
	/* The number is taken now, because looking names up may add groups. */
	const struct nsx_tracks *t = &m->c->tracks;
	size_t ngroups = t->group_keys.n, ntracks = t->track_keys.n, order = 0;
	uint32_t *groups = sort_track_indices(m, ngroups, (struct by_words){
		t->group_keys.keys, {1, 0, 2}, 3}, err);
	uint32_t *tracks = sort_track_indices(m, ntracks, (struct by_words){
		t->track_keys.keys, {1, 2, 3, 4, 0}, 5}, err);

	if (!groups || !tracks)
		return err->rc;
	for (size_t i = 0; i < ngroups; i++)
		if (meta_name_group(m, groups[i], i, err))
			return err->rc;
	for (size_t i = 0; i < ntracks; i++)
		name_track(m, tracks[i], &order);
	return nsx_stopped(err);
}

int nsx_convert_names(struct nsx_conv *c, struct nsx_err *err)
{
	struct meta m = {.c = c, .arena = nsx_arena_new()};
	int rc = meta_read_names(&m, err) ?: put_names(&m, err);

	nsx_buf_done(&m.b);
	nsx_arena_free(m.arena);
	return rc;
}
