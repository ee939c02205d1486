/* launch_queue.h - how much work waits on each stream; see launch_queue.c. */
#ifndef NSX_PASSES_LAUNCH_QUEUE_H
#define NSX_PASSES_LAUNCH_QUEUE_H

#include "passes/pass.h"

enum { NSX_NLAUNCH_QUEUE_COLS = 9 };
extern const struct nsx_col nsx_launch_queue_cols[NSX_NLAUNCH_QUEUE_COLS];

int nsx_fill_launch_queue(const struct nsx_run *run, struct nsx_table *table,
			  struct nsx_err *err) NSX_CHECKED;

#endif
