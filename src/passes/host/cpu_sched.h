/* cpu_sched.h - sums of each thread's scheduling rows. */
#pragma once

#include "passes/pass.h"

enum { NO_CPU = INT32_MIN };
struct cpu_event {
	int64_t at_ns;
	int32_t cpu;
	bool in, runnable; /* runnable: switched out although the thread could run */
};
struct cpu_sums {
	int64_t on_ns, runnable_ns, switches, migrations, preemptions;
};
struct cpu_stretch { /* consecutive rows of one thread in order of time */
	uint64_t thread;
	struct cpu_event first, last;
	int32_t first_cpu, last_cpu; /* CPUs of its first and last switch in */
	int64_t first_in_ns;
	struct cpu_sums sums;
};
struct cpu_threads {
	struct cpu_stretch *v; /* one per thread, sorted by thread */
	size_t n, cap;
	uint64_t *again; /* threads whose stretches overlap, ascending */
	size_t nagain, cap_again;
	struct nsx_groups cpus; /* {thread, CPU named by a row in the window} */
	size_t defects; /* rows without time, thread or direction */
	bool knows_states; /* some row gives a reason for a switch out */
};

int cpu_threads_read(const struct nsx_run *run, struct cpu_threads *ret, struct nsx_err *err);
void cpu_threads_done(struct cpu_threads *all);

/* Fills a table with the CPUs of threads that launched GPU work (cpu_launching.c), and shows a part
 * in Markdown. names: by thread of `all`.
 */
extern const struct nsx_layout cpu_launching_layout;
void cpu_launching_fill(const struct nsx_run *run, const struct cpu_threads *all,
			const char *const *names, struct nsx_section *out);

/* The index of the first thread with at least this id. */
size_t cpu_lower_bound(const struct cpu_threads *all, uint64_t thread);
