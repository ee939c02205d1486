/* category.h - what a kernel is for, by a word in what it is called. */
#ifndef NSX_CATEGORY_H
#define NSX_CATEGORY_H

#include "facts/kernel_name.h"

/* *ret_pattern (may be NULL; untouched for "other"): the word that told. */
enum nsx_kernel_category nsx_category_of(const char *p, size_t n,
					 const char **ret_pattern);

#endif
