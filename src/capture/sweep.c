/* sweep.c - counts signals during a capture, and ends the processes that it left running.
 *
 * The profiler's agent and the command have sessions of their own, so no process group covers
 * them. As a "child subreaper" this process becomes the parent of every descendant whose parent
 * died. A pass over /proc finds descendants, and wait() fails when none is left.
 */
#include <errno.h>
#include <dirent.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "capture/proc.h"

static volatile sig_atomic_t signals;
static struct sigaction saved[3], saved_pipe;
static const int counted[] = { SIGINT, SIGTERM, SIGHUP }; /* counted instead of ending us */

static void sweep_on_signal(int sig NSX_UNUSED)
{
	signals++;
}

int nsx_proc_signals(void)
{
	return signals;
}

void nsx_proc_guard(void)
{
	struct sigaction sa = { .sa_handler = sweep_on_signal,
				.sa_flags = SA_RESTART };
	struct sigaction ignore = { .sa_handler = SIG_IGN };

	signals = 0;
	for (unsigned i = 0; i < ARRAY_LEN(counted); i++) {
		sigaction(counted[i], &sa, &saved[i]);
		if (saved[i].sa_handler == SIG_IGN) /* nohup: keep ignoring it */
			sigaction(counted[i], &ignore, NULL);
	}
	sigaction(SIGPIPE, &ignore, &saved_pipe);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void nsx_proc_unguard(void)
{
	for (unsigned i = 0; i < ARRAY_LEN(counted); i++)
		sigaction(counted[i], &saved[i], NULL);
	sigaction(SIGPIPE, &saved_pipe, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
}

struct process {
	pid_t pid, parent;
	char state, name[32];
};

/* Reads "pid (name) state parent ..."; the name may contain any character. */
static bool read_stat(const char *root, const char *pid, struct process *ret)
{
	char path[4096], line[512], *open, *close;
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s/stat", root, pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(line, 1, sizeof(line) - 1, f);
	(void)fclose(f);
	line[n] = '\0';
	open = strchr(line, '(');
	close = strrchr(line, ')');
	if (!open || !close || sscanf(close + 1, " %c %d", &ret->state, &ret->parent) != 2)
		return false;
	ret->pid = (pid_t)atol(line);
	snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(close - open - 1), open + 1);
	return true;
}

/* Lists all processes. Owner: the caller. */
static struct process *list_processes(const char *root, size_t *ret_n)
{
	struct process *v = NULL;
	size_t n = 0, cap = 0;
	struct dirent *e;
	DIR *d = opendir(root);

	while (d && (e = readdir(d))) {
		if (e->d_name[0] < '1' || e->d_name[0] > '9')
			continue;
		nsx_grow_or_die(&v, &cap, n + 1, sizeof(*v));
		n += read_stat(root, e->d_name, &v[n]);
	}
	if (d)
		closedir(d);
	*ret_n = n;
	return v;
}

unsigned nsx_proc_count(const char *proc_root, const char *name)
{
	size_t n;
	NSX_AT_EXIT(nsx_free_at) struct process *v = list_processes(proc_root, &n);
	unsigned count = 0;

	for (size_t i = 0; i < n; i++)
		count += v[i].state != 'Z' && !strcmp(v[i].name, name);
	return count;
}

/* Whether the process has a wanted file open; its path goes to file. */
static bool has_open(const char *proc_root, pid_t pid,
		     bool (*is_wanted)(const char *file), char file[PATH_MAX])
{
	char path[512];
	const struct dirent *e;
	bool found = false;
	DIR *d;

	snprintf(path, sizeof(path), "%s/%d/fd", proc_root, (int)pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		ssize_t n = readlinkat(dirfd(d), e->d_name, file, PATH_MAX - 1);

		file[NSX_MAX(n, 0)] = '\0';
		found = is_wanted(file);
	}
	if (d)
		closedir(d);
	return found;
}

/* Whether a file is a GPU's device, such as /dev/nvidia0. /dev/nvidiactl is none, because mere
 * queries open it.
 */
static bool is_gpu(const char *file)
{
	return !strncmp(file, "/dev/nvidia", 11) && file[11] >= '0' && file[11] <= '9';
}

static bool is_raw_data(const char *file)
{
	return nsx_ends_with(file, ".qdstrm");
}

unsigned nsx_proc_gpu_users(const char *proc_root, struct nsx_buf *names)
{
	size_t n;
	NSX_AT_EXIT(nsx_free_at) struct process *v = list_processes(proc_root, &n);
	unsigned count = 0;
	char file[PATH_MAX];

	for (size_t i = 0; i < n; i++) {
		if (v[i].pid == getpid() || !has_open(proc_root, v[i].pid, is_gpu, file))
			continue;
		if (count++ < 8)
			nsx_buf_printf(names, "%s%s (%d)", names->n ? ", " : "",
				       v[i].name, (int)v[i].pid);
	}
	return count;
}

static bool is_descendant(const struct process *v, size_t n, pid_t pid, pid_t from)
{
	for (unsigned depth = 0; depth < 64 && pid > 1; depth++) {
		size_t i = 0;

		while (i < n && v[i].pid != pid)
			i++;
		if (i == n)
			return false;
		pid = v[i].parent;
		if (pid == from)
			return true;
	}
	return false;
}

pid_t nsx_proc_descendant(const char *program)
{
	const char *name = nsx_base_name(program);
	size_t n;
	NSX_AT_EXIT(nsx_free_at) struct process *v = list_processes("/proc", &n);
	pid_t pid = 0;

	for (size_t i = 0; i < n && !pid; i++)
		if (v[i].state != 'Z' && !strncmp(v[i].name, name, 15) &&
		    is_descendant(v, n, v[i].pid, getpid()))
			pid = v[i].pid;
	return pid;
}

const char *nsx_proc_raw_data(struct nsx_arena *a)
{
	size_t n;
	NSX_AT_EXIT(nsx_free_at) struct process *v = list_processes("/proc", &n);
	bool found = false;
	char file[PATH_MAX];

	for (size_t i = 0; i < n && !found; i++)
		found = is_descendant(v, n, v[i].pid, getpid()) &&
			has_open("/proc", v[i].pid, is_raw_data, file);
	return found ? nsx_arena_strdup(a, file) : NULL;
}

static void signal_descendants(int sig, struct nsx_buf *names)
{
	size_t n;
	NSX_AT_EXIT(nsx_free_at) struct process *v = list_processes("/proc", &n);

	for (size_t i = 0; i < n; i++) {
		if (v[i].state == 'Z' || !is_descendant(v, n, v[i].pid, getpid()))
			continue;
		kill(v[i].pid, sig);
		if (names)
			nsx_buf_printf(names, "%s%s (%d)", names->n ? ", " : "",
				       v[i].name, v[i].pid);
	}
}

/* Waits for all children to end; false if some still run after this many seconds. */
static bool wait_for_children(double seconds)
{
	double until = nsx_now_s() + seconds;

	for (;;) {
		pid_t pid = waitpid(-1, NULL, WNOHANG);

		if (pid < 0 && errno != EINTR)
			return true;
		if (pid > 0)
			continue;
		if (nsx_now_s() > until)
			return false;
		usleep(10000);
	}
}

void nsx_proc_sweep(double grace_s, struct nsx_buf *names)
{
	if (wait_for_children(grace_s))
		return;
	signal_descendants(SIGTERM, names);
	for (int i = 0; i < 10 && !wait_for_children(i ? 0.5 : 2); i++)
		signal_descendants(SIGKILL, NULL);
}
