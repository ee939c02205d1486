/* category.h - the purpose of a kernel, by words in its name. */
#pragma once

#include "facts/kernel_name.h"

/* The purpose of the kernel with the name p. *ret_pattern (NULL: not wanted; unset for "other") is
 * the word that decided.
 */
enum nsx_kernel_category nsx_category_of(const char *p, size_t n, const char **ret_pattern);
