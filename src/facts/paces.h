/* paces.h - launches that should take equally long: of one kernel with one launch configuration,
 * behind the same kernel on their stream.
 */
#pragma once

#include "facts/facts.h"

struct nsx_pace {
	uint32_t device, shape;
	size_t n;	   /* launches                                       */
	int64_t excess_ns; /* time by which far longer launches exceed the usual */
	double usual_ns;   /* median of the other launches                   */
};
struct nsx_paces { /* the greatest excess first                              */
	struct nsx_pace *v;
	size_t n;
};
/* Finds the paces of compute kernels that begin in w on a device (NSX_NONE: on each), except those
 * of shapes that take less than 1/1000 of it. Owner: the arena. Errors: NSX_E_NOMEM.
 */
int nsx_find_paces(const struct nsx_trace *t, struct nsx_window w, uint32_t device,
		   struct nsx_arena *a, struct nsx_paces *ret, struct nsx_err *err) NSX_CHECKED;

/* How a device compares with others in launches that all of them make equally often. */
struct nsx_rival {
	/* time of these launches at their usual pace, on this device and on the others */
	double own_ns, their_ns;
	double all_ns;		 /* time of all kernels of the device */
	uint32_t most;	 /* shape that costs it most beyond the others' time; NSX_NONE: none */
	size_t nslower;	 /* shapes that are slower by half of the mean or more */
	double slower_ns; /* their time                                      */
};
int nsx_compare_paces(const struct nsx_trace *t, const struct nsx_paces *p, uint32_t device,
		      struct nsx_arena *a, struct nsx_rival *ret, struct nsx_err *err) NSX_CHECKED;

struct nsx_drift { /* how nearly all kernels of a device slow down            */
	double times; /* how many times as long they take at the end; 0: they do not slow down */
	int64_t from_ns; /* from when on                                      */
	/* The slow kernels have so few names that more work would explain them as well as lower
	 * clocks.
	 */
	bool is_few;
	nsx_str shape_name; /* one of them                                   */
	double all_ns;	/* their time in all of w                            */
};
/* Compares the end of w with its beginning. Errors: NSX_E_NOMEM. */
int nsx_find_drift(const struct nsx_trace *t, struct nsx_window w, uint32_t device,
		   struct nsx_arena *a, struct nsx_drift *ret, struct nsx_err *err) NSX_CHECKED;
