/* gen.h - the common header of the parts of the trace generator.
 *
 * gen.c        options and the main loop
 * gen_names.c  the kernels and NVTX names of the workload
 * gen_model.c  the contents of a training step: a list of acts
 * gen_sim.c    the actions of hosts, streams and devices
 * gen_acts.c   plays the acts on the timelines of all ranks
 * gen_rows.c   rows of the current step: buffered, sorted, inserted
 * gen_meter.c  sampled GPU metrics, from the busy time of each GPU
 * gen_out.c    the database file: tables, inserts, strings
 * gen_fixed.c  the small tables about target, processes and capture
 *
 * The generator keeps one step of all ranks in memory, whatever the size of
 * the trace. All times are nanoseconds since the start of the capture. It is
 * a program of the test bench, so every failure simply ends it.
 */
#ifndef BENCH_GEN_H
#define BENCH_GEN_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* ---- options ----------------------------------------------------------- */

enum worst {
	W_NONE,
	W_NVTX_NAMES,
	W_STREAMS,
	W_NESTED,
	W_ONE_NAME,
	W_KERNEL_NAMES,
	W_UNSORTED,
	W_GAPS,
	W_PROCESSES,
	W_COUNT
};

enum shape { /* the kind of program, which determines the proportions of the tables */
	SH_TRAINING,
	SH_SERVING,
	SH_HPC,
	SH_METRICS,
	SH_COUNT
};

struct opts {
	int64_t kernels;
	uint64_t seed;
	enum worst worst;
	enum shape shape;
	int procs;
	int metrics_hz; /* 0: no GPU_METRICS */
	const char *path;
};

/* ---- random numbers: small, seeded, the same everywhere ---------------- */

struct rng {
	uint64_t s;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->s += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* A random number from lo to hi, both included. */
static inline int64_t rng_in(struct rng *r, int64_t lo, int64_t hi)
{
	return lo + (int64_t)(rng_next(r) % (uint64_t)(hi - lo + 1));
}

/* True with probability 1 / n. */
static inline bool rng_one_in(struct rng *r, uint64_t n)
{
	return rng_next(r) % n == 0;
}

/* ---- gen_out.c: the file ----------------------------------------------- */

enum table {
	T_STRING,
	T_KERNEL,
	T_MEMCPY,
	T_MEMSET,
	T_RUNTIME,
	T_NVTX,
	T_SYNC,
	T_EVENT,
	T_OVERHEAD,
	T_OSRT,
	T_SCHED,
	T_METRICS,
	T_MEMORY,
	T_FIXED, /* from here on: only rows written once, by gen_fixed.c */
	T_GPU = T_FIXED,
	T_CUDA_DEVICE,
	T_CUDA_CONTEXT,
	T_CUDA_STREAM,
	T_GPU_METRICS,
	T_SYSTEM_ENV,
	T_SESSION_START,
	T_ANALYSIS,
	T_PROCESS,
	T_THREAD_NAME,
	T_META_CAPTURE,
	T_META_EXPORT,
	T_COUNT
};

struct out {
	sqlite3 *db;
	sqlite3_stmt *ins[T_COUNT];
	int64_t rows[T_COUNT];
	int64_t last_string;
	bool shuffled;
};

#define NONE INT64_MIN	     /* a value that is written as NULL */
#define KEEP (INT64_MIN + 1) /* the column keeps the text of out_text() */

void out_open(struct out *o, const char *path);
void out_close(struct out *o);
/* Adds a StringIds row; the same text twice gives two ids. */
int64_t out_string(struct out *o, const char *text);
/* Sets the text in column col (from 0) of the next rows of a table; NULL is NULL. */
void out_text(struct out *o, enum table t, int col, const char *text);
/* Adds a row: n integers from column 0 on; later columns stay as bound. */
void out_row(struct out *o, enum table t, const int64_t *v, int n);
/* Runs a statement, with the formats of sqlite3_mprintf(). */
void out_sql(struct out *o, const char *fmt, ...);
/* Puts the rows of every event table in a scrambled order. */
void out_shuffle(struct out *o);
_Noreturn void die(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void *grow(void *p, size_t n, size_t size);

/* ---- gen_names.c, gen_model.c: what runs ------------------------------- */

struct kernel_type {
	char *name, *short_name;
	int64_t name_id, short_id;
	int64_t ns; /* typical duration */
	int64_t regs, grid, block, static_smem, dynamic_smem;
};

enum name_kind {
	N_FIXED, /* a registered string: always by textId */
	N_OP,	 /* ", op_id = M" per instance */
	N_SEQ,	 /* ", seq = N, op_id = M" per instance */
	N_STEP,	 /* " N" per instance */
	N_UNIQUE /* a number joined to the text: no two alike */
};

struct nvtx_name {
	const char *text;
	enum name_kind kind;
	int domain;
	int64_t text_id; /* N_FIXED only */
};

enum act_op {
	A_STEP, /* a step range opens */
	A_LOAD, /* wait for a batch, copy it to the device */
	A_PUSH, /* arg: NVTX name */
	A_POP,
	A_KERNEL,   /* arg: kernel type */
	A_GEMM,	    /* a kernel launched by the driver API */
	A_COPY,	    /* device to device; arg: KiB */
	A_PREFETCH, /* pinned host to device beside the compute; arg: KiB */
	A_MEMSET,
	A_COLL,	     /* arg: kernel type; all ranks */
	A_WAIT_COMM, /* the compute stream waits for the comm stream */
	A_BACKWARD,  /* the autograd thread takes over */
	A_MAIN,	     /* the main thread takes over */
	A_LOSS,	     /* copy a number back and wait for it */
	A_END	     /* the step range closes */
};

struct act {
	enum act_op op;
	int arg;
};

enum name {
	NM_STEP,
	NM_FORWARD,
	NM_BACKWARD,
	NM_OPTIMIZER,
	NM_UNIQUE, /* one text per instance, for the worst cases */
	NM_PREFETCH,
	NM_NCCL_REDUCE,
	NM_NCCL_GATHER,
	NM_OP_REDUCE,
	NM_OP_GATHER,
	NM_LAYER_NORM,
	NM_NATIVE_NORM,
	NM_LINEAR,
	NM_ADDMM,
	NM_ATTENTION,
	NM_GELU,
	NM_ADD,
	NM_MUL,
	NM_TO,
	NM_COPY,
	NM_ZERO,
	NM_DROPOUT,
	NM_CAT,
	NM_BW_ADDMM,
	NM_BW_NORM,
	NM_BW_ATTENTION,
	NM_BW_GELU,
	NM_BW_ADD,
	NM_ACCUMULATE,
	NM_MM,
	NM_SUM,
	NM_FUSED_ADAMW,
	NM_ITEM,
	NM_COUNT
};

enum { NCCL_DOMAIN = 1 };

struct model {
	struct kernel_type *kernels;
	int nkernels;
	struct nvtx_name *names; /* NM_COUNT */
	struct act *acts;
	size_t nacts;
	int first_nccl; /* kernel types from here on are collectives */
};

void model_init(struct model *m, struct out *o, const struct opts *opts);
void model_done(struct model *m);

/* ---- gen_rows.c: rows of a step ---------------------------------------- */

enum thread {
	TH_MAIN,
	TH_AUTOGRAD,
	TH_WATCHDOG,
	TH_EVENTS,
	TH_LOADER,
	TH_COUNT
};

enum api {
	API_LAUNCH,
	API_LAUNCH_EX,
	API_CU_LAUNCH_EX,
	API_CU_ATTR,
	API_MEMCPY,
	API_MEMSET,
	API_RECORD,
	API_WAIT_EVENT,
	API_QUERY,
	API_CAPTURING,
	API_STREAM_SYNC,
	API_MALLOC,
	API_FREE,
	API_COUNT
};

enum os_call {
	OS_COND_WAIT,
	OS_POLL,
	OS_READ,
	OS_WRITE,
	OS_IOCTL,
	OS_SEM_WAIT,
	OS_MUNMAP,
	OS_COUNT
};

/* Every row begins with the time by which it is sorted. rank is the number of the process. */
struct kernel_row {
	int64_t start, end;
	int rank, stream, type;
	int64_t corr;
};
struct copy_row {
	int64_t start, end;
	int rank, stream;
	int64_t corr, bytes;
	int kind, src, dst; /* copyKind and memory kinds as nsys numbers them */
};
struct memset_row {
	int64_t start, end;
	int rank, stream;
	int64_t corr, bytes;
};
struct api_row {
	int64_t start, end;
	int rank;
	enum thread thread;
	enum api api;
	int64_t corr;
	int ret;
};
enum {
	NVTX_MARK = 34,
	NVTX_PUSH_POP = 59,
	NVTX_START_END = 60,
	NVTX_DOMAIN = 75
};
enum { SYNC_WAIT_EVENT = 2, SYNC_STREAM = 3 };
enum { OVERHEAD_LAZY = 7, OVERHEAD_FULL = 8 };
#define NO_ID INT64_C(4294967295)

struct nvtx_row {
	int64_t start, end; /* end NONE: not closed */
	int rank;
	enum thread thread;
	int type; /* eventType */
	int name;
	bool by_id; /* a name of its own in StringIds, not in text */
	int64_t seq, op;
};
struct sync_row {
	int64_t start, end;
	int rank, stream, type;
	int64_t corr, event, event_sync;
};
struct event_row {
	int64_t start;
	int rank, stream;
	int64_t corr, event, event_sync;
};
struct overhead_row {
	int64_t start, end;
	int rank;
	enum thread thread;
	int64_t corr;
	int type;
};
struct os_row {
	int64_t start, end;
	int rank;
	enum thread thread;
	enum os_call call;
	int nesting;
};
struct sched_row {
	int64_t start;
	int rank;
	enum thread thread;
	int cpu;
	bool in;
};
struct memory_row {
	int64_t start;
	int rank;
	int64_t corr, address, bytes;
	bool is_free;
};

struct batch {
	char *rows;
	size_t n, cap, size;
};

struct rows {
	struct out *out;
	const struct opts *opts;
	struct model *model;
	struct rng rng;
	struct batch of[T_FIXED];
	int64_t api_id[API_COUNT], os_id[OS_COUNT], full_id, lazy_id;
	int64_t grid_id, unique;
};

void rows_init(struct rows *r, struct out *o, const struct opts *opts, struct model *m);
/* Adds a zeroed row and returns it; the pointer holds until the next rows_add() of the table. */
void *rows_add(struct rows *r, enum table t);
void *rows_at(struct rows *r, enum table t, size_t i);
void rows_flush(struct rows *r, enum table t);
void rows_flush_step(struct rows *r);
void rows_done(struct rows *r);

/* ---- ids --------------------------------------------------------------- */

enum { S_COMPUTE, S_COMM, S_COPY, S_SIDE, S_FIXED };
#define FIRST_NS INT64_C(1500000000) /* the first step begins about here */
enum { MAX_GPUS = 8, TIDS_PER_PROCESS = 64, FIRST_PID = 2000 };

static inline int64_t rank_pid(int rank)
{
	return FIRST_PID + (int64_t)rank * TIDS_PER_PROCESS;
}
static inline int64_t rank_tid(int rank, enum thread t)
{
	return rank_pid(rank) + 7 * (int64_t)t;
}
static inline int64_t rank_global_pid(int rank)
{
	return (INT64_C(1) << 48) | (rank_pid(rank) << 24);
}
static inline int64_t rank_global_tid(int rank, enum thread t)
{
	return rank_global_pid(rank) | (rank_pid(rank) + 7 * (int64_t)t);
}
/* With at most MAX_GPUS ranks each sees all GPUs and uses its own, as ranks
 * of torchrun do; with more, each sees only one, shared with others.
 */
static inline int rank_gpu(int rank)
{
	return rank % MAX_GPUS;
}
static inline int rank_ordinal(const struct opts *o, int rank)
{
	return o->procs <= MAX_GPUS ? rank : 0;
}
static inline int64_t stream_id(int stream)
{
	static const int64_t fixed[S_FIXED] = {7, 28, 20, 24};

	return stream < S_FIXED ? fixed[stream] : 32 + (int64_t)stream;
}

/* ---- gen_fixed.c, gen_meter.c ------------------------------------------ */

void fixed_begin(struct out *o, const struct opts *opts, int streams);
void fixed_end(struct out *o, int64_t last_ns);

enum { NMETRICS = 20 };
extern const char *const metric_names[NMETRICS];
int64_t metric_type_id(int gpu);

enum use { U_COMPUTE, U_COMM, U_COPY, U_COUNT };

struct meter {
	struct out *out;
	int gpus;
	int64_t period_ns, base; /* base: number of the first bin kept */
	int64_t *busy[MAX_GPUS][U_COUNT];
	int64_t nbins;
	struct rng rng;
};

void meter_init(struct meter *m, struct out *o, const struct opts *opts);
void meter_use(struct meter *m, int gpu, enum use use, int64_t start, int64_t end);
/* Writes the samples up to a time before which nothing changes any more. */
void meter_flush(struct meter *m, int64_t until);
void meter_done(struct meter *m);

/* ---- gen_sim.c, gen_acts.c: timelines ---------------------------------- */

struct sim;

struct sim *sim_new(const struct opts *opts, struct model *m, struct rows *r, struct meter *meter);
/* Plays one step of every rank; false once all kernels are out. */
bool sim_step(struct sim *s);
/* The time that every rank has reached. */
int64_t sim_horizon(const struct sim *s);
int64_t sim_last(const struct sim *s);
/* Closes all ranges that are open: for the case of nested ones. */
void sim_unwind(struct sim *s);
int sim_streams(const struct opts *opts);
void sim_free(struct sim *s);

#endif
