/* pass.h - a replay: one forward pass over the events of a model in order. */
#pragma once

#include <math.h>
#include "facts/replay/model.h"

/* An edit: how events differ from the recording. The first flags are those of operations. */
enum { EDIT_OP_DROP = 1, /* the operation is not executed                       */
       EDIT_OP_SIDE = 2, /* it queues on its engine instead of its stream       */
       EDIT_OP_CUT = 4,  /* no other stream waits for it                       */
       EDIT_OP_HIDDEN = 8, /* the collective ends when its last member starts   */
       EDIT_OP_SPED = 16, /* after its last member starts, the collective takes `transfer` times
			     the recorded time */
       EDIT_OP_FUSED = 32, /* it continues the previous work of its stream      */
       EDIT_OP_FULL = 64 }; /* it is faster because it uses more multiprocessors */
/* The flags of calls. */
enum { EDIT_CALL_GONE = 1, /* the call takes no time and waits for nothing        */
       EDIT_CALL_ASYNC = 2, /* the blocking copy returns at once                  */
       EDIT_CALL_LIFTED = 4, /* there is no wait in the gap before the call       */
       EDIT_CALL_IN_TIME = 8, /* the call ends as soon as the awaited work is done */
       EDIT_CALL_UNTIED = 16 }; /* the waits that it made streams do are gone     */
struct edit {
	const struct nsx_model *m;
	struct nsx_arena *arena;
	uint8_t *op, *call; /* flags by operation, by call                   */
	int64_t *ns[NTIMES]; /* new times, by operation or call; NULL: as recorded */
	int64_t *pause_ns; /* set with TIME_GAPS: by pause, the waits in its gap */
	int64_t *room[NTIMES]; /* memory for `ns`; NULL: not yet needed      */
	int64_t no_pause_ns; /* 0; edit_pause returns its address for calls without a pause */
	bool has_side, has_full;
	int64_t fused_gap_ns; /* gap before a fused operation                */
	double transfer; /* length of transfers, as a multiple of the recorded length */
	double pieces;	 /* number of pieces in which ranks take turns; INFINITY: no
			    waiting; 0: as recorded                          */
	int64_t turn_ns; /* a wait for other ranks is a wait for its turn only up to this time */
};

int edit_new(struct edit *e, const struct nsx_model *m, struct nsx_arena *a,
	     struct nsx_err *err) NSX_CHECKED;
void edit_reset(struct edit *e); /* removes all changes */
/* Makes `to` equal to an edit of the same model. Errors: NSX_E_NOMEM. */
int edit_copy(struct edit *to, const struct edit *from, struct nsx_err *err) NSX_CHECKED;
/* Makes room for times that differ from the recording; what: a bit for each kind that may change.
 * Errors: NSX_E_NOMEM.
 */
int edit_need(struct edit *e, unsigned what, struct nsx_err *err) NSX_CHECKED;
/* Points to the remaining time of waits in the gap before a call. */
static inline int64_t *edit_pause(struct edit *e, uint32_t call)
{
	return e->m->call[call].flags & CALL_PAUSE ? &e->pause_ns[model_pause_of(e->m, call)] :
						     &e->no_pause_ns;
}

static inline int64_t divided(int64_t ns, double by)
{
	return isinf(by) ? 0 : (int64_t)((double)ns / by);
}

/* The state of a replay, which is reused. */
struct player {
	const struct nsx_model *m;
	struct nsx_arena *arena;
	struct edit edit;
	int64_t *call_start, *call_end, *op_start, *op_end;
	int64_t *stream_end, *engine_end;
	int64_t *filled_ns; /* for each engine: least time that its kernels need together */
	/* For each process of the trace: end of its operations with EDIT_OP_SIDE. */
	int64_t *side_end;
	uint32_t *missing; /* for each collective: number of members not started */
	int64_t *met_ns; /* for each meeting: start of its last call */
	struct lane *lane;
	int64_t set_ns[NSX_MAX_SETS]; /* length of each set in the last replay, from from_ns on */
	/* State after the last replay. was_crowded: a full lane delayed an operation. was_early: a
	 * call that waited for something outside CUDA began earlier than recorded. If both are
	 * false, PLAY_FREE and PLAY_FIXED would give the same length.
	 */
	bool was_crowded, was_early;
};
int player_new(const struct nsx_model *m, struct player **ret, struct nsx_err *err) NSX_CHECKED;
void player_free(struct player *p);

enum {
	PLAY_FIXED = 1, /* waits outside CUDA end no earlier than recorded   */
	PLAY_FREE = 2,	/* no limit on concurrent kernels                    */
};
struct typical { /* typical latencies, which replace the model's weights to test it (closure.c);
		    NULL: weights                                            */
	const int64_t *launch_ns;
	const int32_t *dispatch_ns, *lambda_ns;
};
/* Plays the edit; *ret_ns: the window's new length. Errors: NSX_E_NOMEM. */
int play(struct player *p, unsigned how, const struct typical *typical,
	 int64_t *ret_ns, struct nsx_err *err) NSX_CHECKED;

/* Occupies a lane for length_ns, from the first time at or after at_ns at which it is free that
 * long. Returns that time; NEVER: NSX_E_NOMEM.
 */
int64_t lane_reserve(struct lane *lane, int64_t at_ns, int64_t length_ns,
		     struct nsx_err *err) NSX_CHECKED;
