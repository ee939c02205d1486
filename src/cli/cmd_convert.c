/* cmd_convert.c - traces for viewers: Perfetto packets, or Chrome trace events. */
#include <stdio.h>
#include <sys/stat.h>
#include "cli/cmd_common.h"
#include "cli/exported.h"
#include "convert/job.h"

struct args {
	struct nsx_convert_opts o;
	const char *input, *output, *activity, *iteration, *nsys, *keep_export;
	int64_t max_size; /* limit of the file's bytes; 0: none              */
	enum { GPU_NATIVE, GPU_TRACKS, GPU_UNSAID } gpu;
	enum { STEP_SQLITE, STEP_CHROME, STEP_ALL, STEP_UNSAID } step;
	bool force, no_force, quiet;
};
#define OPT(...) NSX_OPT(struct args, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('i', "input", NULL, "FILE", STR, input, "the trace, if it is not given as an operand"),
	OPT('o', "output", NULL, "FILE", STR, output,
	    "the result: .pftrace for Perfetto's typed GPU views, .tar for several traces with a "
	    "member each; any other suffix gives JSON, and one that ends in .gz is compressed; - "
	    "is JSON on stdout (default: the trace's name with .pftrace, in the working folder)"),
	OPT('t', "only", "activity", "LIST", STR, activity,
	    "what to convert, with commas: kernels, copies (memcpy, memset), "
	    "graph, api, cuda (all of these), nvtx, nvtx-kernel, "
	    "libraries (MPI, cuBLAS, ...), osrt, sched, "
	    "counters (gpu-metrics, memory, queues), findings, or all (default: "
	    "all; nvtx-kernel, findings and queues in packets only)",
	    .words = "all, kernels, copies, memcpy, memset, graphs, api, cuda, nvtx, nvtx-kernel, "
		     "libraries, osrt, sched, counters, gpu-metrics, memory, queues, findings"),
	OPT(0, "nvtx-prefix", NULL, "TEXT", STR, o.nvtx_prefix,
	    "only NVTX ranges and marks whose names begin with TEXT"),
	OPT(0, "window", NULL, "A..B", STR, o.window,
	    "only what overlaps it: seconds from the first event; 1.5s..2s or 5ns..9ns on the "
	    "trace's clock, as reports print it; nvtx:NAME, from the first range of that name to "
	    "the last; phase:NAME, a phase by its name in a report; step:KIND, a typical step of an "
	    "engine (the trace is loaded to find either)"),
	OPT(0, "iteration", NULL, "N", STR, iteration,
	    "only iteration N of tables/iterations.csv, of the GPU that sets the pace"),
	OPT(0, "gpu", NULL, "FORM", WORD, gpu,
	    "GPU work in packets: native (Perfetto 54 and later, the default), or tracks, slices "
	    "that older versions show, too", .words = "native or tracks"),
	OPT(0, "max-size", NULL, "SIZE", SIZE, max_size,
	    "greatest size of the file, such as 400M. If there is more, it leaves out OS runtime "
	    "calls, scheduling and depths of queues, then CUDA calls that caused no GPU work, "
	    "then NVTX marks"),
	OPT(0, "no-metadata", NULL, NULL, FLAG, o.no_metadata,
	    "no names of processes, threads and GPUs, and no start time"),
	OPT('s', "step", NULL, "STEP", WORD, step,
	    "how much to do: sqlite (only export a .nsys-rep), chrome (convert an "
	    "export) or all (default)", .words = "sqlite, chrome or all"),
	OPT(0, "keep-export", NULL, "FILE", STR, keep_export,
	    "keep the export of a .nsys-rep as FILE"),
	OPT(0, "nsys", NULL, "FILE", STR, nsys,
	    "first export a .nsys-rep with this nsys, for content that this program cannot "
	    "read (warnings name it)"),
	OPT(0, "no-compress", NULL, NULL, FLAG, o.no_compress,
	    "leave the packets of a .pftrace as they are"),
	OPT(0, "force", NULL, NULL, FLAG, force, "replace what is there, whatever wrote it"),
	OPT(0, "no-force", NULL, NULL, FLAG, no_force,
	    "replace nothing, not even what this program wrote"),
	OPT('q', "quiet", NULL, NULL, FLAG, quiet, "print no summary"),
};

/* Arguments ---------------------------------------------------------------------*/

#define BIT(a) (1U << NSX_A_##a)
/* Words that select activities: a group of activities, or a short name for one. */
static const struct {
	const char *word;
	unsigned activities;
} words[] = {{"all", (1U << NSX_NACTIVITIES) - 1},
	     {"cuda", BIT(KERNEL) | BIT(MEMCPY) | BIT(MEMSET) | BIT(GRAPH) | BIT(API)},
	     {"kernels", BIT(KERNEL)},
	     {"copies", BIT(MEMCPY) | BIT(MEMSET)},
	     {"graphs", BIT(GRAPH)},
	     {"api", BIT(API)},
	     {"counters", BIT(METRIC) | BIT(MEMORY) | BIT(QUEUE)}};

static int parse_activity(const char *name, size_t n, unsigned *ret, struct nsx_err *err)
{
	const char *nearest = NULL;
	size_t best = SIZE_MAX;

	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		if (strlen(words[i].word) == n && !strncmp(name, words[i].word, n)) {
			*ret |= words[i].activities;
			return 0;
		}
	for (unsigned a = 0; a < NSX_NACTIVITIES; a++)
		if (strlen(nsx_activity_names[a]) == n &&
		    !strncmp(name, nsx_activity_names[a], n)) {
			*ret |= 1U << a;
			return 0;
		}
	for (unsigned i = 0; i < ARRAY_LEN(words); i++)
		if (nsx_is_nearer(name, n, words[i].word, &best))
			nearest = words[i].word;
	for (unsigned a = 0; a < NSX_NACTIVITIES; a++)
		if (nsx_is_nearer(name, n, nsx_activity_names[a], &best))
			nearest = nsx_activity_names[a];
	return nsx_fail(err, NSX_E_USAGE, "no activity '%.*s'; %s'nsys-explain help convert' "
			"lists them", (int)NSX_MIN(n, 64), name, nsx_meant(nearest).text);
}

static int parse_activities(const char *list, bool is_pftrace, unsigned *ret, struct nsx_err *err)
{
	*ret = list ? 0 : words[0].activities &
			  ~(is_pftrace ? 0 : BIT(NVTX_GPU) | BIT(FINDING) | BIT(QUEUE));
	while (list && *list) {
		size_t n = strcspn(list, ",");

		if (parse_activity(list, n, ret, err))
			return err->rc;
		list += n + (list[n] == ',');
	}
	return *ret ? 0 : nsx_fail(err, NSX_E_USAGE, "--only is empty");
}

static int check_step(const struct args *a, const char *input, struct nsx_err *err)
{
	if (a->step == STEP_SQLITE && !nsx_is_capture(input))
		return nsx_fail(err, NSX_E_USAGE, "--step sqlite exports a "
				".nsys-rep; '%s' is none", input);
	if (a->step == STEP_CHROME && nsx_is_capture(input))
		return nsx_fail(err, NSX_E_USAGE, "--step chrome converts an export; '%s' is a "
				"report: leave --step out", input);
	return 0;
}

static int check_several(const struct args *a, const struct nsx_convert_job *job,
			 struct nsx_err *err)
{
	if (job->n == 1)
		return 0;
	if (a->step != STEP_UNSAID || a->keep_export)
		return nsx_fail(err, NSX_E_USAGE, "--step and --keep-export are for one trace");
	if (!job->opts.pftrace)
		return nsx_fail(err, NSX_E_USAGE, "several traces go into "
				"packets: give -o OUT.pftrace or -o OUT.tar");
	if (a->o.window || a->iteration)
		return nsx_fail(err, NSX_E_USAGE, "--window and --iteration are "
				"of one trace; leave them out for several");
	if (job->n > NSX_MAX_TRACES)
		return nsx_fail(err, NSX_E_USAGE, "%zu traces are more than one "
				"output takes (%d)", job->n, NSX_MAX_TRACES);
	return 0;
}

static int cmd_convert_read_args(const struct args *a, struct nsx_convert_job *job,
				 struct nsx_arena *arena, struct nsx_err *err)
{
	struct nsx_convert_opts *o = &job->opts;
	bool is_tar = nsx_convert_is(job->to, ".tar");

	*o = a->o;
	o->pftrace = is_tar || nsx_convert_is(job->to, ".pftrace");
	if (a->iteration)
		o->window = nsx_arena_printf(arena, "iteration:%s", a->iteration);
	o->threads = nsx_threads(0);
	if (a->iteration && a->o.window)
		return nsx_fail(err, NSX_E_USAGE, "--iteration and --window "
				"both say what to convert: leave one out");
	o->gpu_tracks = a->gpu == GPU_TRACKS;
	if (a->gpu != GPU_UNSAID && !o->pftrace)
		return nsx_fail(err, NSX_E_USAGE, "--gpu is for packets: give -o OUT.pftrace");
	if (is_tar && job->to[strlen(job->to) - 1] != 'r')
		return nsx_fail(err, NSX_E_USAGE, "the members of a .tar are "
				"compressed already: leave .gz out");
	if (a->max_size && !strcmp(job->to, "-"))
		return nsx_fail(err, NSX_E_USAGE, "--max-size is for files: "
				"what is on stdout cannot be taken back");
	o->is_chosen = a->activity || o->window;
	job->max_bytes = a->max_size;
	if (parse_activities(a->activity, o->pftrace, &o->activities, err))
		return err->rc;
	return check_several(a, job, err);
}

/* Names -------------------------------------------------------------------------*/

/* The name of the output. A name without a suffix gets the suffix of the format. */
static const char *output_name(const struct args *a, const char *input, struct nsx_arena *arena)
{
	const char *suffix = a->step == STEP_SQLITE ? ".sqlite" :
			     a->step == STEP_CHROME ? ".json" : ".pftrace";
	struct stat there;

	if (!a->output)
		return nsx_default_out(input, suffix, arena);
	if (!strcmp(a->output, "-") || strchr(nsx_base_name(a->output), '.') ||
	    (!stat(a->output, &there) && !S_ISREG(there.st_mode)))
		return a->output;
	return nsx_arena_printf(arena, "%s%s", a->output, suffix);
}

/* Whether this program wrote the file: packets, archives and compressed files have a mark at the
 * beginning, JSON at the end.
 */
static bool cmd_convert_is_ours(const char *path)
{
	static const char producer[] = "\"producer\":\"nsys-explain ";
	char buf[2][4096] = {"", ""};
	FILE *f = fopen(path, "rbe");
	unsigned at = 0;
	bool found = false;
	size_t n;

	while (f && !found && (n = fread(buf[1], 1, sizeof(buf[1]), f)) > 0) {
		found = memmem(buf, sizeof(buf[0]) + n, producer, sizeof(producer) - 1) ||
			(!at && memmem(buf[1], NSX_MIN(n, (size_t)64), "nsys-explain", 12));
		memcpy(buf[0], buf[1], sizeof(buf[0]));
		at = 1;
	}
	if (f)
		(void)fclose(f);
	return found;
}

static int check_target(const struct args *a, const struct nsx_convert_job *job,
			struct nsx_err *err)
{
	const struct nsx_target to = {
		.path = job->to, .inputs = job->traces, .ninputs = job->n,
		.is_ours = a->force || a->no_force ? NULL : cmd_convert_is_ours,
		.way_out = "move it away, give another name with -o, or replace it with --force"};
	struct stat there;

	if (!strcmp(job->to, "-") || stat(job->to, &there))
		return 0;
	if (nsx_target_check(&to, err))
		return err->rc;
	if (!S_ISREG(there.st_mode) && nsx_convert_is(job->to, ".tar"))
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': an archive "
				"must be a plain file", job->to);
	if (S_ISREG(there.st_mode) && a->no_force)
		return nsx_fail(err, NSX_E_IO, "cannot write '%s': it is there already, and "
				"--no-force replaces nothing", job->to);
	return 0;
}

/* Summary -----------------------------------------------------------------------*/

static const char *const shed_words[NSX_NSHEDS] = {
	[NSX_SHED_OSRT] = "OS runtime calls, scheduling and depths of queues",
	[NSX_SHED_CALLS] = "CUDA calls that caused no GPU work",
	[NSX_SHED_MARKS] = "NVTX marks",
};

/* Prints a summary of what was written, on stderr if the result is on stdout. */
static void cmd_convert_say(const struct args *a, const struct nsx_convert_job *job,
			    const struct nsx_converted *c, struct nsx_arena *arena)
{
	FILE *f = strcmp(job->to, "-") ? stdout : stderr;
	const struct nsx_convert_counts *n = &c->counts;

	if (a->quiet)
		return;
	if (f == stdout)
		printf("Wrote trace to: %s\n", job->to);
	fprintf(f, "%lld slices, %lld start/end ranges, %lld marks, %lld counter values, %lld "
		"arrows\n", (long long)n->slices, (long long)n->asyncs, (long long)n->marks,
		(long long)n->samples, (long long)n->flow_ends);
	if (n->in_lanes)
		fprintf(f, "%lld %s: moved to further lanes\n",
			(long long)n->in_lanes, n->in_lanes == 1 ?
			"slice overlaps others of its track" :
			"slices overlap others of their track");
	if (n->left_out)
		fprintf(f, "%lld %s no valid times or values: left out\n", (long long)n->left_out,
			n->left_out == 1 ? "row has" : "rows have");
	for (unsigned i = 0; i < NSX_NSHEDS; i++)
		if (c->shed >> i & 1)
			fprintf(f, "%s dropped, to be no larger than %s\n", shed_words[i],
				nsx_text_bytes(arena, (double)a->max_size));
	if (job->n == 1 && n->shift_ns)
		fprintf(f, "times are shifted by %lld ns\n", (long long)n->shift_ns);
	if (c->notes.n)
		fprintf(f, "%s", c->notes.p);
	if (!n->slices && !n->asyncs && !n->marks && !n->samples)
		fprintf(stderr, "nsys-explain: warning: '%s' has no row in the part and of the "
			"kinds chosen: the result is empty\n", job->traces[0]);
	if (f == stdout)
		puts("Open it at https://ui.perfetto.dev");
}

/* Steps -------------------------------------------------------------------------*/

static int cmd_convert_convert(const struct args *a, const struct nsx_convert_job *job,
			       struct nsx_arena *arena, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_converted_done) struct nsx_converted done;

	if (nsx_convert_run(job, &done, err))
		return err->rc;
	cmd_convert_say(a, job, &done, arena);
	if (done.warnings.n)
		fprintf(stderr, "nsys-explain: %s", done.warnings.p);
	return done.warnings.n > 0;
}

/* Converts the traces. Reports that need it are exported temporarily. */
static int convert_inputs(const struct args *a, struct nsx_convert_job *job,
			  struct nsx_arena *arena, struct nsx_err *err)
{
	const struct nsx_export_opts x = {.nsys = a->nsys, .beside = job->to,
					  .keep = a->keep_export};
	NSX_AT_EXIT(nsx_free_at) struct nsx_exported *e =
		nsx_try_alloc(job->n, sizeof(*e), "inputs", err);
	NSX_AT_EXIT(nsx_free_at) const char **traces =
		nsx_try_alloc(job->n, sizeof(*traces), "inputs", err);
	int rc = e && traces ? 0 : err->rc;

	for (size_t i = 0; i < job->n && !rc; i++) {
		rc = nsx_exported_open(job->traces[i], &x, &e[i], err);
		traces[i] = e[i].path;
	}
	job->traces = traces;
	rc = rc ?: cmd_convert_convert(a, job, arena, err);
	for (size_t i = 0; i < job->n && e; i++)
		nsx_exported_done(&e[i]);
	return rc;
}

static int export_only(const struct args *a, const struct nsx_convert_job *job, struct nsx_err *err)
{
	const struct nsx_export_opts x = {.nsys = a->nsys, .beside = job->to,
					  .keep = job->to,
					  .replace = true};
	NSX_AT_EXIT(nsx_exported_done) struct nsx_exported e = {.path = NULL};
	int rc = nsx_exported_open(job->traces[0], &x, &e, err);

	if (!rc && !a->quiet)
		printf("Wrote export to: %s\n", job->to);
	return rc;
}

static int cmd_convert_take_steps(const struct args *a, struct nsx_convert_job *job,
				  struct nsx_arena *arena, struct nsx_err *err)
{
	if (check_step(a, job->traces[0], err))
		return err->rc;
	job->to = output_name(a, job->traces[0], arena);
	if (cmd_convert_read_args(a, job, arena, err) || check_target(a, job, err))
		return err->rc;
	return a->step == STEP_SQLITE ? export_only(a, job, err) :
					convert_inputs(a, job, arena, err);
}

static int cmd_convert_run(void *args, int n, char **operands, struct nsx_err *err)
{
	const struct args *a = args;
	struct nsx_convert_job job = {
		.traces = n ? (const char *const *)operands : &a->input,
		.n = (size_t)NSX_MAX(n, 1)};
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	int rc;

	if (n ? a->input != NULL : !a->input)
		return nsx_fail(err, NSX_E_USAGE, "give the trace: nsys-explain "
				"convert TRACE -o OUT.pftrace");
	rc = cmd_convert_take_steps(a, &job, arena, err);
	return rc > 0 ? 4 : rc; /* 4: converted, but the trace was damaged */
}

const struct nsx_cmd nsx_cmd_convert = {
	.name = "convert",
	.usage = "TRACE... [-o OUT.pftrace|OUT.json[.gz]|OUT.tar] [OPTIONS]",
	.summary = "write a trace for Perfetto and chrome://tracing",
	.doc = "A .pftrace holds Perfetto's own packets (for Perfetto 54 and later). Kernels, "
	       "copies, memsets and graph replays are typed GPU work with launch dimensions, "
	       "registers and shared memory, on the GPU's queues. GPU counters are those that were "
	       "sampled, memory in use and live allocations by process and kind, and the number of "
	       "launches that wait on each stream. Each thread has a track for calls, one for "
	       "NVTX, one for OS runtime calls and one for scheduling. Arrows lead from launches "
	       "to the work that they caused. Run phases, iterations and a track for each finding, "
	       "with a slice wherever it costs time, stand under 'nsys-explain'.\n\n"
	       "The trace is loaded for findings and queues. GPU times are corrected as in "
	       "reports. For this, calls and GPU work are loaded, and the whole trace if something "
	       "is wrong; --only without GPU work avoids this.\n\n"
	       "Several traces, such as the ranks of a job, go into one .pftrace, in which hosts "
	       "are machines, or into one .tar with a member each. All times are on one clock. The "
	       "hosts' clocks are aligned by collectives in which the ranks took part together; "
	       "without these, by the start of the sessions.\n\n"
	       "Any other suffix gives Chrome trace events. GPU work stands under a process of its "
	       "own for each (process, GPU), with one track for each stream and kind. Calls, NVTX "
	       "ranges, OS runtime calls and scheduling stand under their process, with a track "
	       "for each thread. Start/end ranges are asynchronous, and arrows lead from a call to "
	       "the GPU work that it caused.\n\n"
	       "Times are exact: those of the trace, in microseconds with three decimals. If a "
	       "time is negative or too large for this, all times are shifted by "
	       "otherData.time_shift_ns, which stands at the end of the file. Viewers drop slices "
	       "that overlap on a track, so these move to further lanes of the track.\n\n"
	       "nvtx-kernel shows each push/pop range as the time from the first to the last GPU "
	       "operation launched in it. queues are counters that go up when a call begins and "
	       "down when the first work of the call begins. Both need the trace in memory.\n\n"
	       "A .nsys-rep is read directly. The result appears when it is complete. It replaces "
	       "only a file that this program wrote, unless --force is given.",
	.examples = "nsys-explain convert run.sqlite -o run.json.gz  # open it at ui.perfetto.dev\n"
		    "nsys-explain convert run.sqlite -o run.pftrace  # the same, smaller, with "
		    "typed GPU work\n"
		    "nsys-explain convert run.sqlite -o part.json --window 2..2.5 --activity "
		    "kernel,nvtx  # half a second of kernels and ranges\n"
		    "nsys-explain convert run.sqlite -o one.pftrace --iteration 7  # by number\n"
		    "nsys-explain convert rank*.sqlite -o job.pftrace  # all ranks on one clock\n"
		    "nsys-explain convert run.nsys-rep -o - | gzip > run.json.gz  # export and "
		    "convert\n",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args, .gpu = GPU_UNSAID, .step = STEP_UNSAID),
	.run = cmd_convert_run,
};
