/* doctor.h - checks what this machine can record; each check is a function that adds lines.
 *
 * Checks run in the order of nsx_doctor_checks; later ones may use the results of earlier ones.
 * They read files below root ("" normally; tests set NSX_DOCTOR_ROOT) and run programs in PATH.
 */
#pragma once

#include "capture/nsys.h"

enum nsx_doctor_verdict { NSX_FINE, NSX_DOUBT, NSX_FAULT };

struct nsx_doctor_line {
	const char *id;
	enum nsx_doctor_verdict verdict;
	const char *text; /* what was found                                 */
	const char *mend; /* a command or advice; NULL: none                */
};

struct nsx_gpu { /* as reported by nvidia-smi or /proc                      */
	const char *name;
	int compute; /* capability, 75 for 7.5; 0: unknown                  */
};

struct nsx_doctor {
	struct nsx_arena *arena;
	const char *root;
	struct nsx_doctor_line *lines;
	size_t n, cap;

	/* Results of checks, for later ones: */
	struct nsx_nsys *nsys;
	size_t nnsys;
	const char *driver; /* version of the loaded driver; NULL: none     */
	struct nsx_gpu *gpus;
	size_t ngpus;
	bool in_container, in_wsl;
	uint64_t caps;	     /* effective capabilities                      */
	int paranoid;	     /* perf_event_paranoid; INT_MAX: unknown       */
	int status_sampling; /* CPU sampling by `nsys status -e`: 1 yes, 0 no, -1 unknown */
	bool may_count;	     /* this user may read GPU counters             */
};

typedef void nsx_check_fn(struct nsx_doctor *d);
extern nsx_check_fn *const nsx_doctor_checks[]; /* NULL-terminated */

/* Adds a line; mend is a command or advice, or NULL. */
void nsx_doctor_add(struct nsx_doctor *d, const char *id,
		    enum nsx_doctor_verdict verdict, const char *mend,
		    const char *fmt, ...) NSX_PRINTF(5, 6);

/* The file's first 64 KiB; NULL: unreadable. Owner: the arena. */
const char *nsx_doctor_read(const struct nsx_doctor *d, const char *path);
/* The rest of the line after a key; NULL: the text, which may be NULL, has no such key. Owner: the
 * arena.
 */
const char *nsx_doctor_value(const struct nsx_doctor *d, const char *text, const char *key);

/* Bits of caps. */
enum { NSX_CAP_SYS_ADMIN = 21, NSX_CAP_PERFMON = 38 };
static inline bool nsx_may(const struct nsx_doctor *d, int cap)
{
	return d->caps >> cap & 1;
}

/* The checks, grouped by file. */
nsx_check_fn nsx_check_nsys, nsx_check_status;
nsx_check_fn nsx_check_gpus, nsx_check_age, nsx_check_counters,
	nsx_check_clients;
nsx_check_fn nsx_check_place, nsx_check_perf, nsx_check_disk,
	nsx_check_injection;
