/* iterations.h - what the finders of iterations share; private to facts. */
#ifndef NSX_FACTS_ITERATIONS_H
#define NSX_FACTS_ITERATIONS_H

#include "facts/facts.h"


/* One way to see the iterations of one process.  Marks are half-open, in
 * order: host ranges (NVTX), else spans of GPU time from start to next start.
 */
struct nsx_way {
	enum nsx_way_method method;
	uint32_t process; /* index; nprocesses: not known                    */
	nsx_str name;
	struct nsx_span *marks;
	size_t n;
	double coverage, cv, score;
	double regularity; /* min(1, n/8) / (1 + cv) x evenness              */
};

struct nsx_finder {
	const struct nsx_trace *t;
	struct nsx_facts *f;
	struct nsx_arena *a;   /* scratch                                    */
	struct nsx_arena *keep; /* of what facts hold                        */
	uint32_t *ops;	       /* op indices by process, in order of ops     */
	size_t *ops_at;	       /* by process: where its ops begin            */
	int64_t *gpu_ns;       /* by process: sum of nsx_work_ns of its ops  */
	int64_t *comm_ns;      /* by process: median communication kernel    */
	uint32_t *main_stream; /* by process: most compute; NSX_NONE         */
	struct nsx_way *v;
	size_t n, cap;
};

/* Candidates of the whole trace or of one process, appended to fd->v. */
int nsx_find_nvtx(struct nsx_finder *fd, struct nsx_err *err);
int nsx_find_sequence(struct nsx_finder *fd, uint32_t process,
		      struct nsx_err *err);
int nsx_find_cadence(struct nsx_finder *fd, uint32_t process,
		     struct nsx_err *err);

/* Fills cv and regularity from the marks, but for long ones that begin them: the
 * warm-up. Evenness is the share of the rest of the time, but for the longest
 * iteration, that iterations of the median length would take: bursts with
 * pauses between them are not the loop.
 */
int nsx_measure_way(struct nsx_way *w, struct nsx_err *err);
/* Keeps a way that is measured, and whose coverage is set, if it is one; its
 * score becomes coverage x regularity x trust.
 */
int nsx_keep_way(struct nsx_finder *fd, struct nsx_way *w, double trust,
		 double max_cv, struct nsx_err *err);
/* GPU time of an op that is work: a communication kernel waits as well, for ranks
 * that start late by seconds, and counts as its process's median one at most.
 */
int64_t nsx_work_ns(const struct nsx_finder *fd, uint32_t op);
/* Share of the process's work that lies in [start, end). */
double nsx_gpu_share(const struct nsx_finder *fd, uint32_t process,
		     int64_t start_ns, int64_t end_ns);

/* A stretch of the run in which one thing is done. */
struct nsx_segment {
	struct nsx_window window;
	nsx_str range;	 /* that it is; 0: none says so                      */
	bool is_whole;	 /* nothing repeats: there is nothing to leave out   */
	bool computes;	 /* more than it copies in                           */
	bool warms_up;	 /* by the range's own word                          */
	int64_t work_ns; /* compute, over all devices                        */
};

/* The part of it that stands for the rest.  Owner: a. */
int nsx_steady_in(const struct nsx_facts *f, const struct nsx_trace *t,
		  const struct nsx_segment *seg, struct nsx_arena *a,
		  struct nsx_steady *ret, struct nsx_err *err);

/* The segments of the run by NVTX ranges (ranges.c), in order of time; none
 * where ranges do not tell phases apart.  Owner: a.
 */
int nsx_range_segments(const struct nsx_finder *fd, struct nsx_segment **ret,
		       size_t *ret_n, struct nsx_err *err);

/* Fills f->run_phases, f->steady, f->limiting and f->run_kind, and marks steady
 * iterations.
 */
int nsx_find_phases(struct nsx_finder *fd, struct nsx_err *err);

/* Fills ops, ops_at, gpu_ns and main_stream; t, f and a are set. */
int nsx_group_work(struct nsx_finder *fd, struct nsx_err *err) NSX_CHECKED;
/* The same, and v with every way, best first.  Owner of v: the caller, free(). */
int nsx_find_ways(struct nsx_finder *fd, unsigned threads,
		  struct nsx_err *err);

/* The ways that differ, each by its best candidate, and its score over all
 * processes.  Below NSX_MIN_WAY_SCORE nothing is claimed.  err->rc is set on
 * failure.
 */
#define NSX_MIN_WAY_SCORE 0.4
enum { NSX_MAX_DISTINCT_WAYS = 64 };
struct nsx_weighed_way {
	size_t way; /* index of v                                            */
	double weight;
};
size_t nsx_weigh_ways(const struct nsx_finder *fd, struct nsx_weighed_way *ret,
		      struct nsx_err *err);

/* The iterations of a way, of all processes that have it: by process, device,
 * start, slow ones marked.  Owner: arena a.
 */
int nsx_project_way(struct nsx_finder *fd, const struct nsx_way *way,
		    struct nsx_arena *a, struct nsx_iteration **ret,
		    size_t *ret_n, struct nsx_err *err) NSX_CHECKED;

#endif
