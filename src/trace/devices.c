/* devices.c - GPUs, devices, streams and the copies between devices. */
#include <stdio.h>
#include "trace/load.h"

#define MAX_GPUS 256
#define MAX_NICS 256
#define MAX_DEVICES 4096

/* GPUs, devices, streams -----------------------------------------------------*/

static const enum nsx_field gpu_columns[] = {
	NSX_FIELDS(gpu, id, name, uuid, bus, vm_id, cuda_device, memory_bytes, bandwidth, sm_count,
		   compute_major, compute_minor, max_warps_per_sm),
	NSX_FIELDS(gpu, max_blocks_per_sm, max_shared_per_block, max_shared_per_block_optin,
		   max_shared_per_sm, max_registers_per_sm, max_registers_per_block,
		   threads_per_warp, numa_node, clock),
};

static void devices_add_gpu(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_trace *t = l->t;
	struct nsx_gpu_info *g;

	if (t->ngpus == MAX_GPUS)
		return;
	g = &t->gpu[t->ngpus++];
	g->id = nsx_i64_or(&v[0], -1);
	g->name = nsx_read_text(l, &v[1]);
	g->uuid = nsx_read_text(l, &v[2]);
	g->bus = nsx_read_text(l, &v[3]);
	int64_t *numbers[] = {
		&g->cuda_device, &g->memory_bytes, &g->bandwidth_bytes_per_s,
		&g->sm_count, &g->compute_major, &g->compute_minor,
		&g->max_warps_per_sm, &g->max_blocks_per_sm,
		&g->max_shared_per_block, &g->max_shared_per_block_optin,
		&g->max_shared_per_sm, &g->max_registers_per_sm,
		&g->max_registers_per_block, &g->threads_per_warp, &g->numa_node, &g->clock_hz,
	};
	for (unsigned i = 0; i < ARRAY_LEN(numbers); i++)
		*numbers[i] = nsx_i64_or(&v[5 + i], -1);
	g->vm = v[4].type == NSX_V_I64 ? nsx_vm_of((uint64_t)v[4].u.i) : -1;
}

static void add_nic(struct nsx_loader *l, const struct nsx_val *v)
{
	int64_t link = nsx_i64_or(&v[2], 0);

	if (l->t->nnics == MAX_NICS)
		return;
	l->t->nic[l->t->nnics++] = (struct nsx_nic){
		nsx_i64_or(&v[0], -1), nsx_read_text(l, &v[1]),
		link == 1 ? "Ethernet" : link == 2 ? "InfiniBand" : NULL};
}

NSX_ORDER(cmp_nics, struct nsx_nic, UP(id));

void nsx_load_gpus(struct nsx_loader *l)
{
	l->t->gpu = nsx_arena_get(l->t->arena, MAX_GPUS * sizeof(*l->t->gpu));
	nsx_load_rows(l, NSX_VIEW_gpu, gpu_columns, ARRAY_LEN(gpu_columns), devices_add_gpu);
	l->t->nic = nsx_arena_get(l->t->arena, MAX_NICS * sizeof(*l->t->nic));
	NSX_LOAD_EACH(l, nic, add_nic, id, name, link);
	nsx_sort(l->t->nic, l->t->nnics, sizeof(*l->t->nic), cmp_nics);
}

static void add_gpu_ordinal(struct nsx_loader *l, const struct nsx_val *v)
{
	nsx_push_or_die(l->ordinals, l->nordinals, l->cap_ordinals, (struct nsx_ordinal){
			.pid = nsx_i64_or(&v[0], -1),
			.device_id = nsx_i64_or(&v[1], -1),
			.gpu_id = nsx_i64_or(&v[2], -1),
			.uuid = nsx_read_text(l, &v[3]),
			.sm_count = nsx_i64_or(&v[4], -1)});
}

static nsx_str gpu_key(struct nsx_loader *l, const struct nsx_ordinal *o)
{
	char text[32];

	if (o->uuid)
		return o->uuid;
	for (uint32_t i = 0; i < l->t->ngpus; i++)
		if (l->t->gpu[i].id == o->gpu_id && l->t->gpu[i].uuid)
			return l->t->gpu[i].uuid;
	snprintf(text, sizeof(text), "gpu%lld", (long long)o->gpu_id);
	return nsx_strings_put(l->strings, text);
}

/* Whether the GPU of an ordinal is on machine vm. Pids do not decide this, because hosts in one
 * report may share them.
 */
static bool is_on_machine(const struct nsx_trace *t, const struct nsx_ordinal *o, int64_t vm)
{
	for (uint32_t i = 0; o->uuid && i < t->ngpus; i++)
		if (t->gpu[i].uuid == o->uuid)
			return t->gpu[i].vm == vm;
	return false;
}

/* Finds which GPU a process means by an ordinal: the last row with its pid and the ordinal,
 * preferably one of the process's own machine.
 */
static const struct nsx_ordinal *find_ordinal(const struct nsx_loader *l,
					      uint32_t process, int64_t device_id)
{
	const struct nsx_process *p = &l->t->process[process];
	const struct nsx_ordinal *ret = NULL;
	bool is_own = false;

	for (size_t i = 0; i < l->nordinals && process != NSX_NONE; i++) {
		const struct nsx_ordinal *o = &l->ordinals[i];
		bool own;

		if (o->pid != p->pid || o->device_id != device_id)
			continue;
		own = is_on_machine(l->t, o, nsx_vm_of(p->key));
		if (own || !is_own)
			ret = o;
		is_own |= own;
	}
	return ret;
}

/* The device that a process means by an ordinal; adds it if it is new. */
static uint32_t devices_device_of(struct nsx_loader *l, uint32_t process, int64_t device_id)
{
	struct nsx_trace *t = l->t;
	struct nsx_device d = {.device_id = device_id, .gpu_id = -1, .sm_count = -1};
	const struct nsx_ordinal *o = find_ordinal(l, process, device_id);

	if (o) {
		d.gpu = gpu_key(l, o);
		d.gpu_id = o->gpu_id;
		d.sm_count = o->sm_count;
	}
	for (uint32_t i = 0; i < t->ndevices; i++)
		if (t->device[i].device_id == device_id && t->device[i].gpu == d.gpu)
			return i;
	if (t->ndevices == MAX_DEVICES) {
		nsx_load_warn(l, "more than %d GPUs: the others are shown as "
			      "the first", MAX_DEVICES);
		return 0;
	}
	t->device[t->ndevices] = d;
	return t->ndevices++;
}

NSX_ORDER_IN(cmp_devices, struct nsx_device, struct nsx_trace, UP(x->device_id),
	     BY(nsx_str_cmp(c->strings, x->gpu, y->gpu)));

/* Sorts devices and updates the device indices of streams. */
static void sort_devices(struct nsx_trace *t)
{
	NSX_AT_EXIT(nsx_free_at) struct nsx_device *old = nsx_alloc(t->ndevices, sizeof(*old));

	memcpy(old, t->device, t->ndevices * sizeof(*old));
	nsx_sort_r(t->device, t->ndevices, sizeof(*t->device), cmp_devices, t);
	for (uint32_t s = 0; s < t->nstreams; s++)
		for (uint32_t d = 0; d < t->ndevices; d++)
			if (!cmp_devices(&t->device[d], &old[t->stream[s].device], t)) {
				t->stream[s].device = d;
				break;
			}
}

static bool are_gpu_ids_distinct(const struct nsx_trace *t)
{
	for (uint32_t d = 0; d < t->ndevices; d++) {
		if (t->device[d].gpu_id < 0)
			return false;
		for (uint32_t k = 0; k < d; k++)
			if (t->device[k].gpu_id == t->device[d].gpu_id)
				return false;
	}
	return true;
}

/* Labels devices by ordinal. If ordinals are shared, GPU numbers are used; if these are shared too,
 * the host or process is added.
 */
static void name_devices(struct nsx_loader *l)
{
	struct nsx_trace *t = l->t;
	bool by_ordinal = true, by_id, hosts = nsx_has_several_hosts(t);

	for (uint32_t d = 1; d < t->ndevices; d++)
		by_ordinal &= t->device[d].device_id != t->device[d - 1].device_id;
	by_id = by_ordinal || are_gpu_ids_distinct(t);
	for (uint32_t d = 0; d < t->ndevices; d++) {
		struct nsx_device *x = &t->device[d];
		const struct nsx_process *p;
		uint32_t s = 0;
		char text[64];

		while (s + 1 < t->nstreams && t->stream[s].device != d)
			s++;
		p = t->stream[s].process == NSX_NONE ? NULL : &t->process[t->stream[s].process];
		snprintf(text, sizeof(text), "%lld",
			 (long long)(by_ordinal || !by_id ? x->device_id : x->gpu_id));
		if (!by_id && p)
			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 " (%s %lld)", hosts ? "host" : "pid",
				 (long long)(hosts ? nsx_vm_of(p->key) : p->pid));
		x->label = nsx_strings_put(l->strings, text);
		if (!by_ordinal && by_id && x->device_id != x->gpu_id)
			snprintf(text, sizeof(text), "%lld (GPU %lld)", (long long)x->device_id,
				 (long long)x->gpu_id);
		x->ordinal_label = nsx_strings_put(l->strings, text);
	}
}

/* Adds a MIG slice of a GPU. Only its properties per multiprocessor are known. */
static void add_mig_slice(struct nsx_loader *l, struct nsx_device *d)
{
	struct nsx_gpu_info *slice;
	char text[128];

	nsx_few(slice, l->t->arena, 1);
	*slice = *d->info;
	snprintf(text, sizeof(text), "%.80s slice (%lld of %lld SMs)",
		 nsx_text(l->t, slice->name), (long long)d->sm_count, (long long)slice->sm_count);
	slice->sm_count = d->sm_count;
	slice->memory_bytes = slice->bandwidth_bytes_per_s = -1;
	slice->uuid = d->gpu;
	d->info = slice;
	d->is_slice = true;
	slice->name = nsx_strings_put(l->strings, text);
}

/* Whether a row of TARGET_INFO_GPU describes the device, by the process's mapping of ordinals. If
 * that was not exported, the ordinals in the GPU rows are compared: the profiler's guess or, in the
 * oldest exports, the row's number. GPUs of other makers have no multiprocessors in their rows.
 */
static bool does_row_describe_device(const struct nsx_gpu_info *g, const struct nsx_device *d)
{
	if (d->gpu_id >= 0)
		return g->id == d->gpu_id;
	if (!g->sm_count)
		return false;
	return (g->cuda_device >= 0 ? g->cuda_device : g->id) == d->device_id;
}

static void find_gpu_rows(struct nsx_loader *l)
{
	const struct nsx_trace *t = l->t;

	for (uint32_t i = 0; i < t->ndevices; i++) {
		struct nsx_device *d = &t->device[i];
		const struct nsx_gpu_info *by_uuid = NULL;

		d->info = NULL;
		for (const struct nsx_gpu_info *g = t->gpu; g < t->gpu + t->ngpus; g++) {
			if (d->gpu && g->uuid == d->gpu)
				by_uuid = by_uuid ?: g;
			if (does_row_describe_device(g, d) && (!d->info || g->id < d->info->id))
				d->info = g;
		}
		d->info = by_uuid ?: d->info;
		if (d->info && d->sm_count > 0 && d->sm_count < d->info->sm_count)
			add_mig_slice(l, d);
	}
}

/* The key of the only process that made API calls; 0: several did. That process owns the kernels of
 * exports without a process column.
 */
static uint64_t find_only_process(const struct nsx_loader *l)
{
	uint64_t key = 0;

	for (size_t i = 0; i < l->threads_map.n; i++) {
		uint64_t k = nsx_process_key(l->threads_map.keys[i].w[0]);

		if (key && k && k != key)
			return 0;
		key = k ? k : key;
	}
	return key;
}

/* Finds a device for the streams that rows of waits name without one: the device of the first
 * stream with the same process, context and number on which GPU work ran. In key order, streams
 * without a device come last in their process.
 */
struct alike {
	struct nsx_keymap map; /* {process, context, stream} */
	struct nsx_keycache cache;
	uint32_t *stream; /* for each id of map: the first such stream with a device */
};

static int assign_stream_device(struct nsx_loader *l, const uint64_t *w, uint64_t lone,
				struct alike *alike, uint32_t *ret_id, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_key key = {{w[0], w[2], w[3]}};
	struct nsx_stream *s = &t->stream[t->nstreams];
	size_t known = alike->map.n;
	uint32_t id;

	if (nsx_keymap_add(&alike->map, &alike->cache, &key, &id, err))
		return err->rc;
	if (w[4]) {
		if (id == known)
			alike->stream[id] = NSX_NONE;
		*ret_id = alike->stream[id];
		return 0;
	}
	if (id == known)
		alike->stream[id] = t->nstreams;
	s->process = nsx_process_find(t, w[0] ? w[0] : lone);
	s->is_green = (int64_t)w[2] > 0 && w[2] & NSX_GREEN;
	s->context_id = (int64_t)(s->is_green ? w[2] ^ NSX_GREEN : w[2]);
	s->stream_id = (int64_t)w[3];
	s->device = devices_device_of(l, s->process, (int64_t)w[1]);
	*ret_id = t->nstreams++;
	return 0;
}

static int assign_stream_devices(struct nsx_loader *l, uint32_t *new_id, struct nsx_err *err)
{
	bool has_process = nsx_has(l->schema, NSX_F_kernel_global_pid) ||
			   nsx_has(l->schema, NSX_F_kernel_pid);
	uint64_t lone = has_process ? 0 : find_only_process(l);
	struct alike alike = {.stream = NULL};
	struct nsx_arena *a = l->t->arena;
	struct nsx_renumber r;
	int rc = nsx_renumber(&l->streams_map, a, &r, err);

	nsx_few(alike.stream, a, l->streams_map.n);
	nsx_keymap_init(&alike.map, "streams");
	for (size_t k = 0; !rc && k < l->streams_map.n; k++)
		rc = assign_stream_device(l, l->streams_map.keys[r.order[k]].w, lone,
					  &alike, &new_id[r.order[k]], err);
	nsx_keymap_done(&alike.map);
	return rc;
}

void nsx_settle_devices(struct nsx_loader *l)
{
	find_gpu_rows(l);
	name_devices(l);
}

/* The key under which stream types are stored, together with the stream number. */
static uint64_t context_key(int64_t pid, int64_t context)
{
	return (uint64_t)pid << 32 ^ (uint64_t)context;
}

static void add_stream_type(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_stream_types *s = &l->stream_types;
	uint8_t *type = nsx_group_few(&s->streams, &s->type,
		context_key(nsx_i64_or(&v[0], -1), nsx_i64_or(&v[1], 0)),
		(uint64_t)nsx_i64_or(&v[2], 0));

	*type = NSX_MAX(*type, nsx_u8_or(&v[3], NSX_STREAM_UNKNOWN));
}

static void add_context(struct nsx_loader *l, const struct nsx_val *v)
{
	struct nsx_stream_types *s = &l->stream_types;
	uint32_t *sm_count = nsx_group_few(&s->contexts, &s->sm_count,
		context_key(nsx_i64_or(&v[0], -1), nsx_i64_or(&v[1], 0)), 0);

	*sm_count = NSX_MAX(*sm_count, nsx_u32_or(&v[2], 0));
}

static void set_stream_types(struct nsx_loader *l)
{
	struct nsx_stream_types *types = &l->stream_types;

	NSX_LOAD_EACH(l, cuda_stream, add_stream_type, process_id, context_id, stream_id, type);
	NSX_LOAD_EACH(l, cuda_context, add_context, process_id, context_id, sm_count);
	for (uint32_t i = 0; i < l->t->nstreams; i++) {
		struct nsx_stream *s = &l->t->stream[i];
		int64_t pid = s->process == NSX_NONE ? -1 : l->t->process[s->process].pid;
		uint64_t context = context_key(pid, s->context_id);
		uint32_t k = nsx_group_find(&types->streams, context, (uint64_t)s->stream_id);

		s->type = k == NSX_NONE ? NSX_STREAM_UNKNOWN : types->type[k];
		k = s->is_green ? nsx_group_find(&types->contexts, context, 0) : NSX_NONE;
		s->sm_count = k == NSX_NONE ? 0 : types->sm_count[k];
	}
	nsx_groups_done(&types->streams);
	nsx_groups_done(&types->contexts);
	free(types->type);
	free(types->sm_count);
}

int nsx_order_streams(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	uint32_t *new_id;

	nsx_few(new_id, t->arena, l->streams_map.n);
	nsx_few(t->stream, t->arena, l->streams_map.n);
	nsx_few(t->device, t->arena, MAX_DEVICES);
	NSX_LOAD_EACH(l, cuda_device, add_gpu_ordinal, pid, cuda_id, gpu_id, uuid, sm_count);
	if (assign_stream_devices(l, new_id, err))
		return err->rc;
	set_stream_types(l);
	nsx_remap(l->ops.stream, l->op_set.n, new_id);
	nsx_remap(l->t->syncs.stream, l->sync_set.n, new_id);
	nsx_remap(l->t->records.stream, l->record_set.n, new_id);
	sort_devices(t);
	return 0;
}

/* Peer copies ------------------------------------------------------------------*/

#define PEER_TO_PEER 10

static uint32_t find_device(struct nsx_loader *l, uint32_t process, uint32_t ordinal)
{
	uint32_t n = l->t->ndevices, d;

	if (ordinal == NSX_NONE)
		return NSX_NONE;
	d = devices_device_of(l, process, ordinal);
	l->t->ndevices = n; /* devices without work of their own do not count */
	return d < n ? d : NSX_NONE;
}

/* Copies repeat, so equal ones among the last RECENT_COPIES share an entry. */
enum { RECENT_COPIES = 4096 };

static uint32_t find_equal_copy(struct nsx_copy *copies, uint32_t *n,
				uint32_t *recent, const struct nsx_copy *c)
{
	const size_t size = offsetof(struct nsx_copy, src_device);
	uint32_t *at = &recent[nsx_hash(c, size) % RECENT_COPIES];
	const struct nsx_copy *last = *at ? &copies[*at - 1] : NULL;

	if (!last || memcmp(last, c, size) || last->src_device != c->src_device ||
	    last->dst_device != c->dst_device) {
		copies[*n] = *c;
		*at = ++*n;
	}
	return *at - 1;
}

static int copy_to_trace(struct nsx_loader *l, uint32_t n, struct nsx_err *err)
{
	struct nsx_copy *v = nsx_arena_try_array(l->t->arena, n, sizeof(*v), l->copy_set.what, err);

	if (!v)
		return err->rc;
	memcpy(v, l->copies, n * sizeof(*v));
	nsx_arena_drop(l->t->arena, l->copies);
	l->copies = v;
	return 0;
}

int nsx_add_peers(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_ops_rw *o = &l->ops;
	size_t n = l->op_set.n, npeers = 0;
	uint32_t recent[RECENT_COPIES] = {0}, ncopies = 0;

	for (size_t i = 0; i < l->copy_set.n; i++) {
		struct nsx_copy c = l->copies[i];
		uint32_t process = l->t->stream[o->stream[i]].process;

		npeers += c.copy_kind == PEER_TO_PEER;
		l->t->nmigrations += nsx_copy_is_migration(c.copy_kind);
		c.src_device = find_device(l, process, c.src_id);
		c.dst_device = find_device(l, process, c.dst_id);
		o->detail[i] = find_equal_copy(l->copies, &ncopies, recent, &c);
	}
	if (copy_to_trace(l, ncopies, err))
		return err->rc;
	if (npeers && nsx_colset_grow(&l->op_set, l->t->arena, npeers, err))
		return err->rc;
	l->op_set.n = n;
	for (size_t i = 0; i < l->copy_set.n && npeers; i++) {
		const struct nsx_copy *c = &l->copies[o->detail[i]];
		uint32_t own = l->t->stream[o->stream[i]].device;
		uint32_t other = c->src_device == own ? c->dst_device : c->src_device;

		if (c->copy_kind != PEER_TO_PEER || other == own || other == NSX_NONE)
			continue;
		nsx_colset_move(&l->op_set, l->op_set.n, i, 1);
		o->flags[l->op_set.n] |= NSX_OP_PEER;
		l->op_set.n++;
	}
	return 0;
}
