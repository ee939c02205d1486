/* gen.c - makes jobs of many ranks with a known fault, as traces or as digests.
 *
 * A step of every rank: the host waits for data and launches; the forward pass (with tp, each
 * kernel is followed by a collective of the tensor-parallel group); the backward pass, in which
 * each kernel starts an allreduce beside it; a reducescatter; the optimizer; an allgather; the host
 * waits for that. A collective ends on all its ranks at the same time, or within `ends`
 * microseconds. With ep each forward kernel is followed by an alltoall of so many ranks, a kernel
 * and a second alltoall. With pp four microbatches pass through the stages and back, the compute
 * stream waits for all collectives, and the last collective is of all ranks. With mpi the
 * collectives are MPI calls; with mpi=2 and more a kernel of each forward pass is followed by an
 * exchange with the ranks before and after: 2 MPI_Isend, MPI_Irecv, another kernel, MPI_Wait;
 * 3 two MPI_Sendrecv; 4 as 2, but one MPI_Waitall.
 *
 *   compute  |fwd fwd ..|bwd bwd bwd ...|        |opt|
 *   comm                   |allreduce ...|...|rs|    |ag|
 *
 * Clocks of hosts are off by up to 5 ms (skew) and drift by up to 20 ppm, captures of ranks begin
 * at different times, and time stamps have an error of up to 15 us. The same job is also simulated
 * without the fault and with the same random numbers; truth.json has the cost of the fault, which
 * is the difference.
 *
 * usage: gen DIR FAULT [ranks=32 hosts=4 steps=20 colls=30 tp=1 seed=1 lost=0
 *        format=trace|digest traces=0 one_file=0 strength=100 speeds=0 skew=5
 *        payload=0 root=0 ends=0 apart=0 ep=1 pp=1 mpi=0 half=0 inner=0
 *        second=0 pause=0 beside=0 gathers=0]
 *
 * half=1: not one tensor-parallel group has slow links but every second one. inner=1: the stages of a
 * pipeline are next to each other, data-parallel replicas far apart.
 *
 * traces=N: N ranks of a job in digests, evenly distributed, are written as traces instead; their
 * digests are in DIR/direct
 */
#include <errno.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "fleet/digest.h"

#define FORWARD 6
#define MS INT64_C(1000000)
#define HOST_NAME "node%03d"
#define UTC INT64_C(1757000000000000000)
#define SYSTEM INT64_C(812345000000000)

enum fault { NONE, GPU_SLOW, HOST_SLOW, CPU_LATE, DATA_LATE, ROTATING,
	     IMBALANCE, SLOW_LINK, DESYNC, TRANSIENT, JITTER, DATA_MOST,
	     NFAULTS }; /* DATA_MOST: all ranks but one are late */
static const char *const faults[NFAULTS] = {
	"none", "gpu_slow", "host_slow", "cpu_late", "data_late", "rotating",
	"imbalance", "slow_link", "desync", "transient", "jitter", "data_most"};
static const char *const causes[NFAULTS] = {
	"", "gpu_slow", "gpu_slow", "idle", "idle", "", "more_kernels",
	"slow_link", "", "idle", "", "idle"};

enum op { ALLREDUCE, REDUCESCATTER, ALLGATHER, BROADCAST, SENDRECV, HALO, NOPS };
static const char *const op_names[NOPS] = {"allreduce", "reducescatter",
					   "allgather", "broadcast",
					   "sendrecv", "halo"};
static const char *const kernel_names[] = {
	"ncclDevKernel_AllReduce_Sum_bf16_RING_LL",
	"ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL",
	"ncclDevKernel_AllGather_RING_LL", "ncclDevKernel_Broadcast_RING_LL",
	"ncclDevKernel_SendRecv", "halo",
	"gemm_forward", "gemm_backward",
	"adam_step"};
enum { FWD = NOPS, BWD, OPT };
enum { STREAM_COMPUTE = 7, STREAM_DP = 20, STREAM_AHEAD = 23, STREAM_TP = 24, STREAM_EP = 26,
       STREAM_ALL = 28, STREAM_PP = 30, STREAM_PP_BACK, STREAM_HALO };
enum { MICROBATCHES = 4 };

static struct {
	int ranks, hosts, steps, colls, tp, lost, traces, one_file, culprit;
	int pp, ep;   /* stages, whose ranks have consecutive numbers; ranks of an alltoall */
	int half, inner;
	int pause;    /* ms for which all ranks wait in every seventh step, as for a checkpoint */
	int second;   /* distance to a second culprit; 0: there is one */
	int beside;   /* tensor-parallel collectives of the backward pass run beside allreduces; only
			 in traces */
	int gathers;  /* a step begins with so many allgathers. The rank waits for the first one, the
			 others run ahead; only in traces */
	/* collectives are MPI calls, in traces only; 2 to 4: also the exchange of that number */
	int mpi;
	int strength; /* strength of the fault in percent */
	int speeds;   /* the slowest GPU takes this much longer, in 0.1 % */
	int root;     /* a step begins with a broadcast                      */
	int payload;  /* NCCL's ranges have communicator and bytes; 2: and ranks */
	int ends;     /* the ends of one collective are at most this far apart, us; most of
			 the difference is the same for every collective */
	int apart;    /* each collective has a stream of its own; only in traces */
	int skew;     /* greatest offset of a host's clock, ms               */
	uint64_t seed;
	enum fault fault;
	int is_digest;
} job = {.ranks = 32, .hosts = 4, .steps = 20, .colls = 30, .tp = 1,
	 .pp = 1, .ep = 1, .strength = 100, .skew = 5, .seed = 1};

struct event { /* in true time, not that of a host's clock */
	int64_t start, end;
	uint8_t name, stream;
	uint8_t exposed;
	int first, by; /* first: first rank; by: distance from each rank to the next. Of an
		        * exchange, first is the distance to the sender (0: on both sides), and by
		        * how many ns before the wait it sent
		        */
};
struct step {
	int64_t host, data, launch, gpu, end; /* instants */
	int64_t kernel_ns, exposed_ns;
	int kernels;
};
struct rank {
	struct event *v;
	size_t n, cap;
	struct step *step;
	int64_t free_at; /* time at which the host is free */
	int64_t compute, comm;
	int64_t from; /* start of the capture */
	int is_traced; /* the rank is written as a trace, which needs compute kernels, too */
	struct span { int64_t start, end; } *busy; /* kernels of the step */
	size_t nbusy;
};

static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return x ^ x >> 31;
}

/* A random number that depends only on the seed, rank, step and use. A fault that is added thus
 * does not change the rest of a job.
 */
static double uniform(int rank, int step, int use)
{
	uint64_t x = mix(job.seed * 1000003 + (uint64_t)rank);

	x = mix(mix(x + (uint64_t)step * 7919) + (uint64_t)use * 104729);
	return (double)(x >> 11) / (double)(UINT64_C(1) << 53);
}

static double normal(int rank, int step, int use)
{
	double u = uniform(rank, step, use) + 1e-12;

	return sqrt(-2 * log(u)) * cos(2 * M_PI * uniform(rank, step, use + 1));
}

static int ranks_per_stage(void)
{
	return job.ranks / job.pp;
}

/* Returns the number of a rank in the job. */
static int number_of(int rank)
{
	int stage = rank / ranks_per_stage(), group = rank % ranks_per_stage() / job.tp;

	return !job.inner ? rank : rank % job.tp + job.tp * (stage + job.pp * group);
}

static int host_of(int rank)
{
	return number_of(rank) * job.hosts / job.ranks;
}

static int is_culprit(int rank)
{
	return job.fault == HOST_SLOW ? host_of(rank) == host_of(job.culprit) :
	       job.fault == DATA_MOST ? rank != job.culprit :
	       job.fault == SLOW_LINK ? (rank / job.tp - job.culprit / job.tp) %
						(job.half ? 2 : job.ranks) == 0 :
					rank == job.culprit ||
					(job.second &&
					 rank == (job.culprit + job.second) % job.ranks);
}

static int is_traced(int rank)
{
	return !job.is_digest || (job.traces && rank % (job.ranks / job.traces) == 0);
}

static void add_event(struct rank *r, int64_t start, int64_t end, int name,
		      int stream, int first, int by)
{
	if (!r->is_traced && stream == STREAM_COMPUTE)
		return;
	if (r->n == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 1024;
		r->v = realloc(r->v, r->cap * sizeof(*r->v));
		if (!r->v)
			abort();
	}
	r->v[r->n++] = (struct event){start, end, (uint8_t)name,
				      (uint8_t)stream, 255, first, by};
}

/* Job -----------------------------------------------------------------------------*/

static int64_t scaled_fault_ns(double ns)
{
	return (int64_t)(ns * job.strength / 100);
}

static double kernel_slowdown(int r, int s, int i, int with_fault)
{
	double f = 1 + 0.004 * normal(r, s, 100 + 2 * i);

	f *= 1 + 0.001 * job.speeds * uniform(r, -4, 1);

	if (with_fault && job.fault == JITTER)
		f *= 1 + 0.0002 * job.strength * normal(r, s, 7);
	if (with_fault && is_culprit(r) && (job.fault == GPU_SLOW || job.fault == HOST_SLOW))
		f *= 1 + (job.fault == GPU_SLOW ? 0.07 : 0.05) * job.strength / 100;
	return f;
}

static int64_t late_host_ns(int r, int s, int with_fault)
{
	if (!with_fault)
		return 0;
	if (job.fault == CPU_LATE && is_culprit(r))
		return scaled_fault_ns(1.5e6);
	if (job.fault == ROTATING && r == (int)(uniform(-1, s, 3) * job.ranks))
		return scaled_fault_ns(1.5e6);
	if (job.fault == TRANSIENT && is_culprit(r) && s % 7 >= 5)
		return scaled_fault_ns(3e6);
	return 0;
}

static void compute(struct rank *v, int r, int s, int i, int64_t ns, int name, int with_fault)
{
	struct rank *x = &v[r];
	int64_t start = x->compute + 1000;

	x->compute = start + (int64_t)((double)ns * kernel_slowdown(r, s, i, with_fault));
	add_event(x, start, x->compute, name, STREAM_COMPUTE, 0, 0);
	x->busy[x->nbusy++] = (struct span){start, x->compute};
	x->step[s].kernels++;
	x->step[s].kernel_ns += x->compute - start;
}

/* Adds a collective of the n ranks first, first + by, first + 2 by, ... async: it runs beside
 * compute.
 */
static void collective(struct rank *v, int s, int first, int by, int end, int op,
		       int stream, int64_t transfer, int async)
{
	int64_t last = 0;

	for (int r = first; r < end; r += by) {
		int64_t start = v[r].compute + 1200;

		if (start < v[r].comm + 1100)
			start = v[r].comm + 1100;
		last = start > last ? start : last;
	}
	for (int r = first; r < end; r += by) {
		int64_t start = v[r].compute + 1200;

		if (start < v[r].comm + 1100)
			start = v[r].comm + 1100;
		/* The backward pass runs on beside it: see set_exposed(). */
		v[r].comm = last + transfer + (int64_t)(700 * job.ends * uniform(r, -5, stream)) +
			(int64_t)(300 * job.ends * uniform(r, s, 2000 + (int)v[r].n));
		add_event(&v[r], start, v[r].comm, op, stream, first, by);
		if (!async) {
			v[r].compute = v[r].comm;
			v[r].step[s].exposed_ns += v[r].comm - start;
		}
	}
}

/* Broadcasts from the first rank of each group to the others. The first rank waits for none. */
static void broadcast(struct rank *v, int s)
{
	for (int r = 0; r < job.ranks; r++) {
		struct rank *x = &v[r], *root = &v[r % job.tp];
		int64_t start = x->compute + 1200, data;

		if (r == r % job.tp)
			data = start + 90000;
		else
			data = root->comm > start ? root->comm : start;
		data += 30000;
		add_event(x, start, data, BROADCAST, STREAM_DP, r % job.tp, job.tp);
		x->step[s].exposed_ns += data - start;
		x->compute = x->comm = data;
	}
}

/* Sets the exposed part of collectives beside the backward pass: the time in which none of its
 * kernels runs.
 */
static void set_exposed(struct rank *x, size_t from, struct step *step)
{
	size_t first = 0;

	for (size_t i = from; i < x->n; i++) {
		struct event *e = &x->v[i];
		int64_t shown = e->end - e->start;

		if (e->stream != STREAM_DP)
			continue;
		while (first < x->nbusy && x->busy[first].end <= e->start)
			first++;
		for (size_t k = first; k < x->nbusy && x->busy[k].start < e->end; k++)
			shown -= (x->busy[k].end < e->end ? x->busy[k].end :
							    e->end) -
				 (x->busy[k].start > e->start ?
					  x->busy[k].start : e->start);
		e->exposed = (uint8_t)(255 * shown / (e->end - e->start));
		step->exposed_ns += shown;
	}
}

static void start_step(struct rank *v, int r, int s, int with_fault)
{
	struct rank *x = &v[r];
	struct step *st = &x->step[s];

	st->host = x->free_at + 100000;
	st->data = st->host + 60000 + (int64_t)(20000 * uniform(r, s, 1));
	st->data += job.pause && s % 7 == 5 ? job.pause * MS : 0;
	if (with_fault && is_culprit(r) && (job.fault == DATA_LATE || job.fault == DATA_MOST))
		st->data += scaled_fault_ns(1.5e6);
	st->launch = st->data + 5000 + late_host_ns(r, s, with_fault);
	st->gpu = x->compute = x->comm = st->launch + 10000;
	x->nbusy = 0;
}

/* Adds a rank's wait, from start on, for what the ranks at these distances have sent. */
static void wait_for(struct rank *v, int s, int r, int first, int end, int by, int64_t start,
		     const int64_t *sent)
{
	int64_t until = start + 2000;

	for (int side = -1; side <= 1; side += 2) {
		int from = r + side;

		if ((!by || side == by) && from >= first && from < end &&
		    sent[from] + 30000 > until)
			until = sent[from] + 30000;
	}
	until += (int64_t)(1000 * job.ends * uniform(r, s, 3000 + (int)v[r].n));
	add_event(&v[r], start, until, HALO, STREAM_HALO, by, (int)(start - sent[r]));
	v[r].step[s].exposed_ns += until - start;
	v[r].compute = v[r].comm = until;
}

/* Adds the exchange of borders between the ranks [first, end). */
static void exchange(struct rank *v, int s, int i, int first, int end, int with_fault)
{
	int64_t *sent = calloc((size_t)job.ranks, sizeof(*sent));

	if (!sent)
		abort();
	for (int way = -1; way <= 1; way += 2) {
		for (int r = first; r < end && (way < 0 || job.mpi == 3); r++)
			sent[r] = v[r].compute + 1200;
		for (int r = first; r < end && way < 0 && job.mpi != 3; r++)
			compute(v, r, s, 700 + i, MS / 2, FWD, with_fault);
		for (int r = first; r < end; r++)
			if (job.mpi != 4 || way < 0)
				wait_for(v, s, r, first, end, job.mpi == 4 ? 0 : way,
					 job.mpi == 3 ? sent[r] : v[r].compute + 1200, sent);
	}
	free(sent);
}

/* Adds a collective of each tensor-parallel group of these ranks. */
static void reduce_tp(struct rank *v, int s, int first, int end, int with_fault)
{
	for (int g = first; job.tp > 1 && g < end; g += job.tp) {
		int is_slow = with_fault && job.fault == SLOW_LINK && is_culprit(g);

		collective(v, s, g, 1, g + job.tp, ALLREDUCE, STREAM_TP,
			   80000 + (is_slow ? scaled_fault_ns(180e3) : 0), 0);
	}
}

/* Adds collectives of the ranks that have the same place in their tensor-parallel groups. Each
 * stage has its own.
 */
static void collective_dp(struct rank *v, int s, int op, int stream, int64_t transfer, int async)
{
	for (int p = 0; p < job.ranks; p += ranks_per_stage())
		for (int g = p; g < p + job.tp; g++)
			collective(v, s, g, job.tp, p + ranks_per_stage(), op, stream, transfer,
				   async);
}

/* Adds two alltoalls with a kernel between them: tokens go to their experts and come back. */
static void run_experts(struct rank *v, int s, int i, int first, int end, int with_fault)
{
	int n = job.ep * job.tp;

	for (int way = 0; job.ep > 1 && way < 2; way++) {
		for (int r = first; way && r < end; r++)
			compute(v, r, s, 500 + i, MS / 2, FWD, with_fault);
		for (int g = first; g < end; g += n)
			for (int t = g; t < g + job.tp; t++)
				collective(v, s, t, job.tp, g + n, SENDRECV, STREAM_EP, 70000, 0);
	}
}

static void run_stage(struct rank *v, int s, int i, int p, int is_back, int with_fault)
{
	int n = ranks_per_stage(), first = p * n, before = is_back ? p + 1 : p - 1;
	int stream = is_back ? STREAM_PP_BACK : STREAM_PP;

	for (int r = first; before >= 0 && before < job.pp && r < first + n; r++) {
		int lower = is_back ? r : r - n;

		collective(v, s, lower, n, lower + n + 1, SENDRECV, stream, 60000, 0);
	}
	for (int r = first; r < first + n; r++)
		compute(v, r, s, i, is_back ? 2 * MS : MS, is_back ? BWD : FWD, with_fault);
	if (job.mpi > 1 && !is_back)
		exchange(v, s, i, first, first + n, with_fault);
	reduce_tp(v, s, first, first + n, with_fault);
	if (!is_back)
		run_experts(v, s, i, first, first + n, with_fault);
}

static void run_pipeline(struct rank *v, int s, int with_fault)
{
	for (int i = 0; i < 2 * MICROBATCHES; i++)
		for (int k = 0; k < job.pp; k++) {
			int is_back = i >= MICROBATCHES;

			run_stage(v, s, i, is_back ? job.pp - 1 - k : k, is_back, with_fault);
		}
}

/* Adds the backward pass, beside which allreduces run. */
static void run_backward(struct rank *v, int s, int with_fault, size_t *mark)
{
	int n = job.colls - 2;

	for (int r = 0; r < job.ranks; r++)
		mark[r] = v[r].n;
	for (int i = 0; i < n; i++) {
		for (int r = 0; r < job.ranks; r++)
			compute(v, r, s, 10 + i, 10 * MS / n, BWD, with_fault);
		if (job.beside)
			reduce_tp(v, s, 0, job.ranks, with_fault);
		collective_dp(v, s, ALLREDUCE, STREAM_DP, 6 * MS / n, 1);
		if (with_fault && job.fault == DESYNC && s == job.steps / 2 && i == n / 2)
			v[job.culprit].v[v[job.culprit].n - 1].name = ALLGATHER;
	}
}

static void run_step(struct rank *v, int s, int with_fault, size_t *mark)
{
	for (int r = 0; r < job.ranks; r++)
		start_step(v, r, s, with_fault);
	if (job.root)
		broadcast(v, s);
	for (int i = 0; i < job.gathers; i++)
		collective_dp(v, s, ALLGATHER, STREAM_AHEAD, 350000, i > 0);
	for (int r = 0; r < job.ranks && job.gathers; r++)
		v[r].comm = v[r].compute; /* other streams do not wait for those that run ahead */
	for (int i = 0; job.pp == 1 && i < FORWARD; i++)
		run_stage(v, s, i, 0, 0, with_fault);
	if (job.pp > 1)
		run_pipeline(v, s, with_fault);
	else
		run_backward(v, s, with_fault, mark);
	if (with_fault && job.fault == IMBALANCE)
		for (int i = 0; i < 2; i++)
			compute(v, job.culprit, s, 900 + i, scaled_fault_ns(7e5), BWD, 1);
	for (int r = 0; job.pp == 1 && r < job.ranks; r++)
		set_exposed(&v[r], mark[r], &v[r].step[s]);
	for (int op = REDUCESCATTER; op <= ALLGATHER; op++) {
		collective_dp(v, s, op, STREAM_DP + (job.apart ? op : 0), 400000, 0);
		for (int r = 0; op == REDUCESCATTER && r < job.ranks; r++)
			compute(v, r, s, 950, 800000, OPT, with_fault);
	}
	if (job.pp > 1)
		collective(v, s, 0, 1, job.ranks, ALLREDUCE, STREAM_ALL, 40000, 0);
	for (int r = 0; r < job.ranks; r++) {
		v[r].step[s].end = v[r].comm;
		v[r].free_at = v[r].comm + 8000;
	}
}

static struct rank *simulate(int with_fault)
{
	struct rank *v = calloc((size_t)job.ranks, sizeof(*v));
	size_t *mark = calloc((size_t)job.ranks, sizeof(*mark));

	if (!v || !mark)
		abort();
	for (int r = 0; r < job.ranks; r++) {
		v[r].step = calloc((size_t)job.steps, sizeof(*v[r].step));
		v[r].busy = calloc((size_t)job.colls + 64, sizeof(*v[r].busy));
		v[r].from = (int64_t)(30e6 * uniform(r, -1, 5));
		v[r].free_at = 40 * MS;
		v[r].is_traced = with_fault && is_traced(r);
	}
	for (int s = 0; s < job.steps; s++) {
		run_step(v, s, with_fault, mark);
		/* Only the times of the run without the fault are wanted. */
		for (int r = 0; !with_fault && r < job.ranks; r++)
			v[r].n = 0;
	}
	free(mark);
	return v;
}

static void free_job(struct rank *v)
{
	for (int r = 0; r < job.ranks; r++) {
		free(v[r].v);
		free(v[r].step);
		free(v[r].busy);
	}
	free(v);
}

static double mean_step(const struct rank *v)
{
	return (double)(v[0].step[job.steps - 1].end - v[0].step[0].end) / (job.steps - 1);
}

/* Clocks ---------------------------------------------------------------------------*/

static double offset_ns(int host)
{
	return 2e6 * job.skew * (uniform(host, -2, 1) - 0.5);
}

static double drift(int host)
{
	return 4e-5 * (uniform(host, -2, 2) - 0.5);
}

/* The time that the clock of the rank's host shows. */
static int64_t clock_reading(int rank, int64_t t)
{
	int h = host_of(rank);

	return t + (int64_t)(offset_ns(h) + drift(h) * (double)t);
}

/* The time since the start of the capture. */
static int64_t capture_time(const struct rank *v, int r, int64_t t)
{
	return clock_reading(r, t) - clock_reading(r, v[job.one_file ? 0 : r].from);
}

static int64_t utc_of_start(const struct rank *v, int r)
{
	return UTC + clock_reading(r, v[job.one_file ? 0 : r].from) +
	       (int64_t)(30000 * (uniform(r, -3, 1) - 0.5));
}

static int64_t system_clock_of_start(const struct rank *v, int r)
{
	return SYSTEM + 1000 * MS * host_of(r) + clock_reading(r, v[job.one_file ? 0 : r].from);
}

/* Traces ---------------------------------------------------------------------------*/

static const char schema_sql[] =
	"CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);CREATE TABLE "
	"CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId "
	"INTEGER, streamId INTEGER, correlationId INTEGER, globalPid INTEGER, demangledName "
	"INTEGER, shortName INTEGER);CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end "
	"INTEGER, eventClass INTEGER, globalTid INTEGER, correlationId INTEGER, nameId INTEGER, "
	"returnValue INTEGER);CREATE TABLE OSRT_API (start INTEGER, end INTEGER, eventClass "
	"INTEGER, globalTid INTEGER, nameId INTEGER, returnValue INTEGER, nestingLevel INTEGER);"
	"CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, "
	"globalTid INTEGER, domainId INTEGER, jsonText TEXT);CREATE TABLE "
	"TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER, systemClockNs INTEGER);CREATE TABLE "
	"TARGET_INFO_SYSTEM_ENV (name TEXT, value TEXT);CREATE TABLE TARGET_INFO_GPU (id INTEGER, "
	"name TEXT, uuid TEXT);CREATE TABLE TARGET_INFO_CUDA_DEVICE (gpuId INTEGER, cudaId "
	"INTEGER, pid INTEGER, uuid TEXT);CREATE TABLE MPI_COLLECTIVES_EVENTS (start INTEGER, end "
	"INTEGER, globalTid INTEGER, textId INTEGER, commHandle INTEGER, size INTEGER);CREATE "
	"TABLE MPI_P2P_EVENTS (start INTEGER, end INTEGER, globalTid INTEGER, textId INTEGER, "
	"commHandle INTEGER, size INTEGER, tag INTEGER, remoteRank INTEGER, requestHandle "
	"INTEGER);CREATE TABLE MPI_START_WAIT_EVENTS (start INTEGER, end INTEGER, globalTid "
	"INTEGER, textId INTEGER, requestHandle INTEGER);CREATE TABLE "
	"META_DATA_CAPTURE (name TEXT, value TEXT);CREATE TABLE META_DATA_EXPORT (name TEXT, value "
	"TEXT);INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_PRODUCT_NAME', 'NVIDIA Nsight "
	"Systems'), ('EXPORT_PRODUCT_VERSION', '2025.6.3.343'), ('EXPORT_SCHEMA_VERSION', "
	"'3.24.8');";
enum { S_LAUNCH = 11, S_SYNC, S_WAIT, S_MPI = 20, S_MPI_ISEND = 27, S_MPI_IRECV, S_MPI_WAIT,
       S_MPI_WAITALL, S_MPI_SENDRECV };

static void run_sql(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL)) {
		fprintf(stderr, "gen: %s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
}

static void insert(sqlite3_stmt *st, int n, const int64_t *v)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(st, i + 1, v[i]);
	if (sqlite3_step(st) != SQLITE_DONE)
		exit(1);
	sqlite3_reset(st);
}

static sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL)) {
		fprintf(stderr, "gen: %s: %s\n", sql, sqlite3_errmsg(db));
		exit(1);
	}
	return st;
}

static int64_t pid_of(int rank)
{
	return 1000 + (int64_t)(mix((uint64_t)rank + job.seed) % 4000) * 10 + rank % 10;
}

/* Adds the NVTX range that NCCL writes for a call that is launched at t. */
static void add_call(sqlite3_stmt *st, const struct rank *v, int r,
		     const struct event *e, int64_t t, int64_t gtid)
{
	static const char *const names[NOPS] = {
		"ncclAllReduce", "ncclReduceScatter", "ncclAllGather",
		"ncclBroadcast", "ncclSend"};
	int kind = e->stream == STREAM_PP_BACK ? STREAM_PP : e->stream;
	char json[128];

	snprintf(json, sizeof(json), "{\"NCCL communicator ID\":%llu,\"Message "
		 "size [bytes]\":%d}", (unsigned long long)mix((uint64_t)(
			 1 + (kind * 1000 + e->by) * 10000 + e->first)), 4 << 20);
	sqlite3_bind_text(st, 3, names[e->name], -1, SQLITE_STATIC);
	sqlite3_bind_int64(st, 4, gtid);
	sqlite3_bind_text(st, 5, json, -1, SQLITE_STATIC);
	insert(st, 2, (int64_t[]){capture_time(v, r, t - 200), capture_time(v, r, t + 3200)});
}

/* Adds an MPI call; p2p: one of two ranks sends and the other receives. */
static void add_mpi(sqlite3_stmt *coll, sqlite3_stmt *p2p, const struct rank *v,
		    int r, const struct event *e, int64_t gtid)
{
	int is_pair = e->stream >= STREAM_PP, is_low = r == e->first;
	int receives = is_low == (e->stream == STREAM_PP_BACK);

	insert(is_pair ? p2p : coll, is_pair ? 7 : 6, (int64_t[]){
		capture_time(v, r, e->start), capture_time(v, r, e->end), gtid,
		S_MPI + e->name + (is_pair ? 1 + receives : 0), e->by * 1000 + e->stream,
		4 << 20, number_of(is_low ? e->first + e->by : e->first)});
}

/* Adds the calls of an exchange. Requests have numbers that are used again. */
static void add_halo(sqlite3_stmt *p2p, sqlite3_stmt *wait, const struct rank *v, int r,
		     const struct event *e, int64_t gtid)
{
	int first = r / ranks_per_stage() * ranks_per_stage(), end = first + ranks_per_stage();
	int64_t from = capture_time(v, r, e->start), to = capture_time(v, r, e->end);

	for (int side = -1; side <= 1; side += 2) {
		int64_t sent = from - e->by + 1000 * side, req = 7 + side;
		int with = number_of(r + side);

		if (r + side < first || r + side >= end)
			continue;
		if (job.mpi == 3) {
			insert(p2p, 8, (int64_t[]){from, to, gtid, S_MPI_SENDRECV, 1, 4 << 20, with, 0});
			continue;
		}
		if (e->first <= 0) {
			insert(p2p, 8, (int64_t[]){sent - 300, sent - 200, gtid, S_MPI_IRECV, 1, 4 << 20,
				with, req});
			insert(p2p, 8, (int64_t[]){sent, sent + 100, gtid, S_MPI_ISEND, 1, 4 << 20, with,
				req + 10});
		}
		if (job.mpi == 2 && side == e->first)
			insert(wait, 5, (int64_t[]){from, to, gtid, S_MPI_WAIT, req});
	}
	if (job.mpi == 4)
		insert(wait, 4, (int64_t[]){from, to, gtid, S_MPI_WAITALL});
}

static void add_rank(sqlite3 *db, const struct rank *v, int r)
{
	const struct rank *x = &v[r];
	int64_t gpid = (INT64_C(1) << 48) | pid_of(r) << 24;
	int64_t gtid = gpid | pid_of(r), corr = 1, dev = job.one_file ? r : 0;
	sqlite3_stmt *kernel = prepare(db, "INSERT INTO CUPTI_ACTIVITY_KIND_"
		"KERNEL VALUES (?,?,?,1,?,?,?,?,?)");
	sqlite3_stmt *call = prepare(db, "INSERT INTO CUPTI_ACTIVITY_KIND_"
		"RUNTIME VALUES (?,?,0,?,?,?,0)");
	sqlite3_stmt *osrt = prepare(db, "INSERT INTO OSRT_API VALUES (?,?,27,?,?,0,0)");
	sqlite3_stmt *nvtx = prepare(db, "INSERT INTO NVTX_EVENTS VALUES (?,?,59,'step',?,0,NULL)");
	sqlite3_stmt *mpi = prepare(db, "INSERT INTO MPI_COLLECTIVES_EVENTS VALUES (?,?,?,?,?,?)");
	sqlite3_stmt *p2p = prepare(db, "INSERT INTO MPI_P2P_EVENTS VALUES (?,?,?,?,?,?,0,?,?)");
	sqlite3_stmt *wait = prepare(db, "INSERT INTO MPI_START_WAIT_EVENTS VALUES (?,?,?,?,?)");
	sqlite3_stmt *nccl = prepare(db, "INSERT INTO NVTX_EVENTS VALUES (?,?,59,?,?,1,?)");
	int64_t launch = 0;
	int s = -1;

	for (size_t i = 0; i < x->n; i++) {
		const struct event *e = &x->v[i];

		while (s + 1 < job.steps && x->step[s + 1].gpu <= e->start)
			launch = x->step[++s].launch;
		if (e->start < x->from)
			continue;
		corr++;
		if (job.mpi && e->name < NOPS) {
			if (e->name == HALO)
				add_halo(p2p, wait, v, r, e, gtid);
			else
				add_mpi(mpi, p2p, v, r, e, gtid);
			continue;
		}
		if (launch >= x->from)
			insert(call, 5, (int64_t[]){capture_time(v, r, launch),
				capture_time(v, r, launch + 3000), gtid, corr,
				S_LAUNCH});
		if (job.payload && launch >= x->from && e->name < NOPS)
			add_call(nccl, v, r, e, launch, gtid);
		launch += 3500;
		insert(kernel, 8, (int64_t[]){capture_time(v, r, e->start),
			capture_time(v, r, e->end), dev, e->stream, corr, gpid,
			1 + e->name, 1 + e->name});
	}
	for (s = 0; s < job.steps; s++) {
		const struct step *st = &x->step[s];

		if (st->host < x->from)
			continue;
		insert(nvtx, 3, (int64_t[]){capture_time(v, r, st->host),
			capture_time(v, r, st->end + 50000), gtid});
		insert(osrt, 4, (int64_t[]){capture_time(v, r, st->host + 1000),
			capture_time(v, r, st->data), gtid, S_WAIT});
		insert(call, 5, (int64_t[]){capture_time(v, r, st->end - 1000),
			capture_time(v, r, st->end + 8000), gtid, ++corr, S_SYNC});
	}
	sqlite3_finalize(kernel);
	sqlite3_finalize(call);
	sqlite3_finalize(osrt);
	sqlite3_finalize(nvtx);
	sqlite3_finalize(nccl);
	sqlite3_finalize(mpi);
	sqlite3_finalize(p2p);
	sqlite3_finalize(wait);
	if (job.payload) {
		char *sql = sqlite3_mprintf("INSERT INTO NVTX_EVENTS VALUES "
			"(0,NULL,75,'NCCL',%lld,1,NULL)", (long long)gtid);

		run_sql(db, sql);
		sqlite3_free(sql);
	}
	if (job.payload > 1) {
		char *sql = sqlite3_mprintf("INSERT INTO NVTX_EVENTS VALUES "
			"(1000000,1050000,59,'ncclCommInitRankConfig',%lld,1,'{\"NCCL communicator "
			"ID\":7,\"No. of ranks\":%d,\"Rank\":%d,\"CUDA device\":%d}')",
			(long long)gtid, job.ranks, r, (int)dev);

		run_sql(db, sql);
		sqlite3_free(sql);
	} else if (job.mpi) {
		char *sql = sqlite3_mprintf("CREATE TABLE IF NOT EXISTS "
			"ThreadNames (nameId INTEGER, priority INTEGER, globalTid INTEGER);"
			"INSERT INTO StringIds VALUES (%d,'MPI Rank %d');INSERT INTO "
			"ThreadNames VALUES (%d,50,%lld);DELETE FROM META_DATA_CAPTURE WHERE "
			"value LIKE 'RANK=%%'", 100 + r, number_of(r), 100 + r, (long long)gtid);

		run_sql(db, sql);
		sqlite3_free(sql);
	} else if (job.one_file) {
		char *sql = sqlite3_mprintf("INSERT INTO NVTX_EVENTS VALUES (1000000,NULL,34,'rank "
			"%d of %d',%lld,0,NULL)", r, job.ranks, (long long)gtid);

		run_sql(db, sql);
		sqlite3_free(sql);
	}
}

static void write_trace(const char *path, const struct rank *v, int first, int end)
{
	sqlite3 *db;
	char *sql;

	remove(path);
	if (sqlite3_open(path, &db))
		exit(1);
	run_sql(db, "PRAGMA journal_mode=OFF;PRAGMA synchronous=OFF;BEGIN");
	run_sql(db, schema_sql);
	for (int i = 0; i < OPT + 1; i++) {
		sql = sqlite3_mprintf("INSERT INTO StringIds VALUES (%d,%Q)",
				      i + 1, kernel_names[i]);
		run_sql(db, sql);
		sqlite3_free(sql);
	}
	run_sql(db, "INSERT INTO StringIds VALUES (11,'cudaLaunchKernel_v7000'),"
		    "(12,'cudaStreamSynchronize_v3020'),"
		    "(13,'pthread_cond_timedwait'),(20,'MPI_Allreduce'),"
		    "(21,'MPI_Reduce_scatter'),(22,'MPI_Allgather'),"
		    "(23,'MPI_Bcast'),(24,'MPI_Alltoall'),(25,'MPI_Send'),(26,'MPI_Recv'),"
		    "(27,'MPI_Isend'),(28,'MPI_Irecv'),(29,'MPI_Wait'),(30,'MPI_Waitall'),"
		    "(31,'MPI_Sendrecv')");
	sql = sqlite3_mprintf("INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (%lld,%lld);"
		"INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES ('Hostname','" HOST_NAME "');INSERT "
		"INTO META_DATA_CAPTURE VALUES ('ENVIRONMENT_VARIABLE',"
		"'WORLD_SIZE=%d'),('ENVIRONMENT_VARIABLE','RANK=%d'),"
		"('ENVIRONMENT_VARIABLE','TOKEN=never-print-me')",
		(long long)utc_of_start(v, first), (long long)system_clock_of_start(v, first),
		host_of(first), job.ranks, number_of(first));
	run_sql(db, sql);
	sqlite3_free(sql);
	for (int r = first; r < end; r++)
		add_rank(db, v, r);
	run_sql(db, "COMMIT");
	sqlite3_close(db);
}

/* Digests --------------------------------------------------------------------------*/

/* The start of a step, which is that of its first kernel. */
static int64_t begin(const struct rank *v, int r, int s)
{
	return capture_time(v, r, v[r].step[s].gpu + (job.root ? 1200 : 1000));
}

static void fill_steps(struct nsx_digest *d, const struct rank *v, int r)
{
	d->steps = nsx_arena_get(d->arena, (size_t)job.steps * sizeof(*d->steps));
	for (int s = 0; s < job.steps; s++) {
		const struct step *st = &v[r].step[s];
		struct nsx_dstep *x = &d->steps[d->nsteps];

		if (st->host < v[r].from)
			continue;
		x->start_ns = begin(v, r, s);
		x->wall_ns = (s + 1 < job.steps ? begin(v, r, s + 1) :
			capture_time(v, r, st->end + 100000)) - x->start_ns;
		x->part_ns[NSX_P_COMPUTE_ONLY] = st->kernel_ns;
		x->part_ns[NSX_P_COMM_EXPOSED] = st->exposed_ns;
		x->part_ns[NSX_P_IDLE] = x->wall_ns - st->kernel_ns - st->exposed_ns;
		x->cause_ns[NSX_CAUSE_OSRT] = st->data - st->host;
		x->cause_ns[NSX_CAUSE_HOST_CODE] = x->part_ns[NSX_P_IDLE] - (st->data - st->host);
		x->kernels = st->kernels;
		x->kernel_ns = st->kernel_ns;
		x->steady = true;
		x->colls = 0;
		d->nsteps++;
	}
}

static void fill_channel(struct nsx_digest *d, const struct rank *v, int r, int stream)
{
	struct nsx_dchannel *c = &d->channels[d->nchannels];
	int64_t *column[NSX_NCOLUMNS];
	struct nsx_err err;
	int code[NOPS] = {0}; /* for each operation: its index in c->ops plus one */

	*c = (struct nsx_dchannel){.stream = stream, .has_times = true};
	c->ops = nsx_arena_get(d->arena, NOPS * sizeof(*c->ops));
	for (unsigned k = 0; k < NSX_NCOLUMNS; k++)
		column[k] = calloc(v[r].n + 1, sizeof(**column));
	for (size_t i = 0; i < v[r].n; i++) {
		const struct event *e = &v[r].v[i];

		if (e->stream != stream || e->start < v[r].from)
			continue;
		column[NSX_START][c->n] = capture_time(v, r, e->start);
		column[NSX_LENGTH][c->n] = capture_time(v, r, e->end) - column[NSX_START][c->n];
		if (!code[e->name]) {
			c->ops[c->nops++] = (struct nsx_dop){
				.name = op_names[e->name], .bytes = -1};
			code[e->name] = (int)c->nops;
		}
		column[NSX_CODE][c->n] = code[e->name] - 1;
		column[NSX_EXPOSED][c->n++] = e->exposed;
	}
	if (nsx_channel_set(c, column, d->arena, &err))
		exit(1);
	for (unsigned k = 0; k < NSX_NCOLUMNS; k++)
		free(column[k]);
	d->nchannels += c->n > 0;
}

static void fill_family(struct nsx_digest *d, const struct rank *v, int r)
{
	struct nsx_sketch *s = nsx_arena_get(d->arena, sizeof(*s));
	struct nsx_buf b = {0};
	int64_t n = 0, ns = 0;

	for (int i = 0; i < job.steps; i++) {
		n += v[r].step[i].kernels;
		ns += v[r].step[i].kernel_ns;
	}
	nsx_sketch_add(s, ns / n, (uint64_t)n);
	nsx_sketch_put(s, &b);
	d->families = nsx_arena_get(d->arena, sizeof(*d->families));
	*d->families = (struct nsx_dfamily){
		"gemm", n, ns, {nsx_arena_strndup(d->arena, b.p, b.n), b.n}};
	d->nfamilies = 1;
	nsx_buf_done(&b);
}

static void write_digest(const char *path, const struct rank *v, int r)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_digest *d = nsx_arena_get(a, sizeof(*d));
	struct nsx_target to;
	struct nsx_err err;
	char host[16];

	snprintf(host, sizeof(host), HOST_NAME, host_of(r));
	*d = (struct nsx_digest){
		.arena = a, .rank = number_of(r), .rank_from = NSX_RANK_ENV,
		.world = job.ranks, .detail = NSX_DETAIL_COLLS,
		.who = mix((uint64_t)r + 1), .host = nsx_hash(host, strlen(host)),
		.gpu_model = "", .gpu_label = "", .product = "", .schema = "", .method = NSX_WAY_NVTX,
		.unit = "step", .peak_bytes = -1,
		.pid = pid_of(r), .utc_ns = utc_of_start(v, r),
		.system_ns = system_clock_of_start(v, r),
		.first_ns = 0, .last_ns = capture_time(v, r, v[r].comm)};
	d->channels = nsx_arena_get(a, 6 * sizeof(*d->channels));
	fill_steps(d, v, r);
	fill_family(d, v, r);
	for (int stream = STREAM_DP; stream <= STREAM_PP_BACK; stream++)
		fill_channel(d, v, r, stream);
	to = nsx_digest_target(path, NULL, 0);
	if (nsx_digest_seal(d, &err) || nsx_digest_write(&to, &d, 1, NULL, &err)) {
		fprintf(stderr, "gen: %s\n", err.msg);
		exit(1);
	}
	nsx_arena_free(a);
}

/* All --------------------------------------------------------------------------------*/

/* Returns the rank with a number. */
static int rank_of(int number)
{
	int r = 0;

	while (number_of(r) != number)
		r++;
	return r;
}

static void write_truth(const char *dir, const struct rank *with, const struct rank *without)
{
	char path[4096];
	double loss = 1 - mean_step(without) / mean_step(with);
	/* A fault costs nothing if the others wait anyway, for other stages or for communication.
	 */
	int is_hidden = job.fault != DESYNC && loss < 0.01;
	const char *sep = "";
	FILE *f;

	snprintf(path, sizeof(path), "%s/truth.json", dir);
	f = fopen(path, "we");
	if (!f)
		exit(1);
	fprintf(f, "{\"is_pipeline\": %s, \"fault\": \"%s\", \"cause\": \"%s\", \"ranks\": %d, "
		"\"step_ms\": %.6f, \"loss_share\": %.6f,\n \"culprits\": [",
		job.pp > 1 ? "true" : "false", faults[job.fault], causes[job.fault], job.ranks,
		mean_step(with) / 1e6, loss);
	for (int i = 0; i < job.ranks; i++) {
		int r = rank_of(i);

		if (is_culprit(r) && !is_hidden && job.fault != NONE && job.fault != ROTATING &&
		    job.fault != JITTER) {
			fprintf(f, "%s%d", sep, i);
			sep = ", ";
		}
	}
	fprintf(f, "],\n \"offset_us\": [");
	for (int r = 0; r < job.ranks; r++) {
		int h = host_of(rank_of(r));
		double middle = (double)(with[0].step[job.steps / 2].end);

		fprintf(f, "%s%.3f", r ? ", " : "", (offset_ns(h) + drift(h) * middle) / 1e3);
	}
	fprintf(f, "]}\n");
	if (fclose(f))
		exit(1);
}

static int read_options(int argc, char **argv)
{
	struct {
		const char *name;
		int *to;
	} ints[] = {{"ranks", &job.ranks}, {"hosts", &job.hosts},
		    {"steps", &job.steps}, {"colls", &job.colls},
		    {"tp", &job.tp}, {"lost", &job.lost},
		    {"traces", &job.traces},
		    {"one_file", &job.one_file}, {"strength", &job.strength},
		    {"speeds", &job.speeds}, {"skew", &job.skew},
		    {"ends", &job.ends}, {"apart", &job.apart},
		    {"payload", &job.payload}, {"root", &job.root},
		    {"pp", &job.pp}, {"ep", &job.ep}, {"mpi", &job.mpi},
		    {"half", &job.half}, {"inner", &job.inner},
		    {"second", &job.second}, {"pause", &job.pause},
		    {"beside", &job.beside}, {"gathers", &job.gathers}};

	for (int i = 3; i < argc; i++) {
		const char *value = strchr(argv[i], '=');
		int found = 0;

		for (size_t k = 0; value && k < sizeof(ints) / sizeof(*ints); k++)
			if (!strncmp(argv[i], ints[k].name, (size_t)(value - argv[i]))) {
				*ints[k].to = atoi(value + 1);
				found = 1;
			}
		if (value && !strncmp(argv[i], "seed=", 5)) {
			job.seed = strtoull(value + 1, NULL, 10);
			found = 1;
		}
		if (!strcmp(argv[i], "format=digest"))
			found = job.is_digest = 1;
		if (!found)
			return -1;
	}
	for (int k = 0; k < NFAULTS; k++)
		if (!strcmp(argv[2], faults[k])) {
			job.fault = (enum fault)k;
			return job.ranks % (job.tp * job.pp * job.ep) ||
			       job.colls < 3 ||
			       (job.fault == SLOW_LINK && job.ranks / job.tp < 2) ||
			       (job.fault == SLOW_LINK && job.tp < 2) ||
			       job.traces > job.ranks ? -1 : 0;
		}
	return -1;
}

static void make_folder(const char *dir, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s%s", dir, name);
	if (mkdir(path, 0777) && errno != EEXIST)
		exit(1);
}

int main(int argc, char **argv)
{
	struct rank *with, *without;
	char path[4096];

	if (argc < 3 || read_options(argc, argv)) {
		fprintf(stderr, "usage: gen DIR FAULT [NAME=VALUE ...]\n");
		return 2;
	}
	job.culprit = (int)(mix(job.seed) % (uint64_t)job.ranks);
	make_folder(argv[1], "");
	make_folder(argv[1], "/traces");
	if (job.traces)
		make_folder(argv[1], "/direct");
	without = simulate(0);
	with = simulate(1);
	write_truth(argv[1], with, without);
	free_job(without);
	for (int r = 0; r < job.ranks; r += job.one_file ? job.ranks : 1) {
		/* The first ranks without a fault are lost. */
		if (job.lost && !is_culprit(r)) {
			job.lost--;
			continue;
		}
		snprintf(path, sizeof(path), "%s/traces/rank%04d.%s", argv[1], number_of(r),
			 is_traced(r) ? "sqlite" : "nsxd");
		if (is_traced(r))
			write_trace(path, with, r, job.one_file ? job.ranks : r + 1);
		snprintf(path, sizeof(path), "%s/%s/rank%04d.nsxd", argv[1],
			 is_traced(r) ? "direct" : "traces", number_of(r));
		if (job.is_digest)
			write_digest(path, with, r);
	}
	free_job(with);
	return 0;
}
