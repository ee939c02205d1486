/* cmd_digest.c - summarises one trace's ranks in a file small enough to send. */
#include <unistd.h>
#include "cli/cmd_common.h"
#include "cli/exported.h"
#include "fleet/digest.h"

struct args {
	const char *out, *detail, *rank_regex, *steps_from;
	int64_t rank, threads;
	bool quiet;
};

#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('o', "out", NULL, "F.nsxd", STR, out,
	    "the digest; .zst behind it compresses (default: the trace's "
	    "name with .nsxd, in the working folder)"),
	OPT(0, "detail", NULL, "WORD", STR, detail,
	    "steps (no times of single collectives), colls (default) or full "
	    "(all kernel families)"),
	OPT(0, "rank", NULL, "R", INT, rank,
	    "the rank, where the trace does not say it", .most = INT32_MAX),
	OPT(0, "rank-regex", NULL, "RE", STR, rank_regex,
	    "finds the rank in the trace's name (" NSX_RANK_REGEX ")"),
	NSX_OPT_STEPS_FROM(struct args, steps_from),
	NSX_OPT_THREADS(struct args),
	OPT('q', "quiet", NULL, NULL, FLAG, quiet, "print no summary"),
};

/* ", host 2": the host of the i-th rank, counted in the order of ranks; "": all are on one. */
static const char *host_in_words(const struct nsx_digest *const *v, size_t n, size_t i,
				 struct nsx_arena *a)
{
	size_t nth = 0, nhosts = 0;

	for (size_t k = 0; k < n; k++) {
		size_t first = 0;

		while (v[first]->host != v[k]->host)
			first++;
		nhosts += first == k;
		nth = v[first]->host == v[i]->host && first == k ? nhosts : nth;
	}
	return nhosts > 1 ? nsx_arena_printf(a, ", host %zu", nth) : "";
}

static void cmd_digest_say(const struct nsx_digest *const *v, size_t n, bool is_asked,
			   size_t bytes, const char *out)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();

	for (size_t i = 0; i < n; i++) {
		size_t ncolls = 0;

		for (size_t c = 0; c < v[i]->nchannels; c++)
			ncolls += nsx_is_of_messages(&v[i]->channels[c]) ? 0 : v[i]->channels[c].n;
		if (v[i]->rank >= 0)
			printf("Rank %lld (number from %s)", (long long)v[i]->rank,
			       is_asked ? "--rank" :
			       nsx_rank_from_names[v[i]->rank_from]);
		else
			printf("A rank without a number (process %lld%s%s)",
			       (long long)v[i]->pid, v[i]->device < 0 ? "" :
			       nsx_arena_printf(a, ", GPU %s", nsx_digest_gpu(v[i], a)),
			       host_in_words(v, n, i, a));
		printf(": %s, %s, %s\n", nsx_text_n(a, v[i]->nsteps, "step", NULL),
		       nsx_text_n(a, ncolls, "collective", NULL),
		       nsx_text_n(a, v[i]->nfamilies, "kernel family", "kernel families"));
		for (size_t f = 0; f < v[i]->nfindings; f++)
			if (!strcmp(v[i]->findings[f].key, "impossible_records"))
				nsx_print_line(v[i]->findings[f].title);
	}
	printf("Wrote digest to: %s (%.0f kB)\n"
	       "Ask next: nsys-explain fleet, with the digests of all ranks\n",
	       out, (double)bytes / 1e3);
}

static int digest_trace(const struct args *a, const char *path,
			const struct nsx_digest_opts *o, struct nsx_err *err)
{
	struct nsx_digest **v = NULL;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	const char *out = a->out ?: nsx_default_out(path, ".nsxd", arena);
	struct nsx_target to = nsx_digest_target(out, &path, 1);
	size_t n = 0, bytes;
	const char *damage;
	int rc = nsx_target_check(&to, err) ?: nsx_digest_read_trace(path, o, &v, &n, err) ?:
		 nsx_digest_write(&to, v, n, &bytes, err);

	if (!rc && !a->quiet)
		cmd_digest_say((const struct nsx_digest *const *)v, n, a->rank >= 0, bytes, out);
	/* one trace's ranks share its damage */
	damage = n && v[0]->damage ? nsx_arena_strdup(arena, v[0]->damage) : NULL;
	nsx_digests_free(v, n);
	return rc ?: nsx_cmd_partial(damage);
}

static int cmd_digest_run(void *args, int n, char **operands, struct nsx_err *err)
{
	const struct args *a = args;
	struct nsx_digest_opts o = {.detail = NSX_DETAIL_COLLS, .rank = a->rank,
				    .rank_regex = a->rank_regex,
				    .threads = nsx_threads(a->threads)};
	struct nsx_step_patterns *steps_from = NULL;
	int rc;

	if (n != 1)
		return nsx_fail(err, NSX_E_USAGE, "give one trace, not %d: nsys-explain digest "
				"TRACE -o F.nsxd", n);
	if (nsx_detail_parse(a->detail, &o.detail, err) ||
	    (a->steps_from && nsx_step_patterns_read(a->steps_from, &steps_from, err)))
		return err->rc;
	o.steps_from = steps_from;
	rc = digest_trace(a, operands[0], &o, err);
	nsx_step_patterns_free(steps_from);
	return rc;
}

const struct nsx_cmd nsx_cmd_digest = {
	.name = "digest",
	.usage = "TRACE [-o F.nsxd] [OPTIONS]",
	.summary = "sum up the ranks of a trace in a small file, for fleet",
	.doc = "Writes a SQLite file of a few hundred kB for each rank: its steps and where their "
	       "time went, idle causes, kernel families with their quantiles, every collective, "
	       "totals. 'nsys-explain fleet' and 'nsys-explain diff' read such files in the place "
	       "of traces, so that traces can stay where they were made.\n\n"
	       "A digest holds no host name (only its hash), no path, no environment and no "
	       "command line.",
	.examples = "nsys-explain digest job_rank3.sqlite -o rank3.nsxd  # its "
		    "rank is read from the trace\n"
		    "nsys-explain digest run.sqlite --rank 3 --detail steps  # "
		    "smaller: no single collectives",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args, .rank = -1),
	.run = cmd_digest_run,
};
