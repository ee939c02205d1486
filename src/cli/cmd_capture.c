/* cmd_capture.c - nsys profile, export and explanation in one go. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>
#include "capture/capture.h"
#include "cli/cmd_common.h"

#define OPT(...) NSX_OPT(struct nsx_capture_opts, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('o', "out", "out-dir", "DIR", STR, out,
	    "folder of the results; may hold %h, %p and %q{VARIABLE} (default "
	    "capture-PROGRAM-TIME)"),
	OPT(0, "duration", "duration-s", "S", REAL, duration_s,
	    "end the command after S seconds (SIGTERM; 30 s later the capture is ended in any "
	    "case)", .most = INFINITY),
	OPT(0, "target-cmd", NULL, "COMMAND", STR, target,
	    "the command in one argument, in the place of -- COMMAND; no shell "
	    "reads it, and what only a shell understands is refused"),
	OPT(0, "session", NULL, "NAME", STR, session,
	    "record a service that was started with nsys launch "
	    "--session-new=NAME, for --duration or until Ctrl-C; it goes on"),
	OPT(0, "gpu-id", NULL, "LIST", STR, gpu_id,
	    "GPUs the command may use: becomes its CUDA_VISIBLE_DEVICES"),
	OPT(0, "preset", NULL, "NAME", STR, preset,
	    "what to record: basic (default), nccl, nvlink, graphs, memory, counters "
	    "or full", .words = "basic, nccl, nvlink, graphs, memory, counters or full"),
	OPT('t', "trace", NULL, "LIST", STR, trace,
	    "what nsys traces, in the place of the preset's, such as cuda,nvtx"),
	OPT('c', "capture-range", NULL, "WHAT", STR, capture_range,
	    "record only from where the program says so: cudaProfilerApi, nvtx, ... as "
	    "nsys's own option"),
	OPT(0, "extra-nsys", NULL, "OPTIONS", STR, extra,
	    "more options for nsys profile, in one argument; they replace the same options of the "
	    "preset"),
	OPT(0, "warmup-skip", NULL, "PCT", REAL, warmup_pct,
	    "leave this share of the capture's beginning out of the explanation"),
	OPT(0, "keep-rep", NULL, NULL, FLAG, keep_rep, "keep the .nsys-rep as it is (the default)"),
	OPT(0, "compress-rep", NULL, NULL, FLAG, compress_rep,
	    "compress the .nsys-rep to .zst, which is read as it is"),
	OPT(0, "delete-rep", NULL, NULL, FLAG, delete_rep,
	    "export it with nsys and delete the .nsys-rep"),
	OPT(0, "export", NULL, NULL, FLAG, export,
	    "export to trace.sqlite with nsys in any case, not only if the "
	    "report has content that this program cannot read"),
	OPT(0, "convert", NULL, NULL, FLAG, convert, "also write trace.pftrace for Perfetto"),
	OPT(0, "digest", NULL, NULL, FLAG, digest,
	    "also write the digest trace.nsxd, for fleet: traces of many ranks "
	    "can then stay on their hosts"),
	OPT(0, "no-explain", NULL, NULL, FLAG, no_explain, "stop after the capture"),
	OPT(0, "nsys", NULL, "FILE", STR, nsys,
	    "the nsys to use (default: NSYS_PATH, else the newest of PATH and the usual folders)"),
};

static void end_capture(struct nsx_capture *c)
{
	if (nsx_capture_clean(c))
		fprintf(stderr, "nsys-explain: warning: cannot remove '%s': "
			"%s\n", c->work, strerror(errno));
	nsx_capture_done(c);
}

/* Prints the warnings from *at on. */
static void print_warnings(const struct nsx_capture *c, size_t *at)
{
	while (*at < c->warnings.n) {
		const char *s = c->warnings.p + *at;
		size_t n = strcspn(s, "\n");

		fprintf(stderr, "nsys-explain: warning: %.*s\n", (int)n, s);
		*at += n + 1;
	}
}

/* The file of a capture that the report is made from. */
static const char *trace_of_product(const struct nsx_product *p)
{
	return p->sqlite ? p->sqlite : p->rep;
}

/* Whether anything was recorded. Also true for an unreadable trace, because explain then reports
 * the fault.
 */
static bool has_events(const char *path)
{
	static const enum nsx_view views[] = {
		NSX_VIEW_kernel, NSX_VIEW_memcpy, NSX_VIEW_memset, NSX_VIEW_graph,
		NSX_VIEW_runtime, NSX_VIEW_sync, NSX_VIEW_nvtx, NSX_VIEW_osrt,
		NSX_VIEW_sample, NSX_VIEW_sched, NSX_VIEW_gpu_metric,
		NSX_VIEW_memory_event, NSX_VIEW_um_cpu_fault,
		NSX_VIEW_um_gpu_fault};
	struct nsx_schema schema;
	struct nsx_err err;
	bool any;

	if (nsx_schema_open(path, &schema, &err))
		return true;
	any = NSX_ANY(v, NSX_NVIEWS, nsx_library_of[v] && nsx_has_view(&schema, v)) ||
	      NSX_ANY(i, ARRAY_LEN(views), nsx_has_view(&schema, views[i]) ||
		      nsx_has_lost_rows(&schema, views[i]));
	nsx_schema_close(&schema);
	return any;
}

static int check_events(struct nsx_capture *c, struct nsx_err *err)
{
	for (size_t i = 0; i < c->nproducts; i++)
		if (has_events(trace_of_product(&c->products[i])))
			return 0;
	return nsx_fail(err, NSX_E_DATA, "the capture holds no event: neither a "
			"CUDA call nor a range nor a call of the system; %s",
			c->full_tmp ? "the temporary folder of nsys became full: "
				      "set NSYS_TMPDIR to one with more room" :
			"see whether the command ran at all, whether it is "
			"linked statically, and that NSYS_TMPDIR has room");
}

static int cmd_capture_take_steps(struct nsx_capture *c, struct nsx_err *err)
{
	static int (*const steps[])(struct nsx_capture *, struct nsx_err *) = {
		nsx_capture_place,   nsx_capture_equip,	 nsx_capture_record,
		nsx_capture_collect, nsx_capture_export, check_events,
	};
	size_t told = 0;
	int rc = 0;

	for (unsigned i = 0; i < ARRAY_LEN(steps) && !rc; i++) {
		if (!c->needs_record && nsx_proc_signals())
			return nsx_fail(err, NSX_E_STOP, "interrupted");
		rc = steps[i](c, err);
		print_warnings(c, &told);
	}
	return rc;
}

/* The window without the warm-up share of the capture. NULL for an unreadable trace, because
 * explain then reports the fault.
 */
static const char *steady_window(struct nsx_capture *c)
{
	const struct nsx_load_opts load = { .threads = (unsigned)get_nprocs() };
	const char *window = NULL;
	struct nsx_schema schema;
	struct nsx_trace *trace;
	struct nsx_err err;

	if (nsx_schema_open(trace_of_product(&c->products[0]), &schema, &err))
		return NULL;
	if (!nsx_trace_load(&schema, &load, &trace, &err)) {
		const struct nsx_window *w = &trace->full;

		c->steady_ns = w->start_ns + (int64_t)((double)(w->end_ns - w->start_ns) *
						       c->opts->warmup_pct / 100);
		window = nsx_arena_printf(c->arena, "--window=%jdns..%jdns", (intmax_t)c->steady_ns,
					  (intmax_t)w->end_ns);
		nsx_trace_free(trace);
	}
	nsx_schema_close(&schema);
	return window;
}

/* Notes where the steady part of the run begins, according to the run's phases. */
static void note_steady(struct nsx_capture *c)
{
	const struct nsx_opts o = {NSX_OPTS_DEFAULT,
				   .only = "", .purpose = NSX_FOR_FINDINGS,
				   .path = trace_of_product(&c->products[0]),
				   .threads = nsx_threads(0)};
	struct nsx_report *r;
	struct nsx_err err;

	if (nsx_report_open(&o, &r, &err))
		return;
	if (nsx_judged(r->facts).start_ns < nsx_judged(r->facts).end_ns)
		c->steady_ns = nsx_judged(r->facts).start_ns;
	nsx_report_free(r);
}

/* Converts the capture with another command, into the same folder. */
static int cmd_capture_convert(struct nsx_capture *c, const struct nsx_product *p,
			       const char *command, const char *suffix)
{
	const struct nsx_cmd *cmd = nsx_cmd_find(command);
	char *argv[] = {(char *)cmd->name, (char *)trace_of_product(p), "-o",
			nsx_arena_printf(c->arena, "%s/trace%s%s.%s", c->dir,
					 c->rank, p->number, suffix),
			"--quiet", NULL};

	return nsx_cmd_run(cmd, (int)ARRAY_LEN(argv) - 1, argv);
}

static int cmd_capture_explain(struct nsx_capture *c, const struct nsx_product *p,
			       const char *window)
{
	const struct nsx_cmd *cmd = nsx_cmd_find("explain");
	char *argv[6], **arg = argv;

	*arg++ = (char *)cmd->name;
	*arg++ = (char *)trace_of_product(p);
	*arg++ = nsx_arena_printf(c->arena, "--out=%s/report%s%s", c->dir, c->rank, p->number);
	if (window)
		*arg++ = (char *)window;
	*arg = NULL;
	return nsx_cmd_run(cmd, (int)(arg - argv), argv);
}

static int cmd_capture_say(const struct nsx_err *err)
{
	fprintf(stderr, "nsys-explain: %s\n", err->msg);
	return err->rc == NSX_E_USAGE  ? 2 : err->rc == NSX_E_STOP ? 128 + SIGINT : 3;
}

/* Makes what was asked for, each even if another one cannot be made. Returns the highest exit
 * code; one of a signal ends it.
 */
static int write_outputs(struct nsx_capture *c, const struct nsx_product *p, const char *window)
{
	int one = 0, code = 0;

	if (c->opts->convert)
		code = cmd_capture_convert(c, p, "convert", "pftrace");
	if (c->opts->digest && code < 128)
		one = cmd_capture_convert(c, p, "digest", "nsxd");
	code = NSX_MAX(code, one);
	if (!c->opts->no_explain && code < 128)
		one = cmd_capture_explain(c, p, window);
	code = NSX_MAX(code, one);
	return code;
}

/* Processes the recording. From here on only our own files are read. */
static int cmd_capture_finish(struct nsx_capture *c, const struct nsx_err *failed)
{
	const char *window = NULL;
	struct nsx_err err;
	int code = nsx_capture_target_code(c), one;

	if (!failed && c->opts->warmup_pct > 0)
		window = steady_window(c);
	else if (!failed && !c->opts->no_explain)
		note_steady(c);
	if (c->needs_record && nsx_capture_write_record(c, failed, &err))
		return cmd_capture_say(failed ? failed : &err);
	if (failed)
		return cmd_capture_say(failed);
	printf("Wrote capture to: %s\n", c->dir);
	(void)fflush(stdout);
	if (c->ended == NSX_ENDED_SIGNAL)
		code = 128 + SIGINT;
	for (size_t i = 0; i < c->nproducts; i++) {
		one = write_outputs(c, &c->products[i], i ? NULL : window);
		if (code <= 0)
			code = one;
	}
	return NSX_MAX(code, 0);
}

/* Whether the text has unquoted characters that only a shell understands. */
static bool needs_shell(const char *text)
{
	char quote = 0;

	for (const char *s = text; *s; s++) {
		if (quote && *s == quote)
			quote = 0;
		else if (!quote && (*s == '\'' || *s == '"'))
			quote = *s;
		else if (quote != '\'' && *s == '\\' && s[1])
			s++;
		else if (quote != '\'' && strchr(quote ? "$`" : "$`;&|<>", *s))
			return true;
	}
	return false;
}

static int check_command(const struct nsx_capture *c, struct nsx_err *err)
{
	const char *word = c->command[0];

	if (c->opts->target && needs_shell(c->opts->target))
		return nsx_fail(err, NSX_E_USAGE, "no shell reads --target-cmd, and '%s' needs "
				"one: give it as -- bash -c COMMANDS, or quote what is to be taken "
				"as it is", c->opts->target);
	/* A single word that is no program's name may be a shell command line. */
	if (word && !c->command[1] && strpbrk(word, " \t\n;&|<>$`") && access(word, F_OK))
		return nsx_fail(err, NSX_E_USAGE, "there is no program '%s'; if that is a line for "
				"a shell, run it with: nsys-explain capture [OPTIONS] -- bash -c "
				"'%s'", word, word);
	return 0;
}

/* Whether a text lists GPUs as CUDA_VISIBLE_DEVICES does: "0,1", "GPU-8f3a", "MIG-...". */
static bool is_gpu_list(const char *list)
{
	do {
		size_t n = strcspn(list, ",");
		bool is_uuid = !strncmp(list, "GPU-", 4) || !strncmp(list, "MIG-", 4);

		if (!n || (!is_uuid && strspn(list, "0123456789") != n))
			return false;
		list += n + (list[n] == ',');
	} while (*list);
	return true;
}

static int cmd_capture_check(const struct nsx_capture_opts *o, int noperands, struct nsx_err *err)
{
	if (noperands && o->target)
		return nsx_fail(err, NSX_E_USAGE, "give the command once: with "
				"--target-cmd, or behind --");
	if (o->session && (noperands || o->target || o->preset || o->gpu_id))
		return nsx_fail(err, NSX_E_USAGE, "--session records what was started already: "
				"leave the command, --preset and --gpu-id out");
	if (!noperands && !o->target && !o->session)
		return nsx_fail(err, NSX_E_USAGE, "capture needs a command: nsys-explain capture "
				"[OPTIONS] -- COMMAND [ARG...]");
	if (o->warmup_pct < 0 || o->warmup_pct >= 100)
		return nsx_fail(err, NSX_E_USAGE, "--warmup-skip is a share from 0 to below 100");
	if (o->duration_s == 0)
		return nsx_fail(err, NSX_E_USAGE, "--duration 0 would record nothing: leave it "
				"out to record until the command ends");
	if (o->gpu_id && !is_gpu_list(o->gpu_id))
		return nsx_fail(err, NSX_E_USAGE, "--gpu-id '%s' names no GPUs: give numbers or "
				"uuids (GPU-..., MIG-...) with commas", o->gpu_id);
	if (o->keep_rep + o->compress_rep + o->delete_rep > 1)
		return nsx_fail(err, NSX_E_USAGE, "--keep-rep, --compress-rep and --delete-rep "
				"exclude each other");
	return 0;
}

/* Turns --trace and --capture-range into --extra-nsys options. */
static int add_extra_nsys_options(struct nsx_capture *c, const struct nsx_capture_opts *o,
				  struct nsx_err *err)
{
	if (o->trace)
		nsx_args_add(&c->extra, nsx_arena_printf(c->arena, "--trace=%s", o->trace));
	if (o->capture_range)
		nsx_args_add(&c->extra, nsx_arena_printf(c->arena, "--capture-range=%s",
							 o->capture_range));
	return nsx_args_split(&c->extra, o->extra ? o->extra : "", c->arena, err);
}

static int cmd_capture_run(void *args, int n, char **operands, struct nsx_err *err)
{
	const struct nsx_capture_opts *o = args;
	NSX_AT_EXIT(end_capture)
	struct nsx_capture c = { .opts = o,
				 .command = (const char *const *)operands,
				 .steady_ns = -1,
				 .arena = nsx_arena_new() };
	NSX_AT_EXIT(nsx_args_done) struct nsx_args target = {0};
	int rc;

	if (cmd_capture_check(o, n, err) || add_extra_nsys_options(&c, o, err) ||
	    nsx_want_check(o->preset, &c.extra, err))
		return err->rc;
	if (o->target) {
		if (nsx_args_split(&target, o->target, c.arena, err))
			return err->rc;
		c.command = target.argv;
		if (!target.n || !*target.argv[0])
			return nsx_fail(err, NSX_E_USAGE, "--target-cmd is empty; give the "
					"command");
	}
	if (check_command(&c, err))
		return err->rc;
	nsx_proc_guard();
	rc = cmd_capture_take_steps(&c, err);
	nsx_proc_sweep(0.5, NULL);
	nsx_proc_unguard();
	return cmd_capture_finish(&c, rc ? err : NULL);
}

const struct nsx_cmd nsx_cmd_capture = {
	.name = "capture",
	.usage = "[OPTIONS] -- COMMAND [ARG...] | --session NAME [OPTIONS]",
	.summary = "record a command with nsys and explain it at once",
	.doc = "Runs the command under nsys profile with options that this version of nsys knows: "
	       "CUDA, NVTX and OS runtime calls, CUDA graphs node by node, memory usage, no CPU "
	       "samples. That is what the presets basic and graphs record. The preset nccl adds "
	       "the ranges of NCCL, nvlink adds these ranges and GPU counters, memory adds the "
	       "page faults of unified memory, and full adds all of these.\n\n"
	       "The result folder holds trace.nsys-rep, its export trace.sqlite if that was needed "
	       "or asked for, the report and nsys_capture.json, which says what was done and what "
	       "went wrong. Under a launcher that numbers its ranks, these names hold the number, "
	       "so that ranks may share the folder; --digest writes a digest of each rank, which "
	       "'nsys-explain fleet' reads.\n\n"
	       "A service, such as an LLM server, is started once with nsys launch "
	       "--session-new=NAME, and recorded with --session NAME as often as you like.\n\n"
	       "Ctrl-C ends the command and keeps what was recorded; a second one discards the "
	       "recording. When the capture is over, everything that it started is ended, too.\n\n"
	       "The exit code is that of the command if it is not 0, 130 after Ctrl-C, and 3 if "
	       "there is no capture or the capture has no event.",
	.examples =
		"nsys-explain capture -- python train.py --steps 50  # record "
		"and explain a run\n"
		"nsys-explain capture --duration 60 --preset nccl -o run1 -- "
		"torchrun train.py  # one minute of a long job\n"
		"srun nsys-explain capture --digest --no-explain -o run1 -- "
		"./app  # one file for each rank, then: nsys-explain fleet run1/*.nsxd\n"
		"nsys-explain capture --session serve --duration 20  # record "
		"a service under nsys launch\n"
		"nsys-explain capture --extra-nsys '-c cudaProfilerApi' -- "
		"./app  # only what the program marks\n",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	.rest_is_command = true,
	NSX_ARGS(struct nsx_capture_opts, .duration_s = -1),
	.run = cmd_capture_run,
};
