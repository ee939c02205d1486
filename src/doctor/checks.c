/* checks.c - the list of checks, in the order in which they run. */
#include "doctor/doctor.h"

nsx_check_fn *const nsx_doctor_checks[] = {
	nsx_check_place,
	nsx_check_nsys,
	nsx_check_gpus,
	nsx_check_age,
	nsx_check_status,
	nsx_check_perf,
	nsx_check_counters,
	nsx_check_clients,
	nsx_check_injection,
	nsx_check_disk,
	NULL,
};
