/* metrics_fold.h - what one part of the sample table adds up to.
 *
 * A fold keeps for each counter how much time and how many samples each value
 * had in each scope.  All of it are integers: folds add up to the same whatever
 * the order of rows and the number of parts.
 */
#ifndef METRICS_FOLD_H
#define METRICS_FOLD_H

#include "nsx/metrics.h"
#include "nsx/scan.h"

enum {
	FOLD_SMALL = 128,	/* values with a bin of their own            */
	FOLD_FIRST_OCTAVE = 7,	/* 128..255                                  */
	FOLD_OCTAVES = 43,	/* up to FOLD_MAX_VALUE                      */
	FOLD_STEPS = 64,	/* bins of an octave                         */
	FOLD_MAX_SERIES = 4096,
};
#define FOLD_MAX_VALUE (INT64_C(1) << 50) /* greater ones are no samples */

struct fold_bin { /* a cache line */
	uint64_t w_ns[NSX_NSCOPES];
	uint32_t n[NSX_NSCOPES];
	uint32_t all;
};
struct fold_wide { /* a bin of several values */
	struct fold_bin bin;
	int64_t lo, hi;
};

struct fold_series {
	int64_t type, metric;
	uint32_t source, next; /* the one that followed last time */
	struct fold_bin small[FOLD_SMALL];
	struct fold_wide *octave[FOLD_OCTAVES];
	/* Of values beyond the small ones: */
	__int128 sum, squares, weighted[NSX_NSCOPES];
	int64_t max[NSX_NSCOPES];
	unsigned __int128 comm_squares; /* of w_ns under communication */
};

/* Where |spans before x| is asked again and again, mostly forward. */
struct fold_reach {
	const struct nsx_spans *spans;
	int64_t *every64; /* total before span 64 k */
	int64_t total_ns;
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
	const struct fold_reach *reach; /* compute, comm, copy, busy of its
					   device; NULL: none               */
	int64_t period_ns; /* 0: not known yet, rows wait                   */
	bool failed;	   /* folded by a wrong period, or not at all       */
	struct fold_row *rows;
	size_t nrows, cap_rows;
	int64_t *ticks; /* instants as they came, repetitions left out       */
	size_t nticks, cap_ticks;
	int64_t at_ns; /* of the sample being read                           */
	bool counts;   /* it touches the window asked for                    */
	uint64_t w_ns[NSX_NSCOPES];
	uint32_t in[NSX_NSCOPES];
	struct fold_cursor cursor[8];
};

struct fold_ctx { /* shared by all parts, const */
	const struct nsx_trace *trace;
	struct nsx_progress *progress;
	const struct fold_reach *(*reach_of)(const void *arg, int64_t type);
	const void *arg;
};

struct fold {
	const struct fold_ctx *ctx;
	struct fold_source *sources;
	struct fold_series **series;
	size_t nsources, cap_sources, nseries, cap_series;
	uint32_t *slots; /* hash of (type, metric): index + 1 */
	uint32_t last;	 /* series of the row before          */
	int64_t rows, bad;
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

/* Median of the differences of ticks, or the round figure within 0.3 % of it;
 * 0: no two differ. Sorts ticks and drops repetitions.  Errors: negative.
 */
int64_t fold_period(int64_t *ticks, size_t *n, struct nsx_err *err);

int fold_reach_make(struct fold_reach *r, const struct nsx_spans *spans,
		    struct nsx_arena *a, struct nsx_err *err);

#endif
