/* replay.c - a main for the fuzz targets under any compiler: runs each file,
 * and each file of a folder, once. Prints how many.
 */
#include <dirent.h>
#include <sys/stat.h>
#include "fuzz.h"

static unsigned long nruns;

static void run_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	uint8_t *data;
	size_t n;

	if (!f)
		abort();
	fseek(f, 0, SEEK_END);
	n = (size_t)ftell(f);
	rewind(f);
	data = malloc(n + 1);
	if (fread(data, 1, n, f) != n)
		abort();
	fclose(f);
	LLVMFuzzerTestOneInput(data, n);
	free(data);
	nruns++;
}

static void run_path(const char *path)
{
	struct stat st;
	struct dirent *e;
	DIR *d;

	if (stat(path, &st))
		return;
	if (!S_ISDIR(st.st_mode)) {
		run_file(path);
		return;
	}
	d = opendir(path);
	while (d && (e = readdir(d))) {
		char sub[4096];

		snprintf(sub, sizeof(sub), "%s/%s", path, e->d_name);
		if (e->d_name[0] != '.')
			run_path(sub);
	}
	if (d)
		closedir(d);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		run_path(argv[i]);
	printf("%lu inputs replayed\n", nruns);
	return 0;
}
