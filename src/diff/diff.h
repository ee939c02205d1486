/* diff.h - compares two sides: what changed, by how much, how surely, and where.
 *
 * nsx_diff_run loads every capture (one trace in memory at a time) and pools the captures of a
 * side. It compares the length of a unit (nsx_step), the parts of a unit (nsx_budget), and the
 * kernels. Figures in nanoseconds are integers, and rows add up to the row above them.
 */
#pragma once

#include <stdio.h>
#include "base/clock.h"
#include "diff/match.h"
#include "report/table.h"

enum nsx_verdict {
	NSX_V_NEUTRAL, NSX_V_IMPROVEMENT, NSX_V_REGRESSION,
	/* "mixed": the typical unit changes one way, but the mean or another GPU changes the other
	 * way
	 */
	NSX_V_BOTH_WAYS,
	NSX_V_INCONCLUSIVE, /* has a reason in `why`, as "mixed" does */
	NSX_NDIFF_VERDICTS
};
extern const char *const nsx_verdict_names[];

/* Noise: how much runs of the same code differ. -----------------------------------*/
enum nsx_gated { /* figures of a unit, as gates.c explains them */
	NSX_METRIC_STEP, NSX_METRIC_P95, NSX_METRIC_MEAN, NSX_METRIC_COMPUTE,
	NSX_METRIC_COMM, NSX_METRIC_COPY, NSX_METRIC_IDLE, NSX_METRIC_LAUNCHES,
	NSX_NMETRICS,
	/* figures whose noise is not known */
	NSX_METRIC_KERNEL = NSX_NMETRICS, NSX_METRIC_MEM_PEAK, NSX_NGATED
};
/* The kind of a figure's values. Every limit may be in %; counts take no other unit. */
enum nsx_measure { NSX_COUNTED, NSX_TIMED, NSX_IN_BYTES };
extern const struct nsx_gated_as {
	const char *name, *figure; /* "step", "typical step" */
	enum nsx_measure measure;
	unsigned shares; /* the shares of a unit that add up to it, as bits; 0: none do */
} nsx_gated_figures[NSX_NGATED];
struct nsx_noise { /* a change must exceed both rel and abs; 0: not calibrated */
	double rel, abs; /* abs: ns or a count */
};
struct nsx_kernel_noise {
	const char *name; /* full name */
	double abs_ns;	  /* noise of its mean time per unit */
};
struct nsx_noises {
	struct nsx_noise of[NSX_NMETRICS];
	struct nsx_kernel_noise *kernels; /* ordered by name */
	size_t nkernels, cap_kernels;
	double kernels_rel; /* relative noise of any other kernel */
};
/* Noise of a kernel that takes before_ns; 0 if not calibrated. */
double nsx_noise_of_kernel(const struct nsx_noises *n, const char *name, double before_ns);
void nsx_noises_done(struct nsx_noises *n);

enum { NSX_LEAST_UNITS = 4 }; /* with 3 against 3 units, p is at least 0.1 */
#define NSX_NOISE 0.02 /* least noise, as a ratio; assumed if nothing was calibrated */
/* With three captures per side or more, intervals include how captures of one side differ. */
static inline bool nsx_enough_captures(size_t before, size_t after)
{
	return NSX_MIN(before, after) >= 3;
}

/* The largest of several kinds of noise, and its name. */
struct nsx_floor {
	double at;
	const char *is;
};
static inline void nsx_raise_floor(struct nsx_floor *f, double at, const char *is)
{
	if (at > f->at)
		*f = (struct nsx_floor){at, is};
}

/* Names of floors from calibrated noise and from assumed noise. */
extern const char nsx_calibrated[], nsx_unmeasured[];
extern const char nsx_costs_differ[]; /* the reason of costs_differ */

/* The length of a unit on both sides. Ratios are relative to the median before. ----*/
struct nsx_step {
	struct nsx_spread { /* spread of one side's units */
		size_t n, ncaptures;
		double median_ns, mean_ns, p95_ns, cv;
		double drift;  /* within a capture, by Theil-Sen; a ratio */
		/* second half against first half of the units, in the capture where the halves
		 * differ most
		 */
		double halves;
		/* range of that ratio over all captures of the side */
		struct nsx_interval all_halves;
		double captures; /* slowest capture relative to the fastest */
		bool drifting; /* drift above 1 % */
	} side[2];
	double shift_ns, rel;
	struct nsx_interval ci_ns, blocks_ns; /* intervals of the shift; blocks_ns: by bootstrap */
	struct nsx_rank_test test;
	double noise;		/* difference expected between runs of the same code */
	/* a change below this ratio proves nothing: the greatest of noise, drift of a capture, and
	 * difference between captures of one side
	 */
	struct nsx_floor floor;
	double floor_ns;	/* the floor in ns, for a change in ns */
	bool has_steady;
	double steady_rel; /* shift of the steady units alone */
	double mean_rel;   /* change of the mean, including its tail */
	struct nsx_interval mean_ci_ns; /* interval of the change of the mean, by bootstrap */
	struct nsx_floor mean_floor;	/* ns; a smaller change of the mean proves nothing */
	/* probability of this difference if units were assigned to the sides at random */
	double mean_p;
	bool mean_recurs; /* the mean changes beyond noise even without the slowest units */
	bool mean_alone; /* only the mean is proven to change: slow units came or went */
	bool mean_opposes; /* mean and shift are both beyond noise, with opposite signs */
	enum nsx_verdict verdict;
	const char *why; /* reason for a verdict that is not obvious, and what would settle it */
	/* units or captures per side that would settle it; 0: no number of them would */
	double settle;
};

/* A row: mean per unit before, and its change. ---------------------------------*/
struct nsx_delta {
	int64_t before_ns, delta_ns; /* after = before_ns + delta_ns */
};
struct nsx_split_row { /* a part of a share */
	enum nsx_cause cause;
	const char *detail; /* "": none */
	struct nsx_delta d;
};
struct nsx_split_rows { /* add up to their share; largest change first */
	struct nsx_split_row *v;
	size_t n;
};
struct nsx_kernel_row {
	uint32_t row; /* index in nsx_kernel_rows */
	struct nsx_delta d;
	/* parts of d.delta_ns by count, clock and the kernel's own speed; sum is d.delta_ns */
	int64_t count_ns, clock_ns, own_ns;
	int64_t overlap_ns; /* part of own_ns: more or fewer kernels run beside it */
	double launches[2], each_ns[2]; /* launches per unit, and credit of one launch */
	double threads[2]; /* per unit; 0: the launch shape is not known */
	double p; /* after Holm's correction; NAN: not tested */
	bool significant; /* p is below alpha and the change exceeds the kernel's noise */
};
struct nsx_budget {
	struct nsx_delta total, part[NSX_NSHARES];
	struct nsx_split_rows split[NSX_NSPLITS];
	struct nsx_kernel_row *kernels; /* kernels of the compute share; largest change first */
	size_t nkernels;
	double rho;	/* duration of equal kernels, after / before: shows the clocks */
	double rho_share; /* share of compute time before that equal kernels take */
	size_t nequal;
	/* why rho shows nothing about clocks (rho is 1 then); NULL if it does */
	const char *no_rho;
	double launches[2];
	/* communication kernels per unit, and their whole time */
	double collectives[2], comm_ns[2];
};
struct nsx_diff_lane {
	int64_t device_id, rank; /* GPU and rank of the lane, as in struct nsx_lane */
	uint32_t nth;
	struct nsx_step change;
	struct nsx_budget budget;
};

extern const char *const nsx_total_names[NSX_NTOTALS]; /* "kernels", ... */
/* Two sides as wholes; with several captures per side, their means. */
struct nsx_totals_change {
	bool known;
	struct nsx_totals side[2];
	double host_speed; /* duration of equal calls, after / before; NAN: not known */
	/* one side recorded more, which takes time of the host: how much is not known, so that a
	 * change of idle time proves nothing
	 */
	bool costs_differ;
	bool same_bytes, same_threads; /* bytes, or threads, are within 2 % of each other */
	/* threads or bytes, whichever decides (totals.c), are the same: a shorter run did not just
	 * do less work
	 */
	bool same_work;
	bool in_step; /* both sides launch the same kernels in the same order */
	bool pairs_up; /* in_step, or one run a side with equal threads and bytes */
	double in_step_rel; /* change of the launches' time, paired one by one */
	struct nsx_interval in_step_ci; /* interval of in_step_rel */
	bool decides; /* the comparison's verdict is about the whole runs */
};

enum nsx_check_status { NSX_CHECK_PASS, NSX_CHECK_WARN, NSX_CHECK_FAIL };
extern const char *const nsx_check_names[]; /* "pass", "warn", "fail" */
struct nsx_check {
	const char *id; /* "file", ... */
	enum nsx_check_status status;
	const char *before, *after, *text; /* text: NULL if passed */
};

enum nsx_appearance { NSX_APPEARED, NSX_GONE, NSX_CHANGED_FINDING,
		      NSX_NAPPEARANCES };
extern const char *const nsx_appearance_names[]; /* "appeared", ... */
struct nsx_finding_row { /* a finding that differs between the sides */
	enum nsx_appearance change;
	const struct nsx_side_finding *before, *after; /* NULL: not found on that side */
};
struct nsx_cause_row { /* a finding whose cost changes in the direction of the mean */
	const struct nsx_finding_row *finding;
	double before_ns, after_ns; /* its cost per unit */
	double explains_ns; /* the part of the longer mean that it explains */
};
enum { NSX_MOST_CAUSES = 2 };

enum nsx_gate_result { NSX_GATE_PASS, NSX_GATE_UNDECIDED, NSX_GATE_FAIL };
extern const char *const nsx_gate_names[]; /* "pass", "undecided", "fail" */
struct nsx_gate_row { /* the worst result of a gate over all lanes */
	const char *expr, *subject; /* subject: "GPU 0"; "" if there is only one */
	const char *figure; /* "typical step", ... */
	double change, lo, hi, limit; /* in `unit`; NAN: none */
	double mean; /* for gates on the typical step: change of the mean; else NAN */
	const char *unit;	      /* "%", "ms", "bytes", "" (a count) */
	enum nsx_gate_result result;
	const char *text; /* why the gate is undecided, or what it leaves out; NULL: none */
};

struct nsx_diff_opts {
	struct nsx_captures { /* specs of the captures, as in side.h */
		const char *const *v;
		size_t n;
	} captures[2]; /* before, after */
	struct nsx_side_opts side;
	struct nsx_noises noise;
	double alpha;
	uint64_t seed;
	size_t top; /* rows of tables for people; 0: a readable number */
	const char *const *gates;
	size_t ngates;
};
struct nsx_diff {
	const struct nsx_diff_opts *opts;
	struct nsx_side **sides[2];
	size_t nsides[2];
	struct nsx_side **all; /* the captures of both sides, those before first */
	size_t nall;
	struct nsx_kernels kernels;
	struct nsx_pool pool[2];
	enum nsx_way_method method;
	const char *name;
	bool same; /* both sides are the same capture */
	bool digested; /* both sides are reduced to digests before they are compared */
	bool whole; /* no units: the whole window is the only unit */
	bool units_differ; /* a unit of one side does the work of more than one of the other */
	struct nsx_totals_change totals;
	struct nsx_kernel_rows rows;
	struct nsx_diff_lane *lanes;
	size_t nlanes;
	bool has_job; /* lanes are ranks of one job: a step lasts as long as its longest rank */
	struct nsx_step job;
	bool splits_comm; /* communication is split into transfer and waiting */
	enum nsx_verdict verdict;
	const char *why;
	bool overruled; /* the verdict is not that of the units, whatever their length */
	/* range of factors on time that the peaks of a different GPU model allow; hi 0: same model,
	 * or unknown peaks
	 */
	struct nsx_interval by_peaks;
	struct nsx_check *checks;
	size_t nchecks;
	/* findings of the first captures that appeared, disappeared or changed; each group by
	 * rank
	 */
	struct nsx_finding_row *findings;
	size_t nfindings;
	struct nsx_gate_row *gates;
	size_t ngates;
	char generated_at[NSX_UTC_SIZE];
	struct nsx_arena *arena;
};

/* Runs the comparison. Owner: the caller, nsx_diff_free; borrows o. Errors: those of
 * loading, with the file's name; NSX_E_USAGE for a bad gate or if nothing can be compared.
 */
int nsx_diff_run(const struct nsx_diff_opts *o, struct nsx_diff **ret,
		 struct nsx_err *err) NSX_CHECKED;
void nsx_diff_free(struct nsx_diff *d);

/* Measures how much runs of the same code differ. o->captures[0] lists all runs, at least
 * 3. The result is the largest change over all pairs, on any GPU or of the job, by metric
 * and by kernel. Owner: the caller, nsx_noises_done, also after a failure. Errors: as
 * nsx_diff_run.
 */
int nsx_diff_calibrate(const struct nsx_diff_opts *o, struct nsx_noises *ret,
		       struct nsx_err *err) NSX_CHECKED;
/* The subject of the file is a struct nsx_noises; its detail is the options. */
struct nsx_out_file;
int nsx_noise_write(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
/* Whether a file was written by nsx_noise_write. */
bool nsx_noise_is(const char *path);
/* Parses "1.5%", which applies to every time, or reads a file written by nsx_noise_write. Owner:
 * the caller, nsx_noises_done. Errors: NSX_E_USAGE.
 */
int nsx_noise_read(const char *text, struct nsx_noises *ret, struct nsx_err *err) NSX_CHECKED;

/* Relative change of the whole run without one-time gaps, or of a unit, whichever the verdict is
 * about.
 */
double nsx_change_of(const struct nsx_diff *d);
/* The step that the verdict is about; *lane: NSX_NONE for a whole job. */
const struct nsx_step *nsx_decisive_step(const struct nsx_diff *d, uint32_t *lane);

/* The first kernel of a row; from the side before if there is one. */
static inline const struct nsx_kernel *nsx_row_kernel(const struct nsx_diff *d, uint32_t row)
{
	unsigned side = d->rows.first[0][row] == NSX_NONE;

	return d->kernels.of[d->rows.first[side][row]][side];
}

/* Whether one side only has kernels inside of graphs that were recorded as a whole, where they
 * cannot be counted.
 */
bool nsx_hides_work(const struct nsx_diff *d);
/* Whether both sides run the same steps of an inference engine, by kind and size. */
bool nsx_has_same_steps(const struct nsx_diff *d);

/* Texts -----------------------------------------------------------------------*/

/* Appends an id as words: "gpus_used" as "gpus used". */
void nsx_buf_add_id(struct nsx_buf *b, const char *id);

/* "+2.05 ms", "−380 µs", "0". */
const char *nsx_text_change(struct nsx_arena *a, double ns);
/* "+12.2 %", "±0.0 %", "11.3 times" */
const char *nsx_text_ratio(struct nsx_arena *a, double ratio);
#define NSX_SEEN 0.0005 /* least ratio that is shown as other than 0.0 % */

/* A lane's name: "rank 3" or "GPU 0". It includes the process if the GPU has several, and the
 * number after if the work moved to a GPU with another number.
 */
const char *nsx_lane_name(const struct nsx_diff *d, uint32_t lane, struct nsx_arena *a);
/* Says why digests do not tell which kernels changed. */
extern const char nsx_no_kernels[];

/* Parts, by file -------------------------------------------------------------*/

/* Options for loading either side. If one spec names a digest, both sides are read as
 * digests so that both have one method.
 */
struct nsx_side_opts nsx_side_opts_of(const struct nsx_diff_opts *o);
/* Pools both sides by the kind of unit that suits all captures best. Units without names count only
 * if both sides repeat the same kernels. Returns whether there is such a kind.
 */
bool nsx_choose_way(struct nsx_diff *d);
struct nsx_step nsx_step_measure(const struct nsx_diff *d, uint32_t lane);
/* Raises a floor, in ns, to the difference of means between captures of a side and, with `halves`,
 * between halves of a capture. Does nothing if the intervals include these differences.
 */
void nsx_raise_within(const struct nsx_sample s[2], bool halves, struct nsx_floor *floor);
struct nsx_budget nsx_budget_build(struct nsx_diff *d, uint32_t lane);
/* Compares the sides as wholes, once they are loaded. */
void nsx_totals_compare(struct nsx_diff *d);
/* Change of the wholes in ns apart from one-time gaps, which are not judged. */
double nsx_totals_change(const struct nsx_totals_change *c);
/* Whether the wholes may decide instead of units: the same work was done, and no unit named. */
bool nsx_wholes_tell(const struct nsx_diff *d);
#define NSX_OF_HOST 0.10 /* ratio by which the host's time differs at equal speed of its calls */
/* Noise of what the host does between two runs of the same code: `least`, or what the speed of its
 * calls shows.
 */
double nsx_noise_of_host(const struct nsx_totals_change *c, double least);
/* Noise of copies between two runs of the same code: `least`, or what the speed of the host's calls
 * shows, because the host itself copies memory that is not pinned.
 */
double nsx_noise_of_copies(const struct nsx_totals_change *c, double least);
/* The verdict on the wholes, which must be known. *why: set if it is inconclusive. */
enum nsx_verdict nsx_totals_judge(const struct nsx_diff *d, const char **why);
/* Which side just repeats the same work more often: 1, that after; -1, that before; 0, neither. It
 * has more units of as many launches or, if `whole`, more launches, and nearly all time is of
 * kernels that both sides launch in the same shape. Wholes need launches of equally many threads on
 * average, too; so do the units of a digest, which has no kernels.
 */
int nsx_repeats_more(const struct nsx_diff *d, uint32_t lane, bool whole);
/* Bytes copied in all directions. */
double nsx_bytes_of(const struct nsx_totals *t);
void nsx_compare_captures(struct nsx_diff *d);
void nsx_compare_findings(struct nsx_diff *d);
/* How many times as much work a unit does after as a unit did before. */
struct nsx_multiple {
	/* kernels are launched `times` as often; otherwise each launch has `times` the threads */
	double times;
	bool by_launches; /* kernels are launched `times` as often */
	/* share of the busy time in these kernels, and in copies of `times` the bytes */
	double share;
};
struct nsx_multiple nsx_find_multiple(const struct nsx_diff *d, uint32_t lane);
/* Whether a typical unit has as many launches on both sides: a few units with more of them do not
 * make it another unit.
 */
static inline bool nsx_launches_alike(const struct nsx_diff *d, uint32_t lane)
{
	return d->pool[0].lanes[lane].norder == d->pool[1].lanes[lane].norder;
}
/* Why the sides cannot be compared; NULL if they can. */
const char *nsx_find_failure(const struct nsx_diff *d);
/* Lists findings that may explain why a lane's mean became longer, the most expensive first.
 * Findings name causes, whereas shares of the time often name symptoms. Returns their number; 0 if
 * the mean grew by less than noise or the sides cannot be compared.
 */
size_t nsx_find_causes(const struct nsx_diff *d, uint32_t lane,
		       struct nsx_cause_row ret[NSX_MOST_CAUSES]);

/* a finding of the side before that disappeared or halved, and the gain it promised */
struct nsx_promise {
	const struct nsx_side_finding *finding;
	/* The promised gain, as a share of the same time as `won`. It is less than the finding's
	 * share if the finding is about a judged part and `won` about the whole run.
	 */
	double share;
	double won;    /* gain by all disappeared findings together, relative to the time before */
	double own;    /* the finding's part of that: what it promised, if the others leave as much */
	bool is_joint; /* several findings disappeared, so the gain is not known for each */
	/* The gain is 0.8 to 1.25 of the promise, or within its range. In the part of a run that is
	 * not judged, all may be won, or nothing.
	 */
	bool kept;
};
enum { NSX_MOST_PROMISES = 16 };
/* Whether it is known what was won: not if the sides cannot be compared or did other work. */
bool nsx_knows_gain(const struct nsx_diff *d);
/* The number of promises, which are in the order of the first report; 0 if the gain is not known.
 */
size_t nsx_diff_promised(const struct nsx_diff *d, struct nsx_promise ret[NSX_MOST_PROMISES]);

/* Checks the syntax of METRIC:[<]+LIMIT, as the command's manual explains it. Errors:
 * NSX_E_USAGE naming the place.
 */
int nsx_gate_check(const char *expr, struct nsx_err *err) NSX_CHECKED;
int nsx_gates_evaluate(struct nsx_diff *d, struct nsx_err *err) NSX_CHECKED;
