/* peers.c - threads of a process that do the same work, each on a stream of its own, one at a
 * time: each begins when another has ended, as if a lock or a queue let in one of them.
 *
 * A thread that hands over to one that does other work, or to one on its own stream, is part of
 * one program (PyTorch's forward and backward threads), and no peer.
 */
#include <stdlib.h>
#include "facts/replay/model.h"

#define SAME 0.75   /* of its kernels have names that a peer launches as well */
#define OWN 0.75    /* of them are on streams that no peer launches to       */
#define ALONE 0.95  /* of the times that another goes on, it is handed over to */
enum { FEWEST = 8 /* times that a peer is handed over to */ };

struct peers {
	struct build *b;
	struct nsx_groups names;
	struct nsx_users *name; /* threads that launch it                    */
	uint32_t *handed, *nkernels, *nsame, *nown; /* by thread             */
};

/* The thread that handed over to a call; NSX_NONE. */
static uint32_t handed_by(const struct build *b, uint32_t call)
{
	uint32_t before = b->m->call[call].before;

	return before == NSX_NONE || b->thread[before] == b->thread[call] ?
		       NSX_NONE : b->thread[before];
}

static bool is_kernel(const struct peers *x, const struct model_op *o)
{
	return o->kind == NSX_OP_KERNEL && o->call != NSX_NONE &&
	       x->handed[x->b->thread[o->call]] >= FEWEST;
}

static int count_kernels(struct peers *x, struct nsx_err *err)
{
	const struct nsx_model *m = x->b->m;
	const struct nsx_trace *t = m->t;
	struct nsx_users *stream, *name;

	if (nsx_new_arrays(x->b->step, m->nstreams, "streams", err, stream))
		return err->rc;
	for (unsigned pass = 0; pass < 2; pass++)
		for (uint32_t i = 0; i < m->nops; i++) {
			const struct model_op *o = &m->op[i];
			uint32_t h;

			if (!is_kernel(x, o))
				continue;
			h = x->b->thread[o->call];
			name = nsx_group_value(
				&x->names, &x->name, t->thread[h].process,
				nsx_op_shape(t, o->row)->base_name, "kernels", err);
			if (!name)
				return err->rc;
			if (!pass) {
				nsx_use(name, h);
				nsx_use(&stream[o->stream], h);
				continue;
			}
			x->nkernels[h]++;
			x->nsame[h] += name->several;
			x->nown[h] += !stream[o->stream].several;
		}
	return 0;
}

static bool is_peer(const struct peers *x, uint32_t thread)
{
	return x->handed[thread] >= FEWEST &&
	       x->nsame[thread] >= SAME * x->nkernels[thread] &&
	       x->nown[thread] >= OWN * x->nkernels[thread];
}

struct changes { /* of a process: from a peer's call to one of another peer */
	uint32_t last; /* the thread of the last call + 1                    */
	uint32_t n, handed;
};

/* Counts them by process; what is handed over there is marked once they are counted. */
static void count_changes(const struct peers *x, struct changes *of)
{
	struct nsx_model *m = x->b->m;

	for (uint32_t i = 0; i < m->ncalls; i++) {
		uint32_t h = x->b->thread[i], from = handed_by(x->b, i);
		struct changes *c = &of[NSX_MIN(m->t->thread[h].process,
						m->t->nprocesses)];

		if (!is_peer(x, h))
			continue;
		if (c->last && c->last != h + 1 &&
		    m->call[i].before != NSX_NONE) {
			c->n++;
			c->handed += from != NSX_NONE && is_peer(x, from);
		}
		c->last = h + 1;
	}
}

static int list_turns(struct peers *x, struct nsx_err *err)
{
	struct nsx_model *m = x->b->m;
	uint32_t *own;
	struct changes *of;
	size_t cap = 0;

	if (nsx_new_arrays(x->b->step, m->t->nprocesses + 1, "processes", err, of) ||
	    nsx_new_arrays(x->b->step, m->t->nthreads, "threads", err, own))
		return err->rc;
	count_changes(x, of);
	for (uint32_t i = 0; i < m->ncalls; i++) {
		uint32_t h = x->b->thread[i], from = handed_by(x->b, i);
		uint32_t p = NSX_MIN(m->t->thread[h].process, m->t->nprocesses);

		if (from != NSX_NONE && own[h] && is_peer(x, h) && is_peer(x, from) &&
		    of[p].handed >= ALONE * of[p].n &&
		    nsx_push(m->turn, m->nturns, cap, "calls", err,
			     (struct model_turn){i, own[h] - 1}))
			return err->rc;
		own[h] = i + 1;
	}
	return 0;
}

int model_peers(struct build *b, struct nsx_err *err)
{
	const struct nsx_model *m = b->m;
	struct peers x = {.b = b};
	bool any = false;
	int rc = 0;

	if (nsx_new_arrays(b->step, m->t->nthreads, "threads", err, x.handed,
			   x.nkernels, x.nsame, x.nown))
		return err->rc;
	for (uint32_t i = 0; i < m->ncalls; i++)
		if (handed_by(b, i) != NSX_NONE)
			any |= ++x.handed[b->thread[i]] >= FEWEST;
	if (any)
		rc = count_kernels(&x, err) ?: list_turns(&x, err);
	nsx_groups_done(&x.names);
	free(x.name);
	return rc;
}

struct nsx_turns nsx_model_turns(const struct nsx_model *m, uint32_t process,
				 struct nsx_arena *scratch)
{
	struct nsx_turns ret = {0};
	bool *seen;

	if (!m->nturns)
		return ret;
	seen = nsx_arena_get(scratch, m->t->nthreads * sizeof(*seen));
	for (size_t i = 0; i < m->nturns; i++) {
		const struct model_call *c = &m->call[m->turn[i].call];
		uint32_t h = nsx_call_thread(m->t, c->row);

		if (m->t->thread[h].process != process || !(c->flags & CALL_ACTIVE))
			continue;
		ret.nthreads += !seen[h];
		seen[h] = true;
		ret.n++;
		ret.handed_ns += c->start_ns - m->call[c->before].end_ns;
		ret.between_ns += c->start_ns - m->call[m->turn[i].own].end_ns;
	}
	return ret;
}
