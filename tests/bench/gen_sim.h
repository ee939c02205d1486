/* gen_sim.h - the interface between the two parts of the simulation: the actions of hosts and
 * devices (gen_sim.c), and the acts composed of them (gen_acts.c).
 */
#ifndef BENCH_GEN_SIM_H
#define BENCH_GEN_SIM_H

#include "gen.h"

enum { US = 1000, MS = 1000000 };

/* copyKind and memory kinds */
enum { HTOD = 1, DTOH = 2, DTOD = 8 };
enum { PAGEABLE = 0, PINNED = 1, DEVICE = 2 };

struct lane { /* a stream */
	int64_t free_at, wait_until;
};

struct rank {
	int id;
	struct rng rng;
	int64_t now; /* the time of the host thread that acts */
	enum thread thread;
	int64_t step_start, handed_over, last_end;
	struct lane *lanes;
	int64_t *queue; /* when the last launches began to run */
	int64_t launches, queue_depth;
	int64_t corr, op, seq, event, address;
	size_t *open, nopen, open_cap; /* NVTX rows not closed yet */
	bool *loaded;		       /* by kernel type */
	int cpu[TH_COUNT];
};

struct pending { /* a collective that some ranks have not reached */
	size_t row;
	int64_t arrival;
};

struct sim {
	const struct opts *opts;
	struct model *model;
	struct rows *rows;
	struct meter *meter;
	struct rng rng;
	struct rank *ranks;
	struct pending *pending;
	int npending;
	int64_t left, step;
};

static inline int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* ---- the host: each moves r->now --------------------------------------- */

/* Adds a call of the acting thread that begins now; returns its correlation id. */
int64_t api_call(struct sim *s, struct rank *r, enum api api, int64_t dur);
/* Lets the acting thread sleep in a call of the operating system. */
void block(struct sim *s, struct rank *r, enum os_call what, int64_t dur);
struct nvtx_row *nvtx(struct sim *s, struct rank *r, int type, int name);
void push(struct sim *s, struct rank *r, int name);
void pop(struct sim *s, struct rank *r);

/* ---- rows of any thread at any time ------------------------------------ */

void os_call(struct sim *s, struct rank *r, enum thread thread,
	     enum os_call what, int64_t start, int64_t end);
void sched(struct sim *s, struct rank *r, enum thread thread, bool in, int64_t time);

/* ---- the device -------------------------------------------------------- */

/* The earliest start of work that is given to a stream at a time. */
int64_t ready(struct rank *r, int stream, int64_t given);
void occupy(struct sim *s, struct rank *r, int stream, enum use use, int64_t start, int64_t end);
/* Adds the call that launches a kernel; returns when the device has it. */
int64_t launch_call(struct sim *s, struct rank *r, enum api api, int type);
/* Adds the row of a launched kernel, still without its end. */
struct kernel_row *add_kernel(struct sim *s, struct rank *r, int type, int stream, int64_t start);
void launch(struct sim *s, struct rank *r, enum api api, int type);
/* Adds the row of a copy given to a stream; returns its end. */
int64_t copy(struct sim *s, struct rank *r, int stream, int kind, int src,
	     int dst, int64_t bytes, int64_t given);
void copy_async(struct sim *s, struct rank *r, int stream, int kind, int src,
		int dst, int64_t bytes);
/* Adds a copy from or to pageable memory, whose call ends with the copy. */
void copy_blocking(struct sim *s, struct rank *r, int kind, int src, int dst, int64_t bytes);
void clear(struct sim *s, struct rank *r, int64_t bytes);
/* Makes one stream wait for the work that another has been given so far. */
void wait_for(struct sim *s, struct rank *r, int from, int to);
/* Lets the host wait for all work that it has queued. */
void wait_stream(struct sim *s, struct rank *r);

#endif
