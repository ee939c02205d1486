/* digest.h - digests: what one rank did, small enough to send. Everything that looks at
 * many ranks reads digests.
 *
 * A rank is a process on a device (or a process of an MPI job without a device). A digest
 * holds no host name (only its hash), path, environment or command line. Instants are
 * nanoseconds of the trace's own clock; utc_ns is the host's time at that clock's zero.
 *
 * A file of digests is a set of ranks. Merging is union, so any tree of merges gives the
 * same bytes. The file is a SQLite database whose CREATE statements explain each column
 * (see digest_file.c).
 */
#pragma once

#include "emit/target.h"
#include "facts/facts.h"
#include "fleet/column.h"
#include "fleet/totals.h"
#include "report/report.h"

enum {
	NSX_DIGEST_VERSION = 10, NSX_OLDEST_DIGEST = 8, /* the oldest version that is read */
	NSX_DIGEST_MAGIC = 0x4e535844 /* "NSXD" */
};

enum nsx_detail { /* how much of a rank a digest keeps */
	NSX_DETAIL_STEPS, /* no times of single collectives */
	NSX_DETAIL_COLLS, /* with times of single collectives: the default */
	NSX_DETAIL_FULL,  /* COLLS, and all kernel families instead of the largest 512 */
	NSX_NDETAILS
};
/* Parses the word of --detail; NULL gives the default. Errors: NSX_E_USAGE. */
int nsx_detail_parse(const char *word, enum nsx_detail *ret, struct nsx_err *err) NSX_CHECKED;

enum nsx_rank_from { /* where the number of a rank comes from, best first */
	NSX_RANK_PAYLOAD, /* NCCL, when the communicator was made */
	NSX_RANK_MPI,	  /* the table of MPI ranks */
	NSX_RANK_ENV,	  /* RANK, SLURM_PROCID and the like */
	NSX_RANK_FILE,	  /* the name of the trace */
	NSX_RANK_MARK,	  /* an NVTX mark such as "rank 3 of 8" */
	NSX_RANK_TITLE,	  /* the process title, such as "Worker_TP2" */
	NSX_RANK_ORDER,	  /* nowhere: numbered in order of host and process */
	NSX_NRANK_FROM
};
extern const char *const nsx_rank_from_names[NSX_NRANK_FROM];

struct nsx_dstep { /* an iteration; in order of time */
	int64_t start_ns, wall_ns;
	int64_t part_ns[NSX_NPARTS];	/* by class: sum is wall_ns */
	int64_t cause_ns[NSX_NCAUSES];	/* by cause: sum is the idle part */
	int64_t kernels;		/* kernels that do not communicate */
	int64_t kernel_ns;		/* sum of their durations */
	int64_t mpi_ns;			/* idle time inside MPI calls that wait */
	int64_t colls;			/* collectives that began before the iteration */
	bool steady;			/* lies in the steady window */
};
struct nsx_blob {
	const void *p;
	size_t n;
};
struct nsx_didle { /* idle time by cause, longest first */
	unsigned cause;
	const char *detail; /* call or range; "": not known */
	int64_t ns, count;
};
struct nsx_dfamily { /* kernels of one base name, longest total first */
	const char *name;
	int64_t count, total_ns;
	struct nsx_blob sketch; /* written by nsx_sketch_put */
};
struct nsx_dkind { /* steps of an inference engine, of one kind and one class of sizes */
	unsigned kind; /* enum nsx_step_kind */
	int64_t size; /* sizes from this to less than twice this; -1: all */
	int64_t count, total_ns, p50_ns; /* number, sum and median of the steps' GPU times */
	int64_t sizes; /* sum of the steps' sizes */
};
struct nsx_dfinding { /* a finding about the rank's whole trace, most expensive first */
	const char *key, *title; /* as in the rank's report; Markdown */
	unsigned severity, confidence; /* enum nsx_severity, nsx_confidence */
	int64_t share_ppm; /* headroom as a share of the judged window; -1: not priced */
	int64_t low_ppm, high_ppm; /* range of share_ppm */
	bool is_minor; /* not on the first page */
	const char *place; /* as in the rank's report, Markdown; "": not known, or version 8 */
};
/* Columns of a channel; exposed: part of the length without a computing kernel of the rank, in
 * 1/255. In a file they are encoded integers (column.h), compressed.
 */
enum { NSX_CODE, NSX_START, NSX_LENGTH, NSX_EXPOSED, NSX_NCOLUMNS };
/* The collectives of one communicator, or of one stream if the communicator is not known,
 * in order of start. A code is an index into ops.
 */
struct nsx_dop {
	int64_t channel;  /* number of its channel */
	const char *name; /* "allreduce", "mpi_barrier", ... */
	int64_t bytes;	  /* rounded to three significant bits; -1: not known */
	uint32_t holds;	  /* set by the fleet: the number of members that can delay each other */
};
struct nsx_dchannel {
	int64_t number;	/* index among the rank's channels, from 0 */
	bool is_mpi;
	uint64_t comm;	/* hash of the communicator; 0: unknown. For messages: nsx_messages_with */
	int64_t stream; /* the CUDA stream; -1: an MPI communicator; or NSX_OF_MESSAGES */
	size_t n;
	bool has_times; /* the times were recorded, too, not only the codes */
	bool is_wide;	/* codes are uint16_t, else uint8_t */
	const void *code;
	struct nsx_packed column[NSX_NCOLUMNS]; /* the columns besides the codes */
	struct nsx_dop *ops;
	size_t nops;
	bool is_exchange; /* set by the fleet: MPI calls that also wait for other ranks, or return before
			     the other side comes */
	bool is_rest; /* set by the fleet: whom they wait for cannot be known, so they are not matched */
	unsigned ncodes; /* set by the reader: greatest code + 1 */
	struct nsx_blob bytes[NSX_NCOLUMNS]; /* the encoded columns, filled by nsx_digest_seal */
};
/* Stream of a channel of MPI calls that wait for messages instead of collectives. No rank's trace
 * shows who sends these messages, or when.
 */
enum { NSX_OF_MESSAGES = -2 };
#define NSX_SENDRECV_OF_TWO "MPI_Sendrecv with two ranks"
static inline bool nsx_is_of_messages(const struct nsx_dchannel *c)
{
	return c->stream == NSX_OF_MESSAGES;
}
/* Identifies messages by the rank on the other side and the tag (-1: no tag). 0 if the rank is
 * unknown.
 */
static inline uint64_t nsx_messages_with(int64_t rank, int64_t tag)
{
	return rank < 0 ? 0 : (uint64_t)(tag + 1) << 32 | (uint64_t)(rank + 1);
}
static inline int64_t nsx_other_side(const struct nsx_dchannel *c)
{
	return (int64_t)(c->comm & UINT32_MAX) - 1;
}
struct nsx_digest {
	uint64_t who;	  /* hash of host, session, process and device */
	uint64_t content; /* hash of the whole digest */
	int64_t rank;	  /* -1: not known */
	unsigned rank_from; /* enum nsx_rank_from */
	int64_t world;	  /* ranks of the job; -1: not known */
	unsigned detail;  /* enum nsx_detail: how much is kept */
	uint64_t host, gpu; /* hashes of names; 0: not known */
	const char *input; /* name of the file it was just read from, without folders; never
			      written */
	const char *host_name; /* set for a trace just read, NULL for a file; never written */
	const char *gpu_model, *product, *schema; /* "": not known */
	unsigned method; /* enum nsx_way_method: how steps were found */
	const char *unit; /* name of the range or kernel that begins a step; "": none */
	int64_t pid, device;
	const char *gpu_label; /* the report's word for the GPU; "": its ordinal */
	int64_t utc_ns;	   /* UTC at the clock's zero; -1: not known */
	int64_t system_ns; /* the host's steady clock at that zero; -1: not known */
	/* first start and last end of the rank's GPU work, or of all events if it has none */
	int64_t first_ns, last_ns;
	int64_t launches, launch_ns, syncs, sync_ns;
	int64_t copies, copied_bytes, copy_ns, peak_bytes; /* peak_bytes -1: not known */
	bool is_partial; /* rows were dropped or damaged */
	const char *damage; /* why; NULL: none, or the digest comes from a file */
	struct nsx_totals *whole; /* totals of the trace; only its first rank has them */
	size_t nwhole;		  /* number of elements of `whole`: 0 or 1 */
	struct nsx_dstep *steps;
	size_t nsteps;
	struct nsx_didle *idle;
	size_t nidle;
	struct nsx_dfamily *families;
	size_t nfamilies;
	struct nsx_dkind *kinds; /* by kind and size */
	size_t nkinds;
	struct nsx_dfinding *findings;
	size_t nfindings;
	struct nsx_dchannel *channels; /* ordered by is_mpi, comm, stream */
	size_t nchannels;
	struct nsx_arena *arena; /* owns everything */
};
/* The text to print after the word GPU. */
static inline const char *nsx_digest_gpu(const struct nsx_digest *d, struct nsx_arena *a)
{
	return *d->gpu_label ? d->gpu_label : nsx_arena_printf(a, "%lld", (long long)d->device);
}
void nsx_digest_free(struct nsx_digest *d); /* NULL is fine */
void nsx_digests_free(struct nsx_digest **v, size_t n); /* frees v, too */

/* Makes room for one more element in a list of n on an arena. Returns the list itself, or a longer
 * copy when n is 0, 8, 24, 56 ... The list must grow only by this function.
 */
void *nsx_one_more(struct nsx_arena *a, void *list, size_t n, size_t size,
		   const char *what, struct nsx_err *err) NSX_CHECKED;

/* How many members an operation of NCCL or MPI holds up: see nsx_dop. On a grid or ring of unknown
 * shape these are a rank and the neighbours on both sides.
 */
enum { NSX_HOLDS_NEIGHBOURS = 3 };
uint32_t nsx_op_holds(const char *name);

/* Index of its operation in ops. */
static inline size_t nsx_coll_code(const struct nsx_dchannel *c, size_t i)
{
	return c->is_wide ? ((const uint16_t *)c->code)[i] : ((const uint8_t *)c->code)[i];
}
static inline const struct nsx_dop *nsx_coll_op(const struct nsx_dchannel *c, size_t i)
{
	return &c->ops[nsx_coll_code(c, i)];
}
static inline int64_t nsx_coll_start(const struct nsx_dchannel *c, size_t i)
{
	return nsx_unpack(&c->column[NSX_START], i);
}
static inline int64_t nsx_coll_ns(const struct nsx_dchannel *c, size_t i)
{
	return nsx_unpack(&c->column[NSX_LENGTH], i);
}
static inline int64_t nsx_coll_end(const struct nsx_dchannel *c, size_t i)
{
	return nsx_coll_start(c, i) + nsx_coll_ns(c, i);
}
/* Exposed communication of collective i. It lies at the collective's end: kernels that run
 * beside it began before the rank had to wait.
 */
static inline int64_t nsx_coll_exposed_ns(const struct nsx_dchannel *c, size_t i)
{
	return nsx_coll_ns(c, i) * nsx_unpack(&c->column[NSX_EXPOSED], i) / 255;
}
/* Whether the channel holds sends and receives, whose operations hold two ranks. */
static inline bool nsx_is_of_pairs(const struct nsx_dchannel *c)
{
	return c->n && c->ops[0].holds == 2;
}

/* Sets the columns of c's collectives; v: one array for each. Errors: NSX_E_NOMEM. */
int nsx_channel_set(struct nsx_dchannel *c, int64_t *const *v, struct nsx_arena *a,
		    struct nsx_err *err) NSX_CHECKED;
/* Fills c->bytes from c's collectives. Errors: NSX_E_NOMEM. */
int nsx_channel_pack(struct nsx_dchannel *c, struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;
/* Fills c's collectives from n and bytes. If a is NULL, only checks them and counts codes.
 * Errors: NSX_E_DATA, NSX_E_NOMEM.
 */
int nsx_channel_unpack(struct nsx_dchannel *c, struct nsx_arena *a,
		       struct nsx_err *err) NSX_CHECKED;

/* Orders digests. Of two digests of one rank of one trace the first is kept: the one that lost no
 * rows, then the one with more detail, then the one with the greater content hash. Digests that
 * begin at different times are of different processes, unless one of them lost rows: containers
 * number their processes alike.
 */
int nsx_digest_cmp(const struct nsx_digest *a, const struct nsx_digest *b);
/* Names of inputs that are not used: copies, and other captures of a process than the one used. */
struct nsx_twice {
	struct nsx_buf copies, used, unused;
};
/* Sorts digests and frees duplicates; appends the inputs of duplicates to `twice` unless it
 * is NULL. Returns how many are left.
 */
size_t nsx_digest_unite(struct nsx_digest **v, size_t n, struct nsx_twice *twice);

/* Making ------------------------------------------------------------------------*/

struct nsx_digest_opts {
	enum nsx_detail detail;
	int64_t rank;		/* rank given by the user; -1: not given */
	const char *rank_regex; /* NULL: the default */
	bool only_names; /* reads only which ranks there are, not their work */
	unsigned threads;
	const struct nsx_step_patterns *steps_from; /* NULL: names that are known */
	unsigned keep; /* NSX_KEEP_*, for inputs that are digests */
	const struct nsx_at_hand *at_hand; /* cache of reports; NULL: none */
};
#define NSX_RANK_REGEX "rank[_-]?0*([0-9]+)"

/* Makes the digests of a report's trace, in order of rank. The trace's path is used only to
 * guess rank numbers. Owner: the caller, nsx_digests_free.
 */
int nsx_digest_make(const struct nsx_report *r, const struct nsx_digest_opts *o,
		    struct nsx_digest ***ret, size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
/* Like nsx_digest_make for a trace file, which it opens and loads. */
int nsx_digest_read_trace(const char *path, const struct nsx_digest_opts *o,
			  struct nsx_digest ***ret, size_t *ret_n, struct nsx_err *err) NSX_CHECKED;

/* Fills content, the channels' bytes and the channels' numbers. Call it last after making
 * or changing a digest.
 */
int nsx_digest_seal(struct nsx_digest *d, struct nsx_err *err) NSX_CHECKED;

/* Files ---------------------------------------------------------------------------*/

/* A digest file in memory. Add ranks in order (nsx_digest_cmp), sealed or read with their
 * bytes, then take the image. Owner: the caller.
 */
struct nsx_digest_writer;
int nsx_digest_writer_new(struct nsx_digest_writer **ret, struct nsx_err *err) NSX_CHECKED;
int nsx_digest_add(struct nsx_digest_writer *w, struct nsx_digest *d,
		   struct nsx_err *err) NSX_CHECKED;
/* Borrowed until the writer is freed. */
int nsx_digest_image(struct nsx_digest_writer *w, const void **ret,
		     size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
void nsx_digest_writer_free(struct nsx_digest_writer *w);

/* The target of a digest file, which may replace another digest. inputs: what this run
 * reads and must not overwrite. Borrows path and inputs.
 */
struct nsx_target nsx_digest_target(const char *path, const char *const *inputs, size_t ninputs);
/* Writes ranks to one file, compressed if its name ends in ".zst". ret_size may be NULL.
 * Errors: NSX_E_IO.
 */
int nsx_digest_write(struct nsx_target *to, struct nsx_digest *const *v,
		     size_t n, size_t *ret_size, struct nsx_err *err)
	NSX_CHECKED;

/* The form in which a reader keeps channels: decoded columns, or bytes to write again. The reader
 * checks everything in either case.
 */
enum { NSX_KEEP_COLUMNS = 1, NSX_KEEP_BYTES = 2 };

/* Reads the ranks of an image. name: for messages. Owner: as nsx_digest_make. Errors:
 * NSX_E_SCHEMA (not a digest, or of a later version), NSX_E_DATA.
 */
int nsx_digest_parse(const void *image, size_t n, const char *name,
		     unsigned keep, struct nsx_digest ***ret, size_t *ret_n,
		     struct nsx_err *err) NSX_CHECKED;
int nsx_digest_load(const char *path, unsigned keep, struct nsx_digest ***ret,
		    size_t *ret_n, struct nsx_err *err) NSX_CHECKED;
/* Whether a file looks like a digest, by its first bytes. */
bool nsx_digest_is(const char *path);
