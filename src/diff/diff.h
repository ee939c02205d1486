/* diff.h - what changed between two sides, by how much, how surely, and where.
 *
 * nsx_diff_run loads every capture (one trace in memory at a time), pools the
 * captures of a side, and compares: the length of a unit (nsx_step), what a
 * unit consists of (nsx_budget), kernel by kernel.  Figures in nanoseconds are
 * integers and add up: the rows under a row to that row.
 */
#ifndef NSX_DIFF_H
#define NSX_DIFF_H

#include <stdio.h>
#include "base/clock.h"
#include "diff/apportion.h"
#include "diff/match.h"
#include "report/table.h"

enum nsx_verdict {
	NSX_V_NEUTRAL, NSX_V_IMPROVEMENT, NSX_V_REGRESSION,
	NSX_V_BOTH_WAYS, /* "mixed": the typical unit changes one way, the
			    mean or another GPU the other                    */
	NSX_V_INCONCLUSIVE, /* this and mixed say why                        */
	NSX_NDIFF_VERDICTS
};
extern const char *const nsx_verdict_names[];

/* What runs of the same code differ by. --------------------------------------*/
enum nsx_noise_metric { /* of a unit; gates.c says what they are           */
	NSX_METRIC_STEP, NSX_METRIC_P95, NSX_METRIC_MEAN, NSX_METRIC_COMPUTE,
	NSX_METRIC_COMM, NSX_METRIC_COPY, NSX_METRIC_IDLE, NSX_METRIC_LAUNCHES,
	NSX_NMETRICS
};
extern const char *const nsx_metric_names[NSX_NMETRICS]; /* "step", ...      */
struct nsx_noise { /* both must be exceeded; 0: not calibrated               */
	double rel, abs; /* abs: ns, or a count                              */
};
struct nsx_kernel_noise {
	const char *name; /* full                                            */
	double abs_ns;	  /* mean of a unit                                  */
};
struct nsx_noises {
	struct nsx_noise of[NSX_NMETRICS];
	struct nsx_kernel_noise *kernels; /* by name                         */
	size_t nkernels, cap_kernels;
	double kernels_rel; /* of any kernel, by which it may differ as well  */
};
/* Of a kernel that takes so long; 0 where it was not calibrated. */
double nsx_noise_of_kernel(const struct nsx_noises *n, const char *name,
			   double before_ns);
void nsx_noises_done(struct nsx_noises *n);

#define NSX_NOISE 0.02 /* a ratio, where nothing was calibrated: the least   */
/* From three captures a side on intervals hold what captures of one side differ by. */
static inline bool nsx_enough_captures(size_t before, size_t after)
{
	return NSX_MIN(before, after) >= 3;
}

/* The largest of several kinds of noise, and which it is. */
struct nsx_floor {
	double at;
	const char *is;
};
static inline void nsx_raise_floor(struct nsx_floor *f, double at,
				   const char *is)
{
	if (at > f->at)
		*f = (struct nsx_floor){at, is};
}

/* What noise is where it was measured, and where it was not. */
extern const char nsx_calibrated[], nsx_unmeasured[];

/* The length of a unit on both sides. Ratios are of the median before.------*/
struct nsx_step {
	struct nsx_spread { /* of one side                                   */
		size_t n, ncaptures;
		double median_ns, mean_ns, p95_ns, cv;
		double drift;  /* over the capture, by Theil-Sen: a ratio    */
		double halves; /* second half against the first: the capture
				  in which they differ most                  */
		struct nsx_interval all_halves; /* over its captures         */
		double captures; /* slowest capture against the fastest      */
		bool drifting; /* more than 1 %                              */
	} side[2];
	double shift_ns, rel;
	struct nsx_interval ci_ns, blocks_ns; /* blocks: by bootstrap        */
	struct nsx_rank_test test;
	double noise;		/* what the same code differs by             */
	struct nsx_floor floor; /* a change below either proves nothing:     */
	double floor_ns;	/* noise, the drift of a capture, and what
				   two captures of one side differ by        */
	bool has_steady;
	double steady_rel; /* of steady units alone                          */
	double mean_rel;   /* of means: tail and all                         */
	struct nsx_interval mean_ci_ns; /* of their change, by bootstrap     */
	struct nsx_floor mean_floor;	/* ns: a smaller one proves nothing  */
	double mean_p;	  /* units dealt out at random differ as much        */
	bool mean_recurs; /* beyond noise also without the slowest units     */
	bool mean_alone; /* only the mean is proven to change: slow units    */
	bool mean_opposes; /* both are beyond noise, and of opposite signs   */
	enum nsx_verdict verdict;
	const char *why; /* of a verdict that is not obvious, and what would
			    settle it                                        */
	double settle;	 /* units or captures a side that would settle it;
			    0: no number would                               */
};

/* A row: mean of a unit before, and what was added. ------------------------*/
struct nsx_delta {
	int64_t before_ns, delta_ns; /* after: before_ns + delta_ns          */
};
struct nsx_split_row { /* see enum nsx_split                                 */
	enum nsx_cause cause;
	const char *detail; /* "" none                                       */
	struct nsx_delta d;
};
struct nsx_split_rows { /* add up to their share; largest change first       */
	struct nsx_split_row *v;
	size_t n;
};
struct nsx_kernel_row {
	uint32_t row; /* of nsx_kernel_rows                                  */
	struct nsx_delta d;
	int64_t count_ns, clock_ns, own_ns; /* add up to d.delta_ns          */
	int64_t overlap_ns; /* of own_ns: others run beside it, or no longer */
	double launches[2], each_ns[2]; /* in a unit; credit of a launch     */
	double p; /* after Holm's correction; NAN not tested                 */
	bool significant; /* by p, and larger than the kernel's noise        */
};
struct nsx_budget {
	struct nsx_delta total, part[NSX_NSHARES];
	struct nsx_split_rows split[NSX_NSPLITS];
	struct nsx_kernel_row *kernels; /* of compute; largest change first  */
	size_t nkernels;
	double rho;	/* duration of equal kernels, after / before: clocks */
	double rho_share; /* of compute time before in equal kernels         */
	size_t nequal;
	const char *no_rho; /* why clocks cannot be told, rho is 1; NULL     */
	double launches[2];
	double collectives[2], comm_ns[2]; /* kernels that communicate; whole */
};
struct nsx_diff_lane {
	int64_t device_id, rank; /* as of struct nsx_lane                    */
	uint32_t nth;
	struct nsx_step change;
	struct nsx_budget budget;
};

enum nsx_check_status { NSX_CHECK_PASS, NSX_CHECK_WARN, NSX_CHECK_FAIL };
extern const char *const nsx_check_names[]; /* "pass", "warn", "fail"        */
enum nsx_check_id {
	NSX_CHECK_FILE, NSX_CHECK_CAPTURES, NSX_CHECK_GPU, NSX_CHECK_RANKS,
	NSX_CHECK_GPUS_USED, NSX_CHECK_PROCESSES, NSX_CHECK_DRIVER,
	NSX_CHECK_CUDA, NSX_CHECK_NSYS, NSX_CHECK_TRACED, NSX_CHECK_CUDA_GRAPHS,
	NSX_CHECK_KERNELS_IN_COMMON, NSX_CHECK_LAUNCHES_RECORDED,
	NSX_CHECK_UNIT, NSX_CHECK_STEADY_UNITS,
	NSX_CHECK_PROFILER_OVERHEAD, NSX_CHECK_CLOCKS, NSX_CHECK_MEASURED_CLOCK, NSX_NCHECKS
};
extern const char *const nsx_check_ids[NSX_NCHECKS]; /* "file", ...          */
struct nsx_check {
	enum nsx_check_id id;
	enum nsx_check_status status;
	const char *before, *after, *text; /* text: NULL for a pass          */
};

enum nsx_appearance { NSX_APPEARED, NSX_GONE, NSX_CHANGED_FINDING,
		      NSX_NAPPEARANCES };
extern const char *const nsx_appearance_names[]; /* "appeared", ...          */
struct nsx_finding_row { /* a finding that is not the same on both sides     */
	enum nsx_appearance change;
	const struct nsx_side_finding *before, *after; /* NULL: not found    */
};
struct nsx_cause_row { /* a finding whose cost changes as the mean does     */
	const struct nsx_finding_row *finding;
	double before_ns, after_ns; /* what it costs, of a unit              */
};
enum { NSX_MOST_CAUSES = 2 };

enum nsx_gate_result { NSX_GATE_PASS, NSX_GATE_UNDECIDED, NSX_GATE_FAIL };
extern const char *const nsx_gate_names[]; /* "pass", "undecided", "fail"    */
struct nsx_gate_row { /* a gate where it looks worst                         */
	const char *expr, *subject; /* subject: "GPU 0"; ""                  */
	const char *figure; /* "typical step", ...                           */
	double change, lo, hi, limit; /* in unit; NAN: there is none         */
	double mean; /* of a typical step: what the mean changes by; NAN     */
	const char *unit;	      /* "%", "ms", "bytes", "" (a count)    */
	enum nsx_gate_result result;
	const char *text; /* why it is undecided, or what it leaves out; NULL */
};

struct nsx_diff_opts {
	struct nsx_captures { /* specs of side.h                             */
		const char *const *v;
		size_t n;
	} captures[2]; /* before, after                                      */
	struct nsx_side_opts side;
	struct nsx_noises noise;
	double alpha;
	uint64_t seed;
	size_t top; /* rows of tables for people; 0: as many as read well    */
	const char *const *gates;
	size_t ngates;
};
struct nsx_diff {
	const struct nsx_diff_opts *opts;
	struct nsx_side **sides[2];
	size_t nsides[2];
	struct nsx_pool pool[2];
	enum nsx_way_method method;
	const char *name;
	bool same; /* nothing was rerun                                      */
	bool digested; /* both sides are seen through digests                */
	bool whole; /* no units: the window stands for one                   */
	struct nsx_totals_change totals;
	struct nsx_kernel_rows rows;
	struct nsx_diff_lane *lanes;
	size_t nlanes;
	bool has_job; /* lanes are ranks of one job: a step is as long as the
			 longest of them                                     */
	struct nsx_step job;
	bool splits_comm; /* communication is told apart: transfer, wait     */
	enum nsx_verdict verdict;
	const char *why;
	struct nsx_interval by_peaks; /* of another model of GPU: how many times as
					 long its peaks let it take; hi 0: the
					 same, or not known                    */
	struct nsx_check *checks;
	size_t nchecks;
	struct nsx_finding_row *findings; /* of the first captures: appeared,
					     gone, changed, each by rank     */
	size_t nfindings;
	struct nsx_gate_row *gates;
	size_t ngates;
	char generated_at[NSX_UTC_SIZE];
	struct nsx_arena *arena;
};

/* Owner: the caller, nsx_diff_free; borrows o.  Errors: those of loading, with
 * the file's name; NSX_E_USAGE for a bad gate or where nothing can be compared.
 */
int nsx_diff_run(const struct nsx_diff_opts *o, struct nsx_diff **ret,
		 struct nsx_err *err) NSX_CHECKED;
void nsx_diff_free(struct nsx_diff *d);

/* What runs of the same code differ by: o->captures[0] are all of them, at least 3;
 * the largest change over all pairs, of any GPU or of the job, metric by metric
 * and kernel by kernel.  Owner: the caller, nsx_noises_done, also after a
 * failure.  Errors: as of nsx_diff_run.
 */
int nsx_diff_calibrate(const struct nsx_diff_opts *o, struct nsx_noises *ret,
		       struct nsx_err *err) NSX_CHECKED;
struct nsx_out_file; /* of them, the subject; the detail is o                */
int nsx_noise_write(const struct nsx_out_file *f, FILE *out,
		    struct nsx_err *err) NSX_CHECKED;
/* Whether a file was written so. */
bool nsx_noise_is(const char *path);
/* "1.5%" of every time, or a file that was written so.  Owner: as above.
 * Errors: NSX_E_USAGE.
 */
int nsx_noise_read(const char *text, struct nsx_noises *ret,
		   struct nsx_err *err) NSX_CHECKED;

/* By how much what the verdict is about, the run or a unit, takes longer: a ratio. */
double nsx_change_of(const struct nsx_diff *d);
/* The step that the verdict is about; *lane: NSX_NONE of a job. */
const struct nsx_step *nsx_decisive_step(const struct nsx_diff *d,
					 uint32_t *lane);

/* The first kernel of a row, before if there is one. */
static inline const struct nsx_kernel *nsx_row_kernel(const struct nsx_diff *d,
						      uint32_t row)
{
	unsigned side = d->rows.first[0][row] == NSX_NONE;

	return &d->pool[side].kernels[d->rows.first[side][row]];
}

/* As far as bytes and threads tell. */
static inline bool nsx_is_same_work(const struct nsx_diff *d)
{
	return d->totals.known && d->totals.same_work;
}

/* Why a digest does not tell which kernels changed. */
extern const char nsx_no_kernels[];

/* The parts, by file ---------------------------------------------------------*/

/* What the specs of either side name, through digests where one of them is one:
 * both sides then have one method.
 */
struct nsx_side_opts nsx_side_opts_of(const struct nsx_diff_opts *o);
/* Pools both sides by the way of seeing units that suits all captures best; of
 * repetition, which has no name, as far as both sides repeat the same.
 * *ret_found: whether there is one.
 */
int nsx_choose_way(struct nsx_diff *d, bool *ret_found,
		   struct nsx_err *err) NSX_CHECKED;
int nsx_step_measure(const struct nsx_diff *d, uint32_t lane,
		       struct nsx_step *ret, struct nsx_err *err) NSX_CHECKED;
/* Raises a floor, in ns, to what the captures of either side differ by, and the halves
 * of one where that is asked for, by means; not where intervals hold it.
 */
void nsx_raise_within(const struct nsx_sample s[2], bool halves,
		      struct nsx_floor *floor);
int nsx_budget_build(struct nsx_diff *d, uint32_t lane,
		     struct nsx_budget *ret, struct nsx_err *err) NSX_CHECKED;
/* The sides as wholes, once they are loaded. */
void nsx_totals_compare(struct nsx_diff *d);
/* The verdict on them; *why: of one that is open.  Both must be known. */
enum nsx_verdict nsx_totals_judge(const struct nsx_diff *d, const char **why);
int nsx_compare_captures(struct nsx_diff *d, struct nsx_err *err) NSX_CHECKED;
void nsx_compare_findings(struct nsx_diff *d);
/* Whether no check has failed. */
bool nsx_is_comparable(const struct nsx_diff *d);
/* The findings that a lane's mean may be longer by, dearest first: they name causes,
 * where the shares of the time often name symptoms; those that it is shorter by are
 * promises.  Returns how many; none where it is longer by less than noise, or the
 * sides cannot be compared.
 */
size_t nsx_find_causes(const struct nsx_diff *d, uint32_t lane,
		       struct nsx_cause_row ret[NSX_MOST_CAUSES]);

/* What a finding before promised that is gone after, or halved. */
struct nsx_promise {
	const struct nsx_side_finding *finding; /* promised: its share       */
	double won;    /* of the time before, by all that are gone            */
	bool is_joint; /* these are several                                  */
	bool kept; /* as much as promised, by 0.8 to 1.25, or in its range    */
};
enum { NSX_MOST_PROMISES = 16 };
/* Returns how many; in order of the first report. */
size_t nsx_diff_promised(const struct nsx_diff *d,
			 struct nsx_promise ret[NSX_MOST_PROMISES]);

/* METRIC:[<]+LIMIT, as the command's manual explains it.  Checks the syntax
 * alone.  Errors: NSX_E_USAGE naming the place.
 */
int nsx_gate_check(const char *expr, struct nsx_err *err) NSX_CHECKED;
int nsx_gates_evaluate(struct nsx_diff *d, struct nsx_err *err) NSX_CHECKED;

#endif
