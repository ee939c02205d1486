/* machine.c - checks of the kernel, the container, permissions and disk space. */
#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include "capture/capture.h"
#include "doctor/doctor.h"

enum { ROOMY_MB = 5120 };

static bool path_exists(const struct nsx_doctor *d, const char *path)
{
	return !access(nsx_arena_printf(d->arena, "%s%s", d->root, path), F_OK);
}

static bool contains_word(const char *text, const char *word)
{
	return text && strcasestr(text, word);
}

/* The number after a key of /proc/self/status, in the given base. */
static uint64_t status_number(const struct nsx_doctor *d, const char *key, int base)
{
	const char *s = nsx_doctor_read(d, "/proc/self/status");

	s = s ? strstr(s, key) : NULL;
	return s ? strtoull(s + strlen(key), NULL, base) : 0;
}

void nsx_check_place(struct nsx_doctor *d)
{
	const char *cgroup = nsx_doctor_read(d, "/proc/1/cgroup");
	const char *release = nsx_doctor_read(d, "/proc/sys/kernel/osrelease");
	int major = 0, minor = 0;

	d->caps = status_number(d, "CapEff:", 16);
	d->in_wsl = contains_word(release, "microsoft");
	d->in_container = path_exists(d, "/.dockerenv") || path_exists(d, "/run/.containerenv") ||
		contains_word(cgroup, "docker") || contains_word(cgroup, "kubepods") ||
		contains_word(cgroup, "lxc");
	if (release && sscanf(release, "%d.%d", &major, &minor) == 2)
		nsx_doctor_add(d, "kernel", major * 100 + minor < 403 ? NSX_DOUBT : NSX_FINE, NULL,
			 "Linux %d.%d%s", major, minor,
			 major * 100 + minor < 403 ? "; CPU sampling needs 4.3"
						   : "");
	if (d->in_wsl)
		nsx_doctor_add(d, "wsl", NSX_DOUBT, "profile on Linux or natively on Windows",
			 "this is WSL: CPU samples and GPU counters are limited");
	if (d->in_container)
		nsx_doctor_add(d, "container", NSX_FINE, NULL,
			 "inside a container, %s CAP_SYS_ADMIN%s",
			 nsx_may(d, NSX_CAP_SYS_ADMIN) ? "with" : "without",
			 status_number(d, "Seccomp:", 10) == 2
				 ? ", system calls are filtered"
				 : "");
}

void nsx_check_perf(struct nsx_doctor *d)
{
	static const char *const allows[] = {
		"no CPU samples and no context switches",
		"own processes: CPU samples in user mode, context switches",
		"own processes: CPU samples and context switches",
		"whole system: CPU samples and context switches",
	};
	const char *text = nsx_doctor_read(d, "/proc/sys/kernel/perf_event_paranoid");
	bool mighty = nsx_may(d, NSX_CAP_SYS_ADMIN) || nsx_may(d, NSX_CAP_PERFMON);
	int level;

	d->paranoid = INT_MAX;
	if (!text) {
		nsx_doctor_add(d, "perf events", NSX_DOUBT, NULL,
			 "this kernel has no perf events: no CPU samples; CUDA "
			 "tracing does not need them");
		return;
	}
	level = d->paranoid = atoi(text);
	nsx_doctor_add(d, "perf events", level < 3 || mighty ? NSX_FINE : NSX_DOUBT,
		 level < 3 || mighty ? NULL
				     : "sudo sysctl kernel.perf_event_paranoid=2; to make it last: "
				       "echo kernel.perf_event_paranoid=2 | sudo tee "
				       "/etc/sysctl.d/99-perf.conf",
		 "perf_event_paranoid is %d: %s%s", level, allows[level >= 3   ? 0
								  : level == 2 ? 1
								  : level == 1 ? 2
									       : 3],
		 mighty	      ? "; this user's capabilities allow more"
		 : level >= 3 ? "; CUDA tracing does not need them"
			      : "");
	if (d->in_container && !mighty && status_number(d, "Seccomp:", 10) == 2)
		nsx_doctor_add(d, "perf events", NSX_DOUBT,
			"start the container with --cap-add=SYS_ADMIN, or with a seccomp profile "
			"that allows perf_event_open",
			"the container may forbid perf_event_open: then no CPU samples");
}

static void machine_check_room(struct nsx_doctor *d, const char *path)
{
	int64_t mb = nsx_file_room_mb(path);

	if (access(path, W_OK))
		nsx_doctor_add(d, "disk", NSX_FAULT, "set TMPDIR, or choose a folder with capture "
			 "--out", "'%s' cannot be written", path);
	else if (mb >= 0)
		nsx_doctor_add(d, "disk", mb < NSX_MIN_ROOM_MB ? NSX_FAULT
			 : mb < ROOMY_MB      ? NSX_DOUBT
					      : NSX_FINE,
			 mb < ROOMY_MB ? "make room, or set TMPDIR and --out"
				       : NULL, "%.3g GB are free in '%s'", (double)mb / 1e3, path);
}

void nsx_check_disk(struct nsx_doctor *d)
{
	const char *tmp = getenv("TMPDIR");
	const char *lock = nsx_arena_printf(d->arena, "%s/var/lock", d->root);

	machine_check_room(d, tmp && *tmp ? tmp : "/tmp");
	machine_check_room(d, ".");
	if (access(lock, W_OK))
		nsx_doctor_add(d, "disk", NSX_DOUBT, "sudo chmod 1777 /var/lock",
			 "/var/lock cannot be written; nsys wants to");
}

void nsx_check_injection(struct nsx_doctor *d)
{
	static const char *const names[] = { "CUDA_INJECTION64_PATH",
					     "NVTX_INJECTION64_PATH",
					     "LD_PRELOAD" };

	for (unsigned i = 0; i < ARRAY_LEN(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			nsx_doctor_add(d, "injection", NSX_DOUBT,
				 nsx_arena_printf(d->arena, "unset %s", names[i]),
				 "%s is set to '%s': another tool may hold CUPTI, which serves one "
				 "at a time", names[i], value);
	}
}
