/* metrics.c - the first page and the findings as OpenMetrics text, for scraping. All families are
 * gauges: readers of Prometheus's older text refuse a file with the other types of OpenMetrics.
 */
#include "base/open.h"
#include "emit/emit.h"

static const char first_line[] = "# HELP nsys_explain_verdict";

bool nsx_metrics_is(const char *path)
{
	char begin[sizeof(first_line)];

	return nsx_read_head(path, begin, sizeof(begin)) && !strcmp(begin, first_line);
}

static void put_label(FILE *out, const char *name, const char *value)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf text = {0};

	nsx_buf_add_utf8(&text, value, strlen(value)); /* a reader refuses all of it otherwise */
	fprintf(out, "%s=\"", name);
	for (const char *p = text.n ? text.p : ""; *p; p++)
		if (*p == '\n')
			fputs("\\n", out);
		else
			fprintf(out, "%s%c", strchr("\\\"", *p) ? "\\" : "", *p);
	fputc('"', out);
}

/* Writes the price of each finding. Findings without a price are left out: 0 would mean that they
 * cost nothing.
 */
static void put_headrooms(const struct nsx_findings *found, FILE *out)
{
	fputs("# HELP nsys_explain_headroom_seconds what is won if this alone is mended\n"
	      "# TYPE nsys_explain_headroom_seconds gauge\n", out);
	for (size_t i = 0; i < found->n; i++) {
		const struct nsx_finding *f = &found->v[i];

		if (f->is_minor || f->price == NSX_PRICE_NONE)
			continue;
		fputs("nsys_explain_headroom_seconds{", out);
		put_label(out, "finding", f->key);
		fprintf(out, ",severity=\"%s\",price=\"%s\"} %.9f\n",
			nsx_severity_names[f->severity], nsx_price_names[f->price],
			f->headroom_ns * 1e-9);
	}
}

int nsx_write_metrics(const struct nsx_out_file *f, FILE *out, struct nsx_err *err NSX_UNUSED)
{
	const struct nsx_report *r = f->subject;
	const struct nsx_first_page *p = r->page;
	size_t severe[NSX_SEV_HIGH + 1] = {0};

	for (size_t i = 0; i < r->found.n; i++)
		severe[r->found.v[i].severity] += !r->found.v[i].is_minor;
	fprintf(out, "%s_info what the judged time is spent on\n"
		"# TYPE nsys_explain_verdict_info gauge\nnsys_explain_verdict_info{", first_line);
	put_label(out, "file", p->file);
	fprintf(out, ",verdict=\"%s\"} 1\n", nsx_verdict_words[p->verdict]);
	fprintf(out, "# HELP nsys_explain_judged_seconds length of the judged time\n"
		"# TYPE nsys_explain_judged_seconds gauge\n"
		"nsys_explain_judged_seconds %.9f\n",
		(double)(p->judged.end_ns - p->judged.start_ns) * 1e-9);
	fputs("# HELP nsys_explain_share of the judged time, mean of the GPUs\n"
	      "# TYPE nsys_explain_share gauge\n", out);
	for (unsigned u = 0; u < NSX_NUSES && p->ngpus; u++)
		fprintf(out, "nsys_explain_share{use=\"%s\"} %.6f\n",
			nsx_use_words[u], p->share[u]);
	fputs("# HELP nsys_explain_findings number of findings\n"
	      "# TYPE nsys_explain_findings gauge\n", out);
	for (unsigned s = 0; s < ARRAY_LEN(severe); s++)
		fprintf(out, "nsys_explain_findings{severity=\"%s\"} %zu\n",
			nsx_severity_names[s], severe[s]);
	put_headrooms(&r->found, out);
	fputs("# EOF\n", out);
	return 0;
}
