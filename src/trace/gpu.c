/* gpu.c - rows of kernels, copies, memsets and graph replays.
 *
 * All four go into one set of columns, so that one pass over them tells what a device does. Launch
 * configurations are interned: a trace of millions of kernels has a few hundred.
 */
#include "trace/load.h"

/* The columns that all four tables share; columns of one table begin at OWN. */
enum { START, END, DEVICE, CONTEXT, GREEN, STREAM, CORR, GLOBAL_PID, PID, OWN };
#define COMMON(v)                                                             \
	NSX_FIELDS(v, start_ns, end_ns, device_id, context_id, green_context_id, stream_id,  \
		   corr, global_pid, pid)

static int read_stream(struct nsx_part *p, const struct nsx_val *v,
		       uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key key = {{nsx_read_process_key(&v[GLOBAL_PID], &v[PID]),
			       (uint64_t)nsx_i64_or(&v[DEVICE], 0),
			       nsx_read_context(&v[CONTEXT], &v[GREEN]),
			       (uint64_t)nsx_i64_or(&v[STREAM], 0)}};

	return nsx_keymap_add(&p->l->streams_map, p->cache[1], &key, ret, err);
}

/* Notes the stream of a row, so that a device that is idle in the window is listed, too. */
static int note_stream(struct nsx_part *p, const struct nsx_val *v,
		       const struct nsx_extent *x, struct nsx_err *err)
{
	uint32_t stream;

	return x->is_event ? read_stream(p, v, &stream, err) : 0;
}

/* Reads the columns that all kinds share. node: the id of the graph's node. Returns 1 if the row is
 * kept, 0 if it is defective, negative on failure. The caller completes the row and counts it with
 * p->n++.
 */
static int read_shared_columns(struct nsx_part *p, const struct nsx_val *v,
			       enum nsx_op_kind kind, const struct nsx_val *node,
			       struct nsx_err *err)
{
	struct nsx_ops_rw *o = &p->l->ops;
	size_t at = p->at + p->n;

	if (!nsx_read_span(p, &v[START], &v[END], &o->start_ns[at], &o->end_ns[at]))
		return 0;
	if (read_stream(p, v, &o->stream[at], err))
		return err->rc;
	o->kind[at] = (uint8_t)kind;
	o->call[at] = nsx_u32_or(&v[CORR], 0);
	o->flags[at] = nsx_i64_or(node, 0) ? NSX_OP_NODE : 0;
	o->detail[at] = 0;
	return 1;
}

enum {
	NAME = OWN, SHORT_NAME, GRID_X, GRID_Y, GRID_Z, BLOCK_X, BLOCK_Y,
	BLOCK_Z, REGISTERS, STATIC_SHARED, DYNAMIC_SHARED, NODE, GRAPH
};
static const enum nsx_field kernel_fields[] = {
	COMMON(kernel),
	NSX_FIELDS(kernel, name, short_name, grid_x, grid_y, grid_z, block_x, block_y, block_z,
		   registers, static_shared_bytes, dynamic_shared_bytes, graph_node_id),
	NSX_F_kernel_graph_id,
};

static uint64_t pack_u32_pair(const struct nsx_val *high, const struct nsx_val *low)
{
	return (uint64_t)nsx_u32_or(high, 0) << 32 | nsx_u32_or(low, 0);
}

/* Interns a launch configuration without names and grid x. The key holds {grid y, z}, {block x, y},
 * {block z, registers}, {static, dynamic shared}, {known, graph id}; nsx_order_ids unpacks it.
 */
static int read_launch(struct nsx_part *p, const struct nsx_val *v,
		       uint32_t *ret, struct nsx_err *err)
{
	bool known = v[GRID_X].type == NSX_V_I64 && v[BLOCK_X].type == NSX_V_I64;
	bool is_node = nsx_i64_or(&v[NODE], 0) != 0;
	struct nsx_key key = {{
		pack_u32_pair(&v[GRID_Y], &v[GRID_Z]), pack_u32_pair(&v[BLOCK_X], &v[BLOCK_Y]),
		(uint64_t)nsx_u32_or(&v[BLOCK_Z], 0) << 32 | nsx_u32_or(&v[REGISTERS], NSX_NONE),
		(uint64_t)nsx_u32_or(&v[STATIC_SHARED], NSX_NONE) << 32 |
			nsx_u32_or(&v[DYNAMIC_SHARED], NSX_NONE),
		(uint64_t)known << 31 |
			((is_node ? nsx_u32_or(&v[GRAPH], NSX_NONE) :
				    NSX_NONE) & 0x7fffffff)}};

	return nsx_keymap_add(&p->l->shapes_map, p->cache[2], &key, ret, err);
}

static int read_shape(struct nsx_part *p, const struct nsx_val *v,
		      nsx_str name, uint32_t *ret, struct nsx_err *err)
{
	uint32_t launch = 0;
	nsx_str base;
	int rc = nsx_find_name(p, &v[SHORT_NAME], &base, err);

	if (!rc && !base) {
		const char *full = nsx_strings_text(p->l->strings, name);
		size_t n;
		const char *at = nsx_base_of(full, &n);

		rc = nsx_strings_add(p->l->strings, at, n, &base, err);
	}
	if (rc || read_launch(p, v, &launch, err))
		return rc ? rc : err->rc;
	return nsx_group_late(&p->l->shapes, &p->l->lock, p->shapes, (uint64_t)base << 32 | name,
			      (uint64_t)nsx_u32_or(&v[GRID_X], 0) << 32 | launch, ret, err);
}

static int read_kernel(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	size_t at = p->at + p->n;
	nsx_str name;
	int rc = read_shared_columns(p, v, NSX_OP_KERNEL, &v[NODE], err);

	if (rc <= 0)
		return rc;
	rc = nsx_read_name(p, &v[NAME], &name, err);
	if (!rc && !name)
		rc = nsx_read_name(p, &v[SHORT_NAME], &name, err);
	if (!rc && !name)
		rc = nsx_strings_add(p->l->strings, nsx_unnamed, strlen(nsx_unnamed), &name, err);
	rc = rc ?: read_shape(p, v, name, &p->l->ops.detail[at], err);
	if (rc)
		return rc;
	p->n++;
	return 0;
}

enum { BYTES = OWN, COPY_KIND, SRC_KIND, DST_KIND, SRC_DEVICE, DST_DEVICE,
       CAUSE, COPY_NODE };
static const enum nsx_field memcpy_fields[] = {
	COMMON(memcpy), NSX_FIELDS(memcpy, bytes, copy_kind, src_kind, dst_kind, src_device_id,
				   dst_device_id, migration_cause, graph_node_id),
};

/* Reads a size in bytes. Real exports have no negative sizes; -1 means unknown. */
static int64_t read_bytes(const struct nsx_val *v)
{
	int64_t n = nsx_i64_or(v, -1);

	return n < 0 || n > NSX_TIME_MAX ? -1 : n;
}

/* Keeps a row of a copy or memset. */
static int keep_copy(struct nsx_part *p, const struct nsx_val *v, enum nsx_op_kind kind,
		     const struct nsx_val *node, struct nsx_copy copy, struct nsx_err *err)
{
	int rc = read_shared_columns(p, v, kind, node, err);

	if (rc <= 0)
		return rc;
	p->l->copies[p->at + p->n++] = copy;
	return 0;
}

static uint8_t read_mem_kind(const struct nsx_part *p, const struct nsx_val *v)
{
	return v->type == NSX_V_I64 && (uint64_t)v->u.i < UINT8_MAX ?
		       p->l->t->schema->mem_kinds.of[v->u.i] : NSX_MEM_UNKNOWN;
}

static int read_memcpy(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	return keep_copy(p, v, NSX_OP_MEMCPY, &v[COPY_NODE], (struct nsx_copy){
		.bytes = read_bytes(&v[BYTES]),
		.copy_kind = p->l->t->schema->copy_kinds.of[nsx_u8_or(&v[COPY_KIND], 0)],
		.src_kind = read_mem_kind(p, &v[SRC_KIND]),
		.dst_kind = read_mem_kind(p, &v[DST_KIND]),
		.cause = nsx_u8_or(&v[CAUSE], 0),
		.src_id = nsx_u32_or(&v[SRC_DEVICE], NSX_NONE),
		.dst_id = nsx_u32_or(&v[DST_DEVICE], NSX_NONE),
	}, err);
}

enum { SET_BYTES = OWN, MEM_KIND, SET_NODE };
static const enum nsx_field memset_fields[] = {
	COMMON(memset), NSX_F_memset_bytes, NSX_F_memset_mem_kind, NSX_F_memset_graph_node_id,
};

static int read_memset(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	return keep_copy(p, v, NSX_OP_MEMSET, &v[SET_NODE], (struct nsx_copy){
		.bytes = read_bytes(&v[SET_BYTES]),
		.src_kind = NSX_MEM_UNKNOWN,
		.dst_kind = read_mem_kind(p, &v[MEM_KIND]),
		.src_id = NSX_NONE,
		.dst_id = NSX_NONE,
	}, err);
}

enum { GRAPH_ID = OWN, EXEC_ID };
static const enum nsx_field graph_fields[] = {
	COMMON(graph), NSX_F_graph_graph_id, NSX_F_graph_graph_exec_id,
};

static int read_graph(struct nsx_part *p, const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_key key = {{pack_u32_pair(&v[GRAPH_ID], &v[EXEC_ID])}};
	int rc = read_shared_columns(p, v, NSX_OP_GRAPH, &nsx_no_cell, err);

	if (rc <= 0)
		return rc;
	rc = nsx_keymap_add(&p->l->replays_map, p->cache[2], &key,
			    &p->l->ops.detail[p->at + p->n], err);
	p->n += !rc;
	return rc;
}

void nsx_bind_gpu(struct nsx_loader *l, struct nsx_tableload *list)
{
	struct nsx_ops_rw *o = &l->ops;
	/* Copies and memsets come first, so that their rows have the same indices in both sets. */
	const struct nsx_tableload tables[NSX_NGPU_TABLES] = {
#define GPU_TABLE(v, ...)                                                     \
	NSX_TABLE(v, v##_fields, read_##v, .set = &l->op_set,                 \
		  .extent = nsx_extent_of, .corr = CORR,                      \
		  .hull = NSX_HULL_GPU, .survey_fields = NSX_BIT(OWN) - 1,             \
		  .note = note_stream, __VA_ARGS__)
		GPU_TABLE(memcpy, .beside = &l->copy_set),
		GPU_TABLE(memset, .beside = &l->copy_set),
		GPU_TABLE(kernel),
		GPU_TABLE(graph),
#undef GPU_TABLE
	};

	l->op_set = (struct nsx_colset){"GPU operations", {
		NSX_COL(o->start_ns), NSX_COL(o->end_ns), NSX_COL(o->call),
		NSX_COL(o->stream), NSX_COL(o->detail), NSX_COL(o->kind),
		NSX_COL(o->flags)}, 0};
	l->copy_set = (struct nsx_colset){"copies", {NSX_COL(l->copies)}, 0};
	memcpy(list, tables, sizeof(tables));
}
