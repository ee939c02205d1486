/* digest_comm.c - the collectives of a rank, channel by channel.
 *
 * A channel is a communicator if the trace names it (NCCL's payload of the range around the
 * launch); else a CUDA stream. For MPI it is a handle. The exposed part of a collective is
 * the time without a computing kernel of its rank; of collectives that run at once, the rank waits
 * for the one that ends first. That of an MPI call is the time in which the GPU was idle.
 */
#include <math.h>
#include "base/group.h"
#include "base/stat.h"
#include "facts/nccl_calls.h"
#include "fleet/digest_make.h"

/* MPI ------------------------------------------------------------------------------*/

NSX_ORDER(cmp_mpi, struct nsx_mpi_wait, UP(process), UP(start_ns), UP(end_ns), TEXT(name),
	  UP(is_again), UP(comm));

/* The roles of MPI calls. A MESSAGE call waits for the messages that it names, or for any message.
 * Old versions of nsys record collectives among other calls, without communicator and size.
 * MPI_Isend and the like and MPI_Test are not here because they return at once. Who waits in an
 * operation with a root is unknown, so it holds one member.
 */
static const struct op {
	const char *name; /* without "MPI_" */
	enum role { OTHER, COLLECTIVE, MESSAGE } role;
	uint32_t holds; /* as in nsx_dop; 0: all members */
} known_ops[] = {
	{"Barrier", COLLECTIVE, 0}, {"Bcast", COLLECTIVE, 1}, {"Reduce", COLLECTIVE, 1},
	{"Allreduce", COLLECTIVE, 0}, {"Reduce_scatter", COLLECTIVE, 0},
	{"Reduce_scatter_block", COLLECTIVE, 0}, {"Gather", COLLECTIVE, 1},
	{"Gatherv", COLLECTIVE, 1}, {"Allgather", COLLECTIVE, 0}, {"Allgatherv", COLLECTIVE, 0},
	{"Scatter", COLLECTIVE, 1}, {"Scatterv", COLLECTIVE, 1}, {"Alltoall", COLLECTIVE, 0},
	{"Alltoallv", COLLECTIVE, 0}, {"Alltoallw", COLLECTIVE, 0}, {"Scan", COLLECTIVE, 1},
	{"Exscan", COLLECTIVE, 1}, {"Send", MESSAGE, 2}, {"Ssend", MESSAGE, 0},
	{"Rsend", MESSAGE, 0}, {"Recv", MESSAGE, 2}, {"Mrecv", MESSAGE, 0}, {"Probe", MESSAGE, 0},
	{"Mprobe", MESSAGE, 0}, {"Sendrecv", MESSAGE, 2}, {"Sendrecv_replace", MESSAGE, 0},
	{"Waitany", MESSAGE, 0}, {"Waitsome", MESSAGE, 0}, {"message", OTHER, 2},
	{"Broadcast", OTHER, 1}, {"Win_fence", COLLECTIVE, 0},
	{"Neighbor_allgather", COLLECTIVE, NSX_HOLDS_NEIGHBOURS},
	{"Neighbor_allgatherv", COLLECTIVE, NSX_HOLDS_NEIGHBOURS},
	{"Neighbor_alltoall", COLLECTIVE, NSX_HOLDS_NEIGHBOURS},
	{"Neighbor_alltoallv", COLLECTIVE, NSX_HOLDS_NEIGHBOURS},
	{"Neighbor_alltoallw", COLLECTIVE, NSX_HOLDS_NEIGHBOURS}};

static const struct op *known_op(const char *name)
{
	static const struct op other = {"", OTHER, 0};

	name += strncasecmp(name, "MPI_", 4) ? 0 : 4;
	for (size_t i = 0; i < ARRAY_LEN(known_ops); i++)
		if (!strcasecmp(name, known_ops[i].name))
			return &known_ops[i];
	return &other;
}

uint32_t nsx_op_holds(const char *name)
{
	return known_op(name)->holds ?: UINT32_MAX;
}

/* A message that a thread began to send or receive and has not yet waited for. */
struct begun {
	int64_t request, sent_ns; /* INT64_MAX: it receives */
	uint64_t with;
};
struct waits {
	struct nsx_maker *m;
	struct begun begun[64]; /* the latest; older ones are forgotten */
	size_t n;
	struct nsx_mpi_wait now; /* the call being read */
};

static int push_wait(struct waits *w, uint64_t with, int64_t sent_ns, struct nsx_err *err)
{
	struct nsx_maker *m = w->m;

	w->now.comm = with;
	w->now.sent_ns = NSX_MIN(sent_ns, w->now.start_ns);
	if (nsx_push(m->mpi, m->nmpi, m->cap_mpi, "MPI calls", err, w->now))
		return err->rc;
	w->now.is_again = true;
	return 0;
}

static void begin_message(struct waits *w, int64_t request, bool sends, uint64_t with)
{
	if (w->n == ARRAY_LEN(w->begun))
		memmove(w->begun, w->begun + 1, --w->n * sizeof(*w->begun));
	w->begun[w->n++] = (struct begun){request, sends ? w->now.start_ns : INT64_MAX, with};
}

/* Ends all sends to a rank and one receive from it. Returns the start of the first send; INT64_MAX:
 * none.
 */
static int64_t end_messages(struct waits *w, uint64_t with)
{
	int64_t sent_ns = INT64_MAX;
	bool is_received = false;
	size_t kept = 0;

	for (size_t i = 0; i < w->n; i++) {
		const struct begun *b = &w->begun[i];
		bool receives = b->sent_ns == INT64_MAX;

		if (b->with != with || (receives && is_received)) {
			w->begun[kept++] = *b;
			continue;
		}
		is_received = is_received || receives;
		sent_ns = NSX_MIN(sent_ns, b->sent_ns);
	}
	w->n = kept;
	return sent_ns;
}

/* Reads a wait for one request or for all. A wait for an unknown request has an unknown other side. */
static int wait_for(struct waits *w, int64_t request, bool is_for_all, struct nsx_err *err)
{
	for (size_t i = w->n; i-- > 0;) {
		uint64_t with = w->begun[i].with;

		if (!is_for_all && (!request || w->begun[i].request != request))
			continue;
		if (push_wait(w, with, end_messages(w, with), err))
			return err->rc;
		if (!is_for_all)
			return 0;
		i = w->n;
	}
	return w->now.is_again ? 0 : push_wait(w, 0, INT64_MAX, err);
}

/* Reads an MPI call other than a collective. */
static int read_message(struct waits *w, size_t i, struct nsx_err *err)
{
	const struct nsx_library_calls *x = &w->m->t->library;
	const char *name = w->now.name;
	int64_t request = nsx_unpack(&x->comm, i);
	uint64_t with = nsx_messages_with(x->peer[i], x->tag[i]);

	if (!strncasecmp(name, "MPI_I", 5) && with && request)
		begin_message(w, request, strcasestr(name, "send"), with);
	else if (!strcasecmp(name, "MPI_Wait") || !strcasecmp(name, "MPI_Waitall"))
		return wait_for(w, request, name[8], err);
	else if (x->second_peer[i] >= 0)
		w->now.name = NSX_SENDRECV_OF_TWO;
	return known_op(name)->role == MESSAGE &&
	       (push_wait(w, with, INT64_MAX, err) ||
		(x->second_peer[i] >= 0 &&
		 push_wait(w, nsx_messages_with(x->second_peer[i], x->tag[i]), INT64_MAX, err))) ?
		       err->rc : 0;
}

int nsx_maker_read_mpi(struct nsx_maker *m, struct nsx_err *err)
{
	const struct nsx_library_calls *x = &m->t->library;
	struct waits w = {.m = m};

	for (size_t i = 0; i < x->n; i++) {
		int64_t start_ns = nsx_unpack(&x->start, i);

		if (x->library[i] != NSX_LIBRARY_MPI)
			continue;
		w.n = i && x->thread[i] == x->thread[i - 1] ? w.n : 0;
		w.now = (struct nsx_mpi_wait){
			.start_ns = start_ns, .end_ns = start_ns + nsx_unpack(&x->length, i),
			.bytes = nsx_unpack(&x->bytes, i),
			.process = m->t->thread[x->thread[i]].process,
			.name = nsx_text(m->t, x->name[i])};
		w.now.is_coll = x->is_coll[i] || known_op(w.now.name)->role == COLLECTIVE;
		/* MPI_Ibarrier and the like return at once and do not wait. */
		if (w.now.is_coll ? strncasecmp(w.now.name, "MPI_I", 5) &&
				    push_wait(&w, (uint64_t)nsx_unpack(&x->comm, i), INT64_MAX, err) :
				    read_message(&w, i, err))
			return err->rc;
	}
	nsx_sort(m->mpi, m->nmpi, sizeof(*m->mpi), cmp_mpi);
	return 0;
}

/* Channels ---------------------------------------------------------------------------*/

struct event { /* a collective or a wait for messages */
	int64_t start_ns, length_ns, bytes, idle_ns;
	uint64_t comm;
	int64_t stream; /* as in nsx_dchannel */
	const char *name;
	uint8_t exposed;
};
struct events {
	struct event *v;
	size_t n, cap;
};

/* Rounds to three significant bits; sizes that differ by less are one class. */
static int64_t round_bytes(int64_t bytes)
{
	unsigned bits = 0;

	while (bytes >> bits >= 8)
		bits++;
	return bytes < 0 ? -1 : bytes >> bits << bits;
}

static uint8_t share_of(int64_t part_ns, int64_t whole_ns)
{
	return whole_ns <= 0 ? 0 : (uint8_t)lround(255 * (double)part_ns / (double)whole_ns);
}

NSX_ORDER(cmp_call, struct nsx_nccl_call, UP(global_tid), UP(start_ns));

static bool is_call_of(const struct nsx_nccl_call *c, enum nsx_comm_op op)
{
	return c->op == op || (op == NSX_COMM_SENDRECV &&
			       (c->op == NSX_NCCL_SEND || c->op == NSX_NCCL_RECV));
}

/* The NCCL call that launched a kernel: the launching thread's last call of that operation
 * before it. NULL: not known.
 */
static const struct nsx_nccl_call *call_of(const struct nsx_maker *m, size_t op)
{
	enum { MOST_BACK = 256 }; /* greatest number of calls in a group that are searched */
	const struct nsx_trace *t = m->t;
	const struct nsx_nccl_calls *calls = &m->nccl;
	size_t lo = 0, hi = calls->n, call = nsx_op_call(&t->ops, op);
	struct nsx_nccl_call key;

	if (!calls->n || call == NSX_NONE)
		return NULL;
	key.global_tid = t->thread[nsx_call_thread(t, call)].global_tid;
	key.start_ns = nsx_call_start(&t->calls, call);
	/* the first call that begins later */
	NSX_BISECT(lo, hi, mid, cmp_call(&calls->v[mid], &key) <= 0);
	for (hi = lo; lo && hi - lo < MOST_BACK; lo--) {
		const struct nsx_nccl_call *c = &calls->v[lo - 1];

		if (c->global_tid != key.global_tid)
			return NULL;
		if (is_call_of(c, nsx_op_launch(t, op)->op))
			return c;
	}
	return NULL;
}

/* Fills in missing communicators of a stream if all its known ones are the same. */
static void fill_in_comms(struct events *l)
{
	NSX_EACH_RUN(i, next, l->n, l->v[next].stream == l->v[i].stream) {
		uint64_t comm = 0;
		bool is_one = true;

		for (size_t k = i; k < next; k++) {
			uint64_t x = l->v[k].comm;

			is_one = is_one && (!x || !comm || x == comm);
			comm = x ? x : comm;
		}
		for (size_t k = i; is_one && k < next; k++)
			l->v[k].comm = comm;
	}
}

NSX_ORDER(cmp_stream, struct event, UP(stream));

static int cmp_end(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return NSX_CMP(x->start_ns + x->length_ns, y->start_ns + y->length_ns) ?:
	       NSX_CMP(x->start_ns, y->start_ns);
}

/* The instant from which the rank waits for another collective than the one at e: one that ends
 * later, if the rank does not compute before that end. The end of e: none.
 */
static int64_t waits_until(const struct events *l, const struct event *e,
			   const struct nsx_spans *compute)
{
	enum { MOST_AFTER = 16 }; /* collectives that are tried */
	const struct event *last = e + NSX_MIN(MOST_AFTER, l->v + l->n - 1 - e);
	int64_t end = e->start_ns + e->length_ns, ret = end;
	size_t i = nsx_spans_find(compute, end);
	int64_t next = i < compute->n ? nsx_span_at(compute, i).start_ns : INT64_MAX;

	for (const struct event *x = e + 1; x <= last && x->start_ns + x->length_ns <= next; x++)
		ret = NSX_MIN(ret, NSX_MAX(x->start_ns, e->start_ns));
	return ret;
}

/* Sets the exposed parts of a device's collectives. spans: those of the collectives before, joined;
 * what is exposed of them counts for them.
 */
static int set_exposed(struct nsx_maker *m, const struct nsx_member *x, struct events *l,
		       struct nsx_err *err)
{
	const struct nsx_spans *compute = &m->f->device[x->device].compute;
	struct nsx_span *spans;
	int64_t *prefix;
	size_t n = 0;

	if (!nsx_new_array(spans, m->a, l->n, "collectives", err) ||
	    nsx_spans_prefix(m->a, compute, &prefix, err))
		return err->rc;
	nsx_sort(l->v, l->n, sizeof(*l->v), cmp_end);
	for (struct event *e = l->v; e < l->v + l->n; e++) {
		struct nsx_span now = {e->start_ns, waits_until(l, e, compute)};
		int64_t until = now.end_ns, ns = until - e->start_ns -
			nsx_spans_within(compute, prefix, e->start_ns, until);

		for (; n && spans[n - 1].end_ns > now.start_ns; n--) {
			int64_t from = NSX_MAX(spans[n - 1].start_ns, e->start_ns);
			int64_t to = NSX_MIN(spans[n - 1].end_ns, until);

			ns -= from < to ? to - from - nsx_spans_within(compute, prefix, from, to) :
					  0;
			now.start_ns = NSX_MIN(now.start_ns, spans[n - 1].start_ns);
			now.end_ns = NSX_MAX(now.end_ns, spans[n - 1].end_ns);
		}
		spans[n++] = now;
		e->exposed = share_of(ns, e->length_ns);
	}
	nsx_arena_drop(m->a, spans);
	return 0;
}

static int add_nccl(struct nsx_maker *m, const struct nsx_member *x,
		    struct events *l, struct nsx_err *err)
{
	const struct nsx_trace *t = m->t;
	const struct nsx_device *dev = &t->device[x->device];

	for (size_t i = dev->ops_at; i < dev->ops_at + dev->nops; i++) {
		struct event e = {.start_ns = nsx_op_start(&t->ops, i), .bytes = -1,
				  .length_ns = nsx_op_ns(&t->ops, i),
				  .stream = nsx_stream_of(t, i)->stream_id};
		const struct nsx_nccl_call *call;
		enum nsx_comm_op kind;

		if (t->ops.cls[i] != NSX_C_COMM || !nsx_op_counts(t, i) ||
		    nsx_op_process(t, i) != x->process)
			continue;
		kind = nsx_op_launch(t, i)->op;
		e.name = kind == NSX_COMM_OTHER ? nsx_text(t, nsx_op_shape(t, i)->base_name) :
						  nsx_comm_op_name(kind);
		if ((call = call_of(m, i))) {
			e.comm = call->communicator;
			e.bytes = round_bytes(call->bytes);
		}
		if (nsx_push(l->v, l->n, l->cap, "collectives", err, e))
			return err->rc;
	}
	if (set_exposed(m, x, l, err))
		return err->rc;
	if (l->n && m->nccl.n) {
		nsx_sort(l->v, l->n, sizeof(*l->v), cmp_stream);
		fill_in_comms(l);
	}
	return 0;
}

static int digest_comm_add_mpi(struct nsx_maker *m, const struct nsx_member *x,
			       struct events *l, struct nsx_err *err)
{
	for (size_t i = 0; i < m->nmpi; i++) {
		const struct nsx_mpi_wait *c = &m->mpi[i];
		struct event e = {.start_ns = c->sent_ns, .length_ns = c->end_ns - c->sent_ns,
				  .bytes = round_bytes(c->bytes), .comm = c->comm, .name = c->name,
				  .stream = c->is_coll ? -1 : NSX_OF_MESSAGES};

		if (c->process != x->process)
			continue;
		e.idle_ns = x->device == NSX_NONE ? c->end_ns - c->start_ns :
			nsx_idle_within(&m->f->idle[x->device], c->start_ns, c->end_ns);
		e.exposed = share_of(e.idle_ns, e.length_ns);
		if (c->is_again)
			e.idle_ns = 0;
		if (nsx_push(l->v, l->n, l->cap, "collectives", err, e))
			return err->rc;
	}
	return 0;
}

/* The place of an event's kind in the order: NCCL, MPI collectives, MPI messages. */
static int64_t digest_comm_kind_of(const struct event *x)
{
	return NSX_MIN(0, x->stream);
}

/* Orders events by channel. */
static int cmp_channel_of(const struct event *x, const struct event *y)
{
	return NSX_CMP(digest_comm_kind_of(y), digest_comm_kind_of(x)) ?:
	       NSX_CMP(x->comm, y->comm) ?: x->comm ? 0 : NSX_CMP(x->stream, y->stream);
}

/* Orders events by channel and end, which the members of a collective share. Starts differ: if a
 * communicator uses several streams, one rank may reach the second collective first.
 */
static int cmp_event(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return cmp_channel_of(x, y) ?: cmp_end(x, y) ?: strcmp(x->name, y->name);
}

/* Numbers operations in order of first use. */
static int code_ops(const struct event *v, struct nsx_dchannel *c, int64_t *code,
		    struct nsx_arena *a, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups g = {0};
	NSX_AT_EXIT(nsx_free_at) struct nsx_dop *ops = NULL;
	int rc = 0;

	for (size_t i = 0; i < c->n && !rc; i++) {
		int64_t bytes = v[i].bytes;
		struct nsx_dop *op = nsx_group_value(
			&g, &ops, nsx_hash(v[i].name, strlen(v[i].name)),
			(uint64_t)bytes, "operations", err);

		rc = !op ? err->rc : g.n <= UINT16_MAX ? 0 :
		     nsx_fail(err, NSX_E_DATA, "more than %d kinds of collectives", UINT16_MAX);
		if (rc)
			break;
		*op = (struct nsx_dop){.name = v[i].name, .bytes = bytes};
		code[i] = op - ops;
	}
	c->nops = g.n;
	c->ops = nsx_arena_get(a, g.n * sizeof(*ops));
	for (size_t k = 0; k < g.n && !rc; k++)
		c->ops[k] = (struct nsx_dop){
			.name = nsx_arena_strdup(a, ops[k].name),
			.bytes = ops[k].bytes};
	return rc;
}

static int keep_channel(struct nsx_maker *m, const struct event *e, struct nsx_dchannel *c,
			struct nsx_arena *a, struct nsx_err *err)
{
	int64_t *v[NSX_NCOLUMNS];

	if (nsx_new_arrays(m->a, c->n, "collectives", err, v[0], v[1], v[2], v[3]) ||
	    code_ops(e, c, v[NSX_CODE], a, err))
		return err->rc;
	for (size_t i = 0; i < c->n; i++) {
		v[NSX_START][i] = e[i].start_ns;
		v[NSX_LENGTH][i] = e[i].length_ns;
		v[NSX_EXPOSED][i] = e[i].exposed;
	}
	if (nsx_channel_set(c, v, a, err))
		return err->rc;
	for (unsigned k = 0; k < NSX_NCOLUMNS; k++)
		nsx_arena_drop(m->a, v[k]);
	return 0;
}

static int keep_channels(struct nsx_maker *m, const struct events *l,
			 struct nsx_digest *d, struct nsx_err *err)
{
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		n += !i || cmp_channel_of(&l->v[i - 1], &l->v[i]) != 0;
	d->channels = nsx_arena_get(d->arena, n * sizeof(*d->channels));
	NSX_EACH_RUN(i, next, l->n, !cmp_channel_of(&l->v[i], &l->v[next])) {
		struct nsx_dchannel *c = &d->channels[d->nchannels++];
		const struct event *e = &l->v[i];

		/* An MPI handle means something only in its own process. */
		*c = (struct nsx_dchannel){.is_mpi = e->stream < 0, .stream = e->stream, .n = next - i,
					   .comm = e->stream == -1 ? 0 : e->comm,
					   .has_times = m->o->detail > NSX_DETAIL_STEPS};
		if (keep_channel(m, e, c, d->arena, err))
			return err->rc;
	}
	return 0;
}

/* Counts collectives before each step and sums the idle time in MPI waits within it. */
static void count_by_step(const struct events *l, struct nsx_digest *d)
{
	for (size_t i = 0; i < l->n; i++) {
		size_t lo = 0, hi = d->nsteps;

		/* the first step that begins later */
		NSX_BISECT(lo, hi, mid, d->steps[mid].start_ns <= l->v[i].start_ns);
		if (lo < d->nsteps)
			d->steps[lo].colls += l->v[i].stream != NSX_OF_MESSAGES;
		if (lo)
			nsx_add_to(&d->steps[lo - 1].mpi_ns, l->v[i].idle_ns);
	}
	for (size_t i = 1; i < d->nsteps; i++)
		d->steps[i].colls += d->steps[i - 1].colls;
	for (size_t i = 0; i < d->nsteps; i++)
		d->steps[i].mpi_ns = NSX_MIN(d->steps[i].mpi_ns, d->steps[i].part_ns[NSX_P_IDLE]);
}

int nsx_maker_read_nccl(struct nsx_maker *m, struct nsx_err *err)
{
	if (nsx_nccl_calls(m->t, m->o->threads, m->a, &m->nccl, err))
		return err->rc;
	nsx_sort(m->nccl.v, m->nccl.n, sizeof(*m->nccl.v), cmp_call);
	return 0;
}

int nsx_maker_channels(struct nsx_maker *m, const struct nsx_member *x,
		       struct nsx_digest *d, struct nsx_err *err)
{
	struct events l = {0};
	int rc = (x->device != NSX_NONE && add_nccl(m, x, &l, err)) ||
		 digest_comm_add_mpi(m, x, &l, err) ? err->rc : 0;

	if (!rc) {
		nsx_sort(l.v, l.n, sizeof(*l.v), cmp_event);
		count_by_step(&l, d);
		rc = keep_channels(m, &l, d, err);
	}
	free(l.v);
	return rc;
}
