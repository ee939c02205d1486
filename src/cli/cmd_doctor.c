/* cmd_doctor.c - tells whether this machine can capture, and if not, why. */
#include <stdio.h>
#include "cli/cmd_common.h"
#include "doctor/doctor.h"
#include "base/jsonw.h"

static const char *const verdicts[] = {
	[NSX_FINE] = "ok", [NSX_DOUBT] = "warn", [NSX_FAULT] = "fail",
};

struct args {
	bool json;
};

static const struct nsx_opt opts[] = {
	NSX_OPT(struct args, 0, "json", NULL, NULL, FLAG, json, "the result as JSON"),
};

/* Each ability of a capture, judged from all findings. */
struct ability {
	const char *key, *title;
	bool can;
};
enum { NABILITIES = 4 };

static void cmd_doctor_judge(const struct nsx_doctor *d, struct ability *ret)
{
	bool nsys = d->nnsys > 0, cuda = nsys && d->ngpus;
	bool sampling = d->status_sampling >= 0 ? d->status_sampling : d->paranoid < 3;
	const struct ability all[NABILITIES] = {
		{ "cuda", "CUDA", cuda },
		{ "nvtx_osrt", "NVTX and OS calls", nsys },
		{ "cpu_samples", "CPU samples", nsys && sampling },
		{ "gpu_counters", "GPU counters", cuda && d->may_count },
	};

	memcpy(ret, all, sizeof(all));
}

static void cmd_doctor_print_text(const struct nsx_doctor *d)
{
	struct ability can[NABILITIES];

	for (size_t i = 0; i < d->n; i++) {
		const struct nsx_doctor_line *f = &d->lines[i];

		printf("%-5s %-15s %s\n", verdicts[f->verdict], f->id, f->text);
		if (f->mend)
			printf("%21s -> %s\n", "", f->mend);
	}
	cmd_doctor_judge(d, can);
	printf("\nThis machine can record:");
	for (unsigned i = 0; i < NABILITIES; i++)
		printf("%s %s %s", i ? "," : "", can[i].title, can[i].can ? "yes" : "no");
	printf("\n");
}

static int print_json(const struct nsx_doctor *d, struct nsx_err *err)
{
	struct nsx_jsonw *w = nsx_jsonw_new();
	struct ability can[NABILITIES];

	nsx_jsonw_object(w, NULL);
	nsx_jsonw_int(w, "schema_version", 1);
	nsx_jsonw_object(w, "can");
	cmd_doctor_judge(d, can);
	for (unsigned i = 0; i < NABILITIES; i++)
		nsx_jsonw_bool(w, can[i].key, can[i].can);
	nsx_jsonw_end(w);
	nsx_jsonw_array(w, "checks");
	for (size_t i = 0; i < d->n; i++) {
		const struct nsx_doctor_line *f = &d->lines[i];

		nsx_jsonw_object(w, NULL);
		nsx_jsonw_str(w, "check", f->id);
		nsx_jsonw_str(w, "status", verdicts[f->verdict]);
		nsx_jsonw_str(w, "detail", f->text);
		nsx_jsonw_str(w, "fix", f->mend);
		nsx_jsonw_end(w);
	}
	nsx_jsonw_end(w);
	nsx_jsonw_end(w);
	return nsx_jsonw_finish(w, stdout, err);
}

static int cmd_doctor_run(void *args, int n, char **operands NSX_UNUSED, struct nsx_err *err)
{
	const struct args *a = args;
	const char *root = getenv("NSX_DOCTOR_ROOT"); /* for tests */
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	struct nsx_doctor d = { .root = root ? root : "", .arena = arena };
	int code = 0;

	if (n)
		return nsx_fail(err, NSX_E_USAGE, "doctor takes no arguments");
	for (unsigned i = 0; nsx_doctor_checks[i]; i++)
		nsx_doctor_checks[i](&d);
	for (size_t i = 0; i < d.n; i++)
		if (d.lines[i].verdict == NSX_FAULT)
			code = 1;
	if (!a->json)
		cmd_doctor_print_text(&d);
	else if (print_json(&d, err))
		code = err->rc;
	free(d.lines);
	return code;
}

const struct nsx_cmd nsx_cmd_doctor = {
	.name = "doctor",
	.usage = "[--json]",
	.summary = "say what this machine can record, and what prevents the rest",
	.doc = "Looks at nsys and its age, the driver and the GPUs, the rights that CPU samples "
	       "and GPU counters need, containers, other programs that hold the counters, and room "
	       "on disk. Each line is ok, warn or fail, with what would fix it. A warning about "
	       "CPU samples does not keep CUDA from being traced.\n\n"
	       "The exit code is 1 if a check failed, else 0.",
	.examples = "nsys-explain doctor  # before the first capture\n",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	NSX_ARGS(struct args),
	.run = cmd_doctor_run,
};
