/* gen_rows.c - buffers, sorts and inserts the rows of the current step.
 *
 * The ranks are played one after another, but in a real export their events alternate. So the rows
 * of a step are collected for each table and inserted in the order of their starts. Steps of
 * different ranks overlap a little, and some neighbours are swapped, so that tables are nearly in
 * order, as in real exports.
 */
#include "gen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT = 1 };

static const struct {
	const char *name;
	int class;
} apis[API_COUNT] = {
    [API_LAUNCH] = {"cudaLaunchKernel_v7000", 0},
    [API_LAUNCH_EX] = {"cudaLaunchKernelExC_v11060", 0},
    [API_CU_LAUNCH_EX] = {"cuLaunchKernelEx", 1},
    [API_CU_ATTR] = {"cuKernelGetAttribute", 1},
    [API_MEMCPY] = {"cudaMemcpyAsync_v3020", 0},
    [API_MEMSET] = {"cudaMemsetAsync_v3020", 0},
    [API_RECORD] = {"cudaEventRecord_v3020", 0},
    [API_WAIT_EVENT] = {"cudaStreamWaitEvent_v3020", 0},
    [API_QUERY] = {"cudaEventQuery_v3020", 0},
    [API_CAPTURING] = {"cudaStreamIsCapturing_v10000", 0},
    [API_STREAM_SYNC] = {"cudaStreamSynchronize_v3020", 0},
    [API_MALLOC] = {"cudaMalloc_v3020", 0},
    [API_FREE] = {"cudaFree_v3020", 0},
};

static const char *const os_calls[OS_COUNT] = {
    [OS_COND_WAIT] = "pthread_cond_wait",
    [OS_POLL] = "poll",
    [OS_READ] = "read",
    [OS_WRITE] = "write",
    [OS_IOCTL] = "ioctl",
    [OS_SEM_WAIT] = "sem_clockwait",
    [OS_MUNMAP] = "munmap",
};

static const size_t row_sizes[T_FIXED] = {
    [T_KERNEL] = sizeof(struct kernel_row),
    [T_MEMCPY] = sizeof(struct copy_row),
    [T_MEMSET] = sizeof(struct memset_row),
    [T_RUNTIME] = sizeof(struct api_row),
    [T_NVTX] = sizeof(struct nvtx_row),
    [T_SYNC] = sizeof(struct sync_row),
    [T_EVENT] = sizeof(struct event_row),
    [T_OVERHEAD] = sizeof(struct overhead_row),
    [T_OSRT] = sizeof(struct os_row),
    [T_SCHED] = sizeof(struct sched_row),
    [T_MEMORY] = sizeof(struct memory_row),
};

void rows_init(struct rows *r, struct out *o, const struct opts *opts, struct model *m)
{
	*r = (struct rows){.out = o, .opts = opts, .model = m};
	r->rng.s = opts->seed ^ 0x726f7773;
	for (int t = 0; t < T_FIXED; t++)
		r->of[t].size = row_sizes[t];
	for (int i = 0; i < API_COUNT; i++)
		r->api_id[i] = out_string(o, apis[i].name);
	for (int i = 0; i < OS_COUNT; i++)
		r->os_id[i] = out_string(o, os_calls[i]);
	r->full_id = out_string(o, "Command buffer full");
	r->lazy_id = out_string(o, "Lazy function loading");
}

void *rows_add(struct rows *r, enum table t)
{
	struct batch *b = &r->of[t];
	void *row;

	if (b->n == b->cap) {
		b->cap = b->cap ? 2 * b->cap : 1024;
		b->rows = grow(b->rows, b->cap, b->size);
	}
	row = b->rows + b->n++ * b->size;
	return memset(row, 0, b->size);
}

void *rows_at(struct rows *r, enum table t, size_t i)
{
	return r->of[t].rows + i * r->of[t].size;
}

/* ---- one row of each table --------------------------------------------- */

#define PUT(t, ...)                                                           \
	out_row(r->out, t, (const int64_t[]){__VA_ARGS__},                    \
		COUNT(((const int64_t[]){__VA_ARGS__})))
/* The first columns of every table of GPU work. */
#define ON_GPU(x)                                                             \
	(x)->start, (x)->end, rank_ordinal(r->opts, (x)->rank), CONTEXT, 0,   \
		stream_id((x)->stream), (x)->corr, rank_global_pid((x)->rank)

static int64_t global_tid(int rank, enum thread t)
{
	return rank_global_pid(rank) | rank_tid(rank, t);
}

static void put_kernel(struct rows *r, const void *row)
{
	const struct kernel_row *k = row;
	const struct kernel_type *t = &r->model->kernels[k->type];
	int64_t name = t->name_id, short_name = t->short_id;
	int64_t grid = r->opts->shape == SH_TRAINING ? t->grid + (r->grid_id % 7) * 8
			   : rng_in(&r->rng, 1, 4096);
	bool comm = k->type >= r->model->first_nccl;
	char text[512];

	if (r->opts->worst == W_KERNEL_NAMES) {
		snprintf(text, sizeof(text), "triton_poi_fused_add_%lld", (long long)r->grid_id);
		short_name = out_string(r->out, text);
		snprintf(text, sizeof(text), "%.440s #%lld", t->name, (long long)r->grid_id);
		name = out_string(r->out, text);
	}
	PUT(T_KERNEL, ON_GPU(k), name, short_name, name, 1, 1, t->regs,
	    comm ? 24 : grid, 1, 1, comm ? 544 : t->block, 1, 1, t->static_smem,
	    t->dynamic_smem, 0, 250871808, 161656 + r->grid_id++, 32768, NONE,
	    0, NONE, NONE, NONE, NONE, 0, 0, 0, 1, 0, 0, NONE);
}

static void put_copy(struct rows *r, const void *row)
{
	const struct copy_row *c = row;
	PUT(T_MEMCPY, ON_GPU(c), c->bytes, c->kind, NONE, c->src, c->dst, NONE,
	    NONE, NONE, NONE, NONE, NONE, NONE, 1);
}

static void put_memset(struct rows *r, const void *row)
{
	const struct memset_row *m = row;
	PUT(T_MEMSET, ON_GPU(m), 0, m->bytes, NONE, 2);
}

static void put_api(struct rows *r, const void *row)
{
	const struct api_row *a = row;
	PUT(T_RUNTIME, a->start, a->end, apis[a->api].class,
	    global_tid(a->rank, a->thread), a->corr, r->api_id[a->api], a->ret, NONE);
}

/* Writes the text of one instance, as PyTorch does. */
static void nvtx_text(struct rows *r, const struct nvtx_row *n, char *text, size_t size)
{
	const struct nvtx_name *name = &r->model->names[n->name];
	long long op = (long long)n->op, seq = (long long)n->seq;

	switch (name->kind) {
	case N_FIXED:
		snprintf(text, size, "%s", name->text);
		break;
	case N_OP:
		snprintf(text, size, "%s, op_id = %lld", name->text, op);
		break;
	case N_SEQ:
		snprintf(text, size, "%s, seq = %lld, op_id = %lld", name->text, seq, op);
		break;
	case N_STEP:
		snprintf(text, size, "%s %lld", name->text, seq);
		break;
	case N_UNIQUE:
		snprintf(text, size, "%s%llx", name->text, (long long)r->unique++);
		break;
	}
}

static void put_nvtx(struct rows *r, const void *row)
{
	const struct nvtx_row *n = row;
	const struct nvtx_name *name = &r->model->names[n->name];
	int64_t text_id = NONE;
	char text[256];

	if (n->type == NVTX_DOMAIN)
		snprintf(text, sizeof(text), "NCCL");
	else
		nvtx_text(r, n, text, sizeof(text));
	if (name->kind == N_FIXED && n->type != NVTX_DOMAIN)
		text_id = name->text_id;
	else if (n->by_id)
		text_id = out_string(r->out, text);
	out_text(r->out, T_NVTX, 6, text_id == NONE ? text : NULL);
	PUT(T_NVTX, n->start, n->end, n->type,
	    n->type == NVTX_START_END ? n->op : NONE, NONE, NONE, KEEP,
	    global_tid(n->rank, n->thread),
	    n->type == NVTX_START_END ? global_tid(n->rank, TH_MAIN) : NONE, text_id, name->domain);
}

static void put_sync(struct rows *r, const void *row)
{
	const struct sync_row *s = row;
	PUT(T_SYNC, ON_GPU(s), NONE, s->type,
	    s->type == SYNC_STREAM ? NO_ID : s->event, s->event_sync);
}

static void put_event(struct rows *r, const void *row)
{
	const struct event_row *e = row;
	PUT(T_EVENT, 0, rank_ordinal(r->opts, e->rank), CONTEXT, 0,
	    stream_id(e->stream), e->corr, rank_global_pid(e->rank), e->event, e->event_sync);
}

static void put_overhead(struct rows *r, const void *row)
{
	const struct overhead_row *h = row;
	PUT(T_OVERHEAD, h->start, h->end, 103, global_tid(h->rank, h->thread),
	    h->corr, h->type == OVERHEAD_FULL ? r->full_id : r->lazy_id, h->type);
}

static void put_os(struct rows *r, const void *row)
{
	const struct os_row *c = row;
	PUT(T_OSRT, c->start, c->end, 27, global_tid(c->rank, c->thread),
	    r->os_id[c->call], 0, c->nesting, 0, NONE);
}

static void put_sched(struct rows *r, const void *row)
{
	const struct sched_row *s = row;
	PUT(T_SCHED, s->start, s->cpu, s->in, global_tid(s->rank, s->thread), 0, NONE);
}

static void put_memory(struct rows *r, const void *row)
{
	const struct memory_row *m = row;
	PUT(T_MEMORY, m->start, rank_global_pid(m->rank),
	    rank_ordinal(r->opts, m->rank), CONTEXT, m->address, 0, m->bytes, 2,
	    m->is_free, NONE, m->corr);
}

static void (*const put[T_FIXED])(struct rows *, const void *) = {
    [T_KERNEL] = put_kernel, [T_MEMCPY] = put_copy,
    [T_MEMSET] = put_memset, [T_RUNTIME] = put_api,
    [T_NVTX] = put_nvtx,     [T_SYNC] = put_sync,
    [T_EVENT] = put_event,   [T_OVERHEAD] = put_overhead,
    [T_OSRT] = put_os,	     [T_SCHED] = put_sched,
    [T_MEMORY] = put_memory,
};

/* ---- a step ------------------------------------------------------------ */

struct key {
	int64_t start;
	size_t i;
};

static int by_start(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

void rows_flush(struct rows *r, enum table t)
{
	struct batch *b = &r->of[t];
	struct key *keys = grow(NULL, b->n, sizeof(*keys));

	for (size_t i = 0; i < b->n; i++)
		keys[i] = (struct key){*(int64_t *)rows_at(r, t, i), i};
	qsort(keys, b->n, sizeof(*keys), by_start);
	for (size_t i = 1; i < b->n; i++)
		if (rng_one_in(&r->rng, 200)) {
			struct key k = keys[i];

			keys[i] = keys[i - 1];
			keys[i - 1] = k;
		}
	if (t == T_KERNEL && b->n)
		out_text(r->out, t, 39, "[]");
	for (size_t i = 0; i < b->n; i++)
		put[t](r, rows_at(r, t, keys[i].i));
	free(keys);
	b->n = 0;
}

void rows_flush_step(struct rows *r)
{
	for (enum table t = T_KERNEL; t < T_METRICS; t++)
		if (t != T_NVTX || r->opts->worst != W_NESTED)
			rows_flush(r, t);
	rows_flush(r, T_MEMORY);
}

void rows_done(struct rows *r)
{
	rows_flush_step(r);
	rows_flush(r, T_NVTX);
	for (int t = 0; t < T_FIXED; t++)
		free(r->of[t].rows);
}
