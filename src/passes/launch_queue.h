/* launch_queue.h - how much work waits on each stream; see launch_queue.c. */
#ifndef NSX_PASSES_LAUNCH_QUEUE_H
#define NSX_PASSES_LAUNCH_QUEUE_H

#include "nsx/pass.h"

extern const struct nsx_layout nsx_launch_queue_layout;

int nsx_fill_launch_queue(const struct nsx_run *run, struct nsx_table *table,
			  struct nsx_err *err) NSX_CHECKED;

#endif
