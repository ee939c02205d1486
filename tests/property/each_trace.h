/* each_trace.h - main() of a program that checks each trace of the folders and files
 * that it is given, by its check_trace().
 */
#ifndef NSX_EACH_TRACE_H
#define NSX_EACH_TRACE_H

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures, traces;
static char subject[512]; /* name of the trace, for messages */
static void check_trace(const char *path); /* sets subject, counts traces */

static void check(bool holds, const char *what, double a, double b)
{
	if (holds)
		return;
	printf("%s: %s: %.9g, %.9g\n", subject, what, a, b);
	failures++;
}

static void check_folder(const char *path)
{
	DIR *d = opendir(path);
	struct dirent *e;

	while (d && (e = readdir(d))) {
		const char *dot = strrchr(e->d_name, '.');
		char file[512];

		if (!dot || strcmp(dot, ".sqlite"))
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, e->d_name);
		check_trace(file);
	}
	if (d)
		closedir(d);
	else
		check_trace(path);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		check_folder(argv[i]);
	printf("%s: %d traces, %d failed\n", program_invocation_short_name, traces, failures);
	return failures || !traces;
}

#endif
