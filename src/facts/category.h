/* category.h - what a kernel is for, by its name. For roll-ups only: a name
 * that matches nothing stays "other".
 */
#ifndef NSX_CATEGORY_H
#define NSX_CATEGORY_H

/* "gemm", "attention", "norm", "elementwise", "reduce", "moe", "comm",
 * "memory" or "other"; *ret_pattern (may be NULL): the pattern that matched,
 * NULL for "other".  Communication is the trace's to tell (nsx_classify_comm).
 */
const char *nsx_kernel_category(const char *full_name,
				const char **ret_pattern);

#endif
