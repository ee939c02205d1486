/* pf.h - shared by the files that write Perfetto packets. */
#pragma once

#include "convert/convert.h"
#include "convert/proto.h"

enum { NSX_PF_PACKET = 1 }; /* field number of a packet in the file */
enum { /* fields of a packet, and of messages that several files write     */
	NSX_PF_CLOCKS = 6, NSX_PF_TRACK_EVENT = 11, NSX_PF_GPU_COUNTERS = 52,
	NSX_PF_GPU_WORK = 53, NSX_PF_TRACK = 60, NSX_PF_MACHINE = 98,
	NSX_PF_GPU_INFO = 128,
	NSX_PF_IID = 1, NSX_PF_IID_NAME = 2, /* fields of interned entries   */
	NSX_PF_LAUNCH_ARG = 3, NSX_PF_ARG_INT = 3,
	NSX_PF_CLOCKS_CLOCK = 1, NSX_PF_CLOCK_TIME = 2,
	NSX_PF_INTERNED_CATEGORY = 1, NSX_PF_INTERNED_CONTEXT = 23,
};
enum { NSX_PF_BOOT_CLOCK = 6 }; /* id of the clock of absolute times      */
/* Number of constants of a launch: registers, static and dynamic shared memory. */
enum { NSX_PF_CONSTANTS = 3 };
enum { NSX_PF_MAX_KEYS = 32 }; /* limit of argument names; the program uses few */

/* A sequence of packets. Each has its own interned names and its own time base. */
struct nsx_pf_stream {
	uint32_t number; /* number of the sequence within its part           */
	struct nsx_buf packets; /* packets of the current block              */
	bool is_begun;	 /* the first packet of the sequence was written     */
	unsigned clock;	 /* id of the sequence's own clock, for time steps; 0: none yet */
	int64_t last_ns; /* current time of the sequence's own clock         */
	/* The categories and argument names that are already interned, as bits. */
	unsigned categories, keys[2];
	int64_t *ends;	 /* ends of its open slices, outermost first         */
	size_t nends, cap_ends;
};

struct nsx_pf {
	struct nsx_pf_stream names, counters; /* names: of tracks and GPUs   */
	/* One for each track; slices of threads are in time order and omit the track. */
	struct nsx_pf_stream **lanes;
	size_t nlanes, cap_lanes;
	struct nsx_pf_stream *to; /* the sequence of the open packet         */
	struct nsx_buf block; /* packets of all sequences, ready to be passed on */
	size_t held; /* bytes of complete packets not yet in block           */
	struct nsx_buf interned; /* entries interned by the open packet      */
	struct nsx_buf specs;	 /* descriptions of counters that first occur in the open sample */
	size_t packet, field, inner; /* positions from nsx_pb_begin; inner: the launch */
	int64_t at_ns; /* time of the open packet on the file's clock        */
	bool is_step;  /* the packet's time is written as a step             */
	struct nsx_pf_source { /* one for each GPU track; context 0: not set yet */
		uint64_t context, queue, stage; /* stage: used for kernels   */
		uint32_t gpu;
	} *source;
	size_t cap_source;
	/* For each counter: the value to write with its next sample; null: the counter is not
	 * described yet.
	 */
	struct nsx_val *last;
	size_t nlast, cap_last;
	/* Numbers that are already written: {number, sequence and enum nsx_pf_told}. */
	struct nsx_groups told;
	struct nsx_near near;
	uint64_t last_thread; /* the last thread named                       */
	const char *keys[2][NSX_PF_MAX_KEYS]; /* names of annotations, arguments    */
	struct nsx_keymap specs_met; /* queues {process, context, stream} and stages {text, 0, 0,
					1}                                   */
	struct nsx_keymap kernels; /* {name, constants, which constants are known, track} */
	struct nsx_groups contexts; /* {process, context}                    */
	struct nsx_groups gpus; /* {pid, ordinal} with a known physical index */
	int64_t *gpu;		/* physical index, by entry of gpus          */
	struct nsx_strings *texts; /* stages, and names without a string id  */
	uint32_t met_once[1 << 16]; /* hashes of text names that occurred once */
	struct nsx_keycache *cache[2];
	uint64_t unnumbered; /* number of GPU operations without a correlation id */
};

/* Select the sequence of the next packets (pf_streams.c), which begin at at_ns. */
void nsx_pf_to_names(struct nsx_conv *c);
void nsx_pf_to_counters(struct nsx_conv *c, int64_t at_ns);
void nsx_pf_to_lane(struct nsx_conv *c, uint32_t track, int64_t at_ns); /* c->lane */
void nsx_pf_streams_done(struct nsx_pf *pf);
/* Opens a packet at a time of the trace. What is then written to pf->to->packets is the content of
 * `field`, until the packet is closed. Times are written as steps, but in full if they go back or
 * pf->is_step is cleared.
 */
void nsx_pf_open_packet(struct nsx_conv *c, int64_t at_ns, unsigned field);
void nsx_pf_close_packet(struct nsx_conv *c);
/* Passes on the complete packets of the block. */
void nsx_pf_flush(struct nsx_conv *c);
/* Writes the reading of a clock; is_steps: the clock counts steps. */
void nsx_pf_put_clock(struct nsx_buf *b, unsigned clock, int64_t ns, bool is_steps);

/* Interns {iid, name} in the open packet. The entry may be extended until nsx_pb_end. */
size_t nsx_pf_intern(struct nsx_pf *pf, unsigned field, uint64_t iid, const char *name, size_t n);
/* The number of a name cell's text, and the text. */
uint64_t nsx_pf_name_of(struct nsx_conv *c, const struct nsx_val *v,
			const char **ret, size_t *ret_n);
/* Puts a name into the open packet: its number in field iid or, if the text may be unique, the
 * text in field name.
 */
void nsx_pf_put_name(struct nsx_conv *c, const struct nsx_val *v, unsigned iid, unsigned name);
/* Writes the arguments shared by all launches of a kernel on a stream: device, stream and the
 * three constants.
 */
void nsx_pf_put_constants(struct nsx_conv *c, struct nsx_buf *b, unsigned field,
			  uint32_t track, const struct nsx_val *v);
/* The number of a kernel; 0: none, because its name is a text that may be unique. *ret_told: the
 * kernel's constants are interned with its number.
 */
uint64_t nsx_pf_intern_kernel(struct nsx_conv *c, const struct nsx_slice *s,
			      const struct nsx_val *other,
			      const struct nsx_val *constant, bool *ret_told);
/* A number for a text that this program made. */
uint64_t nsx_pf_text_iid(struct nsx_conv *c, const char *text, size_t n);
/* Kinds of entries. The function returns whether an entry is new to the sequence. */
enum nsx_pf_told { NSX_PF_TOLD_NAME, NSX_PF_TOLD_SPEC, NSX_PF_TOLD_CONTEXT };
bool nsx_pf_is_untold(struct nsx_conv *c, enum nsx_pf_told what, uint64_t iid);
/* Interns a stage or queue of GPU work. */
uint64_t nsx_pf_intern_spec(struct nsx_conv *c, const struct nsx_key *key,
			    const char *name, bool is_compute);
/* Interns an argument name; key must be a string constant. */
uint64_t nsx_pf_intern_key(struct nsx_pf *pf, bool is_gpu, const char *key);
/* Makes a number unique in a file of several traces. Numbers are kept small, because every packet
 * has some: tracks count up from 64, one per lane; processes and threads lie above.
 */
enum { NSX_PF_PROCESS_BIT = 54, NSX_PF_THREAD_BIT = 55 };
static inline uint64_t nsx_pf_own(const struct nsx_conv *c, uint64_t uuid)
{
	return (uint64_t)c->opts->place.trace << 56 | uuid;
}
/* The GPU of an ordinal in a process: its physical index, which its counters use; the ordinal if
 * the trace lacks that index.
 */
uint32_t nsx_pf_gpu(struct nsx_conv *c, uint64_t process, uint64_t ordinal);
uint64_t nsx_pf_lane_uuid(const struct nsx_conv *c, const struct nsx_track *t,
			  const struct nsx_track_lane *l);

/* Parts of the writer (pf_events.c, pf_counters.c). */
void nsx_pf_kernel(struct nsx_conv *c, const struct nsx_slice *s,
		   const struct nsx_val *other, const struct nsx_val *constant);
void nsx_pf_end_all(struct nsx_conv *c); /* ends all open slices             */
void nsx_pf_begin(struct nsx_conv *c, const struct nsx_slice *s);
void nsx_pf_end(struct nsx_conv *c, const struct nsx_slice *s);
void nsx_pf_put_int(struct nsx_conv *c, const char *key, int64_t value);
void nsx_pf_put_text(struct nsx_conv *c, const char *key, const struct nsx_val *v);
void nsx_pf_put_dims(struct nsx_conv *c, const char *key, const struct nsx_val *v);
void nsx_pf_sample(struct nsx_conv *c, const struct nsx_counter_sample *s);
void nsx_pf_counter(struct nsx_conv *c, const struct nsx_track_counter *counter,
		    const struct nsx_val *v, bool is_first);
void nsx_pf_sample_end(struct nsx_conv *c);
/* Writes the last values of all counters. */
void nsx_pf_counters_end(struct nsx_conv *c);
