/* base.h - integer types, attributes, sorting, and the few macros that all folders use.
 *
 * Every other header may include it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NSX_PRINTF(f, a) __attribute__((format(printf, f, a)))
#define NSX_CHECKED __attribute__((warn_unused_result))
#define NSX_AT_EXIT(fn) __attribute__((cleanup(fn)))
#define NSX_UNUSED __attribute__((unused))

/* Frees the array that *at points to. For NSX_AT_EXIT. */
static inline void nsx_free_at(void *at)
{
	free(*(void **)at);
}

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define NSX_MIN(a, b) ((a) < (b) ? (a) : (b))
#define NSX_MAX(a, b) ((a) > (b) ? (a) : (b))
#define NSX_CMP(a, b) (((a) > (b)) - ((a) < (b))) /* result as of strcmp */

/* Like qsort() and qsort_r() of libc, but fast where elements are almost in order. v may be
 * NULL if n is 0 (C11 7.22.5).
 */
void nsx_sort(void *v, size_t n, size_t size, int (*cmp)(const void *, const void *));
void nsx_sort_r(void *v, size_t n, size_t size,
		int (*cmp)(const void *, const void *, void *), void *context);
/* Like nsx_sort_r, and fast for many elements in any order. key gives a number that never
 * decreases in the wanted order; cmp decides between equal keys. Only the first `most`
 * elements are sorted, the order of the others is undefined.
 */
void nsx_sort_by_key_r(void *v, size_t n, size_t most, size_t size,
		       int64_t (*key)(const void *element, void *context),
		       int (*cmp)(const void *, const void *, void *), void *context);
/* Fills v with 0 .. n - 1 and sorts it by the elements that these indices stand for. cmp
 * gets pointers to two indices.
 */
void nsx_sort_indices(uint32_t *v, size_t n, int (*cmp)(const void *, const void *, void *),
		      void *context);
/* Prefetches v[order[i + 16]], for loops that read v[order[i]] for i from 0 to n. */
#define NSX_FETCH_AHEAD(v, order, i, n)                                       \
	do {                                                                  \
		if ((i) + 16 < (n))                                           \
			__builtin_prefetch(&(v)[(order)[(i) + 16]]);          \
	} while (0)
/* Maps a real to an integer key with the same order. */
static inline int64_t nsx_real_key(double x)
{
	int64_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits < 0 ? INT64_MIN - bits : bits;
}

/* Defines a comparison function for nsx_sort() with up to eight keys; the first key that
 * differs decides:
 *
 *   NSX_ORDER(cmp_rows, struct row, UP(thread), UP(start_ns), DOWN(end_ns));
 *
 * UP and DOWN take a member or the path to one, TEXT a member that is a string, BY a
 * function that compares two elements.
 */
#define NSX_BY_UP(m) NSX_CMP(x_->m, y_->m)
#define NSX_BY_DOWN(m) NSX_CMP(y_->m, x_->m)
#define NSX_BY_TEXT(m) strcmp(x_->m, y_->m)
#define NSX_BY_BY(f) f(x_, y_)
#define NSX_KEYS_1(by, k) by##k
#define NSX_KEYS_2(by, k, ...) by##k ?: NSX_KEYS_1(by, __VA_ARGS__)
#define NSX_KEYS_3(by, k, ...) by##k ?: NSX_KEYS_2(by, __VA_ARGS__)
#define NSX_KEYS_4(by, k, ...) by##k ?: NSX_KEYS_3(by, __VA_ARGS__)
#define NSX_KEYS_5(by, k, ...) by##k ?: NSX_KEYS_4(by, __VA_ARGS__)
#define NSX_KEYS_6(by, k, ...) by##k ?: NSX_KEYS_5(by, __VA_ARGS__)
#define NSX_KEYS_7(by, k, ...) by##k ?: NSX_KEYS_6(by, __VA_ARGS__)
#define NSX_KEYS_8(by, k, ...) by##k ?: NSX_KEYS_7(by, __VA_ARGS__)
#define NSX_KEYS_N(a, b, c, d, e, f, g, h, n, ...) NSX_KEYS_##n
#define NSX_KEYS(by, ...)                                                     \
	NSX_KEYS_N(__VA_ARGS__, 8, 7, 6, 5, 4, 3, 2, 1, 0)(by, __VA_ARGS__)
#define NSX_ORDER_OF(name, type, element, ...)                                \
	static int name(const void *a_, const void *b_)                       \
	{                                                                     \
		const type *x_ = element(type, a_), *y_ = element(type, b_);  \
                                                                              \
		return NSX_KEYS(NSX_BY_, __VA_ARGS__);                        \
	}                                                                     \
	_Static_assert(sizeof(type), "an order of elements")
#define NSX_ITSELF(type, p) (p)
#define NSX_POINTED_TO(type, p) (*(const type *const *)(p))
#define NSX_ORDER(name, type, ...)                                            \
	NSX_ORDER_OF(name, type, NSX_ITSELF, __VA_ARGS__)
#define NSX_POINTER_ORDER(name, type, ...) /* for arrays of pointers */      \
	NSX_ORDER_OF(name, type, NSX_POINTED_TO, __VA_ARGS__)

/* NSX_ORDER for nsx_sort_r(). A key is an expression of the element `x` and of the context `c`:
 *
 *   NSX_ORDER_IN(cmp_pids, uint32_t, struct nsx_trace, UP(c->process[*x].pid), UP(*x));
 *
 * UP and DOWN take a number, TEXT a string, BY an expression that compares `x` with `y`.
 * NSX_KEY_IN defines the key of nsx_sort_by_key_r() from such an expression.
 */
#define NSX_OF_X(p, e) __extension__({ __typeof__(p) x = p; (e); })
#define NSX_CMP_OF(p, q, e)                                                   \
	__extension__({                                                       \
		__auto_type m_ = NSX_OF_X(p, e);                              \
		__auto_type n_ = NSX_OF_X(q, e);                              \
		NSX_CMP(m_, n_);                                              \
	})
#define NSX_IN_UP(e) NSX_CMP_OF(x_, y_, e)
#define NSX_IN_DOWN(e) NSX_CMP_OF(y_, x_, e)
#define NSX_IN_TEXT(e) strcmp(NSX_OF_X(x_, e), NSX_OF_X(y_, e))
#define NSX_IN_BY(e) __extension__({ __typeof__(x_) x = x_, y = y_; (e); })
#define NSX_ORDER_IN(name, type, context, ...)                                \
	static int name(const void *a_, const void *b_, void *c_)             \
	{                                                                     \
		NSX_UNUSED const context *c = c_;                             \
		const type *x_ = a_, *y_ = b_;                                \
                                                                              \
		return NSX_KEYS(NSX_IN_, __VA_ARGS__);                        \
	}                                                                     \
	_Static_assert(sizeof(type), "an order of elements")
#define NSX_KEY_IN(name, type, context, key)                                  \
	static int64_t name(const void *a_, void *c_)                         \
	{                                                                     \
		NSX_UNUSED const context *c = c_;                             \
		const type *x = a_;                                           \
                                                                              \
		return key;                                                   \
	}                                                                     \
	_Static_assert(sizeof(type), "a key of elements")

/* Bisection: sets lo to the first index of [lo, hi) for which comes_before, an expression
 * of the index `mid`, is false. It must be true for all indices before that one.
 */
#define NSX_BISECT(lo, hi, mid, comes_before)                                 \
	while (lo < hi) {                                                     \
		__typeof__(lo) mid = lo + (hi - lo) / 2;                      \
                                                                              \
		if (comes_before)                                             \
			lo = mid + 1;                                         \
		else                                                          \
			hi = mid;                                             \
	}

/* NSX_BISECT as an expression: the first such index of [from, to), or `to`. */
#define NSX_SEARCH(from, to, mid, comes_before)                               \
	__extension__({                                                       \
		__typeof__((to) + 0) lo_ = (from), hi_ = (to);                \
                                                                              \
		NSX_BISECT(lo_, hi_, mid, comes_before)                       \
		lo_;                                                          \
	})

/* Whether `holds`, an expression of the index i, is true for any of [0, n). */
#define NSX_ANY(i, n, holds)                                                  \
	__extension__({                                                       \
		__typeof__((n) + 0) i = 0;                                    \
                                                                              \
		while (i < (n) && !(holds))                                   \
			i++;                                                  \
		i < (n);                                                      \
	})

/* `then`, an expression of the index i, for the first of [0, n) of which `holds` is true;
 * `otherwise` if it is true of none.
 */
#define NSX_FIRST(i, n, holds, then, otherwise)                               \
	__extension__({                                                       \
		__typeof__((n) + 0) i = 0;                                    \
                                                                              \
		while (i < (n) && !(holds))                                   \
			i++;                                                  \
		i < (n) ? (then) : (otherwise);                               \
	})

/* Loops over runs [i, next) of equal neighbours among n elements. `alike` is an expression that
 * is true if element `next` belongs to the run that begins at i.
 *
 *   NSX_EACH_RUN(i, next, n, v[next].name == v[i].name) { ... }
 */
#define NSX_EACH_RUN(i, next, n, alike)                                       \
	for (size_t i = 0, next = 0; i < (n) && __extension__({               \
		     for (next = i + 1; next < (n) && (alike);)               \
			     next++;                                          \
		     true;                                                    \
	     }); i = next)

/* Sorts the indices of n elements by group: the indices of group g are v[at[g]] to
 * v[at[g + 1] - 1], in ascending order. `group` is an expression of the index i; NSX_NONE leaves
 * the element out. `at` must have ngroups + 2 entries, all zero.
 */
#define NSX_DEAL(at, v, ngroups, n, i, group)                                 \
	do {                                                                  \
		for (uint32_t i = 0, g_; i < (n); i++)                        \
			if ((g_ = (group)) != NSX_NONE)                       \
				(at)[g_ + 2]++;                               \
		for (size_t g_ = 0; g_ < (ngroups); g_++)                     \
			(at)[g_ + 2] += (at)[g_ + 1];                         \
		for (uint32_t i = 0, g_; i < (n); i++)                        \
			if ((g_ = (group)) != NSX_NONE)                       \
				(v)[(at)[g_ + 1]++] = i;                      \
	} while (0)

/* The index that means "none", in every index column of the trace. */
#define NSX_NONE UINT32_MAX

/* General limits. A message or note tells the user when one is reached. */
enum {
	NSX_MAX_TEXT = 65536,	   /* bytes kept of one string           */
	NSX_MAX_THREADS = 64,	   /* worker threads                     */
	NSX_MAX_JSON_ROWS = 50,	   /* default rows of a table in JSON    */
	NSX_MAX_CSV_ROWS = 100000, /* default rows of a table in CSV; --all-rows lifts the limit */
	NSX_MAX_MD_ROWS = 5,	   /* default rows of a table in Markdown */
	NSX_MAX_FINDINGS = 10,	   /* findings in a report               */
	NSX_MAX_COLUMNS = 256,	   /* columns of one table               */
	NSX_MAX_CELL = 64 << 20,   /* bytes read of one cell             */
};

/* Timestamps outside +-NSX_TIME_MAX are defects: sums and differences of any two accepted
 * timestamps fit int64.
 */
#define NSX_TIME_MAX (INT64_C(1) << 61)
