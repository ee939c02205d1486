/* pf.h - what the files that write Perfetto's packets share. */
#ifndef NSX_PF_H
#define NSX_PF_H

#include "convert/convert.h"
#include "convert/proto.h"

enum { NSX_PF_PACKET = 1 }; /* of a file */
enum { /* fields of a packet, and of what several files write              */
	NSX_PF_CLOCKS = 6, NSX_PF_TRACK_EVENT = 11, NSX_PF_GPU_COUNTERS = 52,
	NSX_PF_GPU_WORK = 53, NSX_PF_TRACK = 60, NSX_PF_MACHINE = 98,
	NSX_PF_GPU_INFO = 128,
	NSX_PF_IID = 1, NSX_PF_IID_NAME = 2, /* of what is interned          */
	NSX_PF_LAUNCH_ARG = 3, NSX_PF_ARG_INT = 3,
	NSX_PF_CLOCKS_CLOCK = 1, NSX_PF_CLOCK_TIME = 2,
	NSX_PF_INTERNED_CATEGORY = 1, NSX_PF_INTERNED_CONTEXT = 23,
};
enum { NSX_PF_BOOT_CLOCK = 6 }; /* which counts absolute times            */
enum { NSX_PF_CONSTANTS = 3 }; /* registers, static and dynamic shared memory */
enum { NSX_PF_MAX_KEYS = 32 }; /* names of arguments: ours, and few */

/* A sequence of packets.  Names are told, and times are steps, in each for itself. */
struct nsx_pf_stream {
	uint32_t number; /* of it in its part                                */
	struct nsx_buf packets; /* of the block that is being filled         */
	bool is_begun;	 /* its first packet is out                          */
	unsigned clock;	 /* of its own, which times are steps of; 0: none yet */
	int64_t last_ns; /* what that has come to                            */
	unsigned categories, keys[2]; /* told: bits                          */
	int64_t *ends;	 /* of the slices open in it, outermost first        */
	size_t nends, cap_ends;
};

struct nsx_pf {
	struct nsx_pf_stream names, counters; /* names: of tracks and GPUs   */
	struct nsx_pf_stream **lanes; /* of tracks; slices of threads are in
					 order of time, and name no track    */
	size_t nlanes, cap_lanes;
	struct nsx_pf_stream *to; /* one of these: who has the open packet   */
	struct nsx_buf block; /* of all: what is handed on                   */
	size_t held; /* bytes of whole packets that are not                  */
	struct nsx_buf interned; /* of the open packet                       */
	struct nsx_buf specs;	 /* counters met in the open sample for the
				    first time                               */
	size_t packet, field, inner; /* marks of nsx_pb_begin; inner: launch */
	int64_t at_ns; /* of the open packet, as the file counts             */
	bool is_step;  /* it is told as a step                               */
	struct nsx_pf_source { /* by track of GPU work; context 0: not met   */
		uint64_t context, queue, stage; /* stage: of kernels         */
		uint32_t gpu;
	} *source;
	size_t cap_source;
	struct nsx_val *last; /* by counter: its value, told with the next;
				 null: it is not described yet                */
	size_t nlast, cap_last;
	struct nsx_keymap told; /* {sequence, number, enum nsx_pf_told}      */
	uint64_t last_thread; /* that was named                              */
	const char *keys[2][NSX_PF_MAX_KEYS]; /* names of annotations, arguments    */
	struct nsx_keymap specs_met; /* queues {process, context, stream} and
					stages {text, 0, 0, 1}               */
	struct nsx_keymap kernels; /* {name, constants, which are known,
				      track}                                 */
	struct nsx_keymap contexts; /* {process, context}                    */
	struct nsx_keymap gpus; /* {pid, ordinal}: whose physical index is   */
	int64_t *gpu;		/* by that                                   */
	size_t cap_gpu;
	struct nsx_strings *texts; /* stages; names that are no string ids   */
	uint32_t met_once[1 << 16]; /* marks of names that are text, by hash */
	struct nsx_keycache *cache[5];
	uint64_t unnumbered; /* GPU work without a correlation id            */
};

/* Where packets go from now on (pf_streams.c); the first of them is of at_ns. */
void nsx_pf_to_names(struct nsx_conv *c);
void nsx_pf_to_counters(struct nsx_conv *c, int64_t at_ns);
void nsx_pf_to_lane(struct nsx_conv *c, uint32_t track, int64_t at_ns); /* c->lane */
void nsx_pf_streams_done(struct nsx_pf *pf);
/* A packet at an instant of the trace; what is written to pf->to->packets until it
 * is closed is the content of that field.  Times that go back, and those with
 * pf->is_step cleared, are told in full.
 */
void nsx_pf_open_packet(struct nsx_conv *c, int64_t at_ns, unsigned field);
void nsx_pf_close_packet(struct nsx_conv *c);
/* Hands on the packets that are there. */
void nsx_pf_flush(struct nsx_conv *c);
/* What a clock of that number said at an instant; of its steps, if it is_steps. */
void nsx_pf_put_clock(struct nsx_buf *b, unsigned clock, int64_t ns, bool is_steps);

/* {iid, name} into the open packet; more may follow, until nsx_pb_end. */
size_t nsx_pf_intern(struct nsx_pf *pf, unsigned field, uint64_t iid,
		     const char *name, size_t n);
/* Text of a name cell, and a number of its own. */
uint64_t nsx_pf_name_of(struct nsx_conv *c, const struct nsx_val *v,
			const char **ret, size_t *ret_n);
/* A name into the open packet: its number in field iid or, if it is a text that
 * may stand nowhere else, itself in field name.
 */
void nsx_pf_put_name(struct nsx_conv *c, const struct nsx_val *v, unsigned iid,
		     unsigned name);
/* What all launches of a kernel on a stream share, as arguments: device, stream and
 * the three constants.
 */
void nsx_pf_put_constants(struct nsx_conv *c, struct nsx_buf *b, unsigned field,
			  uint32_t track, const struct nsx_val *v);
/* The number of a kernel; 0: it has none, as its name is a text, which may stand
 * nowhere else. *ret_told: its constants are told once, with its number.
 */
uint64_t nsx_pf_intern_kernel(struct nsx_conv *c, const struct nsx_slice *s,
			      const struct nsx_val *other,
			      const struct nsx_val *constant, bool *ret_told);
/* A number for our own text. */
uint64_t nsx_pf_text_iid(struct nsx_conv *c, const char *text, size_t n);
/* Whether what has that number is told in the sequence for the first time. */
enum nsx_pf_told { NSX_PF_TOLD_NAME, NSX_PF_TOLD_SPEC, NSX_PF_TOLD_CONTEXT };
bool nsx_pf_is_untold(struct nsx_conv *c, enum nsx_pf_told what, uint64_t iid);
/* A stage or queue of GPU work: its number. */
uint64_t nsx_pf_intern_spec(struct nsx_conv *c, const struct nsx_key *key,
			    const char *name, bool is_compute);
/* The name of an argument: a string of ours that stays. */
uint64_t nsx_pf_intern_key(struct nsx_pf *pf, bool is_gpu, const char *key);
/* Index of a key in a map; *ret_new: it is there for the first time. */
uint32_t nsx_pf_number(struct nsx_conv *c, struct nsx_keymap *m,
		       struct nsx_keycache *cache, const struct nsx_key *key,
		       bool *ret_new);
/* Whose each number is in a file of several traces; numbers are small, as every
 * packet has some: tracks count up from 64 on (a lane each), processes and threads
 * lie above them.
 */
enum { NSX_PF_PROCESS_BIT = 54, NSX_PF_THREAD_BIT = 55 };
static inline uint64_t nsx_pf_own(const struct nsx_conv *c, uint64_t uuid)
{
	return (uint64_t)c->opts->place.trace << 56 | uuid;
}
/* The GPU that an ordinal means in a process: its physical index where the trace
 * tells, which its counters go by, else the ordinal.
 */
uint32_t nsx_pf_gpu(struct nsx_conv *c, uint64_t process, uint64_t ordinal);
uint64_t nsx_pf_lane_uuid(const struct nsx_conv *c, const struct nsx_track *t,
			  const struct nsx_track_lane *l);

/* Of the writer (pf_events.c, pf_counters.c). */
void nsx_pf_kernel(struct nsx_conv *c, const struct nsx_slice *s,
		   const struct nsx_val *other, const struct nsx_val *constant);
void nsx_pf_end_all(struct nsx_conv *c); /* slices that are open             */
void nsx_pf_begin(struct nsx_conv *c, const struct nsx_slice *s);
void nsx_pf_end(struct nsx_conv *c, const struct nsx_slice *s);
void nsx_pf_put_int(struct nsx_conv *c, const char *key, int64_t value);
void nsx_pf_put_text(struct nsx_conv *c, const char *key,
		     const struct nsx_val *v);
void nsx_pf_put_dims(struct nsx_conv *c, const char *key,
		     const struct nsx_val *v);
void nsx_pf_sample(struct nsx_conv *c, const struct nsx_counter_sample *s);
void nsx_pf_counter(struct nsx_conv *c, const struct nsx_counter *counter,
		    const struct nsx_val *v, bool is_first);
void nsx_pf_sample_end(struct nsx_conv *c);
/* When all counters are told: their last values. */
void nsx_pf_counters_end(struct nsx_conv *c);

#endif
