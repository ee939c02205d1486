/* events.h - a report's events as rows. */
#ifndef NSX_EVENTS_H
#define NSX_EVENTS_H

#include "base/keymap.h"
#include "nsysrep/container.h"
#include "nsysrep/rows.h"

enum { NSX_MOST_UNKNOWN = 64, NSX_MOST_METRICS = 4096 };

struct nsx_rep_metric { /* one number in an event of counters                  */
	uint64_t type;
	int64_t id; /* its place among those of the type                     */
	size_t at, size;
};

struct nsx_events {
	struct nsx_rep_rows *rows;
	const struct nsx_container *report;
	struct nsx_unknown { /* events that nothing here can read           */
		uint64_t type, body, kind, n;
	} unknown[NSX_MOST_UNKNOWN];
	unsigned nunknown;
	uint64_t nevents, nbroken; /* read; damaged, so that no row is made  */
	uint64_t nblocks, nlost;   /* read; damaged                          */
	int64_t stacks, samples;   /* ids given out                          */
	struct nsx_keymap processes; /* that have a row, with their names    */
	struct nsx_keycache recent;
	struct nsx_rep_metric *metrics;  /* in the order of their types          */
	size_t nmetrics, metrics_cap;
};

/* Reads all blocks.  What is damaged is counted and passed over.  Owner of e: the
 * caller, nsx_events_done.
 */
int nsx_events_read(const struct nsx_container *report, struct nsx_rep_rows *rows,
		    struct nsx_events *ret, struct nsx_err *err) NSX_CHECKED;
void nsx_count_unknown(struct nsx_events *e, uint64_t type, uint64_t body,
		       uint64_t kind);

/* Counters: which the header describes, with a row for each name; and the values of
 * an event, a row each.
 */
int nsx_metrics_find(struct nsx_events *e, struct nsx_err *err) NSX_CHECKED;
int nsx_metrics_add(struct nsx_events *e, uint64_t type, int64_t time_ns,
		    struct nsx_piece values, struct nsx_err *err) NSX_CHECKED;

void nsx_events_done(struct nsx_events *e);

#endif
