/* match.h - which kernels of one side are which of the other.
 *
 * In order of trust; what one step leaves is tried by the next:
 *	exact	 equal in demangled name and launch shape
 *	shape	 equal in demangled name, of what a GPU runs on one side alone
 *	template equal in base name: template arguments and signature differ
 *	variant	 stand in the same place, between kernels that are matched: a
 *		 GEMM that became two kernels is one row
 *	range	 launched in the same NVTX range, as often
 *	removed, new
 */
#ifndef NSX_DIFF_MATCH_H
#define NSX_DIFF_MATCH_H

#include "diff/pool.h"

enum nsx_match { NSX_M_EXACT, NSX_M_SHAPE, NSX_M_TEMPLATE, NSX_M_VARIANT,
		 NSX_M_RANGE, NSX_M_REMOVED, NSX_M_NEW, NSX_NMATCHES };
extern const char *const nsx_match_names[NSX_NMATCHES];

struct nsx_kernel_rows {
	uint32_t *row[2]; /* by kernel of before, of after: its row, NSX_NONE
			     where no lane uses it                           */
	enum nsx_match *kind; /* by row                                      */
	uint32_t *first[2]; /* by row: its first kernel on each side in order
			       of name, of a row of one name the first that the
			       other side has not, NSX_NONE                  */
	uint32_t nrows;
};

/* Owner: arena a. Errors: NSX_E_NOMEM. */
int nsx_match_kernels(const struct nsx_pool *before,
		      const struct nsx_pool *after, struct nsx_arena *a,
		      struct nsx_kernel_rows *ret, struct nsx_err *err)
	NSX_CHECKED;

/* Myers 1986: pairs (i, j), ascending, of a longest common subsequence of x and
 * y.  pairs has room for min(nx, ny).  Returns how many; none where more than
 * NSX_MAX_EDITS differ.  Errors: NSX_E_NOMEM in *err, 0 returned.
 */
enum { NSX_MAX_EDITS = 2000 };
struct nsx_pair {
	uint32_t i, j;
};
size_t nsx_align(const uint32_t *x, size_t nx, const uint32_t *y, size_t ny,
		 struct nsx_pair *pairs, struct nsx_err *err);

#define NSX_UNLIKE 0.2 /* of two programs: less alike than that              */
/* Launches of a unit that both sides share, of all: by base name, 0..1; 1: neither has
 * any.  Errors: NSX_E_NOMEM.
 */
int nsx_likeness(const struct nsx_pool *before, const struct nsx_pool *after,
		 double *ret, struct nsx_err *err) NSX_CHECKED;

#endif
