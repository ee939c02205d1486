/* events.h - an open report and its events as rows.
 *
 * Each block of events is walked once to count its rows per table. After that rows are made on
 * request, by any number of threads, each with its own walker.
 */
#pragma once

#include "nsysrep/container.h"
#include "nsysrep/layout.h"
#include "nsysrep/payload.h"
#include "nsysrep/rows.h"
#include "nsysrep/stacks.h"
#include "sqlite/source.h"

enum { NSX_MOST_UNKNOWN = 64, NSX_MOST_METRICS = 4096, NSX_SMALL_TYPES = 256 };

struct nsx_rep_metric { /* one number in a counter event                       */
	uint64_t type;
	int64_t id; /* index of the counter within its type                  */
	size_t at, size;
};
/* A type of our own in nsx_unknown: stacks of CUDA calls, which are not read. */
#define NSX_CUDA_STACK UINT64_MAX
struct nsx_unknown { /* n events of one kind that cannot be read                */
	uint64_t type, body, kind, n;
};
struct nsx_rep_mpi { /* a process's NVTX domain in which calls are ranges, or its rank */
	uint64_t pid, n;
	enum { NSX_CALLS_MPI, NSX_CALLS_UCX, NSX_IS_RANK } what;
};
int nsx_rep_mpi_order(const void *a, const void *b);
struct nsx_rep_process { /* named by an event; repeats are possible             */
	uint64_t pid;
	const char *name;
};

/* Events with stacks. Rows refer to the stacks of their kind by number. */
enum nsx_rep_stacked { NSX_OF_SAMPLE, NSX_OF_CALL, NSX_NSTACKED };

/* Results of walking a block. */
struct nsx_rep_index {
	uint32_t nevents, nbroken; /* nbroken: damaged events, which give no rows */
	bool is_lost;		   /* the whole block is damaged             */
	uint32_t rows[NSX_REP_NTABLES];
	int64_t least_ns, most_ns; /* first and last start of a row; least > most: no rows */
	int64_t nstacks[NSX_NSTACKED];
	int64_t before[NSX_NSTACKED]; /* stacks in earlier blocks: ids count on */
	bool is_kept[NSX_NSTACKED]; /* all stacks of the block are in memory */
	/* for each stack of the block: its index in content of the report's struct nsx_rep_stacks;
	 * NULL: the block's stacks are not kept
	 */
	const uint16_t *kept[NSX_NSTACKED];
	/* Bit set of the tables whose events are all among `few`: copies of events, as a message
	 * like that of the block.
	 */
	uint64_t has_few;
	struct nsx_piece few;
};

struct nsx_rep {
	struct nsx_container file;
	struct nsx_rep_def def[NSX_REP_NTABLES];
	struct nsx_rep_strings strings;
	struct nsx_rep_schemas schemas;
	struct nsx_rep_rows facts;
	struct nsx_rep_metric *metrics; /* ordered by type                   */
	size_t nmetrics, metrics_cap;
	struct nsx_rep_index *index; /* by block                             */
	struct nsx_rep_stacks stacks[NSX_NSTACKED];
	struct nsx_walker *idle; /* is not in use; may be NULL               */
	/* By event type: bit set of the tables in which its events have rows. */
	uint64_t tables[NSX_SMALL_TYPES];
	struct nsx_rep_mpi *mpi; /* sorted by nsx_rep_mpi_order              */
	size_t nmpi;
	struct nsx_rep_process *processes;
	size_t nprocesses, processes_cap;
	struct nsx_unknown unknown[NSX_MOST_UNKNOWN];
	unsigned nunknown;
	enum nsx_rep_table table[NSX_REP_NTABLES]; /* the tables with rows   */
	size_t ntables;
};

struct nsx_rep_json { /* a payload, and its JSON                             */
	uint64_t pid, schema;
	struct nsx_buf payload, text;
};
enum { NSX_REP_TEXTS = 256 };

/* Walks the events of a block, one after the other. */
struct nsx_walker {
	struct nsx_rep *rep;
	struct nsx_block_buf buf;
	struct nsx_layouts layouts;
	struct nsx_event_layout *learnt; /* layout of the current message, if it is new */
	uint64_t type;	/* type of the current event                         */
	int64_t nstacks[NSX_NSTACKED]; /* ids used so far                    */
	int64_t *first[NSX_NSTACKED]; /* by content: id of its first stack; 0: none */
	struct nsx_rep_json json[NSX_REP_TEXTS]; /* by the payload's hash    */
	/* Rows go to the uses of their tables; with notes they are only counted. */
	/* Bit sets of the tables whose rows are wanted of the block, and of those among them whose
	 * rows are not in memory.
	 */
	uint64_t asked, wanted;
	struct nsx_source_use *use[NSX_REP_NTABLES];
	struct nsx_notes *notes;
};

/* The facts that a walk over all events collects, before rows are made. */
struct nsx_notes {
	struct nsx_rep_index at; /* results for the current block            */
	/* Instants of the block's rows made from layouts, as nsx_layout_bits has them. */
	uint64_t least_bits, most_bits;
	uint64_t tables[NSX_SMALL_TYPES];
	struct nsx_rep_mpi *mpi;
	struct nsx_rep_process *processes;
	size_t nmpi, mpi_cap, nprocesses, processes_cap;
	struct nsx_unknown unknown[NSX_MOST_UNKNOWN];
	unsigned nunknown;
	struct nsx_rep_stacks *stacks; /* stacks of the report, by kind */
	struct nsx_rep_order order[NSX_NSTACKED];
	uint64_t made; /* bit set of the tables in which the current event has rows */
	/* Events of tables that have few in a block are copied, so that it need not be unpacked
	 * again for them.
	 */
	uint64_t many; /* bit set of the tables that have too many           */
	size_t of[NSX_REP_NTABLES]; /* bytes of the events of the current block, by table */
	size_t most;	 /* most bytes of a table's events that are copied    */
	size_t room;	 /* bytes that may still be copied                    */
	struct nsx_rep_copy { /* an event of the current block to be copied  */
		struct nsx_piece event;
		uint64_t made;
	} *copy;
	size_t ncopies, copies_cap;
	struct nsx_arena *arena; /* owner of process names, stacks and copies */
};

/* The walker that is not in use, or a new one, whose pages cost more time than a block does. The
 * caller sets use or notes. Owner: the caller, nsx_walker_give.
 */
struct nsx_walker *nsx_walker_take(struct nsx_rep *rep);
void nsx_walker_give(struct nsx_walker *w);
void nsx_walker_done(struct nsx_walker *w); /* w may be NULL                 */
/* wanted: bit set of the tables whose rows are wanted; with notes it has no meaning. Errors:
 * NSX_E_DATA: the block is damaged; those of the uses; NSX_E_NOMEM.
 */
int nsx_walk_block(struct nsx_walker *w, uint64_t wanted, size_t block,
		   struct nsx_err *err) NSX_CHECKED;
/* Notes that the current event is damaged; returns 0. */
int nsx_walk_broken(struct nsx_walker *w);
static inline bool nsx_is_wanted(const struct nsx_walker *w, enum nsx_rep_table t)
{
	return w->wanted >> t & 1;
}

/* Counts a row or hands it to fn. */
int nsx_walk_row(struct nsx_walker *w, enum nsx_rep_table t,
		 const struct nsx_row_of *of, struct nsx_err *err) NSX_CHECKED;
static inline void nsx_note_row(struct nsx_notes *n, enum nsx_rep_table t)
{
	n->at.rows[t]++;
	n->made |= UINT64_C(1) << t;
}
static inline void nsx_note_instant(struct nsx_notes *n, int64_t at_ns)
{
	n->at.least_ns = NSX_MIN(n->at.least_ns, at_ns);
	n->at.most_ns = NSX_MAX(n->at.most_ns, at_ns);
}
void nsx_count_unknown(struct nsx_unknown *v, unsigned *n, const struct nsx_unknown *x);

/* Walks an NVTX event, which may be an MPI range. */
int nsx_walk_nvtx(struct nsx_walker *w, const struct nsx_msg *body,
		  struct nsx_err *err) NSX_CHECKED;
/* Whether the event is a row of numbers and text, whatever they are. */
bool nsx_nvtx_is_plain(const struct nsx_walker *w, const struct nsx_msg *body);

/* GPU counters. nsx_metrics_find lists the counters that the header describes and adds a row for
 * each name. nsx_metrics_add adds a row for each value of an event.
 */
void nsx_metrics_find(struct nsx_rep *rep);
int nsx_metrics_add(struct nsx_walker *w, int64_t time_ns, struct nsx_piece values,
		    struct nsx_err *err) NSX_CHECKED;

/* Walks all blocks in parallel. */
int nsx_rep_index(struct nsx_rep *rep, struct nsx_err *err) NSX_CHECKED;
