/* staging.c - MPI that copies GPU buffers through host memory.
 *
 * Given a GPU buffer, MPI may copy it to the host, send that, and copy back the data that it
 * receives. These copies and the waits for them are CUDA calls inside MPI calls. The program did
 * not make them, so no advice on copies, waits or launches applies. They form one finding, by the
 * MPI function that makes them.
 */
#include "detect/detect.h"
#include "facts/outside.h"

enum side { OUT, IN, NSIDES };

struct function { /* an MPI function that copies through the host */
	nsx_str name;
	size_t count, nall; /* count: calls that copy; nall: all calls       */
	int64_t ns;	    /* time of the calls that copy                   */
};

struct staging {
	struct nsx_detect *d;
	struct nsx_groups names;
	struct function *v;
	/* CUDA calls inside MPI calls, and their copies: [OUT] of data on its way to the host */
	struct nsx_row_list calls[NSIDES], copies[NSIDES];
	int64_t bytes;
	/* time in MPI calls that copy, and in CUDA calls inside these: by process, of all, and of
	 * the process with most
	 */
	struct rank {
		int64_t ns, cuda_ns;
	} *rank, all, most;
	const struct function *top; /* the function with most time; NULL: none */
	size_t count, nfunctions, nranks;
};

/* Calls inside calls of MPI --------------------------------------------------------*/

/* cursor over outermost MPI calls with the CUDA calls inside */
struct inside {
	struct nsx_outside mpi;
	size_t first, end; /* range of the CUDA calls inside, in trace.calls */
	bool stages;	   /* whether one of them copies between host and GPU */
	size_t at;	   /* cursor of nsx_outside_next                     */
};

static bool is_staged_copy(const struct nsx_trace *t, size_t call)
{
	uint32_t op = nsx_call_op(&t->calls, call);
	unsigned kind;

	if (op == NSX_NONE || t->ops.kind[op] != NSX_OP_MEMCPY)
		return false;
	kind = nsx_op_copy(t, op)->copy_kind;
	return kind == NSX_COPY_HTOD || kind == NSX_COPY_DTOH;
}

/* Advances x to the next call; *x begins zeroed. Returns false at the end. */
static bool next_inside(const struct nsx_trace *t, struct inside *x)
{
	struct nsx_outside last = x->mpi;
	const struct nsx_thread *h;

	do {
		if (!nsx_outside_next(t, &x->at, &x->mpi))
			return false;
	} while (!x->mpi.is_mpi ||
		 (last.is_mpi && x->mpi.thread == last.thread &&
		  x->mpi.start_ns < last.end_ns));
	h = &t->thread[x->mpi.thread];
	if (!last.is_mpi || x->mpi.thread != last.thread)
		x->end = h->calls_at;
	while (x->end < h->calls_at + h->ncalls &&
	       nsx_call_start(&t->calls, x->end) < x->mpi.start_ns)
		x->end++;
	x->stages = false;
	for (x->first = x->end;
	     x->end < h->calls_at + h->ncalls &&
	     nsx_call_end(&t->calls, x->end) <= x->mpi.end_ns; x->end++)
		x->stages |= is_staged_copy(t, x->end);
	return true;
}

int nsx_mark_staged(struct nsx_detect *d, uint8_t *bits, struct nsx_err *err)
{
	struct inside x = {0};

	while (next_inside(d->trace, &x))
		for (size_t i = x.first; x.stages && i < x.end; i++)
			nsx_mark(bits, i);
	return nsx_stopped(err);
}

/* Judged copies -------------------------------------------------------------------*/

/* Adds the calls and copies inside one MPI call. Calls before the first copy from the GPU count as
 * going out, those after a copy to the GPU as coming in.
 */
static int add_inside(struct staging *s, const struct inside *x, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	struct rank *r = &s->rank[t->thread[x->mpi.thread].process];
	enum side side = OUT;

	nsx_add_to(&r->ns, x->mpi.end_ns - x->mpi.start_ns);
	for (size_t i = x->first; i < x->end; i++) {
		uint32_t op = nsx_call_op(&t->calls, i);
		bool copies = is_staged_copy(t, i);

		if (copies)
			side = nsx_op_copy(t, op)->copy_kind == NSX_COPY_DTOH ? OUT : IN;
		if (nsx_list_row(s->d, &s->calls[side], i, err))
			return err->rc;
		if (!(t->calls.flags[i] & NSX_CALL_NESTED))
			nsx_add_to(&r->cuda_ns, nsx_call_ns(&t->calls, i));
		if (!copies)
			continue;
		nsx_add_to(&s->bytes, NSX_MAX(0, nsx_op_copy(t, op)->bytes));
		if (nsx_list_row(s->d, &s->copies[side], op, err))
			return err->rc;
	}
	return 0;
}

static int staging_collect(struct staging *s, struct nsx_err *err)
{
	const struct nsx_trace *t = s->d->trace;
	struct inside x = {0};

	s->rank = nsx_arena_get(s->d->scratch, (t->nprocesses + 1) * sizeof(*s->rank));
	while (next_inside(t, &x)) {
		struct function *f;

		if (x.mpi.start_ns >= s->d->w.end_ns || x.mpi.end_ns <= s->d->w.start_ns)
			continue;
		f = nsx_group_value(&s->names, &s->v, x.mpi.name, 0, "functions of MPI", err);
		if (!f)
			return err->rc;
		f->name = x.mpi.name;
		f->nall++;
		if (!x.stages)
			continue;
		f->count++;
		nsx_add_to(&f->ns, x.mpi.end_ns - x.mpi.start_ns);
		if (add_inside(s, &x, err))
			return err->rc;
	}
	return nsx_stopped(err);
}

/* The finding ----------------------------------------------------------------------*/

/* Sets the remedy: the CUDA calls and their work disappear. If they are most of the time in MPI,
 * the time between them is overhead of handling them and disappears too. Only the calls of one side
 * are certain to go: a message from GPU to GPU takes one copy and its wait.
 */
static void staging_set_remedy(struct staging *s, bool is_most, struct nsx_finding *f)
{
	struct nsx_plan p = {NULL, 0};

	for (unsigned side = 0; side < NSIDES; side++) {
		nsx_plan_rows(s->d, &p, &s->copies[side], (struct nsx_change){
			.verb = NSX_DROP, .op = NSX_ON_COPIES});
		nsx_plan_rows(s->d, &p, &s->calls[side],
			      (struct nsx_change){.verb = NSX_NO_COST});
		f->surely = side == OUT ? p : f->surely;
	}
	for (size_t i = 0; is_most && i < s->names.n; i++)
		if (s->v[i].count * 2 > s->v[i].nall)
			nsx_plan_add(s->d, &p, (struct nsx_change){
				.verb = NSX_NO_OS_WAIT,
				.name = nsx_text(s->d->trace, s->v[i].name)});
	f->remedy = p;
	f->if_least = say_if_messages_take_one_copy;
}

static void staging_sum(struct staging *s)
{
	for (size_t i = 0; i < s->names.n; i++) {
		const struct function *f = &s->v[i];

		s->nfunctions += f->count > 0;
		s->count += f->count;
		if (f->count && (!s->top || f->ns > s->top->ns))
			s->top = f;
	}
	for (uint32_t p = 0; p < s->d->trace->nprocesses; p++) {
		const struct rank *r = &s->rank[p];

		s->nranks += r->ns > 0;
		nsx_add_to(&s->all.ns, r->ns);
		nsx_add_to(&s->all.cuda_ns, r->cuda_ns);
		s->most.ns = NSX_MAX(s->most.ns, r->ns);
		s->most.cuda_ns = NSX_MAX(s->most.cuda_ns, r->cuda_ns);
	}
}

/* "5612 calls of 4 ranks, 47.9 ms of one at most, make 11224 copies, 92 MB in all; ..." */
static void staging_propose(struct staging *s)
{
	struct nsx_findings *l = s->d->found;
	const char *function = nsx_text(s->d->trace, s->top->name);
	const char *who = s->nranks == 1 ? "" : nsx_tell(l, " of %zu ranks", s->nranks);
	const char *others = s->nfunctions == 1 ? "" : nsx_tell(
		l, " and %s", nsx_text_n(l->arena, s->nfunctions - 1, "other function", NULL));
	bool is_most = s->all.cuda_ns * 2 > s->all.ns;
	double most_ns = (double)(is_most ? s->most.ns : s->most.cuda_ns);
	struct nsx_finding f = {.id = NSX_ID_mpi_staging,
		.subject = function,
		.title = nsx_tell(l, say_gpu_buffers_through_host, nsx_tell_name(l, function),
			others, s->nfunctions == 1 ? "copies" : "copy"),
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE, .guess_ns = most_ns,
		.most_ns = most_ns, .is_bound = true,
		.evidence = {nsx_tell(l, say_make_all_their_time_cuda,
				nsx_text_n(l->arena, s->count, "call", NULL), who,
				s->nranks == 1 ? "" : "up to ", nsx_tell_ns(l, s->most.ns),
				s->nranks == 1 ? " in all" : " a rank",
				nsx_text_n(l->arena, s->copies[OUT].n + s->copies[IN].n, "copy",
					"copies"),
				nsx_tell_bytes(l, s->bytes),
				nsx_text_share(l->arena, (double)s->all.cuda_ns,
					(double)s->all.ns))},
		.recommendation = {say_let_mpi_move_from_gpu, say_send_fewer_larger_messages},
		.proof = {{.csv = "library_calls", .column = "total_time_ms",
			.at = {{"library", nsx_string("MPI")},
				{"function", nsx_string(function)}}}}};

	staging_set_remedy(s, is_most, &f);
	nsx_found(l, &f);
}

int nsx_detect_staging(struct nsx_detect *d, struct nsx_err *err)
{
	struct staging *s = nsx_arena_get(d->scratch, sizeof(*s));

	s->d = d;
	nsx_keep_groups(d, &s->names, &s->v);
	if (staging_collect(s, err))
		return err->rc;
	staging_sum(s);
	if (s->top)
		staging_propose(s);
	return 0;
}
