/* top_kernels.c - the five kernels with the most time, and where the GPU idles.
 *
 *	cc top_kernels.c $(pkg-config --cflags --libs libnsx) -o top_kernels
 *	./top_kernels run.sqlite
 */
#include <stdio.h>
#include <nsx/report.h>

static void show(const struct nsx_result *r, const char *section,
		 const char *key, const char *name, const char *ms)
{
	const struct nsx_rows *t = nsx_result_rows(r, section, key);

	if (!t) {
		const char *why = nsx_result_reason(r, section);

		printf("%s: %s\n", section, why ? why : "no such table");
		return;
	}
	for (size_t i = 0; i < nsx_rows_count(t) && i < 5; i++)
		printf("%10.3f ms  %s\n",
		       nsx_rows_real(t, i, nsx_rows_column(t, ms)),
		       nsx_rows_text(t, i, nsx_rows_column(t, name)));
}

int main(int argc, char **argv)
{
	struct nsx_load_options options = {.threads = 4};
	struct nsx_problem problem;
	struct nsx_export *e = NULL;
	struct nsx_result *r = NULL;
	int rc = argc != 2 ? -1 : 0;

	if (rc) {
		fprintf(stderr, "usage: top_kernels TRACE.sqlite\n");
		return 2;
	}
	rc = nsx_export_open(argv[1], &e, &problem);
	if (!rc)
		rc = nsx_load(e, &options, &r, &problem);
	if (rc) {
		fprintf(stderr, "%s\n", problem.text);
	} else {
		show(r, "top_kernels", "kernels", "kernel_name", "total_time_ms");
		show(r, "gpu_idle", "causes", "cause", "total_ms");
	}
	nsx_result_free(r);
	nsx_export_close(e);
	return rc ? 1 : 0;
}
