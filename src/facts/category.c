/* category.c - the purpose of a kernel, by the words of kernels.def. */
#include "facts/category.h"

const char *const nsx_kernel_category_names[NSX_NKERNEL_CATEGORIES] = {
	[NSX_K_OTHER] = "other", [NSX_K_GEMM] = "gemm", [NSX_K_ATTENTION] = "attention",
	[NSX_K_NORM] = "norm", [NSX_K_ELEMENTWISE] = "elementwise",
	[NSX_K_REDUCE] = "reduce", [NSX_K_SORT] = "sort", [NSX_K_MOE] = "moe",
	[NSX_K_COMM] = "comm", [NSX_K_MEMORY] = "memory",
	[NSX_K_KV_CACHE] = "kv_cache", [NSX_K_SAMPLING] = "sampling",
};

static const struct {
	enum nsx_kernel_category category;
	const char *patterns[26]; /* NULL: end */
} rules[] = {
#define NSX_KERNELS(category, ...) {NSX_K_##category, {__VA_ARGS__}},
#include "facts/kernels.def"
#undef NSX_KERNELS
};

/* The letter pairs of a text, ignoring case, as bits of a set. Most patterns are excluded quickly,
 * because the text lacks their first two letters.
 */
enum { PAIR_BITS = 1024 };
struct pairs {
	uint64_t bits[PAIR_BITS / 64];
};

static unsigned letter_pair_at(const char *p)
{
	return (p[0] & 31u) << 5 | (p[1] & 31u);
}

static bool has_letter_pair(const struct pairs *x, const char *p)
{
	return x->bits[letter_pair_at(p) / 64] >> letter_pair_at(p) % 64 & 1;
}

enum nsx_kernel_category nsx_category_of(const char *p, size_t n, const char **ret_pattern)
{
	struct pairs pairs = {{0}};

	for (size_t i = 0; i + 1 < n; i++)
		pairs.bits[letter_pair_at(p + i) / 64] |= UINT64_C(1)
						   << letter_pair_at(p + i) % 64;
	for (unsigned i = 0; i < ARRAY_LEN(rules); i++)
		for (const char *const *at = rules[i].patterns; *at; at++) {
			if (!has_letter_pair(&pairs, *at) ||
			    !has_letter_pair(&pairs, *at + 1) ||
			    !memmem(p, n, *at, strlen(*at)))
				continue;
			if (ret_pattern)
				*ret_pattern = *at;
			return rules[i].category;
		}
	return NSX_K_OTHER;
}
