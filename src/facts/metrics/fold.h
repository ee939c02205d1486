/* fold.h - what one part of the sample table adds up to. */
#ifndef METRICS_FOLD_H
#define METRICS_FOLD_H

#include "base/group.h"
#include "facts/metrics/values.h"
#include "sqlite/scan.h"

enum { FOLD_MAX_SERIES = 4096 };

struct fold_series {
	int64_t type, metric;
	uint32_t source, next; /* the one that followed last time */
	int64_t lost; /* rows without a usable value */
	unsigned __int128 comm_squares; /* of the time under communication */
	struct fold_values values;
	struct fold_curve { /* samples by instant; NULL: not asked for       */
		uint64_t sum[NSX_CURVE_BINS];
		uint32_t n[NSX_CURVE_BINS];
	} *curve;
};

/* Where |spans before x| is asked again and again, mostly forward. */
struct fold_reach {
	const struct nsx_spans *spans;
	int64_t *prefix; /* of nsx_spans_prefix */
};
struct fold_cursor {
	size_t at;
	int64_t before_ns; /* of the spans before at */
};

struct fold_row { /* kept until the period is known */
	int64_t at_ns, value;
	uint32_t series;
};

/* The samples of one type: they share their instants. */
struct fold_source {
	int64_t type;
	const struct fold_reach *reach; /* compute, comm, copy, idle of its
					   device; NULL: none               */
	int64_t period_ns; /* 0: not known yet, rows wait                   */
	bool failed;	   /* folded by a wrong period, or not at all       */
	struct fold_row *rows;
	size_t nrows, cap_rows;
	int64_t *ticks; /* instants as they came, repetitions left out       */
	size_t nticks, cap_ticks;
	int64_t at_ns; /* of the sample being read                           */
	bool counts;   /* it touches the window asked for                    */
	struct fold_bin share; /* what it adds to the bin of its value */
	unsigned at; /* part of the window, of the curve                     */
	struct fold_cursor cursor[4];
};

struct fold_ctx { /* shared by all parts, const */
	const struct nsx_trace *trace;
	struct nsx_progress *progress;
	const struct fold_reach *(*reach_of)(const void *arg, int64_t type);
	const void *arg;
	bool with_curves;
};

struct fold {
	const struct fold_ctx *ctx;
	struct fold_source *sources;
	struct fold_series **series;
	size_t nsources, cap_sources, nseries, cap_series;
	struct nsx_groups keys; /* of series: (type, metric) */
	uint32_t last;	 /* series of the row before          */
	int64_t rows, seen, bad; /* rows that are read again count once      */
	bool only_failed; /* second reading                   */
	bool too_many;
};

/* For nsx_scan_run: columns instant, type, metric, value; ctx a fold. */
int fold_on_row(void *fold, int64_t rid, const struct nsx_val *v,
		struct nsx_err *err);
/* Folds the rows that waited, by the period now known. */
int fold_flush(struct fold *f, struct fold_source *s, struct nsx_err *err);
/* Forgets what a source folded; its rows are to be read again. */
void fold_forget(struct fold *f, uint32_t source, int64_t period_ns);
/* Adds from to f and takes what it held. Errors: NSX_E_NOMEM. */
int fold_merge(struct fold *f, struct fold *from, struct nsx_err *err);
void fold_done(struct fold *f);

/* Figures of a counter whose period and GPU are known; scope_ns: the length of
 * each scope.
 */
int fold_finish(const struct fold_series *x, const int64_t *scope_ns,
		struct nsx_metric *m, struct nsx_err *err);
/* ret: NSX_CURVE_BINS means; a sample stands for its period. */
void fold_draw(const struct fold_curve *x, const struct nsx_window *w,
	       int64_t period_ns, float *ret);

/* Median of the differences of ticks, or the round figure within 0.3 % of it;
 * 0: no two differ. Sorts ticks and drops repetitions.  Errors: negative.
 */
int64_t fold_period(int64_t *ticks, size_t *n, struct nsx_err *err);

#endif
