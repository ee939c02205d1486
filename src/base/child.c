/* child.c - forks, and reads the child's answer from a pipe. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/child.h"
#include "base/clock.h"

enum { TICK_MS = 20, PIECE = 65536 };

/* The head of a child's answer: n bytes of output follow or, if rc is not 0, an error. */
struct head {
	int rc;
	size_t n;
};

static _Noreturn void run_child_work(int to, pid_t parent,
				     int (*work)(void *, struct nsx_buf *, struct nsx_err *),
				     void *ctx)
{
	struct nsx_buf out = {0};
	struct head head;
	struct nsx_err err;
	sigset_t all;

	/* Signals are for the parent alone. If it dies, the child is to die, too. */
	(void)sigfillset(&all);
	(void)sigprocmask(SIG_BLOCK, &all, NULL);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent)
		_exit(1);
	head.rc = work(ctx, &out, &err);
	if (head.rc) {
		nsx_buf_clear(&out);
		nsx_buf_add(&out, (const char *)&err, sizeof(err));
	}
	head.n = out.n;
	_exit(!nsx_write_all(to, &head, sizeof(head)) || !nsx_write_all(to, out.p, out.n));
}

/* Reads the child's answer until it ends or must be killed. */
static int read_child_answer(int from, double end_s, struct nsx_buf *out, struct nsx_err *err)
{
	struct pollfd p = {.fd = from, .events = POLLIN};
	ssize_t n = 1;

	while (n) {
		if (nsx_stopped(err))
			return err->rc;
		if (nsx_now_s() > end_s)
			return nsx_fail(err, NSX_E_SLOW, "it took too long");
		if (poll(&p, 1, TICK_MS) <= 0)
			continue;
		n = read(from, nsx_buf_room(out, PIECE), PIECE);
		if (n > 0)
			out->n += (size_t)n;
	}
	return 0;
}

/* Turns the child's answer into its output or its error. The answer is incomplete if the child was
 * killed.
 */
static int decode_child_answer(struct nsx_buf *answer, struct nsx_err *err)
{
	struct head head = {0};

	if (answer->n >= sizeof(head))
		memcpy(&head, answer->p, sizeof(head));
	if (answer->n < sizeof(head) || answer->n - sizeof(head) != head.n)
		return nsx_fail(err, NSX_E_NOMEM, "its process was ended by the system, "
				"probably for want of memory");
	answer->n = head.n;
	memmove(answer->p, answer->p + sizeof(head), head.n);
	if (head.rc)
		memcpy(err, answer->p, sizeof(*err));
	return head.rc;
}

int nsx_in_child(int (*work)(void *ctx, struct nsx_buf *out, struct nsx_err *err),
		 void *ctx, double max_s, struct nsx_buf *out, struct nsx_err *err)
{
	double end_s = nsx_now_s() + max_s;
	pid_t self = getpid(), pid;
	int fd[2], rc;

	if (pipe2(fd, O_CLOEXEC))
		return nsx_fail(err, NSX_E_IO, "cannot open a pipe: %s", strerror(errno));
	pid = fork();
	if (!pid)
		run_child_work(fd[1], self, work, ctx);
	(void)close(fd[1]);
	if (pid < 0) {
		rc = nsx_fail(err, NSX_E_IO, "cannot start a process: %s", strerror(errno));
	} else {
		rc = read_child_answer(fd[0], end_s, out, err);
		(void)kill(pid, SIGKILL);
		while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
			;
		rc = rc ? rc : decode_child_answer(out, err);
	}
	(void)close(fd[0]);
	return rc;
}
