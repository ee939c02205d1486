/* replay.h - computes how long the recorded program would have taken with a change.
 *
 * A model of dependencies (threads with their calls and the time between them, launch queues,
 * streams, events, copy engines, collectives) is built once from the trace. Replayed unchanged, the
 * model reproduces every recorded start. Replayed with a change, it gives the time that the change
 * wins: its price. Unexplained delay stays with its operation, so it is never promised as a gain.
 *
 * Durations of kernels and copies stay as recorded unless a change names them.
 */
#pragma once

#include "facts/facts.h"
#include "facts/replay/change.h"

struct nsx_model; /* const once built; threads may replay it at the same time */

/* Names of confidences, by confidence + 1: "abstain", "low", ... */
extern const char *const nsx_closure_names[];

struct nsx_closure {
	enum nsx_confidence cls; /* NONE: the replay abstains                */
	const char *reason; /* why there are no prices; NULL: there are      */
	double drift;	    /* |replayed / recorded length - 1| in a replay with typical latencies
			        */
	double unexplained; /* share of the window's longest chain of causes whose cause
			       is unknown                                     */
	struct nsx_window window; /* the part replayed                       */
	int64_t recorded_ns;	  /* its length, from the last end of work before it to the last
				     end of work in it                       */
	bool is_part; /* only some whole iterations, of average length, are replayed, because the
			 judged window has too much work                     */
	size_t nops, ncalls; /* numbers of replayed operations and calls     */
};

/* Builds the model of the judged window. max_ops 0: default. A trace that cannot be
 * replayed gives a model that abstains, not an error. Owner: the caller, nsx_model_free.
 * Errors: NSX_E_NOMEM, NSX_E_STOP.
 */
int nsx_model_build(const struct nsx_trace *t, const struct nsx_facts *f,
		    size_t max_ops, struct nsx_model **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_model_free(struct nsx_model *m);
const struct nsx_closure *nsx_model_closure(const struct nsx_model *m);

/* Usual time from the end of a launch call to the start of its kernel, over kernels that wait for
 * nothing else. It is a default if there are too few of these, and 0 if nothing was replayed.
 */
int64_t nsx_model_launch_ns(const struct nsx_model *m);

/* Called for each time that a replayed thread was off its CPU, except in calls that wait; in order
 * of start within each thread. Never called if the model abstains. A non-zero result ends the
 * iteration.
 */
typedef int (*nsx_lost_fn)(void *ctx, uint32_t thread, struct nsx_span lost, struct nsx_err *err);
/* Visits the times when the thread was ready to run. */
int nsx_model_each_preempted(const struct nsx_model *m, nsx_lost_fn each, void *ctx,
			     struct nsx_err *err) NSX_CHECKED;
/* Visits the times for which neither scheduler nor OS calls recorded a reason. */
int nsx_model_each_absent(const struct nsx_model *m, nsx_lost_fn each, void *ctx,
			  struct nsx_err *err) NSX_CHECKED;
/* Whether the scheduler recorded, for all times without a reason, that the thread waited. */
bool nsx_model_is_blocked(const struct nsx_model *m);

/* How long, in ns, a device waited in replayed collectives for later ranks. */
int64_t nsx_model_waited(const struct nsx_model *m, uint32_t device);
/* Whether a device takes turns with others, as pipeline stages do. *ret_most_ns: the median, over
 * iterations, of its longest wait in a send or receive; 0 unless most iterations wait as long as
 * their neighbours. Errors: NSX_E_NOMEM.
 */
int nsx_model_takes_turns(const struct nsx_model *m, uint32_t device,
			  struct nsx_arena *scratch, int64_t *ret_most_ns,
			  struct nsx_err *err) NSX_CHECKED;

/* Walks back from a window's last work along the chain of causes that determined its time. The
 * classes sum up to the window if the chain reaches the window's start. The chain is an
 * explanation, not a price, because other work could take the place of work on the chain.
 */
enum nsx_path_class {
	NSX_PATH_COMPUTE, NSX_PATH_COMM, NSX_PATH_COPY,
	NSX_PATH_LAUNCH,   /* time from a launch call to the start           */
	NSX_PATH_DISPATCH, /* time from one operation to the next            */
	NSX_PATH_CALL,	   /* time in calls, unless they wait */
	NSX_PATH_WAKE,	   /* time from the end of awaited work to the call's end */
	NSX_PATH_QUEUE,	   /* time in launches delayed by a full queue       */
	NSX_PATH_HOST,	   /* time between calls                             */
	NSX_PATH_OUTSIDE,  /* time between calls in waits for something outside CUDA */
	NSX_PATH_UNEXPLAINED, NSX_NPATHS
};
void nsx_model_path(const struct nsx_model *m, struct nsx_window window, int64_t ns[NSX_NPATHS]);

struct nsx_gain {
	/* Gains in the judged window, never negative. high_ns: if waits for something outside CUDA
	 * keep their length. low_ns: if they end no earlier than recorded. gain_ns is high_ns.
	 */
	int64_t gain_ns, low_ns, high_ns;
	double share;	/* gain_ns / judged window, 0..1                     */
	size_t touched; /* calls, gaps and operations changed; 0: the change matches
			   nothing in the window                             */
	enum nsx_confidence confidence; /* NONE: not priced, all 0           */
	bool is_bound;	/* an upper bound: the real gain will be smaller     */
	bool is_small;	/* below the resolution of this trace                */
	const char *held; /* what was kept as recorded, as part of a sentence */
	uint32_t set; /* the set that gains, from 1; 0: sets are not distinguished */
};

/* The set of the GPU that sets the pace; 0: not distinguished. */
uint32_t nsx_main_set(const struct nsx_model *m);
/* Whether other sets keep in step with this set for a reason that was not recorded. */
bool nsx_set_is_tied(const struct nsx_model *m, uint32_t set);
/* The first process of a set that ends by itself: there are other sets, and none keeps in step with
 * it. NSX_NONE: the set does not.
 */
uint32_t nsx_set_alone(const struct nsx_model *m, uint32_t set);

/* Prices n changes together. Errors: NSX_E_NOMEM; NSX_E_USAGE for an invalid regular expression. */
int nsx_replay_price(const struct nsx_model *m, const struct nsx_change *v,
		     size_t n, struct nsx_gain *ret, struct nsx_err *err) NSX_CHECKED;
/* Prices n plans separately, in parallel; ret has n elements. A gain is that of the set that gains
 * most, or of the main set if that gains nearly as much.
 */
int nsx_replay_prices(const struct nsx_model *m, const struct nsx_plan *plans, size_t n,
		      unsigned threads, struct nsx_gain *ret, struct nsx_err *err) NSX_CHECKED;
/* Like nsx_replay_prices, but fills only gain_ns, share and touched, which takes less than half the
 * time. sets: for each plan, the set whose gain is returned; 0: as in nsx_replay_prices. All plans
 * must begin with the same nshared changes.
 */
int nsx_replay_gains(const struct nsx_model *m, const struct nsx_plan *plans,
		     const uint32_t *sets, size_t n, size_t nshared, unsigned threads,
		     struct nsx_gain *ret, struct nsx_err *err) NSX_CHECKED;
