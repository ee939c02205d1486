/* digest.h - what one rank did, small enough to send: the unit of everything
 * that looks at many ranks.
 *
 * A rank is a process on a device (or a process of an MPI job without one).  A
 * digest holds no host name (only its hash), path, environment or command line.
 * Instants are nanoseconds of the trace's own clock; utc_ns says where that
 * clock's zero lay on the host's clock when the capture began.
 *
 * Digests are sets of ranks: merging is union, so any tree of merges gives the
 * same bytes.  The file is a SQLite database that explains itself: its CREATE
 * statements say what each column means (digest_file.c has them).
 */
#ifndef NSX_FLEET_DIGEST_H
#define NSX_FLEET_DIGEST_H

#include "emit/target.h"
#include "facts/facts.h"
#include "fleet/column.h"
#include "report/report.h"

enum { NSX_DIGEST_VERSION = 7, NSX_DIGEST_MAGIC = 0x4e535844 /* "NSXD" */ };

enum nsx_detail { /* how much is kept of a rank */
	NSX_DETAIL_STEPS, /* no times of single collectives                  */
	NSX_DETAIL_COLLS, /* with them: the default                          */
	NSX_DETAIL_FULL,  /* and all kernel families, not the dearest 512    */
	NSX_NDETAILS
};
/* By its word; NULL is the default.  Errors: NSX_E_USAGE. */
int nsx_detail_parse(const char *word, enum nsx_detail *ret,
		     struct nsx_err *err) NSX_CHECKED;

enum nsx_rank_from { /* how the number of a rank is known, best first */
	NSX_RANK_PAYLOAD, /* NCCL said so when the communicator was made     */
	NSX_RANK_MPI,	  /* the table of MPI ranks                          */
	NSX_RANK_ENV,	  /* RANK, SLURM_PROCID and the like                 */
	NSX_RANK_FILE,	  /* the name of the trace                           */
	NSX_RANK_MARK,	  /* an NVTX mark "rank 3 of 8"                      */
	NSX_RANK_TITLE,	  /* the title of the process: "Worker_TP2"          */
	NSX_RANK_ORDER,	  /* nothing: numbered in order of host and process  */
	NSX_NRANK_FROM
};
extern const char *const nsx_rank_from_names[NSX_NRANK_FROM];

struct nsx_dstep { /* an iteration, in order of time */
	int64_t start_ns, wall_ns;
	int64_t part_ns[NSX_NPARTS];	/* add up to wall_ns                 */
	int64_t cause_ns[NSX_NCAUSES];	/* add up to the idle part           */
	int64_t kernels;		/* that do not communicate           */
	int64_t kernel_ns;		/* the sum of their lengths          */
	int64_t mpi_ns;			/* idle inside MPI calls that wait   */
	int64_t colls;			/* collectives that began before it  */
	bool steady;			/* lies in the steady window         */
};
struct nsx_blob {
	const void *p;
	size_t n;
};
struct nsx_didle { /* idle time by what is known of it, dearest first */
	unsigned cause;
	const char *detail; /* call, range; "": not known                    */
	int64_t ns, count;
};
struct nsx_dfamily { /* kernels of one base name, dearest first */
	const char *name;
	int64_t count, total_ns;
	struct nsx_blob sketch; /* as nsx_sketch_put wrote it                */
};
struct nsx_dkind { /* steps of an engine, of a kind and a class of sizes       */
	unsigned kind; /* enum nsx_step_kind                                 */
	int64_t size; /* from it to less than twice it; -1: of all           */
	int64_t count, total_ns, p50_ns; /* of their GPU time                */
};
struct nsx_dfinding { /* of the rank's whole trace, dearest first            */
	const char *key, *title; /* as in its report; Markdown               */
	unsigned severity, confidence; /* enum nsx_severity, nsx_confidence  */
	int64_t share_ppm; /* headroom, of the judged window; -1: not priced */
};
/* The columns of a channel as a file has them: numbers (column.h), compressed. */
struct nsx_dcolumns {
	struct nsx_blob code, start, length, exposed;
};
/* Collectives of one communicator, or of one stream where that is not known, in
 * order of start.  Codes are indices of ops.
 */
struct nsx_dop {
	int64_t channel;  /* number of its channel                           */
	const char *name; /* "allreduce", "mpi_barrier", ...                 */
	int64_t bytes;	  /* to three significant bits; -1: not known        */
	uint32_t holds;	  /* of a fleet: members that can hold each other    */
};
struct nsx_dchannel {
	int64_t number;	/* of the rank's, from 0                             */
	bool is_mpi;
	uint64_t comm;	/* hash of the communicator; 0: not known; of messages
			   nsx_messages_with                                 */
	int64_t stream; /* -1: of an MPI communicator; NSX_OF_MESSAGES       */
	size_t n;
	uint16_t *code;
	bool has_times; /* what follows is there                             */
	struct nsx_packed start, length;
	uint8_t *exposed; /* 255ths of the length in which no kernel of the
			     rank computed                                   */
	struct nsx_dop *ops;
	size_t nops;
	bool is_rest; /* of a fleet: sends and receives whose other side is not
			 recorded                                            */
	unsigned ncodes; /* as read: the greatest code, and one              */
	struct nsx_dcolumns bytes; /* what is written: of nsx_digest_seal    */
};
/* Not of collectives: calls of MPI that wait for messages, of which no rank's trace
 * says who sends them when.
 */
enum { NSX_OF_MESSAGES = -2 };
static inline bool nsx_is_of_messages(const struct nsx_dchannel *c)
{
	return c->stream == NSX_OF_MESSAGES;
}
/* The rank on the other side and the tag, -1 for no tag; 0: the rank is not known. */
static inline uint64_t nsx_messages_with(int64_t rank, int64_t tag)
{
	return rank < 0 ? 0 : (uint64_t)(tag + 1) << 32 | (uint64_t)(rank + 1);
}
static inline int64_t nsx_other_side(const struct nsx_dchannel *c)
{
	return (int64_t)(c->comm & UINT32_MAX) - 1;
}
struct nsx_digest {
	uint64_t who;	  /* hash of host, session, process and device       */
	uint64_t content; /* hash of all of it                               */
	int64_t rank;	  /* -1: not known                                   */
	unsigned rank_from; /* enum nsx_rank_from                              */
	int64_t world;	  /* ranks of the job; -1: not known                 */
	unsigned detail;  /* enum nsx_detail                                 */
	uint64_t host, gpu; /* hashes of names; 0: not known                 */
	const char *input; /* of a file that was just read: its name, without
			      folders; never written                          */
	const char *host_name; /* of a trace that was just read; never written,
				  NULL of a file                             */
	const char *gpu_model, *product, *schema; /* "": not known           */
	unsigned method; /* enum nsx_way_method: how steps were found        */
	const char *unit; /* the range or kernel that begins one; ""         */
	int64_t pid, device;
	int64_t utc_ns;	   /* of the clock's zero; -1: not known             */
	int64_t system_ns; /* the same on the host's steady clock; -1        */
	int64_t first_ns, last_ns; /* hull of the rank's GPU work, else of all */
	int64_t launches, launch_ns, syncs, sync_ns;
	int64_t copies, copied_bytes, copy_ns, peak_bytes; /* peak: -1       */
	bool is_partial; /* rows were dropped or damaged                     */
	struct nsx_dstep *steps;
	size_t nsteps;
	struct nsx_didle *idle;
	size_t nidle;
	struct nsx_dfamily *families;
	size_t nfamilies;
	struct nsx_dkind *kinds; /* by kind and size                         */
	size_t nkinds;
	struct nsx_dfinding *findings;
	size_t nfindings;
	struct nsx_dchannel *channels; /* by is_mpi, comm, stream            */
	size_t nchannels;
	struct nsx_arena *arena; /* owns all                                 */
};
void nsx_digest_free(struct nsx_digest *d); /* NULL is fine */
void nsx_digests_free(struct nsx_digest **v, size_t n); /* and v itself */

/* A list of n on an arena with room for one more: itself, or, when n has become 8,
 * 24, 56 ..., a longer copy.  For lists that grow in no other way.
 */
void *nsx_one_more(struct nsx_arena *a, void *list, size_t n, size_t size,
		   const char *what, struct nsx_err *err) NSX_CHECKED;

static inline int64_t nsx_coll_start(const struct nsx_dchannel *c, size_t i)
{
	return nsx_unpack(&c->start, i);
}
static inline int64_t nsx_coll_ns(const struct nsx_dchannel *c, size_t i)
{
	return nsx_unpack(&c->length, i);
}
static inline int64_t nsx_coll_end(const struct nsx_dchannel *c, size_t i)
{
	return nsx_coll_start(c, i) + nsx_coll_ns(c, i);
}
/* How long no kernel hides it.  This comes last: kernels that run beside it began
 * before the rank had to wait.
 */
static inline int64_t nsx_coll_exposed_ns(const struct nsx_dchannel *c, size_t i)
{
	return nsx_coll_ns(c, i) * c->exposed[i] / 255;
}
/* Whether it is of sends and receives: its operations hold two ranks. */
static inline bool nsx_is_of_pairs(const struct nsx_dchannel *c)
{
	return c->n && c->ops[0].holds == 2;
}

/* Fills c's columns of bytes from its collectives.  Errors: NSX_E_NOMEM. */
int nsx_channel_pack(struct nsx_dchannel *c, struct nsx_arena *a,
		     struct nsx_err *err) NSX_CHECKED;
/* The reverse, of a channel with n and bytes; a NULL: only checks, and counts
 * codes.  Errors: NSX_E_DATA, NSX_E_NOMEM.
 */
int nsx_channel_unpack(struct nsx_dchannel *c, struct nsx_arena *a,
		       struct nsx_err *err) NSX_CHECKED;

/* Which digest of two stands first, and which is kept of two of one rank of one
 * trace: one that lost no rows, then that of more detail, then of the greater content.
 */
int nsx_digest_cmp(const struct nsx_digest *a, const struct nsx_digest *b);
/* Sorts, and frees what is there twice, whose inputs are named to twice, unless that is
 * NULL.  Returns how many are left.
 */
size_t nsx_digest_unite(struct nsx_digest **v, size_t n, struct nsx_buf *twice);

/* Making ------------------------------------------------------------------------*/

struct nsx_digest_opts {
	enum nsx_detail detail;
	int64_t rank;		/* as the user says; -1                      */
	const char *rank_regex; /* NULL: the default                         */
	bool only_names; /* who the ranks are, nothing of what they did      */
	unsigned threads;
	unsigned keep; /* of digests that are read in the place of traces    */
	const struct nsx_at_hand *at_hand; /* NULL: none                     */
};
#define NSX_RANK_REGEX "rank[_-]?0*([0-9]+)"

/* The ranks of a report's trace, in order; its path is only looked at for their
 * number.  Owner: the caller, nsx_digests_free.
 */
int nsx_digest_make(const struct nsx_report *r, const struct nsx_digest_opts *o,
		    struct nsx_digest ***ret, size_t *ret_n,
		    struct nsx_err *err) NSX_CHECKED;
/* The same from a file: opens, loads, makes. */
int nsx_digest_read_trace(const char *path, const struct nsx_digest_opts *o,
			  struct nsx_digest ***ret, size_t *ret_n,
			  struct nsx_err *err) NSX_CHECKED;

/* Fills content, the channels' bytes and the numbers of channels; who makes or
 * changes a digest calls it last.
 */
int nsx_digest_seal(struct nsx_digest *d, struct nsx_err *err) NSX_CHECKED;

/* Files ---------------------------------------------------------------------------*/

/* A digest file in memory: add ranks in order (nsx_digest_cmp), sealed or read
 * with their bytes, then take its bytes.  Owner: the caller.
 */
struct nsx_digest_writer;
int nsx_digest_writer_new(struct nsx_digest_writer **ret,
			  struct nsx_err *err) NSX_CHECKED;
int nsx_digest_add(struct nsx_digest_writer *w, const struct nsx_digest *d,
		   struct nsx_err *err) NSX_CHECKED;
/* Borrowed until the writer is freed. */
int nsx_digest_image(struct nsx_digest_writer *w, const void **ret,
		     size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
void nsx_digest_writer_free(struct nsx_digest_writer *w);

/* A file for a digest, which may take the place of another; inputs: what this
 * run reads.  Borrows both.
 */
struct nsx_target nsx_digest_target(const char *path,
				    const char *const *inputs, size_t ninputs);
/* Writes ranks as one file, compressed where its name ends in ".zst"; ret_size
 * may be NULL.  Errors: NSX_E_IO.
 */
int nsx_digest_write(struct nsx_target *to, struct nsx_digest *const *v,
		     size_t n, size_t *ret_size, struct nsx_err *err)
	NSX_CHECKED;

/* What is kept of the channels that are read: columns to look at, bytes to write
 * again.  All is checked whatever is kept.
 */
enum { NSX_KEEP_COLUMNS = 1, NSX_KEEP_BYTES = 2 };

/* Reads the ranks of an image; name for messages.  Owner: as nsx_digest_make.
 * Errors: NSX_E_SCHEMA (no digest, or of a later version), NSX_E_DATA.
 */
int nsx_digest_parse(const void *image, size_t n, const char *name,
		     unsigned keep, struct nsx_digest ***ret, size_t *ret_n,
		     struct nsx_err *err) NSX_CHECKED;
int nsx_digest_load(const char *path, unsigned keep, struct nsx_digest ***ret,
		    size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
/* To look at. */
static inline int nsx_digest_read(const char *path, struct nsx_digest ***ret,
				  size_t *ret_n, struct nsx_err *err)
{
	return nsx_digest_load(path, NSX_KEEP_COLUMNS, ret, ret_n, err);
}
/* Whether a file is a digest, by its first bytes. */
bool nsx_digest_is(const char *path);

#endif
