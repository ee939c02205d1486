/* arena.c - bump allocation in blocks. Big arrays get a block of their own so that they can
 * be freed early.
 */
#include <malloc.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include "base/arena.h"

#define FIRST_SIZE ((size_t)2 * 1024) /* bytes of an arena's first block: most arenas stay small */
#define BLOCK_SIZE ((size_t)64 * 1024)
#define LARGE ((size_t)1024 * 1024)
#define ALIGNMENT 16

struct block {
	struct block *next;
	size_t used, size;
	_Alignas(ALIGNMENT) unsigned char bytes[];
};

struct nsx_arena {
	struct block *blocks;
	struct block *arrays;
};

static struct {
	void (*clean)(void *ctx);
	void *ctx;
} at_death;

void nsx_at_death(void (*clean)(void *ctx), void *ctx)
{
	at_death.ctx = ctx;
	at_death.clean = clean;
}

void nsx_die_of_memory(size_t size)
{
	static bool is_dying;

	while (__atomic_exchange_n(&is_dying, true, __ATOMIC_RELAXED))
		pause(); /* waits for the end, because another thread prints the message */
	if (at_death.clean)
		at_death.clean(at_death.ctx);
	fprintf(stderr, "nsys-explain: out of memory (%zu bytes)\n", size);
	_Exit(3);
}

void *nsx_alloc(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (!p && n)
		nsx_die_of_memory(n * size);
	return p;
}

char *nsx_strdup(const char *s)
{
	char *p = strdup(s);

	if (!p)
		nsx_die_of_memory(strlen(s) + 1);
	return p;
}

#ifdef NSX_FAULTS
/* Counts allocations whose size depends on the input. The one with the number NSX_FAULT_ALLOC
 * fails. At exit the count is written to the file NSX_FAULT_COUNT.
 */
static long allocations;

static bool injected_fault(void)
{
	const char *at = getenv("NSX_FAULT_ALLOC");
	long n = __atomic_add_fetch(&allocations, 1, __ATOMIC_RELAXED);

	return at && n == atol(at);
}

__attribute__((destructor)) static void write_allocation_count(void)
{
	const char *to = getenv("NSX_FAULT_COUNT");
	FILE *f = to ? fopen(to, "we") : NULL;

	if (f) {
		fprintf(f, "%ld\n", allocations);
		(void)fclose(f);
	}
}
#else
#define injected_fault() false
#endif

static void *fail_allocation(size_t n, size_t size, const char *what, struct nsx_err *err)
{
	nsx_fail(err, NSX_E_NOMEM, "out of memory: cannot hold %zu x %zu bytes of %s", n, size,
		 what);
	return NULL;
}

/* Asks for pages of 2 MiB: random access to columns needs fewer TLB entries and page
 * faults. The advice covers the whole mapping of the array; if a part differed, realloc
 * could not move the mapping and would copy.
 */
static void advise_huge_pages(char *p, size_t size)
{
#ifdef MADV_HUGEPAGE
	const uintptr_t huge = (uintptr_t)2 << 20;
	const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	size_t before = (uintptr_t)p % page;

	if (size >= huge)
		(void)madvise(p - before, (before + size + page - 1) / page * page, MADV_HUGEPAGE);
#endif
}

static void *alloc_zeroed(size_t n, size_t size)
{
	void *p = calloc(n, size);

	if (p)
		advise_huge_pages(p, n * size);
	return p;
}

void *nsx_try_alloc(size_t n, size_t size, const char *what, struct nsx_err *err)
{
	void *p = injected_fault() ? NULL : alloc_zeroed(n ? n : 1, size);

	return p ? p : fail_allocation(n, size, what, err);
}

int nsx_grow_(void **v, size_t *cap, size_t want, size_t size,
	      const char *what, struct nsx_err *err)
{
	size_t n = *cap ? *cap : 16;
	char *p;

	if (want <= *cap)
		return 0;
	while (n < want) /* the kernel moves large blocks without copying, so these grow slowly */
		n += n < LARGE / size ? n / 2 : n / 8;
	p = injected_fault() || n > SIZE_MAX / size ? NULL : realloc(*v, n * size);
	if (!p) {
		fail_allocation(n, size, what, err);
		return NSX_E_NOMEM;
	}
	advise_huge_pages(p, n * size);
	memset(p + *cap * size, 0, (n - *cap) * size);
	*v = p;
	*cap = n;
	return 0;
}

void nsx_grow_or_die_(void **v, size_t *cap, size_t want, size_t size)
{
	struct nsx_err err;

	if (nsx_grow_(v, cap, want, size, "a list", &err))
		nsx_die_of_memory(want * size);
}

struct nsx_arena *nsx_arena_new(void)
{
	return nsx_alloc(1, sizeof(struct nsx_arena));
}

static void free_blocks(struct block **list)
{
	struct block *b = *list, *next;

	for (; b; b = next) {
		next = b->next;
		free(b);
	}
	*list = NULL;
}

void nsx_arena_end(struct nsx_arena **a)
{
	nsx_arena_free(*a);
}

void nsx_arena_clear(struct nsx_arena *a)
{
	free_blocks(&a->blocks);
	free_blocks(&a->arrays);
}

static void move_blocks(struct block **to, struct block *from)
{
	struct block **end = &from;

	while (*end)
		end = &(*end)->next;
	*end = *to;
	*to = from;
}

void nsx_arena_adopt(struct nsx_arena *a, struct nsx_arena *from)
{
	move_blocks(&a->blocks, from->blocks);
	move_blocks(&a->arrays, from->arrays);
	free(from);
}

void nsx_arena_free(struct nsx_arena *a)
{
	if (!a)
		return;
	nsx_arena_clear(a);
	free(a);
}

/* Returns size zeroed bytes; their alignment must be a power of 2. */
static void *arena_take(struct nsx_arena *a, size_t size, size_t alignment)
{
	struct block *b = a->blocks;
	size_t at = b ? (b->used + alignment - 1) & ~(alignment - 1) : 0;

	if (!b || at > b->size || b->size - at < size) {
		size_t usual = b ? NSX_MIN(2 * b->size, BLOCK_SIZE) : FIRST_SIZE;
		size_t room = NSX_MAX(size, usual);

		b = nsx_alloc(1, sizeof(*b) + room);
		b->size = room;
		b->next = a->blocks;
		a->blocks = b;
		at = 0;
	}
	b->used = at + size;
	return b->bytes + at;
}

void *nsx_arena_get(struct nsx_arena *a, size_t size)
{
	return arena_take(a, size, ALIGNMENT);
}

char *nsx_arena_strndup(struct nsx_arena *a, const char *s, size_t n)
{
	char *p = arena_take(a, n + 1, 1);

	memcpy(p, s, n);
	p[n] = '\0';
	return p;
}

char *nsx_arena_strdup(struct nsx_arena *a, const char *s)
{
	return nsx_arena_strndup(a, s, strlen(s));
}

char *nsx_arena_vprintf(struct nsx_arena *a, const char *fmt, va_list ap)
{
	va_list again;
	char *p;
	int n;

	va_copy(again, ap);
	n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	p = arena_take(a, (size_t)n + 1, 1);
	vsnprintf(p, (size_t)n + 1, fmt, ap);
	return p;
}

char *nsx_arena_printf(struct nsx_arena *a, const char *fmt, ...)
{
	va_list ap;
	char *p;

	va_start(ap, fmt);
	p = nsx_arena_vprintf(a, fmt, ap);
	va_end(ap);
	return p;
}

void *nsx_arena_try_array(struct nsx_arena *a, size_t n, size_t size,
			  const char *what, struct nsx_err *err)
{
	struct block *b = NULL;

	if (!injected_fault() && n <= (SIZE_MAX - sizeof(*b)) / size)
		b = alloc_zeroed(1, sizeof(*b) + n * size);
	if (!b)
		return fail_allocation(n, size, what, err);
	b->next = a->arrays;
	a->arrays = b;
	return b->bytes;
}

int nsx_new_arrays_(struct nsx_arena *a, size_t n, const char *what,
		    const struct nsx_new_array *v, struct nsx_err *err)
{
	for (; v->at; v++) {
		*v->at = nsx_arena_try_array(a, n, v->size, what, err);
		if (!*v->at)
			return err->rc;
	}
	return 0;
}

void nsx_give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}

void nsx_arena_drop(struct nsx_arena *a, const void *array)
{
	struct block **at;

	for (at = &a->arrays; *at; at = &(*at)->next)
		if ((*at)->bytes == array) {
			struct block *b = *at;

			*at = b->next;
			free(b);
			return;
		}
}
