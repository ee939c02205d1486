/* proc.h - runs other programs without a shell, in their own process groups, with time limits.
 *
 * A program may leave processes behind. nsx_proc_guard makes this process their parent, and
 * nsx_proc_sweep ends them.
 */
#pragma once

#include <sys/types.h>
#include "base/str.h"

struct nsx_proc_end {	    /* result of a program; progress while it runs */
	int code;	    /* exit code; 128 + n for signal n           */
	bool timed_out;	    /* ended because of limit_s                  */
	double began_s;	    /* start, by nsx_now_s                         */
	double seconds;	    /* from start to end                         */
	double last_s;	    /* time of the last output, by nsx_now_s       */
	struct nsx_buf out; /* end of stdout: at least `keep` bytes, or all of it if shorter */
	struct nsx_buf err; /* end of stderr, likewise                   */
};

struct nsx_proc {
	const char *const *argv; /* NULL-terminated; argv[0] is searched in PATH unless it has a
				    slash */
	const char *env;  /* "NAME=value" to add to the environment; NULL: none */
	size_t keep;	  /* bytes of output to keep; 0: 64 KiB            */
	double limit_s;	  /* ends the program after this time; 0: no limit */
	bool passthrough; /* shares our stdin, and its output is copied to ours */
	/* Called about 20 times a second; returns a signal for the group, or 0. */
	int (*watch)(void *ctx, const struct nsx_proc_end *progress);
	void *ctx;
};

/* Runs a program to its end. Errors: NSX_E_IO if it cannot be started; NSX_E_STOP if a signal came
 * and there is no watch to handle it.
 * Owner: the caller, nsx_proc_end_done, even after an error.
 */
int nsx_proc_run(const struct nsx_proc *p, struct nsx_proc_end *ret,
		 struct nsx_err *err) NSX_CHECKED;
void nsx_proc_end_done(struct nsx_proc_end *e); /* for NSX_AT_EXIT */

/* Runs a program for at most a minute. Returns its output; NULL: it failed, or printed nothing.
 * Owner: the arena.
 */
const char *nsx_proc_output(const char *const *argv, struct nsx_arena *a);

/* The first place of the words in the output, at `from` or later (NULL: from its start); NULL: they
 * are not there. The output may contain any byte.
 */
const char *nsx_proc_find(const struct nsx_buf *kept, const char *words, const char *from);

/* The first line of stderr, or of stdout if stderr is empty. Owner: the arena. */
const char *nsx_proc_words(const struct nsx_proc_end *e, struct nsx_arena *a);

/* Between guard and unguard this process adopts orphans, and SIGINT, SIGTERM and SIGHUP are
 * counted instead of ending it.
 */
void nsx_proc_guard(void);
void nsx_proc_unguard(void);
int nsx_proc_signals(void); /* signals since guard */

/* Ends every descendant of this process: waits grace_s, then sends SIGTERM, then SIGKILL. Appends
 * the names of those that had to be ended to *names (may be NULL), as "a (12), b (13)".
 */
void nsx_proc_sweep(double grace_s, struct nsx_buf *names);

/* The descendant that runs a program with this file name; 0: there is none. */
pid_t nsx_proc_descendant(const char *program);

/* The raw data of nsys (PATH.qdstrm) that a descendant has open; NULL: none. Owner: the arena. */
const char *nsx_proc_raw_data(struct nsx_arena *a);

/* Number of processes with that name, in the /proc at proc_root. */
unsigned nsx_proc_count(const char *proc_root, const char *name);

/* Number of other processes that have a GPU's device file open. Appends the names of at most eight
 * to *names, as "a (12), b (13)". Does not see processes of other users.
 */
unsigned nsx_proc_gpu_users(const char *proc_root, struct nsx_buf *names);
