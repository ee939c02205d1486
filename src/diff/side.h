/* side.h - one capture, reduced to what a comparison needs.
 *
 * A trace is loaded, swept and freed before the next one. Kept are each unit's length and
 * parts, and each kernel's time in the units. In a digest the steps are the units. Units
 * are found in several ways, as it is not known yet which way suits the other side.
 *
 * A lane is a GPU with the units of one process on it. Lanes are ordered by GPU, then
 * process. Lanes of a digest are ranks, ordered by number.
 */
#pragma once

#include "base/group.h"
#include "facts/steps/steps.h"
#include "facts/iterations/units.h"
#include "fleet/totals.h"
#include "report/finding.h"

/* Disjoint parts of a unit's time; they add up to its length. */
enum nsx_share {
	NSX_SHARE_COMPUTE, /* a kernel or replay runs, whatever else happens */
	NSX_SHARE_TRANSFER, /* only communication, after all ranks have come */
	NSX_SHARE_WAIT,    /* only communication, before the last rank has come */
	NSX_SHARE_COPY,    /* time in which only copies run */
	NSX_SHARE_IDLE,
	NSX_NSHARES
};
struct nsx_unit {
	int64_t start_ns, wall_ns;
	int64_t ns[NSX_NSHARES];
	int64_t comm_ns;   /* whole time of communication kernels, hidden or not */
	uint32_t launches; /* kernels and replays that began in it */
	uint32_t collectives; /* communication kernels among the launches */
	bool steady;
};

/* A distinct kernel with its launch shape; a graph replay counts as a kernel. Ordered by
 * name, then shape.
 */
struct nsx_kernel {
	const char *name, *base; /* demangled; base: without template arguments and signature */
	const char *label; /* readable name */
	enum nsx_kernel_category category;
	uint32_t shape; /* index of its launch shape in its trace */
	const char *variant; /* what the label adds to the family: tile, layout, number */
	uint32_t grid[3], block[3];
	uint32_t registers, shared_bytes; /* NSX_NONE: not known */
	bool known;	   /* the launch shape is known */
	const char *range; /* NVTX path of its first launch; "": none */
	double occupancy;  /* theoretical, 0..1; negative: not known */
	double launches;   /* per unit, if lanes have no uses (digests) */
};
struct nsx_kernel_use { /* use of a kernel in a unit; ordered by unit, kernel */
	uint32_t unit, kernel, launches; /* launches: launches that began in the unit */
	/* credit: each of m concurrent kernels gets 1/m of the time, so credits of a unit add up to
	 * its compute time
	 */
	int64_t ns;
	int64_t own_ns; /* whole durations of the launches */
};
/* Parts of a share of the time of all units of a lane. */
enum nsx_split {
	NSX_SPLIT_IDLE,	  /* by cause; detail: call or range */
	NSX_SPLIT_RANGES, /* compute time, by the NVTX ranges around the launch */
	NSX_NSPLITS
};
struct nsx_split_uses { /* each cause and detail once */
	struct nsx_split_use {
		uint32_t cause;	 /* enum nsx_cause; 0 for RANGES */
		uint32_t detail; /* index in side->details */
		int64_t ns;	 /* the uses of a split add up to its share */
	} *v;
	size_t n;
	struct nsx_groups groups; /* numbers of causes and details, while uses are added */
};
struct nsx_lane {
	int64_t device_id;
	int64_t rank;	   /* rank in its job; -1: unknown, or not requested */
	int64_t zero_ns;   /* zero of the rank's clock on the common clock of all lanes */
	uint32_t nth; /* number among the lanes of this GPU */
	struct nsx_unit *units; /* complete ones, in order of time */
	size_t nunits;
	struct nsx_kernel_use *uses;
	size_t nuses;
	struct nsx_split_uses split[NSX_NSPLITS];
	struct nsx_placed { /* kernels of a typical unit, ordered by stream and time */
		uint32_t kernel;
		int64_t at_ns, ns; /* at_ns: from the unit's start */
	} *order;
	size_t norder;
	int64_t typical_ns; /* length of the typical unit */
};
struct nsx_seen {
	enum nsx_way_method method; /* NSX_WAY_WINDOW: a single unit, the whole window */
	const char *name;
	double score;
	bool one_job; /* lanes run the same steps at the same time, so communication is split */
	/* communication kernels in the units, and those for which it is known when all ranks had
	 * come
	 */
	size_t ncomm, nsplit;
	struct nsx_lane *lanes;
	size_t nlanes;
};

/* Peak rates of a GPU that can bound a kernel, per second. */
enum nsx_peak { NSX_PEAK_F32, NSX_PEAK_F16, NSX_PEAK_BYTES, NSX_NPEAKS };

struct nsx_side_finding {
	const char *key, *title; /* title: Markdown */
	const char *place; /* in the user's code, Markdown; NULL: not known */
	enum nsx_category category;
	enum nsx_severity severity;
	bool is_minor; /* not on the first page */
	double share; /* gain as a share of the judged window; NAN: not priced */
	double low, high; /* range of the share */
};
struct nsx_side {
	const char *path, *part, *label; /* part: the selected steps or window; "": all */
	bool digested;	   /* lanes have no uses, and splits of idle time only */
	uint64_t content;  /* hash of a digest's ranks and their work */
	/* hash of the clocks at the session's start or, without them, of a process; 0: unknown */
	uint64_t session;
	/* range of correlation ids of that process; 0: the clocks are known */
	int64_t first_id, last_id;
	int64_t first_ns, last_ns; /* span of the capture on the clock of its session */
	int64_t size_bytes;
	const char *gpu_names; /* names such as "2 × NVIDIA H100, 1 × Tesla T4"; "": none */
	const char *gpu_models; /* without counts */
	double peaks[NSX_NPEAKS]; /* peak rates of the capture's first GPU; 0: unknown */
	const char *product_version, *driver_version, *cuda_version;
	const char *graph_mode, *traced;
	unsigned on_host; /* what of `traced` costs the host time, as bits */
	bool hides_kernels; /* some graphs are recorded as a whole, which hides their kernels */
	const char *ranks; /* ranks of a digest: "rank 3", "8 ranks, 0 to 7" */
	double sm_mhz; /* mean SM clock while kernels ran; NAN: not sampled */
	int64_t ngpus, nranks; /* GPUs and processes with work */
	double answered; /* share of launch calls whose GPU work is recorded;
			    NAN: not known */
	struct nsx_totals totals;
	int64_t peak_bytes; /* peak of GPU memory; -1: not recorded */
	struct nsx_side_kind { /* steps of an inference engine, by kind and size: kinds.h */
		enum nsx_step_kind kind;
		const char *size;
		int64_t count;
		double p50_ms, sizes; /* sizes: sum of requests or tokens; 0: unknown */
	} *kinds;
	size_t nkinds;
	struct nsx_kernel *kernels;
	uint32_t nkernels;
	const char **details; /* distinct; [0] is "" */
	size_t ndetails;
	struct nsx_seen seen[NSX_MAX_UNITS + 1];
	size_t nseen;
	bool launches_nothing; /* the requested ranges exist, but no GPU work is launched in them */
	struct nsx_side_finding *findings; /* ordered by rank */
	size_t nfindings;
	const char *damage; /* what could not be read; NULL: nothing */
	struct nsx_arena *arena;
};

/* Hash of the clocks at a session's start; negative: not known. */
static inline uint64_t nsx_session_of(int64_t utc_ns, int64_t system_ns)
{
	return utc_ns <= 0 ? 0 : nsx_hash_u64((uint64_t)utc_ns ^
					      nsx_hash_u64((uint64_t)NSX_MAX(system_ns, 0)));
}

/* Orders struct nsx_kernel by name, then shape. */
int nsx_kernel_cmp(const void *a, const void *b);

enum nsx_side_unit { NSX_SIDE_AUTO, NSX_SIDE_NVTX, NSX_SIDE_KERNEL,
		     NSX_SIDE_LAUNCH, NSX_SIDE_WINDOW };
struct nsx_side_opts {
	enum nsx_side_unit unit;
	const char *pattern;   /* for NVTX and KERNEL */
	int64_t first, last;   /* --steps, both included; last -1: all */
	int64_t device, pid;   /* --gpu, and the process of a rank; -1: all */
	int64_t rank;	       /* --rank; -1: all */
	bool digested;	       /* reduce traces to digests first */
	unsigned threads;
	const struct nsx_step_patterns *steps_from; /* step names; NULL: built-in names */
	struct nsx_progress *progress;
	const struct nsx_at_hand *at_hand; /* cache of reports; NULL: none */
};

/* Parses "auto", "nvtx:REGEX", "kernel:REGEX", "launch" or "window"; NULL changes nothing.
 * Errors: NSX_E_USAGE.
 */
int nsx_side_unit_parse(const char *unit, struct nsx_side_opts *ret,
			struct nsx_err *err) NSX_CHECKED;

/* Loads a spec "[LABEL=]PATH[@STEPS or @WINDOW]". Owner: the caller, nsx_side_free. Errors:
 * those of opening and loading.
 */
int nsx_side_load(const char *spec, const struct nsx_side_opts *o,
		  struct nsx_side **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_side_free(struct nsx_side *s); /* NULL is fine */

/* Whether two sides are the same part of the same bytes. */
bool nsx_side_is_same(const struct nsx_side *a, const struct nsx_side *b);

/* Whether two sides are parts of one run: of one file, or most of them at other times of
 * one session.
 */
bool nsx_side_is_of_run(const struct nsx_side *a, const struct nsx_side *b);

/* Whether two ways of finding units are equal: same method and, for ranges, same name. */
bool nsx_is_same_way(const struct nsx_seen *x, const struct nsx_seen *y);
/* Whether the spec of a side names a digest. */
bool nsx_side_is_digest(const char *text);

/* Limit of a lane's units. Longer lanes keep their middle units, because more would add nothing. */
enum { NSX_MOST_UNITS = 1 << 16 };
/* Chooses the units of a lane to compare, [*from, *from + result), from its n units: the requested
 * steps, or all complete units, which are ended by the next start, except the first, which warms
 * up.
 */
size_t nsx_choose_units(const struct nsx_side_opts *o, size_t n, size_t *from);
/* Computes the shares of a unit from the device's time by class (facts.h). */
void nsx_fill_shares(const int64_t part_ns[NSX_NPARTS], int64_t ret[NSX_NSHARES]);
/* Whether the lanes run the same steps at the same time. */
bool nsx_is_one_job(const struct nsx_seen *view);

/* Sides from digests (side_digest.c). -----------------------------------------------*/

struct nsx_report;
/* Fills a side from the digest at its path, or from a digest made of the report's trace. */
int nsx_side_read_digest(struct nsx_side *side, const struct nsx_side_opts *o,
			 struct nsx_err *err) NSX_CHECKED;
int nsx_side_digest(struct nsx_side *side, const struct nsx_report *r,
		    const struct nsx_side_opts *o, struct nsx_err *err) NSX_CHECKED;
/* Sets device and process of the rank o->rank in a trace. Errors: NSX_E_USAGE if the trace lacks
 * the rank.
 */
int nsx_side_find_rank(const struct nsx_report *r, struct nsx_side_opts *o,
		       struct nsx_err *err) NSX_CHECKED;

/* Fills the description of a capture: versions, machine, findings. */
int nsx_side_describe(struct nsx_side *s, const struct nsx_report *r,
		      struct nsx_err *err) NSX_CHECKED;
/* Copies the rows of section Steps from a capture's report. */
void nsx_side_keep_kinds(struct nsx_side *s, const struct nsx_report *r);
/* Sorts the names of the GPUs used and fills gpu_names and gpu_models. */
void nsx_side_name_gpus(struct nsx_side *s, const char **names, size_t n);

/* Sweeps over the trace (sweep_*.c). Each fills a part of a lane whose units are known. ----*/
struct nsx_sweep {
	const struct nsx_trace *t;
	const struct nsx_facts *f;
	struct nsx_side *side;
	uint32_t *kernel_of; /* by shape, and one more for replays: index in side->kernels */
	uint32_t *detail_of; /* by text of the trace: index in side->details; 0: not numbered yet */
	uint32_t *range_of; /* by NVTX range: index of its path in side->details */
	struct nsx_strings *texts; /* the texts of side->details */
	struct nsx_groups numbers; /* indices of these texts */
};
int nsx_sweep_kernels(const struct nsx_sweep *s, uint32_t device,
		      struct nsx_lane *lane, struct nsx_err *err) NSX_CHECKED;
/* Finds or adds a text in the side's details. */
int nsx_number_detail(struct nsx_sweep *s, const char *text, size_t len,
		      uint32_t *ret, struct nsx_err *err) NSX_CHECKED;
int nsx_sweep_idle(struct nsx_sweep *s, uint32_t device, struct nsx_lane *lane,
		   struct nsx_err *err) NSX_CHECKED;
/* Adds a time to a split, which begins as {0}. */
void nsx_add_split(struct nsx_split_uses *split, uint32_t cause, uint32_t detail, int64_t ns);
/* Moves a split to an arena. */
struct nsx_split_uses nsx_keep_split(struct nsx_split_uses *split, struct nsx_arena *a);
/* Splits the exposed communication of a view's lanes. devices: by lane. */
int nsx_split_comm(const struct nsx_sweep *s, const uint32_t *devices,
		   struct nsx_seen *view, struct nsx_err *err) NSX_CHECKED;
