/* pass.h - a replay: one forward pass over the events of a model in order. */
#ifndef NSX_REPLAY_PASS_H
#define NSX_REPLAY_PASS_H

#include <math.h>
#include "facts/replay/model.h"

/* Compiled changes: how events differ from the recording. */
enum { EDIT_DROP = 1, /* operation is not executed                           */
       EDIT_SIDE = 2, /* queues on its engine instead of its stream          */
       EDIT_CUT = 4,  /* no other stream waits for it                       */
       EDIT_HIDDEN = 8, /* collective ends when its last member starts       */
       EDIT_SPED = 16, /* collective ends after `transfer` times the recorded rest */
       EDIT_FUSED = 32, /* continues the previous work of its stream         */
       EDIT_FULL = 64 }; /* faster by using more multiprocessors             */
enum { EDIT_GONE = 1, /* call takes no time and waits for nothing            */
       EDIT_ASYNC = 2, /* blocking copy returns at once                      */
       EDIT_LIFTED = 4, /* no wait in the gap before it                      */
       EDIT_IN_TIME = 8, /* ends as soon as what it waits for is done */
       EDIT_UNTIED = 16 }; /* the stream waits it requested are gone         */
struct edit {
	uint8_t *op, *call;
	int64_t *length_ns, *own_ns; /* by operation, by call; NULL: as recorded */
	int64_t *gap_ns; /* own time before each call; NULL: as recorded */
	int64_t *pause_ns; /* with gap_ns: waits in gaps, by pause           */
	int64_t no_pause_ns; /* 0, for calls without a pause                 */
	bool has_side, has_full;
	int64_t fused_gap_ns; /* gap before a fused operation                */
	double transfer; /* length of transfers, relative to the recording   */
	double pieces;	 /* number of pieces in which ranks take turns; INFINITY: no
			    waiting; 0: as recorded                          */
	int64_t turn_ns; /* the longest part of a wait that is a wait for its turn */
};

static inline int64_t divided(int64_t ns, double by)
{
	return isinf(by) ? 0 : (int64_t)((double)ns / by);
}

/* The state of a replay, which is reused. */
struct player {
	const struct nsx_model *m;
	struct nsx_arena *arena;
	struct edit edit;
	int64_t *room[3]; /* for the edit: memory taken from it is in use    */
	unsigned nroom, nused;
	struct { /* the edit saved by player_keep                            */
		struct edit edit;
		unsigned nused;
		char *bytes; /* its arrays, concatenated                     */
		size_t touched;
	} kept;
	int64_t *call_start, *call_end, *op_start, *op_end;
	int64_t *stream_end, *engine_end;
	int64_t *filled_ns; /* by engine: least time of its kernels          */
	int64_t *side_end; /* by process of the trace: end of work moved aside */
	uint32_t *missing; /* by collective: members not started             */
	int64_t *met_ns; /* by meeting: start of its last call               */
	struct lane *lane;
	int64_t set_ns[NSX_MAX_SETS]; /* length of each set in the last replay, from from_ns on */
	/* About the last replay: a full lane delayed an operation; a call began earlier
	 * than recorded though it waited for something outside. Only then do other ways to
	 * play give another length.
	 */
	bool was_crowded, was_early;
};
int player_new(const struct nsx_model *m, struct player **ret, struct nsx_err *err) NSX_CHECKED;
void player_free(struct player *p);
void player_reset(struct player *p); /* removes all changes */
/* player_keep saves the edit, with its `touched`, once; player_revert restores it and
 * returns `touched`. A player that shares another's saved edit must be freed before it.
 */
int player_keep(struct player *p, size_t touched, struct nsx_err *err) NSX_CHECKED;
int player_share(struct player *p, const struct player *keeper, struct nsx_err *err) NSX_CHECKED;
size_t player_revert(struct player *p);
/* Remaining waits before a call. */
static inline int64_t *player_pause(struct player *p, uint32_t call)
{
	return p->m->call[call].flags & CALL_PAUSE ?
		       &p->edit.pause_ns[model_pause_of(p->m, call)] :
		       &p->edit.no_pause_ns;
}
/* Allocate durations, or costs and gaps, that differ from the recording. Errors: NSX_E_NOMEM. */
int player_need_lengths(struct player *p, struct nsx_err *err) NSX_CHECKED;
int player_need_costs(struct player *p, struct nsx_err *err) NSX_CHECKED;
int player_need_gaps(struct player *p, struct nsx_err *err) NSX_CHECKED;

enum {
	PLAY_FIXED = 1, /* waits outside CUDA end no earlier than recorded   */
	PLAY_FREE = 2,	/* no limit on concurrent kernels                    */
};
struct typical { /* replaces weights, for closure; NULL: weights            */
	const int64_t *launch_ns;
	const int32_t *dispatch_ns, *lambda_ns;
};
/* Plays the edit; *ret_ns: the window's new length. Errors: NSX_E_NOMEM. */
int play(struct player *p, unsigned how, const struct typical *typical,
	 int64_t *ret_ns, struct nsx_err *err) NSX_CHECKED;

/* Fills the first hole of a lane at or after at_ns, and returns its time; NEVER: NSX_E_NOMEM. */
int64_t lane_place(struct lane *lane, int64_t at_ns, int64_t length_ns,
		   struct nsx_err *err) NSX_CHECKED;

#endif
