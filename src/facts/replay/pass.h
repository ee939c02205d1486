/* pass.h - one replay: a forward pass over the order of a model. */
#ifndef NSX_REPLAY_PASS_H
#define NSX_REPLAY_PASS_H

#include <math.h>
#include "facts/replay/model.h"

/* What differs from the recording, by event: changes, compiled. */
enum { EDIT_DROP = 1, /* an op is not done                                   */
       EDIT_SIDE = 2, /* it queues on its engine, not on its stream          */
       EDIT_CUT = 4,  /* nothing depends on it                              */
       EDIT_HIDDEN = 8, /* a collective: done once its last member starts    */
       EDIT_SPED = 16, /* ... or after `transfer` of what it takes from then */
       EDIT_FUSED = 32, /* it is part of what its stream did before          */
       EDIT_FULL = 64 }; /* it is faster for having more multiprocessors     */
enum { EDIT_GONE = 1, /* a call takes no time and waits for nothing          */
       EDIT_ASYNC = 2, /* a copy that blocked returns at once                */
       EDIT_LIFTED = 4, /* the wait in the gap before it is gone             */
       EDIT_IN_TIME = 8, /* nothing keeps it when what it waits for is done */
       EDIT_UNTIED = 16 }; /* no stream waits as it asked for                */
struct edit {
	uint8_t *op, *call;
	int64_t *length_ns, *own_ns; /* of all; NULL: as recorded            */
	int64_t *gap_ns; /* before calls: the host's own; NULL: all as recorded */
	int64_t *pause_ns; /* where gap_ns is: waits there, by pause         */
	int64_t no_pause_ns; /* 0, of the other calls                        */
	bool has_side, has_full;
	int64_t fused_gap_ns; /* before an op that is fused                  */
	double transfer; /* of a collective, as a share of the recorded one  */
	double pieces;	 /* in which ranks take turns, times the recorded;
			    INFINITY: none waits for another; 0: recorded    */
	int64_t turn_ns; /* of a wait at most, that is for its turn          */
};

static inline int64_t divided(int64_t ns, double by)
{
	return isinf(by) ? 0 : (int64_t)((double)ns / by);
}

/* The state of a replay, used again and again. */
struct player {
	const struct nsx_model *m;
	struct nsx_arena *arena;
	struct edit edit;
	int64_t *room[3]; /* for the edit: what it takes of them is in use   */
	unsigned nroom, nused;
	struct { /* an edit, as player_keep found it                         */
		struct edit edit;
		unsigned nused;
		char *bytes; /* of its arrays, one after the other           */
		size_t touched;
	} kept;
	int64_t *call_start, *call_end, *op_start, *op_end;
	int64_t *stream_end, *engine_end;
	int64_t *filled_ns; /* by engine: what its kernels take at least     */
	int64_t *side_end; /* by process of the trace: of what was moved aside */
	uint32_t *missing; /* by collective: members that have not started   */
	int64_t *met_ns; /* by meeting: when the last call to it began       */
	struct lane *lane;
	int64_t set_ns[NSX_MAX_SETS]; /* of the last replay, from from_ns     */
	/* Of the last replay: a full lane delayed an op, or a call began earlier
	 * than it did though what it waited for is outside: only then another
	 * way to play gives another length.
	 */
	bool was_crowded, was_early;
};
int player_new(const struct nsx_model *m, struct player **ret,
	       struct nsx_err *err) NSX_CHECKED;
void player_free(struct player *p);
void player_reset(struct player *p); /* nothing differs */
/* Keeps the edit, which touches that much, once; player_revert goes back to it and
 * returns that.  Who shares what another player keeps goes before it does.
 */
int player_keep(struct player *p, size_t touched, struct nsx_err *err) NSX_CHECKED;
int player_share(struct player *p, const struct player *keeper,
		 struct nsx_err *err) NSX_CHECKED;
size_t player_revert(struct player *p);
/* What is left of the waits before a call. */
static inline int64_t *player_pause(struct player *p, uint32_t call)
{
	return p->m->call[call].flags & CALL_PAUSE ?
		       &p->edit.pause_ns[model_pause_of(p->m, call)] :
		       &p->edit.no_pause_ns;
}
/* Durations, costs and gaps differ from the recorded from when they are needed.
 * Errors: NSX_E_NOMEM.
 */
int player_need_lengths(struct player *p, struct nsx_err *err) NSX_CHECKED;
int player_need_costs(struct player *p, struct nsx_err *err) NSX_CHECKED;
int player_need_gaps(struct player *p, struct nsx_err *err) NSX_CHECKED;

enum {
	PLAY_FIXED = 1, /* waits outside CUDA end no earlier than they did   */
	PLAY_FREE = 2,	/* any number of kernels side by side                */
};
struct typical { /* in place of weights, for closure; NULL: weights         */
	const int64_t *launch_ns;
	const int32_t *dispatch_ns, *lambda_ns;
};
/* Plays the edit; *ret_ns: how long the window then takes.  Errors:
 * NSX_E_NOMEM.
 */
int play(struct player *p, unsigned how, const struct typical *typical,
	 int64_t *ret_ns, struct nsx_err *err) NSX_CHECKED;

/* The first hole of a lane at or after an instant, which is filled; NEVER:
 * NSX_E_NOMEM.
 */
int64_t lane_place(struct lane *lane, int64_t at_ns, int64_t length_ns,
		   struct nsx_err *err) NSX_CHECKED;

#endif
