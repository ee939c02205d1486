/* ledger.c - adds up the judged time by account: by class and place (see ledger.h). */
#include "base/group.h"
#include "base/stat.h"
#include "facts/ledger.h"
#include "schema/codes.h"

const char *const nsx_ledger_names[NSX_NLEDGER] = {
	[NSX_L_COMPUTE] = "compute", [NSX_L_COMM] = "exposed communication",
	[NSX_L_COPY] = "copy", [NSX_L_IDLE] = "idle",
};

/* The place of a copy is its kind, with PAGEABLE as a bit; that of all memsets is MEMSET. */
enum { MEMSET = NSX_NCOPY_KINDS, PAGEABLE = 0x100 };

struct books {
	const struct nsx_facts *f;
	const struct nsx_trace *t;
	struct nsx_window w;
	struct nsx_ledger *ledger;
	struct nsx_groups keys;
	struct nsx_near near;
	struct nsx_account *v;
};

static int add_to_account(struct books *b, enum nsx_ledger_class cls, enum nsx_cause cause,
			  uint32_t place, int64_t ns, struct nsx_err *err)
{
	struct nsx_account *x = nsx_near_value(&b->keys, &b->near, &b->v,
					       (unsigned)cls << 8 | cause, place, "accounts", err);

	if (!x)
		return err->rc;
	x->cls = cls;
	x->cause = cause;
	x->place = place;
	x->count++;
	x->ns += ns;
	if (cls == NSX_L_IDLE && cause == NSX_CAUSE_HOST_CODE && ns < NSX_SHORT_HOST_NS) {
		x->short_ns += ns;
		b->ledger->short_host_ns += ns;
	}
	b->ledger->ns[cls] += ns;
	b->ledger->total_ns += ns;
	if (cls == NSX_L_IDLE)
		b->ledger->idle_ns[cause] += ns;
	if (x->count == 1)
		x->is_mpi = cause == NSX_CAUSE_OSRT &&
			    !strncmp(nsx_fact_text(b->f, place), "MPI_", 4);
	b->ledger->mpi_ns += x->is_mpi ? ns : 0;
	return 0;
}

static uint32_t ledger_place_of(const struct books *b, size_t op)
{
	const struct nsx_trace *t = b->t;
	const struct nsx_copy *c;

	switch (t->ops.kind[op]) {
	case NSX_OP_KERNEL:
		return t->ops.cls[op] == NSX_C_COMM ? nsx_op_launch(t, op)->op : nsx_op_name(t, op);
	case NSX_OP_MEMCPY:
		c = nsx_op_copy(t, op);
		return (uint32_t)(NSX_MIN(c->copy_kind, MEMSET) |
				  (nsx_copy_is_pageable(c->copy_kind, c->src_kind,
							c->dst_kind) ?
					   PAGEABLE : 0));
	case NSX_OP_MEMSET:
		return MEMSET;
	default:
		return NSX_NONE;
	}
}

/* Adds a device's operations to their accounts, in order of start. An operation counts from where
 * earlier operations of its class end, without the time in which another class hides it.
 */
static int account_ops(struct books *b, uint32_t device, const struct nsx_spans *kernels,
		       struct nsx_err *err)
{
	static const enum nsx_ledger_class of[] = {
		[NSX_C_COMPUTE] = NSX_L_COMPUTE, [NSX_C_COMM] = NSX_L_COMM,
		[NSX_C_COPY] = NSX_L_COPY};
	const struct nsx_spans *hides[] = {
		[NSX_L_COMPUTE] = NULL,
		[NSX_L_COMM] = &b->f->device[device].compute, [NSX_L_COPY] = kernels};
	int64_t edge_ns[ARRAY_LEN(hides)];
	size_t cursor[ARRAY_LEN(hides)] = {0}, at = 0, i;

	for (size_t c = 0; c < ARRAY_LEN(edge_ns); c++)
		edge_ns[c] = b->w.start_ns;
	while (nsx_next_op(b->f, b->t, device, &b->w, &at, &i)) {
		enum nsx_ledger_class cls = of[b->t->ops.cls[i]];
		int64_t from = NSX_MAX(nsx_op_start(&b->t->ops, i), edge_ns[cls]);
		int64_t to = NSX_MIN(nsx_op_end(&b->t->ops, i), b->w.end_ns), ns;

		if (from >= to)
			continue;
		edge_ns[cls] = to;
		ns = to - from;
		if (hides[cls])
			ns -= nsx_spans_covered(hides[cls], &cursor[cls], from, to);
		if (ns && add_to_account(b, cls, 0, ledger_place_of(b, i), ns, err))
			return err->rc;
	}
	return 0;
}

/* Whether the gap before op lies inside a replay that was traced node by node. */
static bool is_between_nodes(const struct nsx_trace *t, uint32_t device, enum nsx_cause cause,
			     uint32_t op)
{
	return (cause == NSX_CAUSE_DISPATCH || cause == NSX_CAUSE_DEPENDENCY) &&
	       op != NSX_NONE && op > t->device[device].ops_at &&
	       t->ops.flags[op] & NSX_OP_NODE &&
	       nsx_op_call(&t->ops, op) == nsx_op_call(&t->ops, op - 1);
}

/* The call of MPI that a thread is in throughout a span; 0: none. */
static nsx_str mpi_around(const struct nsx_trace *t, uint32_t thread, struct nsx_span in)
{
	const struct nsx_library_calls *c = &t->library;
	size_t i = NSX_SEARCH((size_t)0, c->n, mid, c->thread[mid] < thread ||
			      (c->thread[mid] == thread &&
			       nsx_unpack(&c->start, mid) <= in.start_ns));

	return i-- && c->thread[i] == thread && c->library[i] == NSX_LIBRARY_MPI &&
	       nsx_unpack(&c->start, i) + nsx_unpack(&c->length, i) >= in.end_ns ? c->name[i] : 0;
}

/* Changes the cause of a piece of idle time where accounts are more exact than the table of idle
 * time. Loading code in a launch is no cost of launching; nor is the time of work that stays
 * queued. What a thread does in CUDA inside a call of MPI belongs to MPI.
 */
static void refine_cause(const struct nsx_facts *f, const struct nsx_trace *t,
			 struct nsx_idle_piece *x)
{
	static const unsigned of_thread = 1u << NSX_CAUSE_SYNC | 1u << NSX_CAUSE_BLOCKING_COPY |
		1u << NSX_CAUSE_IMPLICIT_SYNC | 1u << NSX_CAUSE_ALLOC | 1u << NSX_CAUSE_OTHER_API |
		1u << NSX_CAUSE_LAUNCH_CALL | 1u << NSX_CAUSE_LAUNCH_TO_START;
	uint32_t call;
	nsx_str mpi;

	if (x->cause == NSX_CAUSE_LAUNCH_CALL && x->op != NSX_NONE &&
	    nsx_call_loads(f, nsx_op_call(&t->ops, x->op)))
		x->cause = NSX_CAUSE_MODULE;
	if (x->cause == NSX_CAUSE_LAUNCH_TO_START &&
	    x->end_ns - x->start_ns >= NSX_SHORT_HOST_NS) {
		x->cause = NSX_CAUSE_DEPENDENCY;
		x->detail = 0;
	}
	call = x->op == NSX_NONE ? NSX_NONE : nsx_op_call(&t->ops, x->op);
	mpi = call == NSX_NONE || !(of_thread >> x->cause & 1) ? 0 :
		mpi_around(t, nsx_call_thread(t, call),
			   (struct nsx_span){x->start_ns, x->end_ns});
	if (mpi) {
		x->cause = NSX_CAUSE_OSRT;
		x->detail = mpi;
	}
}

static int account_idle(struct books *b, uint32_t device, struct nsx_err *err)
{
	const struct nsx_idle *idle = &b->f->idle[device];

	for (size_t i = nsx_idle_from(idle, b->w.start_ns); i < idle->n; i++) {
		struct nsx_idle_piece x = nsx_idle_at(idle, i);
		int64_t from = NSX_MAX(x.start_ns, b->w.start_ns);
		int64_t to = NSX_MIN(x.end_ns, b->w.end_ns);

		if (x.start_ns >= b->w.end_ns)
			break;
		if (from >= to)
			continue;
		refine_cause(b->f, b->t, &x);
		if (is_between_nodes(b->t, device, x.cause, x.op)) {
			x.detail = nsx_call_name(&b->t->calls, nsx_op_call(&b->t->ops, x.op));
			b->ledger->between_nodes_ns += to - from;
			x.cause = NSX_CAUSE_DISPATCH;
		}
		if (add_to_account(b, NSX_L_IDLE, x.cause, x.detail, to - from, err))
			return err->rc;
	}
	return 0;
}

/* Places that are texts are compared as texts, because their ids differ from run to run. */
static bool has_text_place(const struct nsx_account *x)
{
	return (x->cls == NSX_L_COMPUTE || x->cls == NSX_L_IDLE) && x->place != NSX_NONE;
}

NSX_ORDER_IN(cmp_accounts, struct nsx_account, struct nsx_facts, DOWN(x->ns), UP(x->cls),
	     UP(x->cause), BY(has_text_place(x) && has_text_place(y) ?
			      nsx_str_cmp(c->strings, x->place, y->place) :
			      NSX_CMP(x->place, y->place)));

bool nsx_gpu_works(const struct nsx_facts *f, uint32_t device, const struct nsx_booked *what)
{
	for (size_t i = 0; i < what->n; i++) {
		const struct nsx_window *w = &what->w[i];
		struct nsx_partition p;

		nsx_partition(&f->device[device], w->start_ns, w->end_ns, &p);
		if (p.ns[NSX_P_IDLE] < w->end_ns - w->start_ns)
			return true;
	}
	return false;
}

static int account_device(struct books *b, uint32_t device, const struct nsx_booked *what,
			  struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_spans kernels;

	if (what->device == NSX_NONE && !nsx_gpu_works(b->f, device, what))
		return 0;
	b->ledger->ngpus++;
	if (nsx_kernel_spans(&b->f->device[device], scratch, &kernels, err))
		return err->rc;
	for (size_t i = 0; i < what->n; i++) {
		b->w = what->w[i];
		if (account_ops(b, device, &kernels, err) || account_idle(b, device, err))
			return err->rc;
	}
	return 0;
}

int nsx_ledger_build(const struct nsx_facts *f, const struct nsx_trace *t,
		     const struct nsx_booked *what, struct nsx_arena *a,
		     struct nsx_ledger *ret, struct nsx_err *err)
{
	struct books b = {.f = f, .t = t, .ledger = ret};
	int rc = 0;

	*ret = (struct nsx_ledger){0};
	for (uint32_t d = 0; !rc && d < f->ndevices; d++)
		if (what->device == NSX_NONE || what->device == d)
			rc = account_device(&b, d, what, err);
	ret->n = b.keys.n;
	rc = rc ?: nsx_new_arrays(a, ret->n + 1, "accounts", err, ret->v);
	for (size_t i = 0; !rc && i < ret->n; i++)
		ret->v[i] = b.v[i];
	if (rc)
		*ret = (struct nsx_ledger){0};
	nsx_sort_r(ret->v, ret->n, sizeof(*ret->v), cmp_accounts, (void *)f);
	nsx_groups_done(&b.keys);
	free(b.v);
	return rc;
}

struct nsx_ledger_excess nsx_ledger_beyond(const struct nsx_ledger *x,
					   const struct nsx_ledger *usual, double each)
{
	struct nsx_ledger_excess best = {.row.ns = 0};

	for (size_t i = 0; i < x->n; i++) {
		const struct nsx_account *v = &x->v[i];
		double ns = (double)v->ns, n = (double)v->count;

		for (size_t k = 0; k < usual->n && ns > (double)best.row.ns; k++)
			if (v->cls == usual->v[k].cls && v->cause == usual->v[k].cause &&
			    v->place == usual->v[k].place) {
				ns -= each * (double)usual->v[k].ns;
				n -= each * (double)usual->v[k].count;
			}
		if (ns <= (double)best.row.ns)
			continue;
		best.row = *v;
		best.row.ns = nsx_to_i64(ns);
		best.more_ns = n * (double)v->ns / (double)NSX_MAX(v->count, 1);
	}
	best.class_ns = best.row.cls == NSX_L_IDLE ?
		(double)x->idle_ns[best.row.cause] - each * (double)usual->idle_ns[best.row.cause] :
		(double)x->ns[best.row.cls] - each * (double)usual->ns[best.row.cls];
	return best;
}

static const char *copy_place(const struct nsx_account *x, struct nsx_arena *a)
{
	static const char *const words[NSX_NCOPY_KINDS + 1] = {
		[NSX_COPY_HTOD] = "copies host to device", [NSX_COPY_DTOH] = "copies device to host",
		[NSX_COPY_HTOA] = "copies host to array", [NSX_COPY_ATOH] = "copies array to host",
		[NSX_COPY_ATOA] = "copies array to array", [NSX_COPY_ATOD] = "copies array to device",
		[NSX_COPY_DTOA] = "copies device to array", [NSX_COPY_DTOD] = "copies on the device",
		[NSX_COPY_HTOH] = "copies host to host", [NSX_COPY_PTOP] = "copies between GPUs",
		[NSX_COPY_UVM_HTOD] = "pages to the device",
		[NSX_COPY_UVM_DTOH] = "pages to the host",
		[NSX_COPY_UVM_DTOD] = "pages between GPUs", [MEMSET] = "memsets"};
	const char *word = words[x->place & ~(unsigned)PAGEABLE] ?: "copies of an unknown kind";

	return x->place & PAGEABLE ? nsx_arena_printf(a, "%s, pageable", word) : word;
}

const char *nsx_account_place(const struct nsx_facts *f, const struct nsx_account *x,
			      struct nsx_arena *a)
{
	char base[128];

	switch (x->cls) {
	case NSX_L_COMPUTE:
		return x->place == NSX_NONE ? "CUDA graphs" :
					      nsx_kernel_label(&f->kernels, x->place);
	case NSX_L_COMM:
		return x->place == NSX_COMM_OTHER ? "other communication" :
						    nsx_comm_op_name(x->place);
	case NSX_L_COPY:
		return copy_place(x, a);
	default:
		return !x->place ? NULL : x->cause == NSX_CAUSE_HOST_CODE ?
			       nsx_fact_text(f, x->place) :
			       nsx_arena_strdup(a, nsx_api_base(nsx_fact_text(f, x->place),
								base, sizeof(base)));
	}
}
