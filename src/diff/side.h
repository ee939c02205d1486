/* side.h - one capture, reduced to what a comparison needs.
 *
 * A trace is loaded, swept and freed before the next one: of each unit of work
 * its length and what it consists of, of each kernel how much of the units it
 * took.  Of a digest its steps are the units.  Units are seen in several ways,
 * since which way the other side can be seen in is not known yet.
 *
 * A lane is a GPU with the units of one process on it; lanes are in order of
 * GPU, then process; those of a digest are ranks, in order of their number.
 */
#ifndef NSX_DIFF_SIDE_H
#define NSX_DIFF_SIDE_H

#include "base/group.h"
#include "diff/totals.h"
#include "facts/facts.h"
#include "facts/iterations/units.h"
#include "report/finding.h"

/* What a unit's time is made of: disjoint, they add up to its length. */
enum nsx_share {
	NSX_SHARE_COMPUTE, /* a kernel or replay runs, whatever else does        */
	NSX_SHARE_TRANSFER, /* communication alone, once all ranks are there     */
	NSX_SHARE_WAIT,    /* communication alone, before the last rank is there */
	NSX_SHARE_COPY,    /* copies alone                                       */
	NSX_SHARE_IDLE,
	NSX_NSHARES
};
struct nsx_unit {
	int64_t start_ns, wall_ns;
	int64_t ns[NSX_NSHARES];
	int64_t comm_ns;   /* of those that communicate, alone or not: whole */
	uint32_t launches; /* kernels and replays that began in it           */
	uint32_t collectives; /* of these, those that communicate            */
	bool steady;
};

/* A distinct kernel with its launch shape; a graph replay is one as well. In
 * order of name, then shape.
 */
struct nsx_kernel {
	const char *name, *base; /* demangled; without template and signature */
	const char *label; /* as a person calls it                           */
	enum nsx_kernel_category category;
	const char *variant; /* what its label says beyond the family: tile,
				layout, number                               */
	uint32_t grid[3], block[3];
	uint32_t registers, shared_bytes; /* NSX_NONE: not told              */
	bool known;	   /* shape is there                                 */
	const char *range; /* NVTX path of its first launch, "" none         */
	double occupancy;  /* theoretical, 0..1; negative: not known         */
	double launches;   /* of a unit, where a lane has no uses: a digest  */
};
struct nsx_kernel_use { /* of a kernel in a unit; by unit, then kernel             */
	uint32_t unit, kernel, launches; /* launches: begun in it            */
	int64_t ns; /* credit: where m kernels run together, 1/m of the time;
		       the credits of a unit add up to its compute time      */
	int64_t own_ns; /* whole durations of the launches                   */
};
/* A share of a unit's time, told apart: by unit, cause, detail. */
enum nsx_split {
	NSX_SPLIT_IDLE,	  /* by cause; detail: call or range                 */
	NSX_SPLIT_RANGES, /* of compute, by the ranges around the launch     */
	NSX_NSPLITS
};
struct nsx_split_use {
	uint32_t unit, cause; /* enum nsx_cause; 0 but for idle time         */
	uint32_t detail;      /* index of side->details                      */
	int64_t ns; /* those of a unit add up to its share                   */
};
struct nsx_split_uses {
	struct nsx_split_use *v;
	size_t n;
};
struct nsx_lane {
	int64_t device_id;
	int64_t rank;	   /* in its job; -1: not known, or not asked for    */
	int64_t zero_ns;   /* its clock's zero, on the clock of all lanes    */
	uint32_t nth; /* of the lanes of this GPU                            */
	struct nsx_unit *units; /* complete ones, in order of time           */
	size_t nunits;
	struct nsx_kernel_use *uses;
	size_t nuses;
	struct nsx_split_uses split[NSX_NSPLITS];
	struct nsx_placed { /* kernels of a typical unit, stream by stream in
			       order of time                                 */
		uint32_t kernel;
		int64_t at_ns, ns; /* from the unit's start                  */
	} *order;
	size_t norder;
	int64_t typical_ns; /* length of that unit                           */
};
struct nsx_seen {
	enum nsx_way_method method; /* NSX_WAY_WINDOW: one unit, all of it   */
	const char *name;
	double score;
	bool one_job; /* lanes run the same steps at the same time: their
			 communication is split                              */
	size_t ncomm, nsplit; /* kernels of communication in the units; of these
				 it is known when all ranks were there       */
	struct nsx_lane *lanes;
	size_t nlanes;
};

/* What a GPU does in a second at most, of kinds that kernels may be bound by. */
enum nsx_peak { NSX_PEAK_F32, NSX_PEAK_F16, NSX_PEAK_BYTES, NSX_NPEAKS };

struct nsx_side_finding {
	const char *key, *title; /* title: Markdown                          */
	const char *place; /* in the user's code, Markdown; NULL: not known  */
	enum nsx_category category;
	enum nsx_severity severity;
	bool is_minor; /* the first page leaves it out                       */
	double share; /* headroom of the judged window; NAN: not priced      */
	double low, high; /* its range                                       */
};
struct nsx_side {
	const char *path, *part, *label; /* part: "" for the whole           */
	bool digested;	   /* no lane has uses, nor splits but of idle time  */
	uint64_t content;  /* of a digest: of whom, and what they did        */
	int64_t size_bytes;
	const char *gpu_names; /* "2 × NVIDIA H100, 1 × Tesla T4"; "": none  */
	const char *gpu_models; /* the same without counts                   */
	double peaks[NSX_NPEAKS]; /* of its first GPU; 0: not known          */
	const char *product_version, *driver_version, *cuda_version;
	const char *graph_mode, *traced;
	bool hides_kernels; /* in graphs that were recorded as a whole       */
	const char *ranks; /* of a digest: "rank 3", "8 ranks, 0 to 7"       */
	double sm_mhz; /* mean of GPUs while kernels ran; NAN: not sampled   */
	int64_t ngpus, nranks; /* GPUs and processes that did something      */
	int64_t overhead_ns, window_ns; /* of the profiler; of the capture   */
	double answered; /* share of launch calls whose GPU work is recorded;
			    NAN: not known                                   */
	struct nsx_totals totals;
	int64_t peak_bytes; /* of GPU memory; -1: not recorded               */
	struct nsx_side_kind { /* steps of an engine, by kind and size: kinds.h */
		const char *kind, *size;
		int64_t count;
		double p50_ms;
	} *kinds;
	size_t nkinds;
	struct nsx_kernel *kernels;
	uint32_t nkernels;
	const char **details; /* each once; [0] is ""                        */
	size_t ndetails;
	struct nsx_seen seen[NSX_MAX_UNITS + 1];
	size_t nseen;
	bool launches_nothing; /* ranges were asked for that are there, but in
				  them no GPU work is launched               */
	struct nsx_side_finding *findings; /* by rank                        */
	size_t nfindings;
	const char *damage; /* what could not be read; NULL: all was          */
	struct nsx_arena *arena;
};

/* Orders structs nsx_kernel by name, then shape. */
int nsx_kernel_cmp(const void *a, const void *b);

enum nsx_side_unit { NSX_SIDE_AUTO, NSX_SIDE_NVTX, NSX_SIDE_KERNEL,
		     NSX_SIDE_LAUNCH, NSX_SIDE_WINDOW };
struct nsx_side_opts {
	enum nsx_side_unit unit;
	const char *pattern;   /* of NVTX and KERNEL                         */
	int64_t first, last;   /* --steps, both included; last -1: all       */
	int64_t device, pid;   /* --gpu, and the process of a rank; -1: all  */
	int64_t rank;	       /* --rank; -1: all                            */
	bool digested;	       /* traces become digests first                */
	unsigned threads;
	struct nsx_progress *progress;
	const struct nsx_at_hand *at_hand; /* NULL: none                     */
};

/* "auto", "nvtx:REGEX", "kernel:REGEX", "launch" or "window"; NULL: as it is.
 * Errors: NSX_E_USAGE.
 */
int nsx_side_unit_parse(const char *unit, struct nsx_side_opts *ret,
			struct nsx_err *err) NSX_CHECKED;

/* spec is "[LABEL=]PATH[@STEPS or @WINDOW]".  Owner: the caller,
 * nsx_side_free.  Errors: those of opening and loading.
 */
int nsx_side_load(const char *spec, const struct nsx_side_opts *o,
		  struct nsx_side **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_side_free(struct nsx_side *s); /* NULL is fine */

/* Whether two sides are the same part of the same bytes. */
bool nsx_side_is_same(const struct nsx_side *a, const struct nsx_side *b);

/* Whether two ways of seeing are one: method, and for ranges their name. */
bool nsx_is_same_way(const struct nsx_seen *x, const struct nsx_seen *y);
/* Whether what a side names is a digest. */
bool nsx_side_is_digest(const char *text);

/* A longer lane keeps the middle: more tell nothing new. */
enum { NSX_MOST_UNITS = 1 << 16 };
/* Of n units of a lane, in order, those to compare are [*from, *from + the
 * result): complete ones, which a next start ends, without the first, which warms
 * up; or the steps asked for.
 */
size_t nsx_choose_units(const struct nsx_side_opts *o, size_t n, size_t *from);
/* The shares of a unit, from the parts of facts.h. */
void nsx_fill_shares(const int64_t part_ns[NSX_NPARTS],
		     int64_t ret[NSX_NSHARES]);
/* Whether lanes run the same steps at the same time. */
bool nsx_is_one_job(const struct nsx_seen *view);

/* Through digests, by file (side_digest.c). ------------------------------------*/

struct nsx_report;
/* From the digest that the side's path names, or of the report's trace. */
int nsx_side_read_digest(struct nsx_side *side, const struct nsx_side_opts *o,
			 struct nsx_err *err) NSX_CHECKED;
int nsx_side_digest(struct nsx_side *side, const struct nsx_report *r,
		    const struct nsx_side_opts *o,
		    struct nsx_err *err) NSX_CHECKED;
/* Device and process of o->rank in a trace.  Errors: NSX_E_USAGE where it does
 * not hold that rank.
 */
int nsx_side_find_rank(const struct nsx_report *r, struct nsx_side_opts *o,
		       struct nsx_err *err) NSX_CHECKED;

/* What the capture is of: versions, machine, findings. */
int nsx_side_describe(struct nsx_side *s, const struct nsx_report *r,
		      struct nsx_err *err) NSX_CHECKED;
/* Sorts the names of the GPUs used, and fills gpu_names and gpu_models. */
void nsx_side_name_gpus(struct nsx_side *s, const char **names, size_t n);

/* The sweeps, by file: fill part of a lane whose units are there. -------------*/
struct nsx_sweep {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_side *side;
	uint32_t *kernel_of; /* by shape, then by one for replays: index of
				side->kernels                                */
	uint32_t *detail_of; /* by text of the trace: index of side->details;
				0 not asked for yet                          */
	uint32_t *range_of; /* by NVTX range: the same of its path           */
	struct nsx_strings *texts; /* of side->details ...                   */
	struct nsx_groups numbers; /* ... and their indices                  */
};
int nsx_sweep_kernels(const struct nsx_sweep *s, uint32_t device,
		      struct nsx_lane *lane, struct nsx_err *err) NSX_CHECKED;
/* The capture as a whole. */
int nsx_sweep_totals(const struct nsx_sweep *s, struct nsx_err *err) NSX_CHECKED;
/* The index of a text among the side's details. */
int nsx_number_detail(struct nsx_sweep *s, const char *text, size_t len,
		      uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
int nsx_sweep_idle(struct nsx_sweep *s, uint32_t device, struct nsx_lane *lane,
		   struct nsx_err *err) NSX_CHECKED;
/* Collected uses as one split of a lane; frees v. */
int nsx_keep_split(const struct nsx_sweep *s, struct nsx_lane *lane,
		   enum nsx_split split, struct nsx_split_use *v, size_t n,
		   struct nsx_err *err) NSX_CHECKED;
/* Splits the exposed communication of the lanes of a view. devices: by lane. */
int nsx_split_comm(const struct nsx_sweep *s, const uint32_t *devices,
		   struct nsx_seen *view, struct nsx_err *err) NSX_CHECKED;

#endif
