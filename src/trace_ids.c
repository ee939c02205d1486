/* trace_ids.c - processes, threads, devices, streams, domains, shapes.
 *
 * While rows were read, ids counted up in the order threads met them. Here
 * they are sorted by what they mean and every column is renumbered, so that
 * no output depends on timing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "trace_load.h"

/* Runs sql and hands every row to fn. A damaged small table is a warning. */
static void each_row(struct nsx_loader *l, enum nsx_view view,
		     const char *columns, unsigned n,
		     void (*fn)(struct nsx_loader *l, const struct nsx_val *v))
{
	NSX_AT_EXIT(nsx_stmt_done) struct nsx_stmt *s = NULL;
	struct nsx_val v[16] = {{0}};
	struct nsx_buf sql = {0};
	struct nsx_err err;
	int rc;

	if (!nsx_has_view(l->schema, view))
		return;
	nsx_buf_printf(&sql, "SELECT %s FROM %s", columns,
		       nsx_view_defs[view].name);
	rc = nsx_db_prepare(l->schema->db, sql.p, &s, &err);
	nsx_buf_done(&sql);
	while (!rc && (rc = nsx_step(s, &err)) == 1) {
		for (unsigned i = 0; i < n; i++)
			nsx_read_val(s, (int)i, &v[i]);
		fn(l, v);
		rc = 0;
	}
	if (rc < 0) {
		nsx_load_warn(l, "table %s is damaged: %s",
			      l->schema->table[view]->name, err.msg);
		l->t->damaged = true;
	}
}

/* A small thing that could not be kept: said, and the report is partial. */
static void lose(struct nsx_loader *l, const struct nsx_err *err)
{
	nsx_load_warn(l, "%s", err->msg);
	l->t->damaged = true;
}

static nsx_str add_text(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_err err;
	nsx_str s = 0;

	if (v->type == NSX_V_TEXT && v->len &&
	    nsx_strings_add(l->t->strings, v->u.p, v->len, &s, &err))
		lose(l, &err);
	return s;
}

/* Sorted order of a keymap's keys, and new number of each old id. */
struct renumber {
	uint32_t *order, *new_id;
};

static int cmp_keys(const void *a, const void *b, void *ctx)
{
	const struct nsx_key *keys = ctx;
	const struct nsx_key *x = &keys[*(const uint32_t *)a];
	const struct nsx_key *y = &keys[*(const uint32_t *)b];

	for (unsigned i = 0; i < NSX_KEY_WORDS; i++)
		if (x->w[i] != y->w[i])
			return x->w[i] < y->w[i] ? -1 : 1;
	return 0;
}

static int renumber(const struct nsx_keymap *m, struct nsx_arena *a,
		    struct renumber *ret, struct nsx_err *err)
{
	ret->order = nsx_arena_try_array(a, m->n, 4, m->what, err);
	ret->new_id = nsx_arena_try_array(a, m->n, 4, m->what, err);
	if (!ret->order || !ret->new_id)
		return err->rc;
	for (uint32_t i = 0; i < m->n; i++)
		ret->order[i] = i;
	qsort_r(ret->order, m->n, sizeof(uint32_t), cmp_keys, m->keys);
	for (uint32_t i = 0; i < m->n; i++)
		ret->new_id[ret->order[i]] = i;
	return 0;
}

static void remap(uint32_t *column, size_t n, const uint32_t *new_id)
{
	for (size_t i = 0; i < n; i++)
		if (column[i] != NSX_NONE)
			column[i] = new_id[column[i]];
}

/* Processes and threads ---------------------------------------------------*/

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Kernels of exports without a process column: theirs is the only process
 * that made API calls, where there is just one.
 */
static uint64_t lone_process(const struct nsx_loader *l)
{
	uint64_t key = 0;

	for (size_t i = 0; i < l->threads_map.n; i++) {
		uint64_t k = l->threads_map.keys[i].w[0] & ~UINT64_C(0xffffff);

		if (key && k && k != key)
			return 0;
		key = k ? k : key;
	}
	return key;
}

static int make_processes(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t n = 0, most = l->threads_map.n + l->streams_map.n +
			     l->domains_map.n;
	uint64_t *keys = nsx_try_alloc(most, sizeof(*keys), "processes", err);

	if (!keys)
		return err->rc;
	for (size_t i = 0; i < l->threads_map.n; i++)
		keys[n++] = l->threads_map.keys[i].w[0] & ~UINT64_C(0xffffff);
	for (size_t i = 0; i < l->streams_map.n; i++)
		keys[n++] = l->streams_map.keys[i].w[0];
	for (size_t i = 0; i < l->domains_map.n; i++)
		keys[n++] = l->domains_map.keys[i].w[0];
	qsort(keys, n, sizeof(*keys), cmp_u64);
	t->process = nsx_arena_try_array(t->arena, n, sizeof(*t->process),
					 "processes", err);
	for (size_t i = 0; t->process && i < n; i++)
		if (!i || keys[i] != keys[i - 1])
			t->process[t->nprocesses++] = (struct nsx_process){
				.key = keys[i],
				.pid = (int64_t)(keys[i] >> 24 & 0xffffff),
			};
	free(keys);
	return t->process ? 0 : err->rc;
}

uint32_t nsx_process_find(const struct nsx_trace *t, uint64_t key)
{
	uint32_t lo = 0, hi = t->nprocesses;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->process[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->nprocesses && t->process[lo].key == key ? lo : NSX_NONE;
}

static void name_process(struct nsx_loader *l, const struct nsx_val *v)
{
	uint64_t key = nsx_read_process_key(&v[0], &v[1]);
	uint32_t p = nsx_process_find(l->t, key);

	if (p != NSX_NONE)
		l->t->process[p].name = add_text(l, &v[2]);
}

uint32_t nsx_thread_find(const struct nsx_trace *t, uint64_t global_tid)
{
	uint32_t lo = 0, hi = t->nthreads;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->thread[mid].global_tid < global_tid)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->nthreads && t->thread[lo].global_tid == global_tid ?
		       lo : NSX_NONE;
}

/* Several rows a thread are possible: the last one wins. */
static void name_thread(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_part p = {.l = l};
	struct nsx_err err;
	uint32_t thread;
	nsx_str name;

	if (v[0].type != NSX_V_I64)
		return;
	thread = nsx_thread_find(l->t, (uint64_t)v[0].u.i);
	if (thread == NSX_NONE)
		return;
	if (nsx_read_name(&p, &v[1], &name, &err))
		lose(l, &err);
	else
		l->t->thread[thread].name = name;
}

static int order_threads(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct renumber r;

	if (renumber(&l->threads_map, t->arena, &r, err))
		return err->rc;
	t->nthreads = (uint32_t)l->threads_map.n;
	t->thread = nsx_arena_try_array(t->arena, t->nthreads,
					sizeof(*t->thread), "threads", err);
	if (!t->thread)
		return err->rc;
	for (uint32_t i = 0; i < t->nthreads; i++) {
		uint64_t g = l->threads_map.keys[r.order[i]].w[0];

		t->thread[i].global_tid = g;
		t->thread[i].tid = (int64_t)(g & 0xffffff);
		t->thread[i].process = nsx_process_find(t, g & ~UINT64_C(0xffffff));
	}
	remap(l->calls.thread, l->call_set.n, r.new_id);
	remap(l->nvtx.thread, l->nvtx_set.n, r.new_id);
	remap(l->overheads.thread, l->overhead_set.n, r.new_id);
	for (size_t i = 0; i < l->sync_set.n; i++)
		l->syncs.process[i] =
			t->thread[r.new_id[l->syncs.process[i]]].process;
	for (size_t i = 0; i < l->record_set.n; i++)
		l->records.process[i] =
			t->thread[r.new_id[l->records.process[i]]].process;
	each_row(l, NSX_VIEW_process, "global_pid, pid, name", 3, name_process);
	each_row(l, NSX_VIEW_thread_name, "global_tid, name", 2, name_thread);
	return 0;
}

static int order_domains(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct renumber r;

	if (renumber(&l->domains_map, t->arena, &r, err))
		return err->rc;
	t->ndomains = (uint32_t)l->domains_map.n;
	t->domain = nsx_arena_try_array(t->arena, t->ndomains,
					sizeof(*t->domain), "domains", err);
	if (!t->domain)
		return err->rc;
	for (uint32_t i = 0; i < t->ndomains; i++) {
		const struct nsx_key *k = &l->domains_map.keys[r.order[i]];

		t->domain[i].process = nsx_process_find(t, k->w[0]);
		t->domain[i].domain_id = (int64_t)k->w[1];
	}
	remap(l->nvtx.domain, l->nvtx_set.n, r.new_id);
	return 0;
}

#define MAX_GPUS 256
#define MAX_DEVICES 4096

/* GPUs, devices, streams -----------------------------------------------------*/

static void add_gpu(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_trace *t = l->t;
	struct nsx_gpu_info *g;

	if (t->ngpus == MAX_GPUS)
		return;
	g = &t->gpu[t->ngpus++];
	g->id = nsx_i64_or(&v[0], -1);
	g->name = add_text(l, &v[1]);
	g->uuid = add_text(l, &v[2]);
	g->bus = add_text(l, &v[3]);
	int64_t *numbers[] = {
		&g->cuda_device, &g->memory_bytes, &g->bandwidth_bytes_per_s,
		&g->sm_count, &g->compute_major, &g->compute_minor,
		&g->max_warps_per_sm, &g->max_blocks_per_sm,
		&g->max_shared_per_block, &g->max_shared_per_block_optin,
		&g->max_shared_per_sm, &g->max_registers_per_sm,
	};
	for (unsigned i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = nsx_i64_or(&v[4 + i], -1);
}

static void add_gpu_rest(struct nsx_loader *l, const struct nsx_val *v)
{
	for (uint32_t i = 0; i < l->t->ngpus; i++)
		if (l->t->gpu[i].id == nsx_i64_or(&v[0], -1)) {
			l->t->gpu[i].max_registers_per_block =
				nsx_i64_or(&v[1], -1);
			l->t->gpu[i].threads_per_warp = nsx_i64_or(&v[2], -1);
		}
}

static void load_gpus(struct nsx_loader *l)
{
	l->t->gpu = nsx_arena_get(l->t->arena, MAX_GPUS * sizeof(*l->t->gpu));
	each_row(l, NSX_VIEW_gpu,
		 "id, name, uuid, bus, cuda_device, memory_bytes, bandwidth, "
		 "sm_count, compute_major, compute_minor, max_warps_per_sm, "
		 "max_blocks_per_sm, max_shared_per_block, "
		 "max_shared_per_block_optin, max_shared_per_sm, "
		 "max_registers_per_sm", 16, add_gpu);
	each_row(l, NSX_VIEW_gpu, "id, max_registers_per_block, "
		 "threads_per_warp", 3, add_gpu_rest);
}

static void add_ordinal(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_err err;

	if (nsx_grow(&l->ordinals, &l->cap_ordinals, l->nordinals + 1,
		     sizeof(*l->ordinals), "CUDA devices", &err)) {
		lose(l, &err);
		return;
	}
	l->ordinals[l->nordinals++] = (struct nsx_ordinal){
		.pid = nsx_i64_or(&v[0], -1),
		.device_id = nsx_i64_or(&v[1], -1),
		.gpu_id = nsx_i64_or(&v[2], -1),
		.uuid = add_text(l, &v[3]),
	};
}

static nsx_str gpu_key(struct nsx_loader *l, const struct nsx_ordinal *o)
{
	struct nsx_err err;
	char text[32];
	nsx_str s = 0;

	if (o->uuid)
		return o->uuid;
	for (uint32_t i = 0; i < l->t->ngpus; i++)
		if (l->t->gpu[i].id == o->gpu_id && l->t->gpu[i].uuid)
			return l->t->gpu[i].uuid;
	snprintf(text, sizeof(text), "gpu%lld", (long long)o->gpu_id);
	if (nsx_strings_add(l->t->strings, text, strlen(text), &s, &err))
		lose(l, &err);
	return s;
}

/* The device a process means by an ordinal; adds it if it is new. */
static uint32_t device_of(struct nsx_loader *l, uint32_t process,
			  int64_t device_id)
{
	struct nsx_trace *t = l->t;
	struct nsx_device d = {.device_id = device_id, .gpu_id = -1};

	for (size_t i = 0; i < l->nordinals && process != NSX_NONE; i++)
		if (l->ordinals[i].pid == t->process[process].pid &&
		    l->ordinals[i].device_id == device_id) {
			d.gpu = gpu_key(l, &l->ordinals[i]);
			d.gpu_id = l->ordinals[i].gpu_id;
		}
	for (uint32_t i = 0; i < t->ndevices; i++)
		if (t->device[i].device_id == device_id &&
		    t->device[i].gpu == d.gpu)
			return i;
	if (t->ndevices == MAX_DEVICES) {
		nsx_load_warn(l, "more than %d GPUs: the others are shown as "
			      "the first", MAX_DEVICES);
		return 0;
	}
	t->device[t->ndevices] = d;
	return t->ndevices++;
}

static int cmp_devices(const void *a, const void *b, void *ctx)
{
	const struct nsx_trace *t = ctx;
	const struct nsx_device *x = a, *y = b;

	if (x->device_id != y->device_id)
		return x->device_id < y->device_id ? -1 : 1;
	return nsx_str_cmp(t->strings, x->gpu, y->gpu);
}

/* Devices in order; the streams' device indices follow. */
static int sort_devices(struct nsx_trace *t, struct nsx_err *err)
{
	struct nsx_device *old = nsx_try_alloc(t->ndevices, sizeof(*old),
					       "devices", err);

	if (!old)
		return err->rc;
	memcpy(old, t->device, t->ndevices * sizeof(*old));
	qsort_r(t->device, t->ndevices, sizeof(*t->device), cmp_devices, t);
	for (uint32_t s = 0; s < t->nstreams; s++)
		for (uint32_t d = 0; d < t->ndevices; d++)
			if (!cmp_devices(&t->device[d],
					 &old[t->stream[s].device], t)) {
				t->stream[s].device = d;
				break;
			}
	free(old);
	return 0;
}

/* Rows of waits name a stream without its device: it is the (first) stream of
 * that process, context and number that GPU work ran on.  In the order of keys
 * the rows without a device come last of their process.
 */
struct alike {
	struct nsx_keymap map; /* {process, context, stream} */
	struct nsx_keycache cache;
	uint32_t *stream; /* by id of map */
};

static int place_stream(struct nsx_loader *l, const uint64_t *w, uint64_t lone,
			struct alike *alike, uint32_t *ret_id,
			struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_key key = {{w[0], w[2], w[3]}};
	struct nsx_stream *s = &t->stream[t->nstreams];
	size_t known = alike->map.n;
	uint32_t id;

	if (nsx_keymap_add(&alike->map, &alike->cache, &key, &id, err))
		return err->rc;
	if (w[1] == UINT64_MAX) {
		if (id == known)
			alike->stream[id] = NSX_NONE;
		*ret_id = alike->stream[id];
		return 0;
	}
	if (id == known)
		alike->stream[id] = t->nstreams;
	s->process = nsx_process_find(t, w[0] ? w[0] : lone);
	s->context_id = (int64_t)w[2];
	s->stream_id = (int64_t)w[3];
	s->device = device_of(l, s->process, (int64_t)w[1]);
	*ret_id = t->nstreams++;
	return 0;
}

static int place_streams(struct nsx_loader *l, uint32_t *new_id,
			 struct nsx_err *err)
{
	bool has_process = nsx_has(l->schema, NSX_F_kernel_global_pid) ||
			   nsx_has(l->schema, NSX_F_kernel_pid);
	uint64_t lone = has_process ? 0 : lone_process(l);
	struct alike *alike = nsx_try_alloc(1, sizeof(*alike), "streams", err);
	struct renumber r;
	int rc;

	if (!alike)
		return err->rc;
	rc = renumber(&l->streams_map, l->t->arena, &r, err);
	if (rc) {
		free(alike);
		return rc;
	}
	nsx_keymap_init(&alike->map, "streams");
	alike->stream = nsx_try_alloc(l->streams_map.n, 4, "streams", err);
	if (!alike->stream)
		rc = err->rc;
	for (size_t k = 0; alike->stream && !rc && k < l->streams_map.n; k++)
		rc = place_stream(l, l->streams_map.keys[r.order[k]].w, lone,
				  alike, &new_id[r.order[k]], err);
	nsx_keymap_done(&alike->map);
	free(alike->stream);
	free(alike);
	return rc;
}

static int order_streams(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t n = l->streams_map.n;
	uint32_t *new_id = nsx_arena_try_array(t->arena, n, 4, "streams", err);

	t->stream = nsx_arena_try_array(t->arena, n, sizeof(*t->stream),
					"streams", err);
	t->device = nsx_arena_try_array(t->arena, MAX_DEVICES,
					sizeof(*t->device), "devices", err);
	if (!new_id || !t->stream || !t->device)
		return err->rc;
	each_row(l, NSX_VIEW_cuda_device, "pid, cuda_id, gpu_id, uuid", 4,
		 add_ordinal);
	if (place_streams(l, new_id, err))
		return err->rc;
	remap(l->ops.stream, l->op_set.n, new_id);
	remap(l->syncs.stream, l->sync_set.n, new_id);
	remap(l->records.stream, l->record_set.n, new_id);
	return sort_devices(t, err);
}

/* Peer copies ------------------------------------------------------------------*/

#define PEER_TO_PEER 10

static uint32_t find_device(struct nsx_loader *l, uint32_t process,
			    uint32_t ordinal)
{
	uint32_t n = l->t->ndevices, d;

	if (ordinal == NSX_NONE)
		return NSX_NONE;
	d = device_of(l, process, ordinal);
	l->t->ndevices = n; /* only devices that have work of their own */
	return d < n ? d : NSX_NONE;
}

static int add_peers(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_ops_rw *o = &l->ops;
	size_t n = l->op_set.n, npeers = 0;

	for (size_t i = 0; i < l->copy_set.n; i++) {
		struct nsx_copy *c = &l->copies[i];
		uint32_t process = l->t->stream[o->stream[i]].process;

		o->detail[i] = (uint32_t)i;
		npeers += c->copy_kind == PEER_TO_PEER;
		c->src_device = find_device(l, process, c->src_device);
		c->dst_device = find_device(l, process, c->dst_device);
	}
	if (npeers && nsx_colset_grow(&l->op_set, l->t->arena, npeers, err))
		return err->rc;
	l->op_set.n = n;
	for (size_t i = 0; i < l->copy_set.n && npeers; i++) {
		const struct nsx_copy *c = &l->copies[i];
		uint32_t own = l->t->stream[o->stream[i]].device;
		uint32_t other = c->src_device == own ? c->dst_device :
							c->src_device;

		if (c->copy_kind != PEER_TO_PEER || other == own ||
		    other == NSX_NONE)
			continue;
		nsx_colset_move(&l->op_set, l->op_set.n, i, 1);
		o->flags[l->op_set.n] |= NSX_OP_PEER;
		l->op_set.n++;
	}
	return 0;
}

/* Shapes and replays -----------------------------------------------------------*/

static int fill_shapes(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t n = l->shapes_map.n;

	t->shape = nsx_arena_try_array(t->arena, n, sizeof(*t->shape),
				       "launch configurations", err);
	if (!t->shape)
		return err->rc;
	t->nshapes = (uint32_t)n;
	for (size_t i = 0; i < n; i++) {
		const uint64_t *w = l->shapes_map.keys[i].w;
		struct nsx_shape *s = &t->shape[i];

		s->name = (nsx_str)(w[5] >> 32);
		s->base_name = (nsx_str)(w[0] >> 32);
		s->grid[0] = (uint32_t)w[0];
		s->grid[1] = (uint32_t)(w[1] >> 32);
		s->grid[2] = (uint32_t)w[1];
		s->block[0] = (uint32_t)(w[2] >> 32);
		s->block[1] = (uint32_t)w[2];
		s->block[2] = (uint32_t)(w[3] >> 32);
		s->registers = (uint32_t)w[3];
		s->static_shared_bytes = (uint32_t)(w[4] >> 32);
		s->dynamic_shared_bytes = (uint32_t)w[4];
		s->known = w[5] >> 31 & 1;
		s->graph_id = (w[5] & 0x7fffffff) == 0x7fffffff ?
				      NSX_NONE : (uint32_t)(w[5] & 0x7fffffff);
		s->op = (uint8_t)nsx_classify_comm(nsx_text(t, s->base_name),
						   nsx_text(t, s->name));
	}
	t->replay = nsx_arena_try_array(t->arena, l->replays_map.n,
					sizeof(*t->replay), "graphs", err);
	if (!t->replay)
		return err->rc;
	t->nreplays = (uint32_t)l->replays_map.n;
	for (uint32_t i = 0; i < t->nreplays; i++) {
		uint64_t w = l->replays_map.keys[i].w[0];

		t->replay[i] = (struct nsx_replay){(uint32_t)(w >> 32),
						   (uint32_t)w};
	}
	return 0;
}

int nsx_order_ids(struct nsx_loader *l, struct nsx_err *err)
{
	int rc = make_processes(l, err);

	load_gpus(l);
	if (!rc)
		rc = order_threads(l, err);
	if (!rc)
		rc = order_domains(l, err);
	if (!rc)
		rc = order_streams(l, err);
	if (!rc)
		rc = add_peers(l, err);
	if (!rc)
		rc = fill_shapes(l, err);
	return rc;
}

/* NVTX domains -------------------------------------------------------------*/

/* Domains are in the order of (process key, domain id). */
static struct nsx_domain *find_domain(struct nsx_trace *t, uint64_t key,
				      int64_t id)
{
	uint32_t lo = 0, hi = t->ndomains;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		uint64_t k = t->process[t->domain[mid].process].key;

		if (k < key || (k == key && t->domain[mid].domain_id < id))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < t->ndomains && t->domain[lo].domain_id == id &&
			       t->process[t->domain[lo].process].key == key ?
		       &t->domain[lo] :
		       NULL;
}

/* A domain whose creation was not recorded is NCCL's when all names in it are
 * of NCCL's API (trimmed exports have no creation rows).
 */
static int guess_nccl(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	uint8_t *other = nsx_try_alloc(t->ndomains, 1, "domains", err);

	if (!other)
		return err->rc;
	for (size_t i = 0; i < t->nvtx.n; i++)
		if (strncmp(nsx_text(t, t->nvtx.name[i]), "nccl", 4))
			other[t->nvtx.domain[i]] = 1;
	for (uint32_t i = 0; i < t->ndomains; i++)
		if (!t->domain[i].name && t->domain[i].domain_id && !other[i])
			t->domain[i].is_nccl = t->domain[i].is_library = true;
	free(other);
	return 0;
}

int nsx_name_domains(struct nsx_loader *l, struct nsx_err *err)
{
	static const char *const libraries[] = {"NCCL", "cuBLAS", "cuDNN",
						"CUBLAS", "CUDNN", "cuSOLVER",
						"cuSPARSE", "cuFFT", "NVSHMEM"};
	struct nsx_trace *t = l->t;

	for (size_t i = 0; i < l->ncreated; i++) {
		const struct nsx_created *c = &l->created[i];
		struct nsx_domain *d = find_domain(t, c->process_key,
						   c->domain_id);

		if (d)
			d->name = c->name;
	}
	for (uint32_t i = 0; i < t->ndomains; i++)
		for (unsigned k = 0; k < ARRAY_LEN(libraries); k++)
			if (!strcmp(nsx_text(t, t->domain[i].name),
				    libraries[k])) {
				t->domain[i].is_library = true;
				t->domain[i].is_nccl = !k;
			}
	return guess_nccl(l, err);
}
