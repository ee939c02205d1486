/* fleet_run.c - the options of fleet, and processing of digests. */
#include "cli/cmd_common.h"
#include "cli/fleet_run.h"
#include "emit/emit.h"
#include "fleet/report.h"

#define OPT(...) NSX_OPT(struct nsx_fleet_run, __VA_ARGS__)
const struct nsx_opt nsx_fleet_opts[NSX_NFLEET_OPTS] = {
	OPT('o', "out", NULL, "DIR", STR, out, "where the report goes; default fleet-report"),
	OPT(0, "partial", NULL, "OUT.nsxd", STR, partial,
	    "merge the inputs into one digest, no report"),
	OPT(0, "rank-regex", NULL, "RE", STR, rank_regex,
	    "finds the rank in a trace's name (" NSX_RANK_REGEX ")"),
	OPT(0, "mesh", NULL, "FILE", STR, mesh,
	    "names the axes of the job: lines of a name and a size, the fastest axis first"),
	OPT(0, "detail", NULL, "WORD", STR, detail,
	    "of digests that are made: steps, colls (default) or full"),
	OPT(0, "jobs", NULL, "N", INT, asked_jobs, "inputs read at a time; default all processors",
	    .most = NSX_MAX_THREADS),
	OPT(0, "min-ranks", NULL, "N", INT, min_ranks,
	    "fail with exit code 1 when fewer ranks are there"),
	OPT(0, "json", NULL, NULL, FLAG, json, "report.json on stdout, no files",
	    .is_json = true),
	OPT(0, "md", NULL, NULL, FLAG, md, "report.md on stdout, no files"),
	OPT(0, "html", NULL, NULL, FLAG, html, "report.html on stdout, no files"),
	OPT(0, "all-rows", NULL, NULL, FLAG, all_rows,
	    "all rows in tables/; without it, rows beyond 100 000 are summed up in one"),
	OPT(0, "show-hosts", NULL, NULL, FLAG, show_hosts,
	    "print each host's name; a digest only has its hash"),
	OPT('q', "quiet", NULL, NULL, FLAG, quiet, "print no first page"),
};

const char nsx_fleet_doc[] = "Reads traces, digests of them ('nsys-explain digest'), folders of "
	"both, or @LIST with one name a line. Traces are digested on the way, one at a time for "
	"each job, so that memory follows the digests' size and not the traces'.\n\n"
	"Who waits for whom follows from how long matched collectives take: no clock of one host "
	"is compared with another's. A straggler is named only when chance is ruled out and at "
	"least 1 % of a step can be won, its cause only where it explains four fifths.\n\n"
	"--mesh names communicators and ranks by the axes of the job, and can name a whole "
	"pipeline stage as late. The file has a line for each axis, such as 'tp 2', 'dp 8' and 'pp "
	"4', the fastest-varying axis first.\n\n"
	"--partial merges digests into one. Merging is a union of ranks: any tree of merges gives "
	"the same bytes, and a report of the merged digest is the report of the traces.\n\n"
	"Exit codes: 0 written; 1 fewer than --min-ranks; 2 misuse; 3 nothing could be read or "
	"written; 4 written, but an input was left out, which is said on stderr, or a rank's trace "
	"is damaged, which the report says.";
const char nsx_fleet_examples[] =
	"nsys-explain fleet traces/  # every .sqlite and .nsxd of the folder\n"
	"nsys-explain fleet @ranks.txt --partial node7.nsxd  # an inner node of a tree of merges\n"
	"nsys-explain fleet node*.nsxd -o report  # its root";

int nsx_fleet_run_begin(struct nsx_fleet_run *r, int n, char **operands, struct nsx_err *err)
{
	int rc = nsx_detail_parse(r->detail, &r->digest.detail, err);

	if (!rc && r->json + r->md + r->html + (r->partial != NULL) > 1)
		rc = nsx_fail(err, NSX_E_USAGE, "--json, --md, --html and "
			      "--partial exclude each other");
	if (!rc && r->out && (r->json || r->md || r->html || r->partial))
		rc = nsx_fail(err, NSX_E_USAGE, "--out is the folder of a report: leave it out "
			      "with --json, --md, --html and --partial");
	if (!rc && r->mesh && r->partial)
		rc = nsx_fail(err, NSX_E_USAGE, "--mesh is for the report: a "
			      "digest has none, leave it out with --partial");
	r->digest.rank_regex = r->rank_regex;
	r->digest.keep = r->partial ? NSX_KEEP_BYTES : NSX_KEEP_COLUMNS;
	r->jobs = nsx_threads(r->asked_jobs);
	rc = rc ?: nsx_fleet_list(operands, n, &r->inputs, err);
	if (!rc && r->mesh)
		rc = nsx_mesh_read(r->mesh, r->inputs.arena, &r->axes, err);
	return rc;
}

void nsx_fleet_run_done(struct nsx_fleet_run *r)
{
	nsx_arena_free(r->inputs.arena);
	nsx_buf_done(&r->left_out.why);
}

void nsx_fleet_run_say(const struct nsx_left_out *x)
{
	for (const char *line = x->why.p, *end; line && *line; line = end + 1) {
		end = strchrnul(line, '\n');
		fprintf(stderr, "nsys-explain: left out: %.*s\n", (int)(end - line), line);
	}
}

/* Reports --------------------------------------------------------------------------*/

static int fleet_run_write_folder(const struct nsx_fleet_run *run,
				  const struct nsx_freport *r, const char *dir, struct nsx_err *err)
{
	const struct nsx_book book = {
		.md = {"report.md", nsx_freport_write_md, .subject = r},
		.html = {"report.html", nsx_freport_write_html, .subject = r},
		.json = {"report.json", nsx_freport_write_json, .subject = r},
		.tables = r->t, .ntables = NSX_NFTABLES,
		.all_rows = run->all_rows};

	return nsx_emit_book(&book, (struct nsx_folder){.dir = dir,
						 .inputs = run->inputs.path,
						 .ninputs = run->inputs.n,
						 .threads = run->jobs}, err);
}

/* Prints the hosts of the ranks. Only traces have host names; digests have none. */
static void print_hosts(const struct nsx_freport *r)
{
	const struct nsx_fleet *f = r->f;

	for (uint32_t h = 0; h < f->nhosts; h++) {
		const char *name = NULL;

		for (uint32_t i = 0; i < f->nranks && !name; i++)
			if (f->rank[i].host == h)
				name = f->rank[i].d->host_name;
		nsx_print_line(name ?
			nsx_arena_printf(r->arena, "Host %u: %s", h, name) :
			nsx_arena_printf(r->arena, "Host %u: %016llx", h,
				(unsigned long long)f->host[h].hash));
	}
}

static void print_page(const struct nsx_fleet_run *run,
		       const struct nsx_freport *r, const char *dir)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_freport_page(r, false, &b);
	for (const char *line = b.p; *line;) {
		size_t n = strcspn(line, "\n");
		char *text = nsx_arena_strndup(r->arena, line, n);

		nsx_print_line(text);
		line += n + (line[n] == '\n');
	}
	if (run->show_hosts)
		print_hosts(r);
	printf("\nWrote report to: %s/report.md\n", dir);
}

static int report_fleet(struct nsx_fleet_run *run, const struct nsx_fleet *f, struct nsx_err *err)
{
	const char *dir = run->out ? run->out : "fleet-report";
	struct nsx_freport *r = NULL;
	struct nsx_out_file one = {
		.write = run->json ? nsx_freport_write_json :
			 run->md   ? nsx_freport_write_md :
			 run->html ? nsx_freport_write_html : NULL};
	int rc = nsx_freport_new(f, &run->left_out, &r, err);

	one.subject = r;
	if (!rc)
		rc = one.write ? one.write(&one, stdout, err) :
				 fleet_run_write_folder(run, r, dir, err);
	if (!rc && !one.write && !run->quiet)
		print_page(run, r, dir);
	nsx_freport_free(r);
	return rc;
}

/* Merges digests. Ranks stay in order, so that any order of merging gives the same bytes. */
static int fleet_run_merge(const struct nsx_fleet_run *run, struct nsx_digest **v,
			   size_t n, struct nsx_err *err)
{
	struct nsx_target to = nsx_digest_target(run->partial, run->inputs.path, run->inputs.n);
	size_t kept = nsx_digest_unite(v, n, NULL), size = 0;
	int rc = nsx_digest_write(&to, v, kept, &size, err);

	if (!rc && !run->quiet)
		printf("Wrote digest of %zu ranks to: %s (%.0f kB)\n", kept,
		       run->partial, (double)size / 1e3);
	for (size_t i = 0; i < kept; i++)
		nsx_digest_free(v[i]);
	return rc;
}

/* Reports, even if quiet, ranks whose traces could not be read whole. */
static int tell_partial(const struct nsx_fleet *f, bool has_left_out)
{
	char why[120];
	uint32_t n = 0;

	for (uint32_t i = 0; f && i < f->nranks; i++)
		n += f->rank[i].d->is_partial;
	if (!n)
		return has_left_out ? 4 : 0;
	snprintf(why, sizeof(why), "%u of %u ranks: their traces could not be read whole; the "
		 "reports on them say why", n, f->nranks);
	return nsx_cmd_partial(why);
}

int nsx_fleet_run_finish(struct nsx_fleet_run *r, struct nsx_digest **v,
			 size_t n, struct nsx_err *err)
{
	struct nsx_fleet *f = NULL;
	bool too_few = false;
	int rc;

	if (!n)
		rc = nsx_fail(err, NSX_E_DATA, r->inputs.n == 1 ?
			      "the input could not be read" :
			      "none of %zu inputs could be read", r->inputs.n);
	else if (r->partial)
		rc = fleet_run_merge(r, v, n, err);
	else
		rc = nsx_fleet_new(v, n, &f, err);
	free(v);
	if (f) {
		too_few = f->nranks < r->min_ranks;
		rc = (r->mesh ? nsx_fleet_set_mesh(f, &r->axes, err) : 0) ?:
		     nsx_fleet_analyse(f, err) ?: report_fleet(r, f, err);
	}
	if (!rc && too_few)
		fprintf(stderr, "nsys-explain: %u rank%s here, fewer than the %lld of "
			"--min-ranks\n", f->nranks, f->nranks == 1 ? " is" : "s are",
			(long long)r->min_ranks);
	rc = rc ?: tell_partial(f, r->left_out.n) ?: too_few;
	nsx_fleet_free(f);
	return rc;
}
