/* gen_sim.c - plays the acts of a step on the timelines of all ranks.
 *
 * Each rank has a host clock, which advances with every call and range, and a few streams, each
 * with the time at which it becomes free. A kernel starts after its launch call, when its stream is
 * free and the work for which the stream waits has ended. All ranks play an act before any rank
 * plays the next one, so that a collective can end after its last rank has started.
 */
#include "gen_sim.h"

enum { MANY_STREAMS = 100000 };

int sim_streams(const struct opts *opts)
{
	return S_FIXED + (opts->worst == W_STREAMS ? MANY_STREAMS / opts->procs : 0);
}

/* ---- the host ---------------------------------------------------------- */

/* Adds a call of the acting thread that begins now; moves the clock to its end. */
int64_t api_call(struct sim *s, struct rank *r, enum api api, int64_t dur)
{
	struct api_row *row = rows_add(s->rows, T_RUNTIME);

	r->corr += rng_in(&r->rng, 1, 16);
	*row = (struct api_row){.start = r->now,
				.end = r->now + dur,
				.rank = r->id,
				.thread = r->thread,
				.api = api,
				.corr = r->corr};
	r->now += dur + rng_in(&r->rng, 300, 1500);
	return r->corr;
}

void os_call(struct sim *s, struct rank *r, enum thread thread,
	     enum os_call what, int64_t start, int64_t end)
{
	struct os_row *row = rows_add(s->rows, T_OSRT);

	*row = (struct os_row){.start = start,
			       .end = end,
			       .rank = r->id,
			       .thread = thread,
			       .call = what};
}

void sched(struct sim *s, struct rank *r, enum thread thread, bool in, int64_t time)
{
	struct sched_row *row = rows_add(s->rows, T_SCHED);

	if (in && rng_one_in(&r->rng, 20))
		r->cpu[thread] = (int)rng_in(&r->rng, 0, 95);
	*row = (struct sched_row){.start = time,
				  .rank = r->id,
				  .thread = thread,
				  .cpu = r->cpu[thread],
				  .in = in};
}

/* Lets the acting thread sleep in a call of the operating system. */
void block(struct sim *s, struct rank *r, enum os_call what, int64_t dur)
{
	os_call(s, r, r->thread, what, r->now, r->now + dur);
	sched(s, r, r->thread, false, r->now + 2 * US);
	sched(s, r, r->thread, true, r->now + dur - US);
	r->now += dur + 500;
}

struct nvtx_row *nvtx(struct sim *s, struct rank *r, int type, int name)
{
	struct nvtx_row *row = rows_add(s->rows, T_NVTX);
	struct rng by_op = {(uint64_t)r->op};

	/* Each operation number has its own string, in one rank at most. */
	*row =
	    (struct nvtx_row){.start = r->now,
			      .end = NONE,
			      .rank = r->id,
			      .thread = r->thread,
			      .type = type,
			      .name = name,
			      .by_id = rng_next(&by_op) % 16 == (uint64_t)r->id,
			      .op = r->op++};
	return row;
}

void push(struct sim *s, struct rank *r, int name)
{
	struct nvtx_row *row;

	if (s->opts->worst == W_NESTED && r->nopen >= (size_t)s->opts->kernels)
		return;
	row = nvtx(s, r, NVTX_PUSH_POP, name);
	if (s->model->names[name].kind == N_STEP)
		row->seq = s->step;
	else if (s->model->names[name].kind == N_SEQ)
		row->seq = r->seq++;
	if (r->nopen == r->open_cap) {
		r->open_cap = r->open_cap ? 2 * r->open_cap : 32;
		r->open = grow(r->open, r->open_cap, sizeof(*r->open));
	}
	r->open[r->nopen++] = s->rows->of[T_NVTX].n - 1;
	r->now += rng_in(&r->rng, 500, 2500);
}

/* Ends the innermost range. In the case of nested ranges nothing is popped before the end. */
void pop(struct sim *s, struct rank *r)
{
	struct nvtx_row *row;

	if (s->opts->worst == W_NESTED)
		return;
	r->now += rng_in(&r->rng, 200, 800);
	row = rows_at(s->rows, T_NVTX, r->open[--r->nopen]);
	row->end = r->now;
}

/* ---- the device -------------------------------------------------------- */

static void overhead(struct sim *s, struct rank *r, int type, int64_t start, int64_t end)
{
	struct overhead_row *row = rows_add(s->rows, T_OVERHEAD);

	*row = (struct overhead_row){.start = start,
				     .end = end,
				     .rank = r->id,
				     .thread = r->thread,
				     .corr = r->corr,
				     .type = type};
}

/* The earliest start of work that a stream gets at the time `given`. */
int64_t ready(struct rank *r, int stream, int64_t given)
{
	struct lane *l = &r->lanes[stream];
	int64_t start = given + rng_in(&r->rng, 1500, 4000);

	start = later(start, l->free_at + rng_in(&r->rng, 800, 1500));
	return later(start, l->wait_until + rng_in(&r->rng, 900, 1900));
}

void occupy(struct sim *s, struct rank *r, int stream, enum use use, int64_t start, int64_t end)
{
	r->lanes[stream].free_at = end;
	r->last_end = later(r->last_end, end);
	meter_use(s->meter, rank_gpu(r->id), use, start, end);
}

/* How long a launch waits for space in the queue. The driver waits until a large part of the queue
 * has started, not only one launch.
 */
static int64_t queue_wait(const struct rank *r, int64_t now)
{
	int64_t depth = r->queue_depth;

	if (r->queue[r->launches % depth] <= now)
		return 0;
	return r->queue[(r->launches + depth / 8) % depth] - now;
}

/* Adds the call that launches a kernel; returns the time at which the device has it. A full queue
 * and the first use of a kernel make the call long and add rows of their own.
 */
int64_t launch_call(struct sim *s, struct rank *r, enum api api, int type)
{
	int64_t start = r->now, dur = rng_in(&r->rng, 3000, 6500);
	int64_t full = queue_wait(r, start + 600), lazy = 0;

	if (rng_one_in(&r->rng, 64))
		dur += rng_in(&r->rng, 5 * US, 40 * US);
	if (!r->loaded[type])
		lazy = rng_in(&r->rng, 80 * US, 400 * US);
	r->loaded[type] = true;
	dur += lazy + (full > 0 ? full : 0);
	api_call(s, r, api, dur);
	if (full > 0)
		overhead(s, r, OVERHEAD_FULL, start + 600, start + 600 + full);
	else if (lazy)
		overhead(s, r, OVERHEAD_LAZY, start + 500, start + 500 + lazy);
	if (api == API_LAUNCH_EX) { /* the driver call inside has the same id */
		struct api_row *row = rows_add(s->rows, T_RUNTIME);

		*row = (struct api_row){.start = start + 900,
					.end = start + dur - 300,
					.rank = r->id,
					.thread = r->thread,
					.api = API_CU_LAUNCH_EX,
					.corr = r->corr};
	}
	return start + dur * 6 / 10;
}

struct kernel_row *add_kernel(struct sim *s, struct rank *r, int type, int stream, int64_t start)
{
	struct kernel_row *k = rows_add(s->rows, T_KERNEL);

	*k = (struct kernel_row){.start = start,
				 .rank = r->id,
				 .stream = stream,
				 .type = type,
				 .corr = r->corr};
	r->queue[r->launches++ % r->queue_depth] = start;
	s->left--;
	return k;
}

/* Lets the device run dry, for one of four reasons on the host, in traces with gaps. */
static void make_gap(struct sim *s, struct rank *r)
{
	int64_t idle = r->last_end + rng_in(&r->rng, 20 * US, 60 * US);

	switch (r->launches % 4) {
	case 0:
		r->now = later(r->now, idle);
		break;
	case 1:
		wait_stream(s, r);
		r->now = later(r->now, idle);
		break;
	case 2:
		block(s, r, OS_SEM_WAIT, later(5 * US, idle - r->now));
		break;
	default:
		api_call(s, r, API_FREE, later(5 * US, idle - r->now));
		break;
	}
}

void launch(struct sim *s, struct rank *r, enum api api, int type)
{
	bool named = s->opts->worst == W_NVTX_NAMES;
	int stream = S_COMPUTE;
	struct kernel_row *k;
	int64_t start, ns;

	if (named || s->opts->worst == W_NESTED)
		push(s, r, named ? NM_UNIQUE : NM_MUL);
	if (s->opts->worst == W_STREAMS)
		stream = (int)rng_in(&r->rng, S_FIXED, sim_streams(s->opts) - 1);
	if (api == API_CU_LAUNCH_EX && rng_one_in(&r->rng, 4))
		api_call(s, r, API_CU_ATTR, rng_in(&r->rng, 300, 500));
	if (rng_one_in(&r->rng, 32))
		api_call(s, r, API_CAPTURING, rng_in(&r->rng, 500, 1200));
	start = ready(r, stream, launch_call(s, r, api, type));
	ns = s->model->kernels[type].ns * rng_in(&r->rng, 92, 110) / 100;
	if (r->id == s->opts->procs - 1)
		ns += ns / 100; /* the last GPU is a little slower */
	k = add_kernel(s, r, type, stream, start);
	k->end = start + ns;
	occupy(s, r, stream, U_COMPUTE, start, start + ns);
	if (named)
		pop(s, r);
	if (s->opts->worst == W_GAPS)
		make_gap(s, r);
}

int64_t copy(struct sim *s, struct rank *r, int stream, int kind, int src,
	     int dst, int64_t bytes, int64_t given)
{
	struct copy_row *c = rows_add(s->rows, T_MEMCPY);
	int64_t per_us = kind == 8 ? 1400000 : src && dst ? 26000 : 6000;
	int64_t start = ready(r, stream, given);
	int64_t end = start + rng_in(&r->rng, 700, 1100) + bytes * US / per_us;

	*c = (struct copy_row){.start = start,
			       .end = end,
			       .rank = r->id,
			       .stream = stream,
			       .corr = r->corr,
			       .bytes = bytes,
			       .kind = kind,
			       .src = src,
			       .dst = dst};
	occupy(s, r, stream, U_COPY, start, end);
	return end;
}

void copy_async(struct sim *s, struct rank *r, int stream, int kind, int src,
		int dst, int64_t bytes)
{
	int64_t given = r->now + 2 * US;

	api_call(s, r, API_MEMCPY, rng_in(&r->rng, 3500, 9000));
	copy(s, r, stream, kind, src, dst, bytes, given);
}

/* Adds a copy from or to pageable memory, whose call ends with it. */
void copy_blocking(struct sim *s, struct rank *r, int kind, int src, int dst, int64_t bytes)
{
	size_t i = s->rows->of[T_RUNTIME].n;
	int64_t given = r->now + 3 * US;
	struct api_row *row;

	api_call(s, r, API_MEMCPY, 0);
	r->now = copy(s, r, S_COMPUTE, kind, src, dst, bytes, given) + 2 * US;
	row = rows_at(s->rows, T_RUNTIME, i);
	row->end = r->now;
	r->now += US;
}

void clear(struct sim *s, struct rank *r, int64_t bytes)
{
	struct memset_row *m = rows_add(s->rows, T_MEMSET);
	int64_t given = r->now + 2 * US, start;

	api_call(s, r, API_MEMSET, rng_in(&r->rng, 3500, 8000));
	start = ready(r, S_COMPUTE, given);
	*m = (struct memset_row){.start = start,
				 .end = start + 800 + bytes / 1200,
				 .rank = r->id,
				 .stream = S_COMPUTE,
				 .corr = r->corr,
				 .bytes = bytes};
	occupy(s, r, S_COMPUTE, U_COPY, m->start, m->end);
}

/* Makes one stream wait for the work that another has been given so far. */
void wait_for(struct sim *s, struct rank *r, int from, int to)
{
	struct event_row *e = rows_add(s->rows, T_EVENT);
	struct sync_row *w = rows_add(s->rows, T_SYNC);
	int64_t event = 1700 + r->event++ % 64, start;

	e->start = r->now;
	api_call(s, r, API_RECORD, rng_in(&r->rng, 1500, 3500));
	e->rank = r->id;
	e->stream = from;
	e->corr = r->corr;
	e->event = event;
	e->event_sync = r->event;
	start = r->now;
	api_call(s, r, API_WAIT_EVENT, rng_in(&r->rng, 1500, 3500));
	*w = (struct sync_row){.start = start + 300,
			       .end = start + 1100,
			       .rank = r->id,
			       .stream = to,
			       .type = SYNC_WAIT_EVENT,
			       .corr = r->corr,
			       .event = event,
			       .event_sync = r->event};
	r->lanes[to].wait_until = later(r->lanes[to].wait_until, r->lanes[from].free_at);
}

void wait_stream(struct sim *s, struct rank *r)
{
	int64_t start = r->now;
	struct sync_row *w;

	api_call(s, r, API_STREAM_SYNC, later(4 * US, r->last_end + 2 * US - start));
	w = rows_add(s->rows, T_SYNC);
	*w = (struct sync_row){.start = start + 400,
			       .end = later(start + 2 * US, r->last_end + US),
			       .rank = r->id,
			       .stream = S_COMPUTE,
			       .type = SYNC_STREAM,
			       .corr = r->corr};
}
