/* match.h - joins the captures of a side, and matches the kernels of both sides.
 *
 * Equal kernels have one number in all captures. The units of all captures of a side stand one
 * after another.
 *
 * The steps, in order of trust; each tries what the earlier ones left unmatched:
 *	exact	 same demangled name and launch shape
 *	shape	 same demangled name, for kernels that a GPU runs on one side only
 *	template same base name, but other template arguments or signature
 *	variant	 same position between matched kernels, such as a GEMM that became two kernels
 *	removed, new	no match
 */
#pragma once

#include "diff/side.h"
#include "diff/stats.h"

struct nsx_kernels { /* all kernels of both sides, ordered by name, then shape */
	/* by number: the kernel of each side, as the first capture that has it describes it; NULL:
	 * the side lacks it
	 */
	const struct nsx_kernel *(*of)[2];
	uint32_t n;
	uint32_t **number; /* by capture, and by the kernel's index in it */
};
/* Numbers the kernels of all captures, of which the first nbefore are those before. Owner: arena
 * a.
 */
struct nsx_kernels nsx_number_kernels(struct nsx_side *const *all, size_t nbefore, size_t n,
				      struct nsx_arena *a);
static inline const char *nsx_kernel_at(const struct nsx_kernels *k, size_t i)
{
	return (k->of[i][0] ?: k->of[i][1])->name;
}

struct nsx_pool {
	size_t nsides;
	const struct nsx_seen *const *seen; /* by side: the way chosen to find its units */
	/* lanes that every capture has; kernels are numbers of struct nsx_kernels. The idle causes
	 * and ranges remain with the captures.
	 */
	struct nsx_lane *lanes;
	size_t nlanes;
	size_t *end; /* by lane and capture: end of its units; nsides per lane */
	bool one_job, splits_comm;
};

/* number: numbers of the side's kernels, by capture. Owner: arena a. */
struct nsx_pool nsx_pool_build(const struct nsx_seen *const *seen, size_t nsides,
			       uint32_t *const *number, struct nsx_arena *a);

/* Lengths of a lane's units; only_steady: of steady ones only. lane NSX_NONE: for each step
 * of a job, the longest lane's. Owner: arena a.
 */
struct nsx_sample nsx_pool_sample(const struct nsx_pool *p, uint32_t lane, bool only_steady,
				  struct nsx_arena *a);
enum nsx_match { NSX_M_EXACT, NSX_M_SHAPE, NSX_M_TEMPLATE, NSX_M_VARIANT,
		 NSX_M_REMOVED, NSX_M_NEW, NSX_NMATCHES };
extern const char *const nsx_match_names[NSX_NMATCHES];

struct nsx_kernel_rows {
	uint32_t *row; /* by kernel: its row; NSX_NONE if no lane uses it */
	enum nsx_match *kind; /* by row */
	uint32_t *first[2]; /* by row: its first kernel on each side in order of name; in a
			       row of one name, the first that the other side lacks; NSX_NONE: none */
	bool *has_grids; /* by row of one name: a side has several grids, and other ones */
	uint32_t *next[2]; /* by kernel: the next kernel of its row on each side; NSX_NONE: none */
	uint32_t nrows;
};

/* pool: before, after. Owner: arena a. */
struct nsx_kernel_rows nsx_match_kernels(const struct nsx_kernels *kernels,
					 const struct nsx_pool *pool, struct nsx_arena *a);

/* Myers 1986: finds pairs (i, j), ascending, of a longest common subsequence of x and y.
 * pairs: room for min(nx, ny). Returns how many; 0 if more than NSX_MAX_EDITS differ.
 */
enum { NSX_MAX_EDITS = 2000 };
struct nsx_pair {
	uint32_t i, j;
};
size_t nsx_align(const uint32_t *x, size_t nx, const uint32_t *y, size_t ny,
		 struct nsx_pair *pairs);

/* Adds a lane's launches per unit to n, by kernel. number: numbers of the capture's kernels; NULL
 * for a lane of a pool.
 */
void nsx_count_launches(const struct nsx_lane *lane, const uint32_t *number, double *n);
#define NSX_UNLIKE 0.2 /* programs with less in common than this are different ones */
/* Share of launches that two lists by kernel have in common, 0..1; 1 if neither has any. Kernels
 * count as one if they share a text, whose offset in a kernel is given.
 */
double nsx_common_launches(const struct nsx_kernels *kernels, const double *const n[2],
			   size_t text);
/* nsx_common_launches of the launches per unit of two pools, by base name. */
double nsx_likeness(const struct nsx_kernels *kernels, const struct nsx_pool pool[2]);
