/* excess.h - why a GPU works longer than the others: it is slow, as the same launches take
 * longer on it, or it has more to do, and of what.
 */
#ifndef NSX_EXCESS_H
#define NSX_EXCESS_H

#include "detect/detect.h"

/* GPUs that are compared: by device, whether it is one, and whether it is one of those that
 * work longest.
 */
struct nsx_compared {
	const bool *counts, *is_long;
	uint32_t n;	/* that count                                        */
	double mean_ns; /* that these work in the judged window              */
};

/* What a GPU that works longest is like; names are strings of the trace. */
struct nsx_excess {
	/* The same launches take longer on it than on GPUs that do not work longest: by
	 * how much, and how many kernels do.  Fewer kernels, or others that take as
	 * long as there, show uneven work just as well: times is 0.
	 */
	double times;
	size_t nslow;
	/* Of what it spends beyond the mean, the kernel with most; 0: it is no kernel. */
	nsx_str kernel;
	double ns, mean_ns; /* that the kernel takes on it, and on average   */
	double share;	    /* of the excess over all kinds                  */
	/* What evens it out: like those that do not work longest where it is slow, else the
	 * work spread over all: what it does longer than the mean takes less, until it works
	 * as long as the mean.  On the list's arena.
	 */
	struct nsx_plan remedy;
};

/* How long a GPU computes and copies in the judged window. */
int64_t nsx_judged_work_ns(const struct nsx_detect *d, uint32_t device);

/* even: makes the GPU like its peers.  Errors: NSX_E_NOMEM. */
int nsx_excess_of(struct nsx_detect *d, const struct nsx_compared *c, uint32_t device,
		  struct nsx_change even, struct nsx_excess *ret,
		  struct nsx_err *err) NSX_CHECKED;

/* ", most of it in ...": the kernel with most of what the GPU works longer; "" where it is
 * slow, or it is none.
 */
const char *nsx_say_excess(struct nsx_detect *d, const struct nsx_excess *x);
/* That it is slow, as its kernels show. */
const char *nsx_say_slow(struct nsx_detect *d, const struct nsx_excess *x,
			 uint32_t device);
extern const char nsx_priced_by_mean[], nsx_priced_by_stretch[];
extern const char nsx_advice_on_work[], nsx_advice_on_slow[];

#endif
