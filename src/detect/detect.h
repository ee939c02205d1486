/* detect.h - what costs time is looked for always, whatever sections are shown.
 *
 * A detector looks for a family of findings; all are listed in detect.def.
 * nsx_detect_NAME reads the trace, the facts and what sections measured, all
 * const, and adds what it found, and what it checked and found fine, to a list.
 * It proposes generously: for each thing that could be otherwise a remedy to
 * replay.  Then all are priced, what wins nothing is dropped, and the rest is
 * ranked.
 */
#ifndef NSX_DETECT_H
#define NSX_DETECT_H

#include "base/group.h"
#include "base/stat.h"
#include "detect/measured.h"
#include "facts/facts.h"
#include "report/finding.h"
#include "report/opts.h"
#include "report/words.h"

struct nsx_detect {
	const struct nsx_trace *trace;
	const struct nsx_facts *facts;
	const struct nsx_opts *opts;
	const struct nsx_measured *measured;
	struct nsx_findings *found;
	/* nsx_detect fills these: */
	struct nsx_window w;	   /* judged                                 */
	bool is_pytorch;	   /* seen in the trace                      */
	const uint8_t *library; /* by call, a bit: nsx_is_librarys           */
	bool has_trials; /* of cuDNN's algorithms: nsx_mark_trials found some */
	/* Idle time of the limiting GPU in the judged window, by cause. */
	int64_t idle_ns[NSX_NCAUSES];
	struct nsx_arena *scratch; /* freed after this detector              */
	/* nsx_detect_memory fills these for nsx_detect_kernels: judged kernels in which pages
	 * of unified memory come to their GPU, each until the last is there, for which it may
	 * wait till then.
	 */
	struct nsx_paged {
		uint32_t op;
		int64_t ns;
	} *paged;
	size_t npaged;
};

#define NSX_DETECTOR(name, when)                                              \
	int nsx_detect_##name(struct nsx_detect *d, struct nsx_err *err);
#include "detect/detect.def"
#undef NSX_DETECTOR

/* Adds what all detectors find to d->found.  Errors: NSX_E_NOMEM, NSX_E_STOP. */
int nsx_detect(struct nsx_detect *d, struct nsx_err *err) NSX_CHECKED;

/* Prices what was found on the judged window by replaying the remedies, joins
 * what wins the same time, and puts the list into the order of the report.
 */
int nsx_rank_findings(const struct nsx_trace *t, const struct nsx_facts *f,
		      unsigned threads, struct nsx_findings *l,
		      struct nsx_err *err) NSX_CHECKED;

/* What detectors share -------------------------------------------------------*/

/* "outer > inner": the ranges around one, the last three of them, with numbers
 * that count left out ("step #"), and so what lies between the first and the
 * last range of one library; NULL for NSX_NONE.
 */
const char *nsx_range_path(struct nsx_detect *d, uint32_t range);
/* A range's own name, numbers that count left out; and what is the same for ranges whose
 * names differ in these only.
 */
const char *nsx_range_shown(struct nsx_detect *d, uint32_t range);
uint64_t nsx_range_kind(const struct nsx_trace *t, uint32_t range);
/* From a range open at the middle of [from, to), or NSX_NONE, outwards to the
 * first that covers half of it.
 */
uint32_t nsx_range_of_gap(const struct nsx_detect *d, uint32_t range,
			  int64_t from_ns, int64_t to_ns);

/* In the place of a process, or of a thread: they are several. */
#define NSX_SEVERAL (NSX_NONE - 1)
/* Whether a process, or one of NSX_SEVERAL, has streams on several GPUs. */
bool nsx_on_several_gpus(const struct nsx_trace *t, uint32_t process);

/* The thread that launches most of what the limiting GPU, which there is, does in the judged
 * window; NSX_NONE: no launch was recorded.  Linear in its operations.
 */
uint32_t nsx_launcher(const struct nsx_detect *d);
/* Idle time of the limiting GPU at an end of the window that the user asked for. */
struct nsx_edge {
	struct nsx_gap gap;
	uint32_t thread; /* whose work ends it; NSX_NONE: there is none, or not known */
	size_t at;	 /* its first piece, for who reads them              */
};
/* The first and the last. */
void nsx_find_edges(const struct nsx_detect *d, struct nsx_edge edge[2]);
/* Its name, or its id. */
const char *nsx_thread_text(struct nsx_detect *d, uint32_t thread);
/* The GPU of one process of several that communicate, if it has but one; else "". */
const char *nsx_say_own_gpu(struct nsx_detect *d, uint32_t process, const char *before,
			    const char *after);
/* " on GPU 2 alone": where only that process does something. */
static inline const char *nsx_say_alone(struct nsx_detect *d, uint32_t process)
{
	return nsx_say_own_gpu(d, process, " on GPU ", " alone");
}
/* "1, 2 and 3": devices by their ids; of more than eight the first eight. */
const char *nsx_say_gpus(struct nsx_detect *d, const uint32_t *device, uint32_t n);
/* " on 2 GPUs": where operations are on several, so that their times add up beyond the
 * window's length; else "".
 */
const char *nsx_say_over_gpus(struct nsx_detect *d, const uint32_t *ops, size_t n);

/* How many GPUs of one thread of a process compute in turns, one while the others do not,
 * most of the judged window; 0: they do not.  Linear in their kernels while they do.
 */
uint32_t nsx_turns(const struct nsx_detect *d, uint32_t process);

/* Whether several processes have streams on a device. */
bool nsx_is_shared(const struct nsx_trace *t, uint32_t device);

/* Whether the same launches take longer on a GPU than on others, nearly all of them. */
struct nsx_slow_gpu {
	double times; /* as long; 0: they do not                             */
	size_t nkernels; /* that do                                          */
};
/* others: by device.  Linear in their kernels.  Errors: NSX_E_NOMEM. */
int nsx_compare_gpu(struct nsx_detect *d, uint32_t device, const bool *others,
		    struct nsx_slow_gpu *ret, struct nsx_err *err) NSX_CHECKED;
const char *nsx_say_slow(struct nsx_detect *d, const struct nsx_slow_gpu *x,
			 uint32_t device);
/* What a GPU has most of beyond the mean of all; *ret is NULL where there is nothing.  Errors:
 * NSX_E_NOMEM.
 */
int nsx_say_more(struct nsx_detect *d, uint32_t device, const char **ret,
		 struct nsx_err *err) NSX_CHECKED;
extern const char nsx_priced_by_stretch[], nsx_advice_on_work[], nsx_advice_on_slow[];

/* What of a device's communication in the judged window is waiting for ranks that come
 * later: in matched collectives, or, where more, between any ranks in the part that is
 * replayed, scaled to the window.  Where measured->comm is not NULL.
 */
int64_t nsx_comm_waited_ns(const struct nsx_detect *d, uint32_t device);

/* "block": what one of the iterations is, as far as how they were found tells. */
const char *nsx_iteration_word(const struct nsx_facts *f);
/* The range that they are, as it is shown ("step #"); NULL: they are found otherwise. */
const char *nsx_iteration_range(const struct nsx_facts *f);

/* "`step` in solver": what a frame of the trace is called. */
const char *nsx_frame_words(struct nsx_detect *d, uint32_t frame);

/* Who has most of a group: frames, weighted by time or by samples. */
struct nsx_votes {
	struct nsx_groups keys; /* (group, frame)                            */
	int64_t *weight;
};
struct nsx_winner {
	uint32_t frame; /* NSX_NONE: nobody voted                            */
	int64_t weight, all;
};
/* A vote for NSX_NONE is counted, and wins nothing. */
int nsx_vote(struct nsx_votes *v, uint32_t group, uint32_t frame,
	     int64_t weight, struct nsx_err *err) NSX_CHECKED;
struct nsx_winner nsx_votes_won(const struct nsx_votes *v, uint32_t group);
void nsx_votes_done(struct nsx_votes *v);

/* Where the time of several things comes from: the kind of range with most of it,
 * and the frame that called for most of it.  Empty: zeroed; nsx_places_done frees
 * it.
 */
enum { NSX_RECENT_KINDS = 64 };
struct nsx_places {
	struct nsx_groups keys; /* (thing, kind of range)                    */
	struct nsx_place {
		int64_t ns;
		uint32_t range; /* the first of its kind; NSX_NONE           */
	} *v;
	struct nsx_votes sites; /* by thing, in time                         */
	struct {
		nsx_str name;
		uint64_t kind; /* of the ranges of this name; 0: none yet    */
	} recent[NSX_RECENT_KINDS]; /* by name: it repeats, and is long      */
};
/* Adds time in a range, or in none (NSX_NONE), that a call started or took
 * (NSX_NONE: not known) to a thing; *most is the thing's place with most time,
 * which begins as {0, NSX_NONE}.
 */
int nsx_places_add(struct nsx_places *p, const struct nsx_trace *t,
		   uint32_t thing, uint32_t range, uint32_t call, int64_t ns,
		   struct nsx_place *most, struct nsx_err *err) NSX_CHECKED;
/* Says where a thing is from: its place is the path of the range, else the frame
 * that called; both are evidence, behind what is there.
 */
void nsx_places_tell(struct nsx_detect *d, const struct nsx_places *p,
		     uint32_t thing, const struct nsx_place *most,
		     struct nsx_finding *f);
void nsx_places_done(struct nsx_places *p);

/* Where Python mostly was in a span of a thread; a frame otherwise. */
uint32_t nsx_python_or(const struct nsx_trace *t, uint32_t thread, struct nsx_span in,
		       uint32_t frame);
/* The site of a sample, else its innermost frame; NSX_NONE: neither was recorded. */
uint32_t nsx_sample_frame(const struct nsx_trace *t, size_t sample);
/* Lets the samples of a thread in [start, end) vote, each for its frame.  *cursor
 * begins at 0; spans come in order of start.
 */
int nsx_vote_samples(struct nsx_detect *d, struct nsx_votes *v, uint32_t group,
		     uint32_t thread, size_t *cursor, struct nsx_span in,
		     struct nsx_err *err) NSX_CHECKED;

/* Whether the trace shows a loop: else nothing is said of one. */
static inline bool nsx_repeats(const struct nsx_detect *d)
{
	return d->facts->run_kind == NSX_RUN_STEADY && d->facts->niterations;
}

/* Whether an instant lies in the judged window. */
static inline bool nsx_is_judged(const struct nsx_detect *d, int64_t at_ns)
{
	return at_ns >= d->w.start_ns && at_ns < d->w.end_ns;
}

/* Rows of calls or operations, for a change.  Empty: zeroed; free(v). */
struct nsx_row_list {
	uint32_t *v;
	size_t n, cap;
};
int nsx_list_row(struct nsx_row_list *l, size_t row,
		 struct nsx_err *err) NSX_CHECKED;
/* Rows that a change is about, ascending; on the list's arena. */
struct nsx_rows nsx_keep_rows(struct nsx_detect *d, const uint32_t *v,
			      size_t n);
/* What exposed communication of a device waited for before it started, on streams that
 * do not compute (`computes`, by stream): the collective before it, as long as the stream
 * has had no pause since one that overlaps with compute; its input; or the host.  Chains
 * of collectives that follow one another at once count as their first one.
 */
struct nsx_comm_starts {
	int64_t behind_ns, needed_ns, late_ns; /* exposed                    */
	int64_t pairs_ns, gathers_ns; /* of that: of sends and receives, of gathers */
	size_t nneeded; /* that wait for their input, and overlap little     */
};
/* Errors: NSX_E_NOMEM. */
int nsx_comm_starts(const struct nsx_detect *d, uint32_t device,
		    const uint8_t *computes, struct nsx_comm_starts *ret,
		    struct nsx_err *err) NSX_CHECKED;
/* Communication in the judged window but for what iterations gather first and reduce last;
 * all of it where none is cut into many: rows that name none.  Errors: NSX_E_NOMEM.
 */
int nsx_list_hideable(struct nsx_detect *d, struct nsx_rows *ret,
		      struct nsx_err *err) NSX_CHECKED;
/* Marks a call, in bits that several threads mark calls in. */
static inline void nsx_mark(uint8_t *bits, size_t call)
{
	__atomic_fetch_or(&bits[call / 8], (uint8_t)(1 << call % 8), __ATOMIC_RELAXED);
}
/* Mark the calls that a library makes for reasons of its own: MPI, to take GPU buffers
 * through the host (staging.c), and cuDNN, to try out algorithms (trials.c).  They run
 * side by side, and do not read d->library.  Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_mark_staged(struct nsx_detect *d, uint8_t *bits,
		    struct nsx_err *err) NSX_CHECKED;
int nsx_mark_trials(struct nsx_detect *d, uint8_t *bits,
		    struct nsx_err *err) NSX_CHECKED;
/* No advice on copies or waits reaches these calls: they have findings of their own. */
static inline bool nsx_is_librarys(const struct nsx_detect *d, size_t call)
{
	return d->library[call / 8] >> call % 8 & 1;
}
/* Launches, and copies and memsets that do not wait: what NSX_FASTER_LAUNCH makes faster. */
static inline bool nsx_queues_work(const struct nsx_detect *d, size_t call)
{
	const struct nsx_calls *c = &d->trace->calls;

	return c->cls[call] == NSX_CALL_LAUNCH ||
	       (nsx_call_op(c, call) != NSX_NONE &&
		!nsx_call_blocks(d->facts, d->trace, call));
}
/* A plan of one change, on the list's arena. */
struct nsx_plan nsx_plan_of(struct nsx_detect *d, struct nsx_change change);
/* Adds a change of these rows, which it sorts, to v, which has room for it; none
 * where there are no rows.
 */
void nsx_add_change(struct nsx_detect *d, struct nsx_change *v, size_t *n,
		    struct nsx_row_list *rows, struct nsx_change change);

#endif
