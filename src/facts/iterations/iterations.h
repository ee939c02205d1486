/* iterations.h - shared by the finders of iterations; private to facts. */
#pragma once

#include "facts/facts.h"

/* A way to recognise the iterations of one process. A mark is the half-open span of one iteration,
 * in order of time: a host range (NVTX), else GPU time from one start to the next.
 */
struct nsx_way {
	enum nsx_way_method method;
	uint32_t process; /* index; nprocesses: unknown                      */
	nsx_str name;	  /* range or kernel at the start; 0: none           */
	struct nsx_span *marks;
	size_t n;
	double coverage;   /* share of the GPU work inside the marks         */
	double cv, score;  /* cv: standard deviation of their lengths, divided by the mean */
	double regularity; /* min(1, n/8) / (1 + cv) x evenness (nsx_measure_way)  */
};

struct nsx_finder {
	const struct nsx_trace *t;
	struct nsx_facts *f;
	struct nsx_arena *a;   /* scratch                                    */
	struct nsx_arena *keep; /* arena of the facts                        */
	uint32_t *ops;	       /* operation indices by process, sorted       */
	size_t *ops_at;	       /* for each process: its first operation */
	int64_t *gpu_ns;       /* for each process: sum of nsx_work_ns */
	int64_t *comm_ns;      /* for each process: median length of its communication kernels */
	uint32_t *main_stream; /* for each process: the stream with most compute; or NSX_NONE */
	struct nsx_way *v;
	size_t n, cap;
};

/* These append candidates to fd->v, for the whole trace or for one process. */
int nsx_find_nvtx(struct nsx_finder *fd, struct nsx_err *err);
int nsx_find_sequence(struct nsx_finder *fd, uint32_t process, struct nsx_err *err);
int nsx_find_cadence(struct nsx_finder *fd, uint32_t process, struct nsx_err *err);

/* Computes cv and regularity from the marks, without long marks at the beginning (warm-up).
 * Evenness is the time that iterations of median length would take, as a share of the time without
 * the longest iteration. It is low for bursts with pauses between them, which are not the loop.
 */
int nsx_measure_way(struct nsx_way *w, struct nsx_err *err);
/* Adds a measured way to fd->v if it is regular enough; its coverage must be set. Its score is
 * coverage x regularity x trust.
 */
int nsx_keep_way(struct nsx_finder *fd, struct nsx_way *w, double trust,
		 double max_cv, struct nsx_err *err);
/* Adds a way whose marks reach from each start to the next; the last mark ends at end_ns. */
int nsx_add_way_from_starts(struct nsx_finder *fd, struct nsx_way *w,
			    const int64_t *start_ns, size_t n, int64_t end_ns,
			    double trust, double max_cv, struct nsx_err *err);
/* The part of an operation's GPU time that counts as work. A communication kernel may wait seconds
 * for ranks that start late, so it counts at most as much as its process's median communication
 * kernel.
 */
int64_t nsx_work_ns(const struct nsx_finder *fd, uint32_t op);
/* A stretch of the run with one activity. */
struct nsx_segment {
	struct nsx_window window;
	nsx_str range;	 /* its range; 0: none                               */
	bool is_whole;	 /* nothing repeats in it, so it is judged whole */
	bool computes;	 /* compute takes longer than copies to the GPU      */
	bool warms_up;	 /* the name of its range says warm-up               */
	int64_t work_ns; /* compute time, summed over devices                */
};

/* Finds the steady part of a segment, which represents all of it. Owner: a. */
int nsx_steady_in(const struct nsx_facts *f, const struct nsx_trace *t,
		  const struct nsx_segment *seg, struct nsx_arena *a,
		  struct nsx_steady *ret, struct nsx_err *err);

/* The segments of the run by NVTX ranges (ranges.c), in order of time; none if ranges do not mark
 * phases. Owner: a.
 */
struct nsx_segment *nsx_range_segments(const struct nsx_finder *fd, size_t *ret_n);

/* Fills f->run_phases, f->steady, f->limiting and f->run_kind, and marks steady iterations. */
int nsx_find_phases(struct nsx_finder *fd, struct nsx_err *err);

/* Fills ops, ops_at, gpu_ns and main_stream; t, f and a must be set. */
int nsx_group_work(struct nsx_finder *fd, struct nsx_err *err) NSX_CHECKED;
/* Calls nsx_group_work and fills v with all ways, best first. Owner of v: the caller, free(). */
int nsx_find_ways(struct nsx_finder *fd, unsigned threads, struct nsx_err *err);

/* Lists the distinct ways (method and name), each with its best candidate and its score over all
 * processes. Ways with a score below NSX_MIN_WAY_SCORE are left out.
 */
#define NSX_MIN_WAY_SCORE 0.4
enum { NSX_MAX_DISTINCT_WAYS = 64 };
struct nsx_weighed_way {
	size_t way; /* index in fd->v                                        */
	double weight;
};
size_t nsx_weigh_ways(const struct nsx_finder *fd, struct nsx_weighed_way *ret);

/* The iterations of a way in all processes that have it, sorted by process, device and
 * start, with slow ones marked. Owner: arena a.
 */
int nsx_project_way(struct nsx_finder *fd, const struct nsx_way *way,
		    struct nsx_arena *a, struct nsx_iteration **ret,
		    size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
