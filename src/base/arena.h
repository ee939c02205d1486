/* arena.h - memory that is freed together.
 *
 * Small allocations end the program with a message if memory runs out. Allocations whose size
 * comes from the input may fail, and the error says how much was wanted and for what. An arena is
 * not thread-safe: only one thread may use it at a time.
 */
#pragma once

#include <stdarg.h>
#include "base/err.h"

struct nsx_arena;

/* Ends the program with exit code 3, after one line that names the size in bytes. */
_Noreturn void nsx_die_of_memory(size_t size);
/* Registers clean(ctx), which nsx_die_of_memory calls to remove unfinished files. It must
 * not allocate. Only one is registered at a time; NULL removes it.
 */
void nsx_at_death(void (*clean)(void *ctx), void *ctx);

/* These three end the program if memory runs out. Owner: the caller; free() for the first two. */
char *nsx_strdup(const char *s);
void *nsx_alloc(size_t n, size_t size); /* zeroed */
struct nsx_arena *nsx_arena_new(void);
void nsx_arena_free(struct nsx_arena *a); /* a may be NULL */
void nsx_arena_end(struct nsx_arena **a); /* for NSX_AT_EXIT */
void nsx_arena_clear(struct nsx_arena *a); /* frees its memory; it can be used again */
/* Moves everything in `from` into a; `from` is freed. */
void nsx_arena_adopt(struct nsx_arena *a, struct nsx_arena *from);

/* Returns size bytes, zeroed and aligned for any type. Owner: the arena. */
void *nsx_arena_get(struct nsx_arena *a, size_t size);
char *nsx_arena_strndup(struct nsx_arena *a, const char *s, size_t n);
char *nsx_arena_strdup(struct nsx_arena *a, const char *s);
char *nsx_arena_printf(struct nsx_arena *a, const char *fmt, ...) NSX_PRINTF(2, 3);
char *nsx_arena_vprintf(struct nsx_arena *a, const char *fmt, va_list ap) NSX_PRINTF(2, 0);

/* A zeroed array of n elements; n may be 0, and the pointer is valid then, too. Errors: NULL with
 * NSX_E_NOMEM, naming `what`.
 */
void *nsx_arena_try_array(struct nsx_arena *a, size_t n, size_t size,
			  const char *what, struct nsx_err *err) NSX_CHECKED;

/* A zeroed array of n elements for a list that stays small; the type of p gives the size of an
 * element. Ends the program when no memory is left. Owner: the arena.
 */
#define nsx_few(p, a, n) ((p) = nsx_arena_get(a, (n) * sizeof(*(p))))

/* Allocates the array that p points to; p's type gives the element size. False, and p is
 * NULL, on an error.
 */
#define nsx_new_array(p, a, n, what, err)                                     \
	((p) = nsx_arena_try_array(a, n, sizeof(*(p)), what, err))

/* Allocates up to six arrays of n elements and stores them in the named pointers. */
struct nsx_new_array {
	void **at;
	size_t size;
};
int nsx_new_arrays_(struct nsx_arena *a, size_t n, const char *what,
		    const struct nsx_new_array *v, struct nsx_err *err) NSX_CHECKED;
#define NSX_ARRAY(p) {(void **)&(p), sizeof(*(p))},
#define NSX_ARRAYS_1(p) NSX_ARRAY(p)
#define NSX_ARRAYS_2(p, ...) NSX_ARRAY(p) NSX_ARRAYS_1(__VA_ARGS__)
#define NSX_ARRAYS_3(p, ...) NSX_ARRAY(p) NSX_ARRAYS_2(__VA_ARGS__)
#define NSX_ARRAYS_4(p, ...) NSX_ARRAY(p) NSX_ARRAYS_3(__VA_ARGS__)
#define NSX_ARRAYS_5(p, ...) NSX_ARRAY(p) NSX_ARRAYS_4(__VA_ARGS__)
#define NSX_ARRAYS_6(p, ...) NSX_ARRAY(p) NSX_ARRAYS_5(__VA_ARGS__)
#define NSX_ARRAYS_N(a, b, c, d, e, f, n, ...) NSX_ARRAYS_##n
#define nsx_new_arrays(a, n, what, err, ...)                                  \
	nsx_new_arrays_(a, n, what, (const struct nsx_new_array[]){           \
		NSX_ARRAYS_N(__VA_ARGS__, 6, 5, 4, 3, 2, 1, 0)(__VA_ARGS__)   \
		{NULL, 0}}, err)

/* Returns free heap memory to the system, for the end of a stage that used many small arrays. */
void nsx_give_back(void);

/* Frees one array of nsx_arena_try_array before its arena is freed. */
void nsx_arena_drop(struct nsx_arena *a, const void *array);

/* Growable array on the heap, for lists whose length is not counted beforehand:
 *	struct thing *v = NULL; size_t n = 0, cap = 0;
 *	if (nsx_grow(&v, &cap, n + 1, sizeof(*v), "things", err)) ...
 * Elements beyond the old capacity are zeroed. Owner: the caller, free().
 */
int nsx_grow_(void **v, size_t *cap, size_t want, size_t size,
	      const char *what, struct nsx_err *err) NSX_CHECKED;
#define nsx_grow(v, cap, want, size, what, err)                               \
	((want) <= *(cap) ? 0 :                                               \
	 nsx_grow_((void **)(v), cap, want, size, what, err))

/* Appends an element to a list of n elements:
 *	return nsx_push(x->v, x->n, x->cap, "things", err, (struct thing){a, b});
 */
#define nsx_push(v, n, cap, what, err, ...)                                   \
	(nsx_grow(&(v), &(cap), (size_t)(n) + 1, sizeof(*(v)), what, err) ?:  \
	 ((v)[(n)++] = (__VA_ARGS__), 0))

/* nsx_grow and nsx_push for lists that stay small. They end the program when no memory is left. */
void nsx_grow_or_die_(void **v, size_t *cap, size_t want, size_t size);
#define nsx_grow_or_die(v, cap, want, size)                                   \
	nsx_grow_or_die_((void **)(v), cap, want, size)
#define nsx_push_or_die(v, n, cap, ...)                                       \
	(nsx_grow_or_die(&(v), &(cap), (size_t)(n) + 1, sizeof(*(v))),        \
	 (void)((v)[(n)++] = (__VA_ARGS__)))

/* Allocates n zeroed elements, for sizes that depend on the input. Errors: NULL and err. Owner: the
 * caller, free(). In a build with -DNSX_FAULTS the allocation number NSX_FAULT_ALLOC fails.
 */
void *nsx_try_alloc(size_t n, size_t size, const char *what, struct nsx_err *err) NSX_CHECKED;
