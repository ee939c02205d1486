/* apart.c - separates GPUs that share a CUDA ordinal when the trace does not map ordinals.
 *
 * If CUDA_VISIBLE_DEVICES is set per process, every process calls its GPU 0. NCCL lets no two
 * ranks share a GPU, so processes whose collectives end together have GPUs of their own.
 */
#include <stdio.h>
#include "base/stat.h"
#include "trace/load.h"

enum {
	MEET_NS = 20000, /* ranks leave a collective within this time of each other, in ns */
	/* least number of a process's collectives that must end together with another process's */
	LEAST = 4,
};

struct comm { /* a communication kernel */
	uint32_t device, process;
	int64_t end_ns, start_ns;
};
struct apart {
	struct nsx_loader *l;
	struct comm *v;
	size_t n, cap;
	size_t *all, *met; /* by process: its collectives, and those that end with another's */
	uint32_t *user;	   /* by device: 1 + the process that uses it; 0: none; NSX_NONE: several */
	bool *is_several;  /* by device: some of its processes have GPUs of their own */
};

NSX_ORDER(cmp_comm, struct comm, UP(device), UP(end_ns), UP(process), UP(start_ns));

/* Notes each device's process. Returns whether several processes share a device that is known only
 * by its ordinal.
 */
static bool find_users(struct apart *x)
{
	const struct nsx_trace *t = x->l->t;
	bool any = false;

	for (uint32_t i = 0; i < t->nstreams; i++) {
		const struct nsx_stream *s = &t->stream[i];
		uint32_t *user = &x->user[s->device];

		if (s->process == NSX_NONE || *nsx_text(t, t->device[s->device].gpu))
			continue;
		*user = !*user || *user == s->process + 1 ? s->process + 1 : NSX_NONE;
		any |= *user == NSX_NONE;
	}
	return any;
}

static int list_comm_kernels(struct apart *x, struct nsx_err *err)
{
	const struct nsx_loader *l = x->l;
	const struct nsx_trace *t = l->t;

	for (size_t i = 0; i < l->op_set.n; i++) {
		const struct nsx_stream *s = &t->stream[l->ops.stream[i]];

		if (l->ops.kind[i] != NSX_OP_KERNEL || s->process == NSX_NONE ||
		    x->user[s->device] != NSX_NONE ||
		    !nsx_shape_launch(t, &t->shape[l->ops.detail[i]])->op)
			continue;
		if (nsx_push(x->v, x->n, x->cap, "collectives", err,
			     (struct comm){s->device, s->process, l->ops.end_ns[i],
					   l->ops.start_ns[i]}))
			return err->rc;
		x->all[s->process]++;
	}
	nsx_sort(x->v, x->n, sizeof(*x->v), cmp_comm);
	return 0;
}

static bool end_together(const struct comm *a, const struct comm *b)
{
	return a->device == b->device && a->process != b->process &&
	       b->end_ns - a->end_ns <= MEET_NS && b->start_ns < a->end_ns;
}

static bool has_own_gpu(const struct apart *x, uint32_t process)
{
	return x->met[process] >= LEAST && 2 * x->met[process] >= x->all[process];
}

/* Gives each process a GPU of its own on devices that stand for several GPUs. */
static int split_shared_devices(struct apart *x, bool *ret_any, struct nsx_err *err)
{
	struct nsx_loader *l = x->l;
	const struct nsx_trace *t = l->t;

	for (uint32_t s = 0; s < t->nstreams; s++)
		x->is_several[t->stream[s].device] |= t->stream[s].process != NSX_NONE &&
						      has_own_gpu(x, t->stream[s].process);
	for (uint32_t s = 0; s < t->nstreams; s++) {
		const struct nsx_stream *stream = &t->stream[s];
		struct nsx_ordinal o = {.gpu_id = -1, .sm_count = -1};
		char text[32];

		if (stream->process == NSX_NONE || !x->is_several[stream->device])
			continue;
		o.pid = t->process[stream->process].pid;
		o.device_id = t->device[stream->device].device_id;
		snprintf(text, sizeof(text), "pid%lld", (long long)o.pid);
		if (nsx_strings_add(l->strings, text, strlen(text), &o.uuid, err) ||
		    nsx_push(l->ordinals, l->nordinals, l->cap_ordinals, "CUDA devices", err, o))
			return err->rc;
		*ret_any = true;
	}
	return 0;
}

int nsx_separate_gpus(struct nsx_loader *l, bool *ret_any, struct nsx_err *err)
{
	struct apart x = {.l = l};
	int rc = nsx_new_arrays(l->index_arena, l->t->nprocesses, "processes", err,
				x.all, x.met) ?:
		 nsx_new_arrays(l->index_arena, l->t->ndevices, "devices", err, x.user, x.is_several);

	if (rc || !find_users(&x))
		return rc;
	rc = list_comm_kernels(&x, err);
	for (size_t i = 1; !rc && i < x.n; i++)
		if (end_together(&x.v[i - 1], &x.v[i])) {
			x.met[x.v[i - 1].process]++;
			x.met[x.v[i].process]++;
		}
	rc = rc ?: split_shared_devices(&x, ret_any, err);
	free(x.v);
	return rc;
}
