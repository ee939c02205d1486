/* timed.c - runs a command and records its time and memory.
 *
 * timed FILE COMMAND [ARG...] appends one line to FILE: wall, user and system
 * seconds and the peak resident memory in KiB. The exit status is that of the
 * command, 128 + N if signal N ended it, 127 if it could not be run.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int run(char **argv, double *ret_wall, struct rusage *ret_usage)
{
	double start = now();
	int status;
	pid_t pid = fork();

	if (pid == 0) {
		execvp(argv[0], argv);
		fprintf(stderr, "timed: %s: %s\n", argv[0], strerror(errno));
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, ret_usage) < 0) {
		perror("timed");
		_exit(127);
	}
	*ret_wall = now() - start;
	return WIFSIGNALED(status) ? 128 + WTERMSIG(status)
				   : WEXITSTATUS(status);
}

int main(int argc, char **argv)
{
	struct rusage u;
	double wall;
	FILE *out;
	int rc;

	if (argc < 3) {
		fputs("usage: timed FILE COMMAND [ARG...]\n", stderr);
		return 2;
	}
	rc = run(argv + 2, &wall, &u);
	out = fopen(argv[1], "a");
	if (!out ||
	    fprintf(out, "%.3f %.3f %.3f %ld\n", wall, seconds(u.ru_utime),
		    seconds(u.ru_stime), u.ru_maxrss) < 0 ||
	    fclose(out)) {
		perror(argv[1]);
		return 127;
	}
	return rc;
}
