/* gen_acts.c - plays the acts of a training step, and the steps.
 *
 * All ranks play an act before any rank plays the next one, so that a collective can end after its
 * last rank has started. When all kernels have been written the capture stops at once: open ranges
 * stay open, as in a real capture.
 */
#include "gen_sim.h"

#include <stdlib.h>

enum {
	QUEUE_DEPTH = 1024, /* launches that a stream queues before the next one blocks */
	SMALL_QUEUE = 64,   /* depth with very many processes */
	FEW_PROCESSES = 256
};

static void allocate(struct sim *s, struct rank *r, int64_t bytes, bool is_free)
{
	struct memory_row *m = rows_add(s->rows, T_MEMORY);
	int64_t drain = is_free ? later(0, r->last_end - r->now) : 0;

	m->start = r->now + 2 * US;
	api_call(s, r, is_free ? API_FREE : API_MALLOC, drain + rng_in(&r->rng, 60 * US, 300 * US));
	m->rank = r->id;
	m->corr = r->corr;
	m->bytes = bytes;
	m->is_free = is_free;
	if (is_free)
		r->address -= bytes;
	m->address = r->address;
	if (!is_free)
		r->address += bytes;
}

static void begin_step(struct sim *s, struct rank *r, int name)
{
	r->step_start = r->now;
	if (s->step == 0) {
		struct nvtx_row *n = nvtx(s, r, NVTX_DOMAIN, NM_NCCL_REDUCE);

		n->by_id = false;
		for (int i = 0; i < 8; i++)
			allocate(s, r, INT64_C(64) << 20, false);
		for (int t = 0; t < TH_COUNT; t++)
			sched(s, r, (enum thread)t, true, r->now);
	}
	if (s->step % 16 == 15)
		r->now += rng_in(&r->rng, 2 * MS, 4 * MS); /* host code */
	push(s, r, name);
}

static void play_load(struct sim *s, struct rank *r)
{
	if (s->step % 8 == 7)
		block(s, r, OS_SEM_WAIT, rng_in(&r->rng, 5 * MS, 9 * MS));
	else if (rng_one_in(&r->rng, 3))
		block(s, r, OS_SEM_WAIT, rng_in(&r->rng, 200 * US, 2 * MS));
	else
		block(s, r, OS_SEM_WAIT, rng_in(&r->rng, 5 * US, 30 * US));
	if (s->step % 10 == 9) {
		allocate(s, r, INT64_C(64) << 20, true);
		allocate(s, r, INT64_C(64) << 20, false);
	}
	for (int i = 0; i < 4; i++)
		copy_async(s, r, S_COPY, HTOD, PINNED, DEVICE, rng_in(&r->rng, 1, 8) << 20);
	for (int i = 0; i < 2; i++)
		copy_blocking(s, r, HTOD, PAGEABLE, DEVICE, rng_in(&r->rng, 1, 64) << 10);
	wait_for(s, r, S_COPY, S_COMPUTE);
}

/* Lets the loader thread bring a batch while the device computes. */
static void play_prefetch(struct sim *s, struct rank *r, int64_t bytes)
{
	enum thread acting = r->thread;
	int64_t now = r->now, end;
	size_t i = s->rows->of[T_NVTX].n;
	struct nvtx_row *n;

	r->thread = TH_LOADER;
	nvtx(s, r, NVTX_START_END, NM_PREFETCH);
	api_call(s, r, API_MEMCPY, rng_in(&r->rng, 4000, 9000));
	end = copy(s, r, S_COPY, HTOD, PINNED, DEVICE, bytes, now + 2 * US);
	n = rows_at(s->rows, T_NVTX, i);
	n->end = end + 20 * US;
	r->thread = acting;
	r->now = now;
}

static void play_collective(struct sim *s, struct rank *r, int type)
{
	struct pending *p = &s->pending[s->npending++];

	wait_for(s, r, S_COMPUTE, S_COMM);
	p->arrival = ready(r, S_COMM, launch_call(s, r, API_LAUNCH_EX, type));
	p->row = s->rows->of[T_KERNEL].n;
	add_kernel(s, r, type, S_COMM, p->arrival);
}

/* Begins a transfer, once all ranks have started the collective. It ends on all ranks at nearly the
 * same time.
 */
static void meet(struct sim *s, int type)
{
	int64_t last = 0, ns = s->model->kernels[type].ns;

	for (int i = 0; i < s->npending; i++)
		last = later(last, s->pending[i].arrival);
	ns = ns * rng_in(&s->rng, 90, 115) / 100;
	for (int i = 0; i < s->npending; i++) {
		struct kernel_row *k = rows_at(s->rows, T_KERNEL, s->pending[i].row);

		k->end = last + ns + rng_in(&s->rng, 0, 12 * US);
		occupy(s, &s->ranks[k->rank], S_COMM, U_COMM, k->start, k->end);
	}
	s->npending = 0;
}

static void hand_over(struct sim *s, struct rank *r, bool to_autograd)
{
	if (s->opts->worst == W_NESTED)
		return;
	if (to_autograd) {
		r->handed_over = r->now;
		sched(s, r, TH_MAIN, false, r->now + 3 * US);
		sched(s, r, TH_AUTOGRAD, true, r->now + 5 * US);
		r->thread = TH_AUTOGRAD;
	} else {
		sched(s, r, TH_AUTOGRAD, false, r->now + 3 * US);
		sched(s, r, TH_MAIN, true, r->now + 6 * US);
		os_call(s, r, TH_MAIN, OS_COND_WAIT, r->handed_over, r->now + 7 * US);
		r->thread = TH_MAIN;
	}
	r->now += 8 * US;
}

/* Lets the host read a number: in one step by a blocking copy, in the next by an asynchronous one.
 * Then it waits for the stream.
 */
static void play_loss(struct sim *s, struct rank *r)
{
	struct lane *l = &r->lanes[S_COMPUTE];

	l->wait_until = later(l->wait_until, r->last_end);
	if (s->step % 2)
		copy_blocking(s, r, DTOH, DEVICE, PAGEABLE, 4);
	else
		copy_async(s, r, S_COMPUTE, DTOH, DEVICE, PINNED, 4);
	wait_stream(s, r);
}

/* Writes the calls of the other threads during the step. */
static void play_other_threads(struct sim *s, struct rank *r)
{
	int64_t t = r->step_start + rng_in(&r->rng, 10 * US, 300 * US);
	enum thread acting = r->thread;
	int64_t now = r->now;

	while (t < now) {
		int64_t dur = rng_in(&r->rng, 20 * US, 200 * US);
		enum os_call what = rng_one_in(&r->rng, 5) ? OS_MUNMAP : OS_READ;

		os_call(s, r, TH_LOADER, what, t, t + dur);
		if (what == OS_READ && rng_one_in(&r->rng, 2)) {
			sched(s, r, TH_LOADER, false, t + US);
			sched(s, r, TH_LOADER, true, t + dur - US);
		}
		t += dur + rng_in(&r->rng, 50 * US, 200 * US);
	}
	r->thread = TH_WATCHDOG;
	r->now = r->step_start + rng_in(&r->rng, 0, MS);
	while (r->now < now) {
		api_call(s, r, API_QUERY, rng_in(&r->rng, 1500, 4000));
		r->now += 2 * MS;
	}
	r->thread = acting;
	r->now = now;
	os_call(s, r, TH_EVENTS, OS_POLL, r->step_start, now);
	if (rng_one_in(&r->rng, 4))
		os_call(s, r, TH_EVENTS, OS_IOCTL, now - 300 * US, now - 50 * US);
}

static void end_step(struct sim *s, struct rank *r)
{
	if (rng_one_in(&r->rng, 4)) {
		struct nvtx_row *mark = nvtx(s, r, NVTX_MARK, NM_PREFETCH);

		mark->thread = TH_LOADER;
	}
	pop(s, r);
	play_other_threads(s, r);
	r->now += rng_in(&r->rng, 20 * US, 120 * US);
}

static void play_act(struct sim *s, struct rank *r, const struct act *a)
{
	switch (a->op) {
	case A_STEP:
		begin_step(s, r, a->arg);
		break;
	case A_LOAD:
		play_load(s, r);
		break;
	case A_PUSH:
		push(s, r, a->arg);
		break;
	case A_POP:
		pop(s, r);
		break;
	case A_KERNEL:
		launch(s, r, API_LAUNCH, a->arg);
		break;
	case A_GEMM:
		launch(s, r, API_CU_LAUNCH_EX, a->arg);
		break;
	case A_COPY:
		copy_async(s, r, S_COMPUTE, DTOD, DEVICE, DEVICE, (int64_t)a->arg << 10);
		break;
	case A_PREFETCH:
		play_prefetch(s, r, (int64_t)a->arg << 10);
		break;
	case A_MEMSET:
		clear(s, r, rng_in(&r->rng, 1, 256) * 1024);
		break;
	case A_COLL:
		play_collective(s, r, a->arg);
		break;
	case A_WAIT_COMM:
		wait_for(s, r, S_COMM, S_COMPUTE);
		break;
	case A_BACKWARD:
	case A_MAIN:
		hand_over(s, r, a->op == A_BACKWARD);
		break;
	case A_LOSS:
		play_loss(s, r);
		break;
	case A_END:
		end_step(s, r);
		break;
	}
}

bool sim_step(struct sim *s)
{
	for (size_t i = 0; i < s->model->nacts; i++) {
		const struct act *a = &s->model->acts[i];

		for (int r = 0; r < s->opts->procs && s->left > 0; r++)
			play_act(s, &s->ranks[r], a);
		if (s->npending)
			meet(s, a->arg);
	}
	s->step++;
	return s->left > 0;
}

/* ---- beginning and end ------------------------------------------------- */

struct sim *sim_new(const struct opts *opts, struct model *m, struct rows *rows,
		    struct meter *meter)
{
	struct sim *s = grow(NULL, 1, sizeof(*s));
	size_t n = (size_t)opts->procs, lanes = (size_t)sim_streams(opts);

	*s = (struct sim){
	    opts, m, rows, meter, {opts->seed}, .left = opts->kernels};
	s->ranks = grow(NULL, n, sizeof(*s->ranks));
	s->pending = grow(NULL, n, sizeof(*s->pending));
	for (int i = 0; i < opts->procs; i++) {
		struct rank *r = &s->ranks[i];

		*r = (struct rank){.id = i, .corr = 2600000 + 500 * (i % 64)};
		r->rng.s = opts->seed + 1 + (uint64_t)i;
		r->queue_depth = opts->procs <= FEW_PROCESSES ? QUEUE_DEPTH : SMALL_QUEUE;
		r->now = FIRST_NS + rng_in(&r->rng, 0, 2 * MS);
		r->op = 990000 + 1000 * (i % 64);
		r->seq = 45000;
		r->address = INT64_C(0x7f0000000000);
		r->lanes = calloc(lanes, sizeof(*r->lanes));
		r->queue = calloc((size_t)r->queue_depth, sizeof(*r->queue));
		r->loaded = calloc((size_t)m->nkernels, sizeof(*r->loaded));
		if (!r->lanes || !r->queue || !r->loaded)
			die("no memory for %d processes", opts->procs);
		for (int t = 0; t < TH_COUNT; t++)
			r->cpu[t] = (int)rng_in(&r->rng, 0, 95);
	}
	return s;
}

/* Closes the whole stack of ranges, for the case of nested ones. */
void sim_unwind(struct sim *s)
{
	for (int i = 0; i < s->opts->procs; i++) {
		struct rank *r = &s->ranks[i];

		while (r->nopen) {
			struct nvtx_row *row = rows_at(s->rows, T_NVTX, r->open[--r->nopen]);

			row->end = r->now += rng_in(&r->rng, 100, 400);
		}
	}
}

int64_t sim_horizon(const struct sim *s)
{
	int64_t t = INT64_MAX;

	for (int i = 0; i < s->opts->procs; i++)
		if (s->ranks[i].now < t)
			t = s->ranks[i].now;
	return t;
}

int64_t sim_last(const struct sim *s)
{
	int64_t t = 0;

	for (int i = 0; i < s->opts->procs; i++)
		t = later(t, later(s->ranks[i].now, s->ranks[i].last_end));
	return t;
}

void sim_free(struct sim *s)
{
	for (int i = 0; i < s->opts->procs; i++) {
		free(s->ranks[i].lanes);
		free(s->ranks[i].queue);
		free(s->ranks[i].loaded);
		free(s->ranks[i].open);
	}
	free(s->ranks);
	free(s->pending);
	free(s);
}
