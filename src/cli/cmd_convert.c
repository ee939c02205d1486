/* cmd_convert.c - a trace as Chrome trace events, for Perfetto. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "capture/capture.h"
#include "cli/cmd_common.h"
#include "convert/convert.h"
#include "cli/opt.h"

struct args {
	const char *input, *output, *step, *activity, *nvtx_prefix, *window,
		*nsys;
	bool no_metadata, no_compress, quiet;
};
#define OPT(letter, name, alias, arg, kind, field, help)                      \
	{letter, name, alias, arg, kind, offsetof(struct args, field), help}

static const struct nsx_opt opts[] = {
	OPT('i', "input", NULL, "FILE", NSX_O_STR, input,
	    "the trace, where it is no operand"),
	OPT('o', "output", NULL, "FILE", NSX_O_STR, output,
	    "the result: .json, or .pftrace for Perfetto's typed GPU views; a "
	    "name in .gz is compressed, '-' is JSON on stdout (default: the "
	    "trace's name with .json)"),
	OPT(0, "activity", NULL, "LIST", NSX_O_STR, activity,
	    "what to convert, with commas: kernel, memcpy, memset, graph, "
	    "nvtx, nvtx-kernel, cuda-api, osrt, sched, gpu-metrics, or all "
	    "(default: all but nvtx-kernel)"),
	OPT(0, "nvtx-prefix", NULL, "TEXT", NSX_O_STR, nvtx_prefix,
	    "only NVTX ranges and marks whose names begin so"),
	OPT(0, "window", NULL, "A..B", NSX_O_STR, window,
	    "only what overlaps it: seconds from the first event, or "
	    "nanoseconds of the trace (5ns..9ns)"),
	OPT(0, "no-metadata", NULL, NULL, NSX_O_FLAG, no_metadata,
	    "no names of processes, threads and GPUs, and no start time"),
	OPT(0, "step", NULL, "STEP", NSX_O_STR, step,
	    "of a .nsys-rep: sqlite (export it, no more), chrome (convert an "
	    "export), all (default)"),
	OPT(0, "nsys", NULL, "FILE", NSX_O_STR, nsys,
	    "the nsys that exports a .nsys-rep (default: NSYS_PATH, else the "
	    "newest of PATH and the usual folders)"),
	OPT(0, "no-compress", NULL, NULL, NSX_O_FLAG, no_compress,
	    "leave the packets of a .pftrace as they are"),
	OPT('q', "quiet", NULL, NULL, NSX_O_FLAG, quiet,
	    "print no summary"),
};

/* Arguments ---------------------------------------------------------------------*/

static bool ends_in(const char *s, const char *suffix)
{
	size_t n = strlen(s), m = strlen(suffix);

	return n >= m && !strcmp(s + n - m, suffix);
}

static bool is_report(const char *path)
{
	return ends_in(path, ".nsys-rep") || ends_in(path, ".qdrep");
}

static int parse_activity(const char *name, size_t n, unsigned *ret,
			  struct nsx_err *err)
{
	if (n == 3 && !strncmp(name, "all", n)) {
		*ret |= (1U << NSX_NACTIVITIES) - 1;
		return 0;
	}
	for (unsigned a = 0; a < NSX_NACTIVITIES; a++)
		if (strlen(nsx_activity_names[a]) == n &&
		    !strncmp(name, nsx_activity_names[a], n)) {
			*ret |= 1U << a;
			return 0;
		}
	return nsx_fail(err, NSX_E_USAGE, "no activity '%.*s'; see "
			"'nsys-explain help convert' for the list",
			(int)NSX_MIN(n, 64), name);
}

static int parse_activities(const char *list, unsigned *ret,
			    struct nsx_err *err)
{
	*ret = list ? 0 : ((1U << NSX_NACTIVITIES) - 1) & ~(1U << NSX_A_NVTX_GPU);
	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (parse_activity(list, n, ret, err))
			return err->rc;
		list += n + (list[n] == ',');
	}
	return *ret ? 0 : nsx_fail(err, NSX_E_USAGE, "--activity is empty");
}

static int check(struct args *a, int n, char **argv, struct nsx_err *err)
{
	const char *step = a->step ? a->step : "all";

	if (n == 1 && !a->input)
		a->input = argv[1];
	else if (n || !a->input)
		return nsx_fail(err, NSX_E_USAGE, "give one trace: nsys-explain "
				"convert TRACE.sqlite -o OUT.json");
	if (strcmp(step, "sqlite") && strcmp(step, "chrome") &&
	    strcmp(step, "all"))
		return nsx_fail(err, NSX_E_USAGE, "--step must be sqlite, "
				"chrome or all, not '%s'", step);
	if (!strcmp(step, "sqlite") && !is_report(a->input))
		return nsx_fail(err, NSX_E_USAGE, "--step sqlite exports a "
				".nsys-rep; '%s' is none", a->input);
	if (!strcmp(step, "chrome") && is_report(a->input))
		return nsx_fail(err, NSX_E_USAGE, "--step chrome converts an "
				"export; '%s' is a report: leave --step out",
				a->input);
	return 0;
}

/* "dir/run.sqlite" -> "dir/run" + suffix. Owner: the arena. */
static const char *beside(const char *path, const char *suffix,
			  struct nsx_arena *a)
{
	static const char *const known[] = {".sqlite", ".nsys-rep", ".qdrep"};
	size_t n = strlen(path);

	for (unsigned i = 0; i < ARRAY_LEN(known); i++)
		if (ends_in(path, known[i])) {
			n -= strlen(known[i]);
			break;
		}
	return nsx_arena_printf(a, "%.*s%s", (int)n, path, suffix);
}

/* Steps -------------------------------------------------------------------------*/

static int export_report(const struct args *a, const char *to,
			 struct nsx_arena *arena, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_proc_end_done) struct nsx_proc_end end = {0};
	struct nsx_nsys *nsys;
	size_t n;
	int rc;

	if (access(a->input, R_OK))
		return nsx_fail(err, NSX_E_IO, "cannot read '%s'", a->input);
	nsys = nsx_nsys_list(arena, a->nsys, &n);
	if (!n)
		return nsx_fail(err, NSX_E_IO, "'%s' must be exported, but no "
				"nsys was found; on a machine that has it run: "
				"nsys export --type sqlite '%s'", a->input,
				a->input);
	nsx_proc_guard();
	rc = nsx_nsys_ask(nsys, arena, err);
	if (!rc)
		rc = nsx_nsys_export(nsys, a->input, to, arena, &end, err);
	nsx_proc_sweep(0.5, NULL);
	nsx_proc_unguard();
	return rc;
}

/* Says what was written, on stderr when the result is on stdout. */
static void say(const struct args *a, const struct nsx_convert_counts *n,
		const char *to)
{
	FILE *f = strcmp(to, "-") ? stdout : stderr;

	if (a->quiet)
		return;
	if (f == stdout)
		printf("Wrote trace to: %s\n", to);
	fprintf(f, "%lld slices, %lld start/end ranges, %lld marks, %lld "
		"counter values, %lld arrows\n", (long long)n->slices,
		(long long)n->asyncs, (long long)n->marks,
		(long long)n->samples, (long long)n->flow_ends);
	if (n->in_lanes)
		fprintf(f, "%lld slices overlap others of their track: moved "
			"to further lanes\n", (long long)n->in_lanes);
	if (n->left_out)
		fprintf(f, "%lld rows have no valid times: left out\n",
			(long long)n->left_out);
	if (n->shift_ns)
		fprintf(f, "times are shifted by %lld ns\n",
			(long long)n->shift_ns);
}

static int convert(const struct args *a, const char *from, const char *to,
		   const struct nsx_convert_opts *o, struct nsx_err *err)
{
	struct nsx_convert_counts counts;
	struct nsx_buf warnings = {0};
	struct nsx_schema schema;
	struct nsx_out out;
	int rc = nsx_schema_open(from, &schema, err);

	if (rc)
		return rc;
	rc = nsx_out_open(to, &out, err);
	if (!rc) {
		rc = nsx_convert(&schema, o, &out, &counts, &warnings, err);
		if (!rc && nsx_db_warning(schema.db))
			nsx_buf_printf(&warnings, "%s\n",
				       nsx_db_warning(schema.db));
		if (!rc && nsx_db_has_changed(schema.db))
			nsx_buf_adds(&warnings, NSX_CHANGED "\n");
		if (!rc)
			rc = nsx_out_commit(&out, err);
		nsx_out_done(&out);
	}
	nsx_schema_close(&schema);
	if (!rc)
		say(a, &counts, to);
	if (!rc && warnings.n) {
		fprintf(stderr, "nsys-explain: %s", warnings.p);
		rc = 1;
	}
	nsx_buf_done(&warnings);
	return rc;
}

/* The last words of our own JSON. A name that we chose takes nothing else's place. */
static bool is_ours(const char *path)
{
	char tail[1025] = "";
	FILE *f = fopen(path, "rbe");
	bool found = f && (!fseek(f, -1024, SEEK_END) || !fseek(f, 0, SEEK_SET)) &&
		     fread(tail, 1, sizeof(tail) - 1, f) &&
		     strstr(tail, "\"producer\":\"nsys-explain ");

	if (f)
		(void)fclose(f);
	return found;
}

static int check_target(const struct args *a, const char *to,
			struct nsx_err *err)
{
	struct stat in, there;

	if (!strcmp(to, "-") || stat(to, &there))
		return 0;
	if (!stat(a->input, &in) && in.st_dev == there.st_dev &&
	    in.st_ino == there.st_ino)
		return nsx_fail(err, NSX_E_IO, "'%s' is the input itself; give "
				"another name for the result", to);
	if (!a->output && !is_ours(to))
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': what is "
				"there was not written by this program; move it "
				"away or give a name with -o", to);
	return 0;
}

static int take_steps(const struct args *a, const struct nsx_convert_opts *o,
		      struct nsx_arena *arena, struct nsx_err *err)
{
	bool only_export = a->step && !strcmp(a->step, "sqlite");
	const char *to = a->output ? a->output :
			 beside(a->input, only_export ? ".sqlite" : ".json",
				arena);
	const char *made;
	int rc;

	if (check_target(a, to, err))
		return err->rc;
	if (!is_report(a->input))
		return convert(a, a->input, to, o, err);
	made = nsx_arena_printf(arena, "%s.unfinished-%ld.sqlite",
				strcmp(to, "-") ? to : "nsys-explain",
				(long)getpid());
	rc = export_report(a, made, arena, err);
	if (!rc && only_export)
		rc = nsx_file_move(made, to, err);
	else if (!rc)
		rc = convert(a, made, to, o, err);
	unlink(made);
	if (!rc && only_export && !a->quiet)
		printf("Wrote export to: %s\n", to);
	return rc;
}

static int run(const struct nsx_cmd *cmd, int argc, char **argv)
{
	struct args a = {0};
	struct nsx_convert_opts o = {0};
	struct nsx_arena *arena = nsx_arena_new();
	struct nsx_err err;
	int n, rc = nsx_opt_parse(cmd, argc, argv, &a, &n, &err);

	if (!rc)
		rc = check(&a, n, argv, &err);
	if (!rc)
		rc = parse_activities(a.activity, &o.activities, &err);
	o.nvtx_prefix = a.nvtx_prefix;
	o.window = a.window;
	o.no_metadata = a.no_metadata;
	o.no_compress = a.no_compress;
	o.pftrace = a.output && (ends_in(a.output, ".pftrace") ||
				 ends_in(a.output, ".pftrace.gz"));
	o.threads = (unsigned)get_nprocs();
	if (!rc)
		rc = take_steps(&a, &o, arena, &err);
	nsx_arena_free(arena);
	if (rc > 0)
		return 4; /* converted, but the trace is damaged */
	if (!rc)
		rc = nsx_flush_stdout(&err);
	return rc ? nsx_cmd_fail(&err, false) : 0;
}

const struct nsx_cmd nsx_cmd_convert = {
	.name = "convert",
	.usage = "TRACE.sqlite [-o OUT.json|OUT.pftrace[.gz]] [OPTIONS]",
	.summary = "write a trace for Perfetto and chrome://tracing",
	.doc = "A name in .pftrace gives Perfetto's own packets (its versions "
	       "from 54 on): kernels, copies, memsets and graph replays are "
	       "typed GPU work with launch dimensions, registers and shared "
	       "memory, on the GPU's queues; counters are GPU counters; "
	       "threads have a track each for calls, NVTX, OS runtime calls "
	       "and scheduling; launches lead to what they caused.\n\n"
	       "Any other name gives Chrome trace events. GPU work stands under a process "
	       "of its own for each (process, GPU), one track for each stream "
	       "and kind; calls, NVTX ranges, OS runtime calls and scheduling "
	       "stand under their process, tracks by thread. Start/end ranges "
	       "are asynchronous, counters are counters, and arrows lead from "
	       "a call to the GPU work it caused.\n\n"
	       "Times are those of the trace, in microseconds with three "
	       "decimals: exact. If one is negative, or too great for that, all "
	       "are shifted, and "
	       "otherData.time_shift_ns at the end of the file says by how "
	       "much. Slices that overlap on a track, which viewers drop, "
	       "move to further lanes of it.\n\n"
	       "nvtx-kernel is each push/pop range as the time from the first "
	       "to the last GPU operation launched in it; it needs the trace "
	       "in memory, all else does not.\n\n"
	       "A .nsys-rep is exported first, with nsys. The result appears "
	       "when it is whole.",
	.examples = "nsys-explain convert run.sqlite -o run.json.gz  # open it "
		    "at ui.perfetto.dev\n"
		    "nsys-explain convert run.sqlite -o run.pftrace  # the "
		    "same, smaller, with typed GPU work\n"
		    "nsys-explain convert run.sqlite -o part.json --window "
		    "2..2.5 --activity kernel,nvtx  # half a second\n"
		    "nsys-explain convert run.nsys-rep -o - | gzip > "
		    "run.json.gz  # export and convert\n",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	.run = run,
};
