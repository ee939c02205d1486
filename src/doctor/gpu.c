/* gpu.c - checks of the driver and the GPUs, and of who may read their counters.
 *
 * /proc has the driver's information, even inside a container. nvidia-smi, if there is one, also
 * has the compute capability.
 */
#include <dirent.h>
#include <stdio.h>
#include "capture/proc.h"
#include "doctor/doctor.h"

/* Driver branches and the year of their first release. */
static const struct {
	int branch, year;
} branches[] = {
	{ 450, 2020 }, { 470, 2021 }, { 510, 2022 }, { 530, 2023 },
	{ 550, 2024 }, { 570, 2025 }, { 590, 2026 },
};

static void gpu_add_gpu(struct nsx_doctor *d, const char *name, int compute)
{
	enum { MAX = 64 };

	if (!d->gpus)
		d->gpus = nsx_arena_get(d->arena, MAX * sizeof(*d->gpus));
	if (d->ngpus < MAX)
		d->gpus[d->ngpus++] = (struct nsx_gpu){ name, compute };
}

/* Adds the GPUs that nvidia-smi lists, in lines like "NVIDIA H200, 9.0". */
static void list_gpus_of_smi(struct nsx_doctor *d)
{
	static const char *const argv[] = { "nvidia-smi",
					    "--query-gpu=name,compute_cap",
					    "--format=csv,noheader", NULL };

	for (const char *s = nsx_proc_output(argv, d->arena); s && *s; s += strcspn(s, "\n"), s += *s == '\n') {
		size_t n = strcspn(s, ",\n");
		int major = 0, minor = 0;

		if (s[n] == ',')
			sscanf(s + n + 1, " %d.%d", &major, &minor);
		if (n)
			gpu_add_gpu(d, nsx_arena_strndup(d->arena, s, n), 10 * major + minor);
	}
}

static void list_gpus_of_proc(struct nsx_doctor *d)
{
	const char *dir = nsx_arena_printf(d->arena, "%s/proc/driver/nvidia/gpus", d->root);
	DIR *dp = opendir(dir);
	struct dirent *e;

	while (dp && (e = readdir(dp))) {
		const char *model;

		if (e->d_name[0] == '.')
			continue;
		model = nsx_doctor_value(d, nsx_doctor_read(d, nsx_arena_printf(
			d->arena, "/proc/driver/nvidia/gpus/%s/information", e->d_name)), "Model:");
		gpu_add_gpu(d, model ? model : "unknown model", 0);
	}
	if (dp)
		closedir(dp);
}

/* The version of the loaded driver, from a line such as "NVRM version: NVIDIA UNIX x86_64 Kernel
 * Module  550.54.14  Thu ..."; NULL: no driver is loaded.
 */
static const char *driver_version(const struct nsx_doctor *d)
{
	const char *s = nsx_doctor_read(d, "/proc/driver/nvidia/version");

	s = s ? strstr(s, "Module") : NULL;
	if (!s)
		return NULL;
	s += strcspn(s, "0123456789\n");
	return nsx_arena_strndup(d->arena, s, strcspn(s, " \n"));
}

void nsx_check_gpus(struct nsx_doctor *d)
{
	d->driver = driver_version(d);
	list_gpus_of_smi(d);
	if (!d->ngpus)
		list_gpus_of_proc(d);
	if (d->driver)
		nsx_doctor_add(d, "driver", NSX_FINE, NULL, "NVIDIA driver %s", d->driver);
	else if (!d->ngpus) /* under WSL only nvidia-smi knows */
		nsx_doctor_add(d, "driver", NSX_FAULT,
			 d->in_container ? "start the container with --gpus all"
					 : "install the NVIDIA driver",
			 "no NVIDIA driver is loaded: CUDA cannot be traced; "
			 "NVTX and OS calls need none");
	for (size_t i = 0; i < d->ngpus; i++)
		nsx_doctor_add(d, "gpu", NSX_FINE, NULL,
			 d->gpus[i].compute ? "%s, compute capability %d.%d"
					    : "%s", d->gpus[i].name, d->gpus[i].compute / 10,
			 d->gpus[i].compute % 10);
	if (d->driver && !d->ngpus)
		nsx_doctor_add(d, "gpu", NSX_FAULT, "nvidia-smi -L", "the driver sees no GPU");
}

/* Warns if nsys is much older than the driver, because its traces may then have no GPU rows; and if
 * it is too new for the GPUs.
 */
void nsx_check_age(struct nsx_doctor *d)
{
	int nsys_year, branch, year = 0;
	bool old_gpu = false;

	if (!d->nnsys || !d->ngpus)
		return;
	nsys_year = atoi(d->nsys[0].version);
	branch = d->driver ? atoi(d->driver) : 0;
	for (unsigned i = 0; i < ARRAY_LEN(branches); i++)
		if (branch >= branches[i].branch)
			year = branches[i].year;
	if (year > nsys_year + 1)
		nsx_doctor_add(d, "age", NSX_DOUBT, "install a newer Nsight Systems",
			 "nsys %s is years older than driver %s: GPU rows may be missing",
			 d->nsys[0].version, d->driver);
	for (size_t i = 0; i < d->ngpus; i++)
		old_gpu |= d->gpus[i].compute && d->gpus[i].compute < 75;
	if (old_gpu && nsx_version_cmp(d->nsys[0].version, "2025.4") >= 0)
		nsx_doctor_add(d, "age", NSX_DOUBT, "use nsys 2025.3 or older",
			 "nsys %s no longer knows GPUs before Turing", d->nsys[0].version);
}

void nsx_check_counters(struct nsx_doctor *d)
{
	const char *only = nsx_doctor_value(d, nsx_doctor_read(d, "/proc/driver/nvidia/params"),
					    "RmProfilingAdminOnly:");
	bool admin = nsx_may(d, NSX_CAP_SYS_ADMIN);
	bool all = only && !strcmp(only, "0");

	if (d->driver && atoi(d->driver) >= 565)
		admin |= nsx_may(d, NSX_CAP_PERFMON);
	for (size_t i = 0; i < d->ngpus; i++)
		d->may_count |= !d->gpus[i].compute || d->gpus[i].compute >= 75;
	if (!d->ngpus)
		return;
	if (!d->may_count) {
		nsx_doctor_add(d, "counters", NSX_DOUBT, NULL, "GPU counters need Turing or newer");
	} else if (!only) {
		nsx_doctor_add(d, "counters", NSX_DOUBT, NULL,
			 "who may read GPU counters is not known");
		d->may_count = admin;
	} else if (all || admin) {
		nsx_doctor_add(d, "counters", NSX_FINE, NULL,
			 all ? "everybody may read GPU counters"
			     : "this user may read GPU counters");
	} else {
		nsx_doctor_add(d, "counters", NSX_DOUBT,
			 d->in_container
				 ? "on the host: options nvidia "
				   "NVreg_RestrictProfilingToAdminUsers=0 in "
				   "/etc/modprobe.d; or --cap-add=SYS_ADMIN"
				 : "run as root, or put options nvidia "
				   "NVreg_RestrictProfilingToAdminUsers=0 in "
				   "/etc/modprobe.d and reboot",
			 "only administrators may read GPU counters "
			 "(ERR_NVGPUCTRPERM); plain CUDA tracing needs none");
		d->may_count = false;
	}
}

void nsx_check_clients(struct nsx_doctor *d)
{
	static const struct {
		const char *process, *what, *mend;
	} clients[] = {
		{ "nv-hostengine", "DCGM", "dcgmi profile --pause" },
		{ "dcgm-exporter", "the DCGM exporter",
		  "dcgmi profile --pause" },
		{ "ncu", "Nsight Compute", "end it" },
		{ "nv-nsight-cu-cli", "Nsight Compute", "end it" },
	};
	const char *proc = nsx_arena_printf(d->arena, "%s/proc", d->root);
	bool alone = true;

	for (unsigned i = 0; i < ARRAY_LEN(clients); i++) {
		/* the kernel keeps only 15 bytes of a process's name */
		char name[16];

		snprintf(name, sizeof(name), "%.15s", clients[i].process);
		if (!nsx_proc_count(proc, name))
			continue;
		nsx_doctor_add(d, "counter client", NSX_DOUBT, clients[i].mend,
			 "%s is running and may hold the GPU counters; only one program can",
			 clients[i].what);
		alone = false;
	}
	if (alone && d->ngpus)
		nsx_doctor_add(d, "counter client", NSX_FINE, NULL,
			 "no other program that reads GPU counters is known to run");
}
