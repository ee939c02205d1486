/* detect.h - detectors find what costs time, independent of the sections shown.
 *
 * A detector looks for one family of findings; detect.def lists them. nsx_detect_NAME reads the
 * trace, the facts and the sections' measurements, all const. It adds its findings to a list, and
 * notes what it checked and found fine. A detector proposes generously: a remedy to replay for each
 * cost that a change could avoid. Afterwards all remedies are priced, findings that win nothing are
 * dropped, and the others are ranked.
 */
#pragma once

#include "base/group.h"
#include "base/stat.h"
#include "detect/measured.h"
#include "detect/words.h"
#include "facts/facts.h"
#include "facts/outside.h"
#include "report/finding.h"
#include "report/opts.h"
#include "report/words.h"

struct nsx_detect {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	const struct nsx_opts *opts;
	const struct nsx_measured *measured;
	struct nsx_findings *found;
	/* Set by nsx_detect: */
	struct nsx_window w;	   /* the judged window                      */
	double length_ns;	   /* its length                             */
	bool is_pytorch;	   /* the trace shows PyTorch                */
	uint8_t *library; /* a bit for each call: a library makes it (nsx_is_librarys) */
	bool has_mpi;	   /* launching threads call MPI                */
	/* idle time of the limiting GPU in the judged window, by cause */
	int64_t idle_ns[NSX_NCAUSES];
	struct nsx_arena *scratch; /* freed after this detector              */
	struct nsx_kept *kept; /* groups that are freed after this detector  */
};

#define NSX_DETECTOR(name, when)                                              \
	int nsx_detect_##name(struct nsx_detect *d, struct nsx_err *err);
#include "detect/detect.def"
#undef NSX_DETECTOR

/* Adds what all detectors find to d->found.  Errors: NSX_E_NOMEM, NSX_E_STOP. */
int nsx_detect(struct nsx_detect *d, struct nsx_err *err) NSX_CHECKED;

/* Limits what faster kernels win by the least time of the steps' model, if the user describes it. */
void nsx_limit_by_model(struct nsx_detect *d);
/* Adds to each priced finding what it costs a step of an engine. */
void nsx_price_steps(const struct nsx_facts *f, const struct nsx_engine_steps *steps,
		     struct nsx_findings *l);

/* Prices the findings on the judged window by replaying their remedies, merges those that win the
 * same time, and sorts the list into the order of the report. Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_rank_findings(const struct nsx_trace *t, const struct nsx_facts *f,
		      unsigned threads, struct nsx_findings *l, struct nsx_err *err) NSX_CHECKED;

/* Shared by detectors -------------------------------------------------------*/

#define NSX_LEAST_SHARE 0.003 /* what takes less of the judged window is not reported */

/* "outer > inner": the range and the ranges around it, three at most. Counters in names become "#"
 * ("step #"). Of nested ranges of one library only the outermost and the innermost are named. NULL
 * for NSX_NONE.
 */
const char *nsx_range_path(struct nsx_detect *d, uint32_t range);
/* A hash of the range's name, equal for names that differ only in counters. */
uint64_t nsx_range_kind(const struct nsx_trace *t, uint32_t range);
/* used as an index when several processes or threads are meant */
#define NSX_SEVERAL (NSX_NONE - 1)
/* Whether a process has streams on several GPUs. NSX_SEVERAL: whether any process has. */
bool nsx_on_several_gpus(const struct nsx_trace *t, uint32_t process);

/* idle time of the limiting GPU at one end of the window that the user asked for */
struct nsx_edge {
	struct nsx_gap gap;
	/* launches the operation that ends the idle time; NSX_NONE: no thread, or unknown */
	uint32_t thread;
};
/* Finds the idle time at the window's start and at its end. */
void nsx_find_edges(const struct nsx_detect *d, struct nsx_edge edge[2]);
/* The part of a thread's span in the idle time at the window's ends. */
int64_t nsx_at_edges(const struct nsx_edge edge[2], uint32_t thread, struct nsx_span in);
/* Names the GPU of one process, written between `before` and `after`, if several processes
 * communicate. "" unless the process has exactly one GPU.
 */
const char *nsx_say_own_gpu(struct nsx_detect *d, uint32_t process, const char *before,
			    const char *after);
/* The words " on GPU 2 alone" if only that process does what the sentence says; else "". */
static inline const char *nsx_say_alone(struct nsx_detect *d, uint32_t process)
{
	return nsx_say_own_gpu(d, process, " on GPU ", " alone");
}
/* " on 2 GPUs" if the operations run on several GPUs, so that their times may add up to more than
 * the window; else "".
 */
const char *nsx_say_over_gpus(struct nsx_detect *d, const uint32_t *ops, size_t n);

/* Whether several processes have streams on a device. */
bool nsx_is_shared(const struct nsx_trace *t, uint32_t device);

/* The word for one iteration ("repetition"), by how iterations were found. */
const char *nsx_iteration_word(const struct nsx_facts *f);

/* A frame of the trace in words: "`step` in solver". */
const char *nsx_frame_words(struct nsx_detect *d, uint32_t frame);

/* votes of samples or of time for frames, in groups; the winner of a group has most votes */
struct nsx_votes;
struct nsx_votes *nsx_new_votes(struct nsx_detect *d);
struct nsx_winner {
	uint32_t frame; /* NSX_NONE: no vote                                 */
	int64_t weight, all;
};
/* Adds votes. Votes for NSX_NONE count in `all` but never win. */
int nsx_vote(struct nsx_votes *v, uint32_t group, uint32_t frame,
	     int64_t weight, struct nsx_err *err) NSX_CHECKED;
struct nsx_winner nsx_votes_won(const struct nsx_votes *v, uint32_t group);

/* Finds where time is spent. For each of several things it gives the kind of range in which most of
 * the time lies, and the frame that called for most of it.
 */
struct nsx_places;
struct nsx_places *nsx_new_places(struct nsx_detect *d);
/* Adds time to a thing. range: where the time was spent, or NSX_NONE. call: the call that started
 * or took it; NSX_NONE: unknown.
 */
int nsx_places_add(struct nsx_places *p, uint32_t thing, uint32_t range, uint32_t call, int64_t ns,
		   struct nsx_err *err) NSX_CHECKED;
/* Adds the time of an operation, which may be longer or shorter than the operation itself. */
int nsx_places_add_op(struct nsx_places *p, uint32_t thing, size_t op, int64_t ns,
		      struct nsx_err *err) NSX_CHECKED;
/* Adds time of a thread in a stack. */
int nsx_places_add_stack(struct nsx_places *p, uint32_t thing, uint32_t thread, struct nsx_span in,
			 uint32_t stack, struct nsx_err *err) NSX_CHECKED;
/* Sets f->place to the path of the range with most time, or else to the calling frame; in traces
 * with Python samples the frame comes first. Appends both as evidence.
 */
void nsx_places_tell(const struct nsx_places *p, uint32_t thing, struct nsx_finding *f);

/* Each sample of the thread in the span votes for its frame. *cursor begins at 0; spans must come
 * in order of start.
 */
int nsx_vote_samples(struct nsx_detect *d, struct nsx_votes *v, uint32_t group,
		     uint32_t thread, size_t *cursor, struct nsx_span in,
		     struct nsx_err *err) NSX_CHECKED;

/* Whether the trace shows a loop. Without one, texts must not mention any. */
static inline bool nsx_repeats(const struct nsx_detect *d)
{
	return d->facts->run_kind == NSX_RUN_STEADY && d->facts->niterations;
}

/* Whether an instant lies in the judged window. */
static inline bool nsx_is_judged(const struct nsx_detect *d, int64_t at_ns)
{
	return at_ns >= d->w.start_ns && at_ns < d->w.end_ns;
}

/* Rows of calls or operations that a change is about, on d->scratch. Begins zeroed. */
struct nsx_row_list {
	uint32_t *v;
	size_t n, cap;
};
int nsx_list_row(struct nsx_detect *d, struct nsx_row_list *l, size_t row,
		 struct nsx_err *err) NSX_CHECKED;
/* Frees groups and the array of their values after this detector. Both are on d->scratch. */
void nsx_keep_groups(struct nsx_detect *d, struct nsx_groups *g, void *values);
void nsx_free_kept(struct nsx_detect *d);
/* Packs ascending rows for a change. Owner: the list's arena. */
struct nsx_rows nsx_keep_rows(struct nsx_detect *d, const uint32_t *v, size_t n);
/* Marks a call; several threads may mark calls in the same bits. */
static inline void nsx_mark(uint8_t *bits, size_t call)
{
	__atomic_fetch_or(&bits[call / 8], (uint8_t)(1 << call % 8), __ATOMIC_RELAXED);
}
/* Marks calls that a library makes for its own purposes: MPI, to copy GPU buffers through the host
 * (staging.c). It must not read d->library. Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_mark_staged(struct nsx_detect *d, uint8_t *bits, struct nsx_err *err) NSX_CHECKED;
/* Whether a call is marked: it has a finding of its own, and other findings leave it out. */
static inline bool nsx_is_librarys(const struct nsx_detect *d, size_t call)
{
	return d->library[call / 8] >> call % 8 & 1;
}
/* The certain part of a remedy that may not be possible at all. */
extern const struct nsx_plan nsx_nothing;
/* Makes a plan of one change. Owner: the list's arena. */
struct nsx_plan nsx_plan_of(struct nsx_detect *d, struct nsx_change change);
/* Appends a change to a plan. */
void nsx_plan_add(struct nsx_detect *d, struct nsx_plan *p, struct nsx_change change);
/* Sorts the rows and appends a change of them. Without rows appends nothing. */
void nsx_plan_rows(struct nsx_detect *d, struct nsx_plan *p, struct nsx_row_list *rows,
		   struct nsx_change change);

/* Whether the wait is for data that another process or machine sends. */
static inline bool host_is_message(enum nsx_awaited what)
{
	return what == NSX_AWAITS_REQUEST || what == NSX_AWAITS_INPUT;
}
/* Whether something outside the program alone decides when the wait ends. False if ranks
 * communicate, because the others may wait for this one, and for INPUT of PyTorch, which may come
 * from a loader's processes.
 */
bool host_is_outside(const struct nsx_detect *d, enum nsx_awaited what);

/* Loops over the operations of a device that begin in the judged window. */
#define NSX_EACH_JUDGED(d, device_, i)                                        \
	for (size_t i = nsx_first_op((d)->trace, &(d)->trace->device[device_], (d)->w.start_ns), \
		    i##_end = nsx_first_op((d)->trace, &(d)->trace->device[device_],             \
					   (d)->w.end_ns); i < i##_end; i++)
