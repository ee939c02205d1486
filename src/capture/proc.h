/* proc.h - runs other programs: no shell between, own process group, limits.
 *
 * What a program starts and leaves behind is found too: nsx_proc_guard makes
 * this process the parent of such orphans, nsx_proc_sweep ends them.
 */
#ifndef NSX_CAPTURE_PROC_H
#define NSX_CAPTURE_PROC_H

#include <sys/types.h>
#include "base/str.h"

struct nsx_proc_end {	    /* how it ended; while it runs, how far it is */
	int code;	    /* exit code, 128 + n for signal n           */
	bool timed_out;	    /* limit_s was reached                       */
	double began_s;	    /* nsx_now_s                                   */
	double seconds;	    /* from start to end                         */
	double last_s;	    /* nsx_now_s of the last output                */
	struct nsx_buf out; /* last part of its stdout, at least `keep`  */
	struct nsx_buf err; /* bytes of it where it was that long        */
};

struct nsx_proc {
	const char *const *argv; /* argv[0] with a slash, or sought in PATH */
	const char *env;  /* "NAME=value" to add to the environment, NULL  */
	size_t keep;	  /* bytes of output to keep; 0: 64 KiB            */
	double limit_s;	  /* then it is ended; 0: no limit                 */
	bool passthrough; /* it has our stdin, and its output is ours too  */
	/* Asked about 20 times a second: a signal for the group, or 0. */
	int (*watch)(void *ctx, const struct nsx_proc_end *sofar);
	void *ctx;
};

/* Runs it to its end. Errors: NSX_E_IO when it cannot be started; NSX_E_STOP
 * when a signal came and there is no watch to handle it.
 * Owner: the caller, nsx_proc_end_done (also after an error).
 */
int nsx_proc_run(const struct nsx_proc *p, struct nsx_proc_end *ret,
		 struct nsx_err *err) NSX_CHECKED;
void nsx_proc_end_done(struct nsx_proc_end *e); /* for NSX_AT_EXIT */

/* Words in kept output, which may hold any byte; from NULL: its beginning. */
const char *nsx_proc_find(const struct nsx_buf *kept, const char *words,
			  const char *from);

/* The first line it said, on stderr rather than stdout. Owner: the arena. */
const char *nsx_proc_words(const struct nsx_proc_end *e, struct nsx_arena *a);

/* From guard to unguard, orphans come to us, and SIGINT, SIGTERM and SIGHUP
 * are counted instead of ending this process.
 */
void nsx_proc_guard(void);
void nsx_proc_unguard(void);
int nsx_proc_signals(void); /* how many came since guard */

/* Ends every descendant of this process: waits grace_s, asks with SIGTERM,
 * then insists. Names of those it had to end go to *names, "a (12), b (13)".
 */
void nsx_proc_sweep(double grace_s, struct nsx_buf *names);

/* The descendant of this process that runs the program, by its file's name; 0. */
pid_t nsx_proc_descendant(const char *program);

/* The raw data of nsys (PATH.qdstrm) that a descendant of this process has open;
 * NULL: none has.  Owner: the arena.
 */
const char *nsx_proc_raw_data(struct nsx_arena *a);

/* How many processes of that name run, in the /proc at proc_root. */
unsigned nsx_proc_count(const char *proc_root, const char *name);

/* How many processes but this one have a GPU's device file open; names gets
 * "a (12), b (13)", at most eight.  Those of other users are not seen.
 */
unsigned nsx_proc_gpu_users(const char *proc_root, struct nsx_buf *names);


#endif
