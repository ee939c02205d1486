/* capture.h - one capture, from the command line to its record.
 *
 * The steps run in the order of their declarations. All files are made in a work folder inside the
 * result folder and moved up when they are complete, so that an interrupted capture leaves no
 * partial file.
 */
#pragma once

#include <time.h>
#include "capture/nsys.h"
#include "capture/proc.h"

struct nsx_capture_opts {
	const char *out, *gpu_id, *preset, *trace, *capture_range, *extra, *nsys, *target;
	const char *session; /* name of a session started with nsys launch; NULL: none */
	double duration_s; /* negative: until the command ends            */
	double warmup_pct; /* percentage of the capture's length; 0: none */
	bool keep_rep, compress_rep, delete_rep, export, no_explain, convert, digest;
};

enum nsx_ended {		     /* why the recording ended */
		 NSX_ENDED_ALONE,    /* the command ended    */
		 NSX_ENDED_DURATION, /* --duration elapsed */
		 NSX_ENDED_SIGNAL,   /* Ctrl-C or the like   */
		 NSX_ENDED_HUNG, /* the profiler did not finish and was killed */
};

struct nsx_product { /* one report; nsys writes several for repeated ranges */
	const char *rep, *sqlite; /* paths; NULL: none, or removed; one of them exists */
	int64_t rep_bytes, sqlite_bytes;
	const char *number; /* part of the file names: "", or as ".2" */
};

struct nsx_capture {
	const struct nsx_capture_opts *opts;
	const char *const *command; /* NULL-terminated; empty: records a session */
	struct nsx_arena *arena;    /* owns every string and array here     */
	struct nsx_buf warnings;    /* text of the warnings, one per line   */

	const char *dir, *work; /* folders of results and of unfinished files; NULL: not made yet */
	size_t had;		/* bytes of the path dir that existed before */
	const char *rank;	/* the rank's part of file names: ".rank3" or "" */
	struct nsx_nsys *nsys;	/* NULL: not found                          */
	struct nsx_args extra, argv; /* extra: the user's options; argv: nsys's command line */

	time_t began;
	const char *captured_at; /* began as text, UTC                      */
	bool needs_record; /* nsys_capture.json must be written, even after a failure */
	struct nsx_proc_end end; /* how nsys ended                          */
	enum nsx_ended ended;
	double target_s; /* how long the command ran; with nsys's own start if the command was
			    too short to be seen (50 ms)                 */
	const char *full_tmp; /* nsys's temporary folder if it became full; otherwise NULL */
	const char *raw; /* file of raw data, as printed or opened by nsys; NULL: unknown */

	struct nsx_product *products;
	size_t nproducts;
	int64_t steady_ns; /* start of the steady part; -1: unknown          */
	bool is_again;	   /* this is the second recording, because the first was lost */
};

void nsx_capture_warn(struct nsx_capture *c, const char *fmt, ...) NSX_PRINTF(2, 3);

/* Makes dir and work, and checks for free space. Errors: USAGE, IO. */
int nsx_capture_place(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Finds nsys and composes argv; from here on a record must be written. Errors: IO, USAGE. */
int nsx_capture_equip(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Runs the command under nsys to its end; or records a session until the duration has elapsed or a
 * signal comes. A failure of the command is no error. Errors: IO.
 */
int nsx_capture_record(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Finds the reports, or the reason why there are none. Records once more if nsys itself failed: it
 * lost its agent, or left an empty report. Errors: IO, DATA.
 */
int nsx_capture_collect(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Exports reports that this program cannot fully read, or all if the user asked for it. Moves the
 * files to dir. Compresses or deletes reports as asked, but keeps a report that cannot be exported.
 * Errors: IO, STOP.
 */
int nsx_capture_export(struct nsx_capture *c, struct nsx_err *err) NSX_CHECKED;

/* Exports a report to the SQLite file `to` with the nsys at nsys_path (NULL: searches for one),
 * using only options that it knows. Errors: IO (without nsys the message has the command to run),
 * STOP.
 */
int nsx_export_report(const char *rep, const char *nsys_path, const char *to,
		      struct nsx_arena *a, struct nsx_err *err) NSX_CHECKED;

/* Writes nsys_capture.json. failed: the cause of failure; NULL: success. Errors: IO. */
int nsx_capture_write_record(const struct nsx_capture *c, const struct nsx_err *failed,
			     struct nsx_err *err) NSX_CHECKED;

/* Exit code of the command under nsys; -1: we ended it. */
int nsx_capture_target_code(const struct nsx_capture *c);

/* Removes the work folder and, if no record is needed, the folders of dir that were created.
 * Returns 0, or non-zero if something remains in c->work.
 */
int nsx_capture_clean(const struct nsx_capture *c);
void nsx_capture_done(struct nsx_capture *c);

/* Files ------------------------------------------------------------------*/

int64_t nsx_file_size(const char *path); /* in bytes; -1: there is no such file */

int64_t nsx_file_room_mb(const char *path); /* free space of the file system; -1: unknown */

/* The folder of nsys's raw data: NSYS_TMPDIR if it is set, otherwise TMPDIR, otherwise /tmp. */
const char *nsx_capture_tmp(void);

/* Least free space with which a capture begins. */
enum { NSX_MIN_ROOM_MB = 512 };

/* Moves a file, if necessary to another file system. Errors: IO. */
int nsx_file_move(const char *from, const char *to, struct nsx_err *err) NSX_CHECKED;

/* Compresses with zstd; removes an incomplete `to`. Errors: IO. */
int nsx_file_compress(const char *from, const char *to, struct nsx_err *err) NSX_CHECKED;

/* Removes a folder and everything in it. */
int nsx_file_remove_tree(const char *path); /* 0, or an error if something remains */
