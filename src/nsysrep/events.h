/* events.h - a report that is open, and its events as rows.
 *
 * Each block of events is walked once, and it is noted how many rows of which table it
 * has; after that rows are made when they are asked for, by any number of threads, each
 * with a walker of its own.
 */
#ifndef NSX_EVENTS_H
#define NSX_EVENTS_H

#include "nsysrep/container.h"
#include "nsysrep/payload.h"
#include "nsysrep/rows.h"
#include "sqlite/scan.h"

enum { NSX_MOST_UNKNOWN = 64, NSX_MOST_METRICS = 4096, NSX_SMALL_TYPES = 256 };

struct nsx_rep_metric { /* one number in an event of counters                  */
	uint64_t type;
	int64_t id; /* its place among those of the type                     */
	size_t at, size;
};
/* Stands for a type, where events are read but for their stacks. */
#define NSX_CUDA_STACK UINT64_MAX
struct nsx_unknown { /* events that nothing here can read                       */
	uint64_t type, body, kind, n;
};
struct nsx_rep_mpi { /* of a process: the domain of NVTX in which MPI's calls are
			ranges; or its rank                                   */
	uint64_t pid, n;
	bool is_rank;
};
int nsx_rep_mpi_order(const void *a, const void *b);
struct nsx_rep_process { /* told by an event; the same may be told often        */
	size_t block, place;
	uint64_t pid;
	const char *name;
};

/* What walking a block found. */
struct nsx_rep_index {
	uint32_t nevents, nbroken; /* nbroken: damaged, so that no row is made */
	bool is_lost;		   /* it is damaged as a whole               */
	uint32_t rows[NSX_REP_NTABLES];
	uint32_t nstacks;
	int64_t least_ns, most_ns; /* when rows begin; the reverse: none does */
	int64_t stacks, samples; /* ids given out in blocks before it        */
};

struct nsx_rep {
	struct nsx_container file;
	struct nsx_rep_def def[NSX_REP_NTABLES];
	struct nsx_rep_strings strings;
	struct nsx_rep_schemas schemas;
	struct nsx_rep_rows facts;
	struct nsx_rep_metric *metrics; /* in the order of their types       */
	size_t nmetrics, metrics_cap;
	struct nsx_rep_index *index; /* by block                             */
	/* By type of event: bits of the tables that such events have rows of. */
	uint64_t tables[NSX_SMALL_TYPES];
	struct nsx_rep_mpi *mpi; /* in their order                           */
	size_t nmpi;
	struct nsx_rep_process *processes;
	size_t nprocesses, processes_cap;
	struct nsx_unknown unknown[NSX_MOST_UNKNOWN];
	unsigned nunknown;
	enum nsx_rep_table table[NSX_REP_NTABLES]; /* those with rows        */
	size_t ntables;
};

/* Walks the events of one block after the other. */
struct nsx_walker {
	const struct nsx_rep *rep;
	struct nsx_block_buf buf;
	uint64_t type;	/* of the event at hand                              */
	int64_t stacks, samples;
	struct nsx_buf text; /* of a payload                                 */
	/* Rows handed over; or, with notes, counted. */
	enum nsx_rep_table wanted;
	int column[NSX_MAX_COLUMNS]; /* of it; -1: none                      */
	unsigned ncolumns;
	int64_t rid;
	nsx_row_fn fn;
	void *ctx;
	struct nsx_notes *notes;
};

/* What is found only when events are walked for the first time. */
struct nsx_notes {
	struct nsx_rep_index at; /* the block                                */
	size_t block;
	uint64_t tables[NSX_SMALL_TYPES];
	struct nsx_rep_mpi *mpi;
	struct nsx_rep_process *processes;
	size_t nmpi, mpi_cap, nprocesses, processes_cap;
	struct nsx_unknown unknown[NSX_MOST_UNKNOWN];
	unsigned nunknown;
	struct nsx_arena *arena; /* of names of processes                    */
};

/* Errors: NSX_E_DATA: the block is damaged; those of fn; NSX_E_NOMEM. */
int nsx_walk_block(struct nsx_walker *w, size_t block, struct nsx_err *err) NSX_CHECKED;
void nsx_walker_done(struct nsx_walker *w);

/* Counts, or hands over. */
int nsx_walk_row(struct nsx_walker *w, enum nsx_rep_table t,
		 const struct nsx_row_of *of, struct nsx_err *err) NSX_CHECKED;
static inline void nsx_note_instant(struct nsx_notes *n, int64_t at_ns)
{
	n->at.least_ns = NSX_MIN(n->at.least_ns, at_ns);
	n->at.most_ns = NSX_MAX(n->at.most_ns, at_ns);
}
void nsx_count_unknown(struct nsx_unknown *v, unsigned *n, const struct nsx_unknown *x);

/* An NVTX event, a range of MPI among them. */
int nsx_walk_nvtx(struct nsx_walker *w, const struct nsx_msg *body,
		  struct nsx_err *err) NSX_CHECKED;

/* Counters: which the header describes, with a row for each name; and the values of
 * an event, a row each.
 */
int nsx_metrics_find(struct nsx_rep *rep, struct nsx_err *err) NSX_CHECKED;
int nsx_metrics_add(struct nsx_walker *w, int64_t time_ns, struct nsx_piece values,
		    struct nsx_err *err) NSX_CHECKED;

/* Walks all blocks side by side. */
int nsx_rep_index(struct nsx_rep *rep, struct nsx_err *err) NSX_CHECKED;

#endif
