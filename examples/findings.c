/* findings.c - the verdict on a trace, what costs its time, and its most expensive kernels.
 *
 *	cc findings.c $(pkg-config --cflags --libs libnsx) -o findings
 *	./findings run.nsys-rep
 */
#include <stdio.h>
#include <nsx/report.h>

static void show(const struct nsx_result *r, const char *section, const char *key,
		 const char *ms, const char *name)
{
	const struct nsx_rows *t = nsx_result_rows(r, section, key);

	if (!t) {
		const char *why = nsx_result_reason(r, section);

		printf("%s: %s\n", section, why ? why : "no such table");
		return;
	}
	for (size_t i = 0; i < nsx_rows_count(t) && i < 5; i++) {
		int c = nsx_rows_column(t, ms);

		if (nsx_rows_type(t, i, c) == NSX_CELL_NULL)
			printf("%13s  ", "no price");
		else
			printf("%10.3f ms  ", nsx_rows_real(t, i, c));
		printf("%s\n", nsx_rows_text(t, i, nsx_rows_column(t, name)));
	}
}

int main(int argc, char **argv)
{
	struct nsx_load_options options = {.threads = 4};
	struct nsx_problem problem;
	struct nsx_export *e = NULL;
	struct nsx_result *r = NULL;
	const char *verdict;
	int rc = argc != 2 ? -1 : 0;

	if (rc) {
		fprintf(stderr, "usage: findings TRACE\n");
		return 2;
	}
	rc = nsx_export_open(argv[1], &e, &problem);
	if (!rc)
		rc = nsx_load(e, &options, &r, &problem);
	if (!rc)
		rc = nsx_result_document(r, NSX_DOC_VERDICT, &verdict, &problem);
	if (rc) {
		fprintf(stderr, "%s\n", problem.text);
	} else {
		printf("%s\n", verdict);
		show(r, "findings", "findings", "headroom_ms", "title");
		show(r, "top_kernels", "kernels", "total_time_ms", "kernel_name");
	}
	nsx_result_free(r);
	nsx_export_close(e);
	return rc ? 1 : 0;
}
