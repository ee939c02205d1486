/* tools.c - checks of nsys, and what nsys reports about this machine. */
#include "capture/proc.h"
#include "doctor/doctor.h"

void nsx_check_nsys(struct nsx_doctor *d)
{
	d->nsys = nsx_nsys_list(d->arena, NULL, &d->nnsys);
	while (d->nnsys && !*d->nsys[d->nnsys - 1].version) {
		nsx_doctor_add(d, "nsys", NSX_DOUBT, NULL, "'%s' does not run",
			 d->nsys[--d->nnsys].path);
	}
	if (!d->nnsys) {
		nsx_doctor_add(d, "nsys", NSX_FAULT,
			 "install Nsight Systems: https://developer.nvidia.com/nsight-systems, or "
			 "set NSYS_PATH", "not found in PATH or in the usual folders; only "
			 "recording needs it, reports are read without");
		return;
	}
	for (size_t i = 0; i < d->nnsys; i++)
		nsx_doctor_add(d, "nsys", NSX_FINE, NULL, "%s at %s%s",
			 d->nsys[i].version, d->nsys[i].path,
			 i ? "; older, not used" :
			     "; it is needed to record only: reports are read "
			     "as they are, without an export");
	if (nsx_proc_count(nsx_arena_printf(d->arena, "%s/proc", d->root), "nsys"))
		nsx_doctor_add(d, "nsys", NSX_DOUBT, "nsys sessions list",
			 "another nsys is running: captures may disturb each other");
}

/* Adds what `nsys status -e` prints about CPU sampling and clocks. Its exit code is always 0, and
 * it prints nothing about GPUs.
 */
void nsx_check_status(struct nsx_doctor *d)
{
	const char *argv[] = { NULL, "status", "-e", NULL };
	const char *said, *tree, *system, *clock;

	d->status_sampling = -1;
	if (!d->nnsys)
		return;
	argv[0] = d->nsys[0].path;
	said = nsx_proc_output(argv, d->arena);
	if (!said) {
		nsx_doctor_add(d, "nsys status", NSX_DOUBT, NULL, "nsys status -e gives no answer");
		return;
	}
	tree = nsx_doctor_value(d, said, "Environment (process-tree)");
	system = nsx_doctor_value(d, said, "Environment (system-wide)");
	clock = nsx_doctor_value(d, said, "Timestamp counter supported");
	if (clock && strcmp(clock, "Yes"))
		nsx_doctor_add(d, "nsys status", NSX_DOUBT, NULL,
			 "no timestamp counter: times are less exact");
	if (!tree)
		return;
	d->status_sampling = !strcmp(tree, "OK");
	nsx_doctor_add(d, "nsys status", d->status_sampling ? NSX_FINE : NSX_DOUBT, NULL,
		 "CPU sampling of the own processes: %s, of the whole system: %s%s",
		 tree, system ? system : "?",
		 d->status_sampling ? "" : "; CUDA tracing needs neither");
}
