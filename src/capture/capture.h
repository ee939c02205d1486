/* capture.h - one capture, from the command line to the record of it.
 *
 * The steps run in the order in which they stand here.  All files are made in
 * a folder of their own inside the result folder and moved up when they are
 * whole, so that whatever ends a capture leaves no half file.
 */
#ifndef NSX_CAPTURE_H
#define NSX_CAPTURE_H

#include <time.h>
#include "capture/nsys.h"
#include "capture/proc.h"

struct nsx_capture_opts {
	const char *out, *gpu_id, *preset, *trace, *capture_range, *extra, *nsys, *target;
	const char *session; /* of a service that runs under nsys launch; NULL */
	double duration_s; /* negative: until the command ends            */
	double warmup_pct; /* of the capture's length; 0: none            */
	bool keep_rep, compress_rep, delete_rep, export, no_explain, convert, digest;
};

enum nsx_ended {		     /* why the recording came to its end */
		 NSX_ENDED_ALONE,    /* the command ended    */
		 NSX_ENDED_DURATION, /* --duration was over */
		 NSX_ENDED_SIGNAL,   /* Ctrl-C or the like   */
		 NSX_ENDED_HUNG, /* the profiler did not finish and was ended */
};

struct nsx_product { /* one report; nsys writes several for repeated ranges */
	const char *rep, *sqlite; /* paths, NULL: there is none (any more);
				     one of them is                        */
	int64_t rep_bytes, sqlite_bytes;
	const char *number; /* "" or ".2": part of its file names     */
};

struct nsx_capture {
	const struct nsx_capture_opts *opts;
	const char *const *command; /* ends with NULL; empty: a session      */
	struct nsx_arena *arena;    /* owns every string and array here     */
	struct nsx_buf warnings;    /* a line each                          */

	const char *dir, *work; /* results; unfinished files. NULL: not yet */
	size_t had;		/* of the path dir: there before it was made */
	const char *rank;	/* ".rank3", or ""                          */
	struct nsx_nsys *nsys;	/* NULL: not found                          */
	struct nsx_args extra, argv; /* the user's words; nsys's command    */

	time_t began;
	const char *captured_at; /* the same as text, UTC                   */
	bool is_told; /* nsys was sought: a record of it is due              */
	struct nsx_proc_end end; /* of nsys                                 */
	enum nsx_ended ended;
	double target_s; /* how long the command ran; with the start of nsys
			    where it was not seen (below 50 ms)          */
	const char *full_tmp; /* nsys's temporary folder, which became full; NULL */
	const char *raw; /* path of the raw data, as nsys said, or had it
			    open; NULL: not known                      */

	struct nsx_product *products;
	size_t nproducts;
	int64_t steady_ns; /* where the steady part begins; -1: not known    */
	bool is_again;	   /* the first recording was lost                   */
};

void nsx_capture_warn(struct nsx_capture *c, const char *fmt, ...)
	NSX_PRINTF(2, 3);

/* Makes dir and work and sees that there is room. Errors: USAGE, IO. */
int nsx_capture_place(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Finds nsys and settles argv; a record is due from here on. Errors: IO, USAGE. */
int nsx_capture_equip(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Runs the command under nsys, whatever its end; or records a service's session,
 * until the duration is over or a signal comes.  Errors: IO.
 */
int nsx_capture_record(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Finds the reports and says why if there is none; records once more where nsys
 * itself failed: it lost its agent, or left an empty report.  Errors: IO, DATA.
 */
int nsx_capture_collect(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Exports what this program does not read whole as it is, or all where so wished; moves
 * everything to dir, compresses or deletes the report. A report that cannot be exported
 * is kept. Errors: IO, STOP.
 */
int nsx_capture_export(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Exports one report to the SQLite file `to` with the nsys that is there (its place,
 * NULL: sought), asked first what it knows.  Errors: IO (no nsys: the line to
 * export with is told), STOP.
 */
int nsx_export_report(const char *rep, const char *nsys_path, const char *to,
		      struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;

/* Writes nsys_capture.json, where one is due; failed: why, NULL if all went well.
 * Errors: IO.
 */
int nsx_capture_write_record(const struct nsx_capture *c,
			     const struct nsx_err *failed,
			     struct nsx_err *err) NSX_CHECKED;

/* The exit code of the command under nsys, -1 when we ended it. */
int nsx_capture_target_code(const struct nsx_capture *c);

/* Removes work, and, where no record is due, what was made of dir.  Errors: as errno;
 * c->work names what is left.
 */
int nsx_capture_clean(const struct nsx_capture *c);
void nsx_capture_done(struct nsx_capture *c);

/* Files ------------------------------------------------------------------*/

int64_t nsx_file_size(const char *path); /* -1: there is none */

int64_t nsx_file_room_mb(const char *path); /* free there; -1: unknown */

/* Where nsys keeps its raw data: NSYS_TMPDIR, else TMPDIR, else /tmp. */
const char *nsx_capture_tmp(void);

/* Room that must be free before a capture begins. */
enum { NSX_MIN_ROOM_MB = 512 };

/* Moves a file, to another file system if need be. Errors: IO. */
int nsx_file_move(const char *from, const char *to,
		  struct nsx_err *err) NSX_CHECKED;

/* Compresses with zstd; an unfinished `to` is removed. Errors: IO. */
int nsx_file_compress(const char *from, const char *to,
		      struct nsx_err *err) NSX_CHECKED;

/* Removes a folder and all in it. */
int nsx_file_remove_tree(const char *path); /* 0, or not all of it */

#endif
