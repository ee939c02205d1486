/* proc.c - runs a program and reads its output from two pipes.
 *
 * A program runs in its own process group, so that Ctrl-C at the terminal reaches only us and we
 * choose which signals to forward. The loop ends when the program has ended and the pipes are
 * empty. It does not wait for the end of output, because descendants may keep the pipes open.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/clock.h"
#include "capture/proc.h"

extern char **environ;

enum { TICK_MS = 50, KEEP = 65536 };

void nsx_proc_end_done(struct nsx_proc_end *e)
{
	nsx_buf_done(&e->out);
	nsx_buf_done(&e->err);
}

const char *nsx_proc_find(const struct nsx_buf *kept, const char *words, const char *from)
{
	if (!kept->n)
		return NULL;
	if (!from)
		from = kept->p;
	return memmem(from, (size_t)(kept->p + kept->n - from), words, strlen(words));
}

const char *nsx_proc_words(const struct nsx_proc_end *e, struct nsx_arena *a)
{
	const char *s = e->err.n ? e->err.p : e->out.n ? e->out.p : "";

	s += strspn(s, " \t\r\n");
	return nsx_arena_strndup(a, s, strcspn(s, "\r\n"));
}

/* Starting ---------------------------------------------------------------*/

/* The environment with one variable replaced; strings are borrowed. */
static char **environment_with(const char *set)
{
	size_t n = 0, k = 0, len = strcspn(set, "=") + 1;
	char **env;

	while (environ[n])
		n++;
	env = nsx_alloc(n + 2, sizeof(*env));
	for (size_t i = 0; i < n; i++)
		if (strncmp(environ[i], set, len))
			env[k++] = environ[i];
	env[k] = (char *)set;
	return env;
}

static int spawn_program(const struct nsx_proc *p, const int out[2], const int err[2],
			 pid_t *ret_pid)
{
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t attr;
	sigset_t none, ignored;
	char **env = p->env ? environment_with(p->env) : environ;
	int rc;

	sigemptyset(&none);
	sigemptyset(&ignored); /* signals that we ignore; the child gets the default */
	sigaddset(&ignored, SIGPIPE);
	sigaddset(&ignored, SIGXFSZ);
	posix_spawn_file_actions_init(&fa);
	posix_spawnattr_init(&attr);
	if (!p->passthrough)
		posix_spawn_file_actions_addopen(&fa, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&fa, out[1], 1);
	posix_spawn_file_actions_adddup2(&fa, err[1], 2);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
						POSIX_SPAWN_SETSIGMASK);
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigdefault(&attr, &ignored);
	posix_spawnattr_setsigmask(&attr, &none);
	rc = posix_spawnp(ret_pid, p->argv[0], &fa, &attr, (char *const *)p->argv, env);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&fa);
	if (env != environ)
		free(env);
	return rc;
}

static void close_pipe(int fd[2])
{
	for (int i = 0; i < 2; i++)
		if (fd[i] >= 0)
			close(fd[i]);
}

/* Output -----------------------------------------------------------------*/

/* Reads available output; false once the other end is closed. */
static bool proc_drain(const struct nsx_proc *p, int from, int to,
		       struct nsx_buf *tail, struct nsx_proc_end *e)
{
	char chunk[16384];
	size_t keep = p->keep ? p->keep : KEEP;
	ssize_t n = read(from, chunk, sizeof(chunk));

	if (n <= 0)
		return n < 0 && (errno == EAGAIN || errno == EINTR);
	e->last_s = nsx_now_s();
	if (p->passthrough)
		/* If nobody reads our output any more, the program still runs on. */
		(void)!nsx_write_all(to, chunk, (size_t)n);
	nsx_buf_add(tail, chunk, (size_t)n);
	if (tail->n > 2 * keep) {
		memmove(tail->p, tail->p + tail->n - keep, keep + 1);
		tail->n = keep;
	}
	return true;
}

/* Waits once for output and reads it; returns whether there was any. */
static bool read_output_once(const struct nsx_proc *p, int fds[2], struct nsx_proc_end *e,
			     int timeout_ms)
{
	struct pollfd pfd[2] = { { .fd = fds[0], .events = POLLIN },
				 { .fd = fds[1], .events = POLLIN } };
	struct nsx_buf *tail[2] = { &e->out, &e->err };
	bool came = false;

	if (poll(pfd, 2, timeout_ms) <= 0)
		return false;
	for (int i = 0; i < 2; i++) {
		if (!pfd[i].revents)
			continue;
		came = true;
		if (!proc_drain(p, fds[i], i + 1, tail[i], e)) {
			close(fds[i]);
			fds[i] = -1; /* poll skips negative ones */
		}
	}
	return came;
}

/* Running ----------------------------------------------------------------*/

/* The signal to send to the program now; 0: none. signals: number of signals to us at its start. */
static int signal_due(const struct nsx_proc *p, struct nsx_proc_end *e, int signals)
{
	double over_s = nsx_now_s() - e->began_s - p->limit_s;

	if (p->watch)
		return p->watch(p->ctx, e);
	if (nsx_proc_signals() > signals)
		return SIGKILL;
	if (p->limit_s <= 0 || over_s < 0)
		return 0;
	e->timed_out = true;
	return over_s < 2 ? SIGTERM : SIGKILL;
}

/* Reads output until the program has ended and its pipes are empty. It stops one second after the
 * end, because a process left behind may write for ever.
 */
static void run_until_ended(const struct nsx_proc *p, pid_t pid, int fds[2], struct nsx_proc_end *e)
{
	int status = 0, signals = nsx_proc_signals(), last = 0;

	while (waitpid(pid, &status, WNOHANG) != pid) {
		int sig = signal_due(p, e, signals);

		if (sig && sig != last)
			kill(-pid, sig);
		last = sig;
		read_output_once(p, fds, e, fds[0] < 0 && fds[1] < 0 ? 5 : TICK_MS);
	}
	e->code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	e->seconds = nsx_now_s() - e->began_s;
	while (read_output_once(p, fds, e, 0) && nsx_now_s() < e->began_s + e->seconds + 1)
		;
}

int nsx_proc_run(const struct nsx_proc *p, struct nsx_proc_end *ret, struct nsx_err *err)
{
	int out[2] = { -1, -1 }, errs[2] = { -1, -1 }, rc, fds[2];
	int signals = nsx_proc_signals();
	pid_t pid = 0;

	signal(SIGCHLD, SIG_DFL); /* wait would not work if SIGCHLD were ignored */
	memset(ret, 0, sizeof(*ret));
	ret->began_s = ret->last_s = nsx_now_s();
	if (pipe2(out, O_CLOEXEC) || pipe2(errs, O_CLOEXEC))
		rc = errno;
	else
		rc = spawn_program(p, out, errs, &pid);
	if (rc) {
		close_pipe(out);
		close_pipe(errs);
		return nsx_fail(err, NSX_E_IO, "cannot run '%s': %s", p->argv[0], strerror(rc));
	}
	close(out[1]);
	close(errs[1]);
	fds[0] = out[0];
	fds[1] = errs[0];
	fcntl(fds[0], F_SETFL, O_NONBLOCK);
	fcntl(fds[1], F_SETFL, O_NONBLOCK);
	run_until_ended(p, pid, fds, ret);
	close_pipe(fds);
	if (!p->watch && nsx_proc_signals() > signals)
		return nsx_fail(err, NSX_E_STOP, "interrupted while '%s' ran", p->argv[0]);
	return 0;
}

const char *nsx_proc_output(const char *const *argv, struct nsx_arena *a)
{
	const struct nsx_proc p = { .argv = argv, .limit_s = 60, .keep = 1 << 20 };
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end = { 0 };
	struct nsx_err err;

	if (nsx_proc_run(&p, &end, &err) || end.code || !end.out.n)
		return NULL;
	return nsx_arena_strdup(a, end.out.p);
}
