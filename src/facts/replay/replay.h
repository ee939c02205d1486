/* replay.h - what the recorded program would have taken with one thing changed.
 *
 * A model of what waits for what (threads with their calls and the time between
 * them, launch queues, streams, events, copy engines, collectives) is built
 * once from the trace.  Played with nothing changed it gives back every
 * recorded start; played with a change it gives the price of what was changed.
 * What the model cannot explain stays with the operation it was seen at, so
 * nothing unexplained is ever promised.
 *
 * Durations of kernels and copies stay as recorded unless a change names them.
 */
#ifndef NSX_REPLAY_H
#define NSX_REPLAY_H

#include "facts/facts.h"
#include "facts/replay/change.h"

struct nsx_model; /* const once built; any number of threads may replay it */

/* By enum nsx_confidence + 1: "abstain", "low", ... */
extern const char *const nsx_closure_names[];

struct nsx_closure {
	enum nsx_confidence cls; /* NONE: the replay abstains                */
	const char *reason; /* why nothing is priced; NULL: it is            */
	double drift;	    /* |replayed / recorded - 1| with typical latencies
			       in place of the recorded ones                  */
	double unexplained; /* share of the window's longest chain of causes
			       that no cause is known for                     */
	struct nsx_window window; /* that was replayed                       */
	int64_t recorded_ns;	  /* of it, from the last end of work before it
				     to the last end of work in it            */
	bool is_part; /* whole iterations of the judged window, as long as its
			 are on average, as all of it would be too much       */
	size_t nops, ncalls; /* replayed                                     */
};

/* Builds the model of the judged window.  max_ops 0: the usual number.  A trace
 * that cannot be replayed gives a model that abstains, no error.
 * Owner: the caller, nsx_model_free.  Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_model_build(const struct nsx_trace *t, const struct nsx_facts *f,
		    size_t max_ops, struct nsx_model **ret,
		    struct nsx_err *err) NSX_CHECKED;
void nsx_model_free(struct nsx_model *m);
const struct nsx_closure *nsx_model_closure(const struct nsx_model *m);

/* From the end of a usual call to the start of the kernel that it launches, where that
 * waits for nothing else; a default where too few such launches are in what is replayed, 0
 * where nothing is.
 */
int64_t nsx_model_launch_ns(const struct nsx_model *m);

/* Where a thread was off its CPU, but for waits in calls, in what is replayed: of each
 * thread in order of start; never where the model abstains.  What each does not return as 0
 * ends it.
 */
typedef int (*nsx_lost_fn)(void *ctx, uint32_t thread, struct nsx_span lost,
			   struct nsx_err *err);
/* Though it could run. */
int nsx_model_each_preempted(const struct nsx_model *m, nsx_lost_fn each, void *ctx,
			     struct nsx_err *err) NSX_CHECKED;
/* Likewise, and neither the scheduler nor a call tells why. */
int nsx_model_each_absent(const struct nsx_model *m, nsx_lost_fn each, void *ctx,
			  struct nsx_err *err) NSX_CHECKED;
/* Of these, whether the scheduler says each time that the thread waited, though not for
 * what.
 */
bool nsx_model_is_blocked(const struct nsx_model *m);

/* How long a device waited in collectives for ranks that came later, in what is
 * replayed.
 */
int64_t nsx_model_waited(const struct nsx_model *m, uint32_t device);
/* How long a device waits at most in a send or receive of the median iteration, where it
 * waits in most iterations as in a neighbour, as the stages of a pipeline do; 0: it does
 * not.  Errors: NSX_E_NOMEM.
 */
int nsx_model_takes_turns(const struct nsx_model *m, uint32_t device,
			  struct nsx_arena *scratch, int64_t *ret_most_ns,
			  struct nsx_err *err) NSX_CHECKED;

/* What the last work of a window waited for, step by step backwards through
 * what bound it: classes add up to the window where the chain reaches back to
 * its start.  It explains; it is no price: what is on the chain may have a
 * rival that would take its place.
 */
enum nsx_path_class {
	NSX_PATH_COMPUTE, NSX_PATH_COMM, NSX_PATH_COPY,
	NSX_PATH_LAUNCH,   /* from a launching call to the start             */
	NSX_PATH_DISPATCH, /* from one operation to the next                 */
	NSX_PATH_CALL,	   /* in calls that wait for nothing                 */
	NSX_PATH_WAKE,	   /* from the end of what a call waited for to its own */
	NSX_PATH_QUEUE,	   /* in launches that a full queue held up          */
	NSX_PATH_HOST,	   /* between calls                                  */
	NSX_PATH_OUTSIDE,  /* between calls, waiting for something else      */
	NSX_PATH_UNEXPLAINED, NSX_NPATHS
};
void nsx_model_path(const struct nsx_model *m, struct nsx_window window,
		    int64_t ns[NSX_NPATHS]);

struct nsx_gain {
	/* Of the judged window, never negative.  A wait for something outside
	 * CUDA may last as long whenever it begins (high), or end no earlier
	 * than it did (low); gain_ns is the high one.
	 */
	int64_t gain_ns, low_ns, high_ns;
	double share;	/* gain_ns of the judged window, 0..1                */
	size_t touched; /* calls, gaps and operations that differ; 0: nothing
			   in the window is what the change names            */
	enum nsx_confidence confidence; /* NONE: not priced, all 0           */
	bool is_bound;	/* what is really done will win less                 */
	bool is_small;	/* less than this trace can resolve                  */
	const char *held; /* what was held fixed, as part of a sentence      */
	uint32_t set; /* whose gain it is, from 1, where processes share nothing
			 with others; 0: all are one                         */
};

/* The set of the limiting GPU; 0: all are one. */
uint32_t nsx_main_set(const struct nsx_model *m);
/* Whether others keep step with it, for a reason that the trace does not show. */
bool nsx_set_is_tied(const struct nsx_model *m, uint32_t set);
bool nsx_set_has(const struct nsx_model *m, uint32_t set, uint32_t process);

/* Prices n changes, all at once.  Errors: NSX_E_NOMEM; NSX_E_USAGE for a name
 * that is no regular expression.
 */
int nsx_replay_price(const struct nsx_model *m, const struct nsx_change *v,
		     size_t n, struct nsx_gain *ret,
		     struct nsx_err *err) NSX_CHECKED;
/* Prices n plans, each on its own, side by side; ret has n elements.  sets: whose gain each
 * is to be, as in struct nsx_gain; 0: of that which wins most, or of the main one where
 * that wins nearly as much.  sets may be NULL.
 */
int nsx_replay_prices(const struct nsx_model *m, const struct nsx_plan *plans,
		      const uint32_t *sets, size_t n, unsigned threads, struct nsx_gain *ret,
		      struct nsx_err *err) NSX_CHECKED;
/* The same for less than half of the work, but of each gain only gain_ns, share
 * and touched.  All plans begin with the same nshared changes.
 */
int nsx_replay_gains(const struct nsx_model *m, const struct nsx_plan *plans,
		     const uint32_t *sets, size_t n, size_t nshared, unsigned threads,
		     struct nsx_gain *ret, struct nsx_err *err) NSX_CHECKED;

#endif
