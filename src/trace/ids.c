/* ids.c - processes, threads, domains and shapes (devices and streams: devices.c).
 *
 * While rows were read, ids were assigned in the order in which threads met them. Here they are
 * sorted by meaning and every column is renumbered, so that no output depends on timing.
 */
#include <stdio.h>
#include "base/stat.h"
#include "trace/load.h"

/* Processes and threads ---------------------------------------------------*/

static void make_processes(struct nsx_loader *l)
{
	struct nsx_trace *t = l->t;
	size_t n = 0, most = l->threads_map.n + l->streams_map.n + l->domains_map.n;
	NSX_AT_EXIT(nsx_free_at) uint64_t *keys = nsx_alloc(most, sizeof(*keys));

	for (size_t i = 0; i < l->threads_map.n; i++)
		keys[n++] = nsx_process_key(l->threads_map.keys[i].w[0]);
	for (size_t i = 0; i < l->streams_map.n; i++)
		keys[n++] = l->streams_map.keys[i].w[0];
	for (size_t i = 0; i < l->domains_map.n; i++)
		keys[n++] = l->domains_map.keys[i].w[0];
	nsx_sort(keys, n, sizeof(*keys), nsx_cmp_u64);
	nsx_few(t->process, t->arena, n);
	for (size_t i = 0; i < n; i++)
		if (!i || keys[i] != keys[i - 1])
			t->process[t->nprocesses++] = (struct nsx_process){
				.key = keys[i],
				.pid = nsx_pid_of(keys[i]),
			};
}

NSX_ORDER_IN(cmp_pids, uint32_t, struct nsx_trace, UP(c->process[*x].pid), UP(*x));

static void label_processes(struct nsx_loader *l)
{
	struct nsx_trace *t = l->t;
	uint32_t n = t->nprocesses;
	NSX_AT_EXIT(nsx_free_at) uint32_t *order = nsx_alloc(n, sizeof(*order));

	nsx_sort_indices(order, n, cmp_pids, t);
	for (uint32_t i = 0; i < n; i++) {
		struct nsx_process *p = &t->process[order[i]];
		char text[64];
		int len = snprintf(text, sizeof(text), "%lld", (long long)p->pid);

		if ((i && t->process[order[i - 1]].pid == p->pid) ||
		    (i + 1 < n && t->process[order[i + 1]].pid == p->pid))
			snprintf(text + len, sizeof(text) - (size_t)len, " (host %lld)",
				 (long long)nsx_vm_of(p->key));
		p->label = nsx_strings_put(l->strings, text);
	}
}

static void name_process(struct nsx_loader *l, const struct nsx_val *v)
{
	uint64_t key = nsx_read_process_key(&v[0], &v[1]);
	uint32_t p = nsx_process_find(l->t, key);

	if (p != NSX_NONE)
		l->t->process[p].name = nsx_read_text(l, &v[2]);
}

/* Names a thread. If it has several rows, the last one wins. */
static void ids_name_thread(struct nsx_loader *l, const struct nsx_val *v)
{
	uint32_t thread = v[0].type == NSX_V_I64 ?
		nsx_thread_find(l->t, (uint64_t)v[0].u.i) : NSX_NONE;

	if (thread != NSX_NONE)
		l->t->thread[thread].name = nsx_read_thread_name(l, &v[1]);
}

#define LAUNCHER "nsys-launcher"
enum { SYSTEM_NAME = 20 }; /* priority of a name that the operating system gave */

/* Renames a process that PROCESSES lists under the profiler's launcher, after its first thread that
 * the operating system named: that thread has the program's name.
 */
static void rename_launched_process(struct nsx_loader *l, const struct nsx_val *v)
{
	uint64_t tid = (uint64_t)nsx_i64_or(&v[0], 0), *by;
	uint32_t p = nsx_process_find(l->t, nsx_process_key(tid));
	const char *text;
	nsx_str name;

	if (v[0].type != NSX_V_I64 || p == NSX_NONE || nsx_i64_or(&v[2], 0) != SYSTEM_NAME)
		return;
	by = &l->named_by[p];
	if (*by ? tid >= *by :
		  strcmp(nsx_strings_text(l->strings, l->t->process[p].name), LAUNCHER))
		return;
	name = nsx_read_thread_name(l, &v[1]);
	text = nsx_strings_text(l->strings, name);
	if (!*text || *text == '[' || !strncmp(text, "cuda-", strlen("cuda-")) ||
	    !strcmp(text, LAUNCHER))
		return;
	l->t->process[p].name = name;
	*by = tid;
}

static int order_threads(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_renumber r;

	if (nsx_renumber(&l->threads_map, t->arena, &r, err))
		return err->rc;
	t->nthreads = (uint32_t)l->threads_map.n;
	nsx_few(t->thread, t->arena, t->nthreads);
	for (uint32_t i = 0; i < t->nthreads; i++) {
		uint64_t g = l->threads_map.keys[r.order[i]].w[0];

		t->thread[i].global_tid = g;
		t->thread[i].tid = nsx_tid_of(g);
		t->thread[i].process = nsx_process_find(t, nsx_process_key(g));
	}
	nsx_remap(l->calls.thread, l->call_set.n, r.new_id);
	nsx_remap(l->nvtx.thread, l->nvtx_set.n, r.new_id);
	nsx_remap(l->t->overheads.thread, l->overhead_set.n, r.new_id);
	nsx_remap(l->library.thread, l->library_set.n, r.new_id);
	for (size_t i = 0; i < l->sync_set.n; i++)
		l->t->syncs.process[i] = t->thread[r.new_id[l->t->syncs.process[i]]].process;
	for (size_t i = 0; i < l->record_set.n; i++)
		l->t->records.process[i] = t->thread[r.new_id[l->t->records.process[i]]].process;
	NSX_LOAD_EACH(l, process, name_process, global_pid, pid, name);
	NSX_LOAD_EACH(l, thread_name, ids_name_thread, global_tid, name);
	nsx_few(l->named_by, t->arena, t->nprocesses);
	NSX_LOAD_EACH(l, thread_name, rename_launched_process, global_tid, name, priority);
	return 0;
}

static int order_domains(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_renumber r;

	if (nsx_renumber(&l->domains_map, t->arena, &r, err))
		return err->rc;
	t->ndomains = (uint32_t)l->domains_map.n;
	nsx_few(t->domain, t->arena, t->ndomains);
	for (uint32_t i = 0; i < t->ndomains; i++) {
		const struct nsx_key *k = &l->domains_map.keys[r.order[i]];

		t->domain[i].process = nsx_process_find(t, k->w[0]);
		t->domain[i].domain_id = (int64_t)k->w[1];
	}
	nsx_remap(l->nvtx.domain, l->nvtx_set.n, r.new_id);
	return 0;
}

/* Shapes and replays -----------------------------------------------------------*/

static struct nsx_launch unpack_launch(const struct nsx_key *key, uint8_t op)
{
	const uint64_t *w = key->w;
	uint32_t graph = w[4] & 0x7fffffff;

	return (struct nsx_launch){
		.grid_yz = {(uint32_t)(w[0] >> 32), (uint32_t)w[0]},
		.block = {(uint32_t)(w[1] >> 32), (uint32_t)w[1],
			  (uint32_t)(w[2] >> 32)},
		.registers = (uint32_t)w[2],
		.static_shared_bytes = (uint32_t)(w[3] >> 32),
		.dynamic_shared_bytes = (uint32_t)w[3],
		.graph_id = graph == 0x7fffffff ? NSX_NONE : graph,
		.known = w[4] >> 31,
		.op = op};
}

/* Makes one launch of each pair of key and communication op. op: by shape. */
static int ids_fill_launches(struct nsx_loader *l, const uint8_t *op, struct nsx_err *err)
{
	enum { NOPS = NSX_COMM_OTHER + 1 };
	struct nsx_trace *t = l->t;
	uint32_t *place, n = 0; /* for each key and op: 1 + index of the launch; 0: none yet */

	if (!nsx_new_array(place, t->arena, l->shapes_map.n * NOPS, "launch configurations", err))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++) {
		uint32_t key = (uint32_t)nsx_group_key(&l->shapes, i).b;
		uint32_t *at = &place[(size_t)key * NOPS + op[i]];

		*at = *at ?: ++n;
	}
	if (!nsx_new_array(t->launch, t->arena, n, "launch configurations", err))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++) {
		uint32_t key = (uint32_t)nsx_group_key(&l->shapes, i).b;
		uint32_t at = place[(size_t)key * NOPS + op[i]] - 1;

		t->launch[at] = unpack_launch(&l->shapes_map.keys[key], op[i]);
		t->shape[i].launch = at;
	}
	nsx_arena_drop(t->arena, place);
	return 0;
}

struct filling {
	struct nsx_loader *l;
	uint8_t *op; /* for each shape: enum nsx_comm_op, from its name */
};
enum { SHAPES_A_TASK = 1 << 14 };

static int fill_shapes_task(void *ctx, size_t task, struct nsx_err *err NSX_UNUSED)
{
	const struct filling *f = ctx;
	struct nsx_trace *t = f->l->t;
	size_t end = NSX_MIN(t->nshapes, (task + 1) * SHAPES_A_TASK);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf base = {0}, full = {0};
	struct nsx_near near = {0}; /* many shapes share few names, so the op of a name is kept */

	for (size_t i = task * SHAPES_A_TASK; i < end; i++) {
		const struct nsx_group_key key = nsx_group_key(&f->l->shapes, i);
		nsx_str name = t->shape_name[i] = (nsx_str)key.a;
		struct nsx_shape *s = &t->shape[i];
		struct nsx_near_key *like;

		s->base_name = (nsx_str)(key.a >> 32);
		s->grid_x = (uint32_t)(key.b >> 32);
		like = nsx_near_place(&near, name, s->base_name);
		if (!like->place || like->a != name || like->b != s->base_name)
			*like = (struct nsx_near_key){
				name, s->base_name,
				1 + nsx_classify_comm(nsx_str_read(t->strings, s->base_name, &base),
					nsx_str_read(t->strings, name, &full))};
		f->op[i] = (uint8_t)(like->place - 1);
	}
	return 0;
}

static int ids_fill_shapes(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	size_t n = l->shapes.n;
	struct filling f = {.l = l};
	int rc;

	nsx_groups_close(&l->shapes);
	if (nsx_new_arrays(t->arena, n, "launch configurations", err, t->shape,
			   t->shape_name, f.op))
		return err->rc;
	t->nshapes = (uint32_t)n;
	rc = nsx_par(l->threads, (n + SHAPES_A_TASK - 1) / SHAPES_A_TASK,
		     fill_shapes_task, &f, err) ?: ids_fill_launches(l, f.op, err);
	nsx_arena_drop(t->arena, f.op);
	nsx_groups_done(&l->shapes); /* frees memory before rows are sorted */
	nsx_keymap_clear(&l->shapes_map);
	return rc;
}

static void fill_replays(struct nsx_loader *l)
{
	struct nsx_trace *t = l->t;

	nsx_few(t->replay, t->arena, l->replays_map.n);
	t->nreplays = (uint32_t)l->replays_map.n;
	for (uint32_t i = 0; i < t->nreplays; i++) {
		uint64_t w = l->replays_map.keys[i].w[0];

		t->replay[i] = (struct nsx_replay){(uint32_t)(w >> 32),
						   (uint32_t)w};
	}
}

int nsx_order_ids(struct nsx_loader *l, struct nsx_err *err)
{
	make_processes(l);
	label_processes(l);
	nsx_load_gpus(l);
	fill_replays(l);
	if (order_threads(l, err) || order_domains(l, err) || nsx_order_streams(l, err) ||
	    ids_fill_shapes(l, err))
		return err->rc;
	nsx_settle_devices(l);
	return nsx_add_peers(l, err);
}

/* NVTX domains -------------------------------------------------------------*/

/* The domain; NULL: none. Domains are ordered by (process key, domain id). */
static struct nsx_domain *find_domain(struct nsx_trace *t, uint64_t key, int64_t id)
{
	uint32_t lo = NSX_SEARCH(0, t->ndomains, mid,
				 t->process[t->domain[mid].process].key < key ||
				 (t->process[t->domain[mid].process].key == key &&
				  t->domain[mid].domain_id < id));

	return lo < t->ndomains && t->domain[lo].domain_id == id &&
			       t->process[t->domain[lo].process].key == key ?
		       &t->domain[lo] :
		       NULL;
}

/* Takes a domain without a creation row for NCCL's if all names in it belong to NCCL's API.
 * Trimmed exports have no creation rows.
 */
static void detect_nccl_domain(struct nsx_loader *l)
{
	struct nsx_trace *t = l->t;
	NSX_AT_EXIT(nsx_free_at) uint8_t *other = nsx_alloc(t->ndomains, 1);

	for (size_t i = 0; i < t->nvtx.n; i++)
		if (strncmp(nsx_text(t, t->nvtx.name[i]), "nccl", 4))
			other[nsx_range_domain(&t->nvtx, i)] = 1;
	for (uint32_t i = 0; i < t->ndomains; i++)
		if (!t->domain[i].name && t->domain[i].domain_id && !other[i])
			t->domain[i].is_nccl = t->domain[i].is_library = true;
}

void nsx_name_domains(struct nsx_loader *l)
{
	static const char *const libraries[] = {"NCCL", "cuBLAS", "cuDNN",
						"CUBLAS", "CUDNN", "cuSOLVER",
						"cuSPARSE", "cuFFT", "NVSHMEM"};
	struct nsx_trace *t = l->t;

	for (size_t i = 0; i < l->ncreated; i++) {
		const struct nsx_created *c = &l->created[i];
		struct nsx_domain *d = find_domain(t, c->process_key, c->domain_id);

		if (d)
			d->name = c->name;
	}
	for (uint32_t i = 0; i < t->ndomains; i++)
		for (unsigned k = 0; k < ARRAY_LEN(libraries); k++)
			if (!strcmp(nsx_text(t, t->domain[i].name), libraries[k])) {
				t->domain[i].is_library = true;
				t->domain[i].is_nccl = !k;
			}
	detect_nccl_domain(l);
}
