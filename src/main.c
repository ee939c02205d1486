/* main.c - dispatch and exit codes.  README.md beside this file has a map of the tree. */
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "cli/cmd_common.h"
#include "cli/opt.h"

static void main_on_signal(int sig NSX_UNUSED)
{
	nsx_stop_flag = 1;
}

/* The first interrupt asks every loop to stop; a second one kills. */
static void catch_signals(void)
{
	static const int asked[] = {SIGINT, SIGTERM, SIGHUP};
	struct sigaction sa = {.sa_handler = main_on_signal,
			       .sa_flags = (int)SA_RESETHAND};
	struct sigaction old;

	/* Signals the caller ignores (nohup) stay ignored. */
	for (size_t i = 0; i < ARRAY_LEN(asked); i++)
		if (!sigaction(asked[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(asked[i], &sa, NULL);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* exceeding the file size limit is an error, not death */
}

/* Opens /dev/null in place of each standard descriptor that the caller closed.  Otherwise
 * the next file that is opened would get that number, and messages would be written into it.
 */
static void hold_standard_files(void)
{
	for (int fd = 0; fd < 3; fd++) /* open returns the lowest free descriptor */
		if (fcntl(fd, F_GETFD) < 0)
			(void)!open("/dev/null", fd ? O_RDONLY : O_WRONLY);
}

/* Columns of up to hundreds of MB are allocated and freed again.  glibc raises its threshold
 * for mmap each time a mapping is freed, so later columns would come from the heap and leave
 * holes there.  A fixed threshold keeps them mapped.  Smaller blocks are reused rather than
 * mapped again, which saves a third of the page faults, and one heap serves all threads, so
 * that one thread reuses what another freed.  Contention is rare: small objects come from
 * arenas.
 */
static void give_memory_back(void)
{
#ifdef M_MMAP_THRESHOLD
	mallopt(M_MMAP_THRESHOLD, 1024 * 1024);
	mallopt(M_TRIM_THRESHOLD, 16 * 1024 * 1024);
	mallopt(M_ARENA_MAX, 1);
#endif
}

static int main_run(const struct nsx_cmd *cmd, int argc, char **argv)
{
	if (!nsx_opt_wants_help(cmd, argc, argv))
		return nsx_cmd_run(cmd, argc, argv);
	nsx_opt_help(cmd, stdout);
	return nsx_cmd_printed(0);
}

static int main_fail_unknown(const char *name)
{
	const char *near = nsx_cmd_nearest(name);

	if (near)
		fprintf(stderr, "nsys-explain: unknown command '%s'; did you "
				"mean '%s'?\n", name, near);
	else
		fprintf(stderr, "nsys-explain: unknown command '%s'; run "
				"'nsys-explain help' for the list\n", name);
	return 2;
}

/* Whether argv[1] was meant as a command: a bare word that is no file, followed by an operand or
 * similar to a command's name.
 */
static bool is_meant_as_command(int argc, char **argv)
{
	return argv[1][0] != '-' && !strpbrk(argv[1], "./") &&
	       access(argv[1], F_OK) &&
	       ((argc > 2 && argv[2][0] != '-') || nsx_cmd_nearest(argv[1]));
}

/* Prints the text of one command, or of all. */
static int main_print_text(int argc, char **argv,
			   void (*of_one)(const struct nsx_cmd *cmd, FILE *out),
			   void (*of_all)(FILE *out))
{
	const struct nsx_cmd *cmd = argc > 1 ? nsx_cmd_find(argv[1]) : NULL;

	if (argc > 1 && !cmd)
		return main_fail_unknown(argv[1]);
	if (cmd)
		of_one(cmd, stdout);
	else
		of_all(stdout);
	return nsx_cmd_printed(0);
}

static int help(int argc, char **argv)
{
	return main_print_text(argc, argv, nsx_opt_help, nsx_overview);
}

int main(int argc, char **argv)
{
	const struct nsx_cmd *cmd;

	hold_standard_files();
	give_memory_back();
	catch_signals();
	if (argc < 2) {
		nsx_overview(stderr);
		return 2;
	}
	if (!strcmp(argv[1], "--version")) {
		puts(*NSX_COMMIT ? "nsys-explain " NSX_VERSION " (commit " NSX_COMMIT ")" :
				   "nsys-explain " NSX_VERSION);
		return nsx_cmd_printed(0);
	}
	if (!strcmp(argv[1], "--man"))
		return main_print_text(argc - 1, argv + 1, nsx_opt_page, nsx_manual);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return help(1, argv);
	if (!strcmp(argv[1], "help"))
		return help(argc - 1, argv + 1);
	cmd = nsx_cmd_find(argv[1]);
	if (cmd)
		return main_run(cmd, argc - 1, argv + 1);
	if (is_meant_as_command(argc, argv))
		return main_fail_unknown(argv[1]);
	return main_run(nsx_cmd_find("explain"), argc, argv); /* the default */
}
