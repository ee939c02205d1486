/* fold.h - aggregates counter samples while one part of the sample table is read. */
#ifndef METRICS_FOLD_H
#define METRICS_FOLD_H

#include "facts/metrics/values.h"
#include "sqlite/scan.h"

enum { FOLD_MAX_SERIES = 4096 };

struct fold_series {
	int64_t type, metric;
	uint32_t source; /* index in fold.sources */
	/* The series whose row followed a row of this one last time: the guess for the next row. */
	uint32_t next;
	int64_t most; /* greater values are none */
	int64_t lost; /* rows without a valid value */
	/* Sum of the squares of each sample's time under communication. */
	unsigned __int128 comm_squares;
	struct fold_values values;
	struct fold_curve { /* samples over time; NULL: not requested        */
		uint64_t sum[NSX_CURVE_BINS];
		uint32_t n[NSX_CURVE_BINS];
	} *curve;
};

/* Spans of a device, for the total length of spans before a time. fold_cursor makes this cheap for
 * times that mostly ascend.
 */
struct fold_reach {
	const struct nsx_spans *spans;
	int64_t *prefix; /* result of nsx_spans_prefix */
};
struct fold_cursor {
	size_t at;
	int64_t before_ns; /* total length of spans before `at` */
};

struct fold_row { /* a row that waits until the period is known */
	int64_t at_ns, value;
	uint32_t series;
};

/* The samples of one type, which have common timestamps. */
struct fold_source {
	int64_t type;
	/* The spans of its device's compute, communication, copies and idle time; NULL: no device.
	 */
	const struct fold_reach *reach;
	int64_t period_ns; /* 0: unknown; rows wait until it is known       */
	bool failed;	   /* rows were folded with a wrong period, or not at all */
	struct fold_row *rows;
	size_t nrows, cap_rows;
	int64_t *ticks; /* timestamps as read, without repetitions           */
	size_t nticks, cap_ticks;
	int64_t at_ns; /* time of the current sample                         */
	bool counts;   /* the current sample overlaps the window             */
	struct fold_bin share; /* what the current sample adds to its value's bin */
	unsigned at; /* index of the current sample in the curve             */
	struct fold_cursor cursor[4];
};

struct fold_ctx { /* shared by all parts, const */
	const struct nsx_trace *trace;
	struct nsx_progress *progress;
	const struct fold_reach *(*reach_of)(const void *arg, int64_t type);
	int64_t (*most_of)(const void *arg, int64_t type, int64_t metric);
	const void *arg;
	bool with_curves;
};

struct fold {
	const struct fold_ctx *ctx;
	struct fold_source *sources;
	struct fold_series **series;
	size_t nsources, cap_sources, nseries, cap_series;
	struct nsx_groups keys; /* series by (type, metric) */
	uint32_t last;	 /* series of the last row            */
	int64_t rows, seen, bad; /* rows, rows seen so far, rows without a valid value; a row
				    that is read twice counts once           */
	bool only_failed; /* second pass: only sources that failed */
	bool too_many; /* more than FOLD_MAX_SERIES series */
};

/* Row function for nsx_scan_run, with columns timestamp, type, metric, value; ctx is a fold. */
int fold_on_row(void *fold, int64_t rid, const struct nsx_val *v, struct nsx_err *err);
/* Ends the first pass over a source's rows, when its period is known; 0: it has none. Adds the rows
 * that waited for it. If another one was used, the sums are discarded, and the source has failed.
 */
int fold_settle(struct fold *f, struct fold_source *s, int64_t period_ns, struct nsx_err *err);
/* Adds `from` to f and takes over its memory. Errors: NSX_E_NOMEM. */
int fold_merge(struct fold *f, struct fold *from, struct nsx_err *err);
void fold_done(struct fold *f);

/* Statistics of a counter with known period and GPU; scope_ns: length of each scope. */
int fold_finish(const struct fold_series *x, const int64_t *scope_ns,
		struct nsx_metric *m, struct nsx_err *err);
/* Fills ret with NSX_CURVE_BINS means over time. Each sample counts for its whole period. */
void fold_draw(const struct fold_curve *x, const struct nsx_window *w,
	       int64_t period_ns, float *ret);

/* The sampling period: the median difference between ticks, or a round figure within 0.3 % of it;
 * 0: all ticks are equal. Sorts ticks and removes repetitions. Errors: negative.
 */
int64_t fold_period(int64_t *ticks, size_t *n, struct nsx_err *err);

#endif
