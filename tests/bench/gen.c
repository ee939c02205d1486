/* gen.c - writes a realistic export of nsys, of any size.
 *
 * A few training processes, one GPU each, run steps of forward, backward with
 * reduced gradients, optimizer and loss. The same options give the same bytes
 * (with the same SQLite). See gen.h for the parts.
 */
#include "gen.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MANY_PROCESSES = 10000 };

static const char *const worst_names[W_COUNT] = {
    [W_NONE] = "none",		 [W_NVTX_NAMES] = "nvtx_names",
    [W_STREAMS] = "streams",	 [W_NESTED] = "nested",
    [W_ONE_NAME] = "one_name",	 [W_KERNEL_NAMES] = "kernel_names",
    [W_UNSORTED] = "unsorted",	 [W_GAPS] = "gaps",
    [W_PROCESSES] = "processes",
};

static const char *const shape_names[SH_COUNT] = {
    [SH_TRAINING] = "training",
    [SH_SERVING] = "serving",
    [SH_HPC] = "hpc",
    [SH_METRICS] = "metrics",
};

static const char usage[] = "usage: gen --kernels N [--seed S] [--procs P] [--metrics HZ]\n"
    "           [--shape SHAPE] [--worst KIND] OUT.sqlite\n"
    "  --procs P     processes, one GPU each (default 2)\n"
    "  --metrics HZ  samples of the GPU metrics a second (default 10000,\n"
    "                with --shape metrics 3300), 0: none\n"
    "  --shape SHAPE training (default); serving: short steps that each wait,\n"
    "                no ranges but the step's; hpc: few kernels, copies that\n"
    "                block; metrics: eight kernels a range, one call a kernel.\n"
    "                All but the first with grids at random\n"
    "  --worst KIND  a worst case of about the same size:\n"
    "                nvtx_names streams nested one_name kernel_names\n"
    "                unsorted gaps processes\n";

static _Noreturn void misuse(const char *what, const char *value)
{
	fprintf(stderr, "gen: %s '%s'\n%s", what, value, usage);
	exit(2);
}

static int64_t number(const char *s, int64_t min, int64_t max)
{
	char *end;
	long long n = strtoll(s, &end, 10);

	if (end == s || *end || n < min || n > max)
		misuse("not a number we can use:", s);
	return n;
}

static int index_of(const char *s, const char *const *names, int n, const char *complaint)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(s, names[i]))
			return i;
	misuse(complaint, s);
}

static void parse(int argc, char **argv, struct opts *o)
{
	static const struct option longs[] = {
	    {"kernels", required_argument, NULL, 'k'},
	    {"seed", required_argument, NULL, 's'},
	    {"procs", required_argument, NULL, 'p'},
	    {"metrics", required_argument, NULL, 'm'},
	    {"worst", required_argument, NULL, 'w'},
	    {"shape", required_argument, NULL, 'S'},
	    {"help", no_argument, NULL, 'h'},
	    {NULL, 0, NULL, 0}};
	int c;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		switch (c) {
		case 'k':
			o->kernels = number(optarg, 1, INT64_C(1) << 40);
			break;
		case 's':
			o->seed = (uint64_t)number(optarg, 0, INT64_MAX);
			break;
		case 'p':
			o->procs = (int)number(optarg, 1, 50000);
			break;
		case 'm':
			o->metrics_hz = (int)number(optarg, 0, 1000000);
			break;
		case 'w':
			o->worst = (enum worst)index_of(optarg, worst_names, W_COUNT,
							"no such worst case:");
			break;
		case 'S':
			o->shape = (enum shape)index_of(
			    optarg, shape_names, SH_COUNT, "no such shape:");
			break;
		case 'h':
			fputs(usage, stdout);
			exit(0);
		default:
			exit(2);
		}
	}
	if (optind != argc - 1 || !o->kernels)
		misuse("needed: --kernels N and one file,", "OUT.sqlite");
	o->path = argv[optind];
	if (o->metrics_hz < 0)
		o->metrics_hz = o->shape == SH_METRICS ? 3300 : 10000;
	if (!o->procs)
		o->procs = o->worst == W_PROCESSES ? MANY_PROCESSES
			   : o->worst == W_NESTED  ? 1
						   : 2;
}

int main(int argc, char **argv)
{
	struct opts opts = {.seed = 1, .metrics_hz = -1};
	struct model model;
	struct meter meter;
	struct rows rows;
	struct sim *sim;
	struct out out;
	bool more;

	parse(argc, argv, &opts);
	out_open(&out, opts.path);
	model_init(&model, &out, &opts);
	rows_init(&rows, &out, &opts, &model);
	meter_init(&meter, &out, &opts);
	fixed_begin(&out, &opts, sim_streams(&opts));
	sim = sim_new(&opts, &model, &rows, &meter);
	do {
		more = sim_step(sim);
		if (!more && opts.worst == W_NESTED)
			sim_unwind(sim);
		rows_flush_step(&rows);
		meter_flush(&meter, more ? sim_horizon(sim) : sim_last(sim));
	} while (more);
	fixed_end(&out, sim_last(sim));
	sim_free(sim);
	rows_done(&rows);
	meter_done(&meter);
	model_done(&model);
	if (opts.worst == W_UNSORTED)
		out_shuffle(&out);
	out_close(&out);
	return 0;
}
