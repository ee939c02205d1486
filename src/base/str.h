/* str.h - interned strings, and a growable text buffer.
 *
 * A string is an id; equal strings have equal ids. Ids depend on the order in which threads
 * meet the strings: never sort or print by id, only by text. Text is kept as valid UTF-8
 * without NUL (broken bytes become U+FFFD) and is cut at NSX_MAX_TEXT bytes.
 *
 * Interning is thread-safe. Reading the text of an id is safe once the threads that intern
 * have been joined.
 */
#pragma once

#include "base/arena.h"

typedef uint32_t nsx_str; /* 0: absent, which is not the empty string */

struct nsx_strings;

struct nsx_strings *nsx_strings_new(void);
/* A new table on top of another, whose ids it shares. `under` must not change any more and must
 * outlive it.
 */
struct nsx_strings *nsx_strings_over(const struct nsx_strings *under);
void nsx_strings_free(struct nsx_strings *s);

/* Interns text of len bytes. */
int nsx_strings_add(struct nsx_strings *s, const char *text, size_t len,
		    nsx_str *ret, struct nsx_err *err) NSX_CHECKED;
/* nsx_strings_add for labels, which are few. Ends the program when no memory is left. */
nsx_str nsx_strings_put(struct nsx_strings *s, const char *text);

/* The id of a text; 0 if the table does not have it. */
nsx_str nsx_strings_find(const struct nsx_strings *s, const char *text);
/* Frees the memory that only adding needs. No string can be added afterwards. */
void nsx_strings_close(struct nsx_strings *s);

/* A NUL-terminated text; "" for id 0. Owner: the table. */
const char *nsx_str_text(const struct nsx_strings *s, nsx_str id);
/* Like nsx_str_text, for reading many texts in turn without keeping them. A packed text is
 * unpacked into b, whose contents are lost, and stays packed in the table.
 */
struct nsx_buf;
const char *nsx_str_read(const struct nsx_strings *s, nsx_str id, struct nsx_buf *b);

/* Prefetches texts, which are scattered in memory, for loops that read the texts of n ids in turn
 * from byte `from` on. i is the current index; id is an expression of the index `next`.
 */
#define NSX_FETCH_TEXTS(s, i, n, next, id, from)                              \
	do {                                                                  \
		size_t next = (i) + 32;                                       \
		nsx_str later_ = next < (n) ? (id) : 0;                       \
                                                                              \
		next = (i) + 16;                                              \
		if (next < (n))                                               \
			nsx_str_fetch(s, id, from, later_);                   \
	} while (0)
/* Prefetches the place of text `later`, and the bytes of text `soon`, which was `later` in
 * an earlier call.
 */
void nsx_str_fetch(const struct nsx_strings *s, nsx_str soon, size_t from, nsx_str later);

/* Like nsx_str_text, while other threads still intern. */
const char *nsx_strings_text(struct nsx_strings *s, nsx_str id);

/* A number above all ids so far, for arrays indexed by id. */
size_t nsx_strings_bound(const struct nsx_strings *s);

/* Compares two ids by their texts (strcmp), absent first. */
int nsx_str_cmp(const struct nsx_strings *s, nsx_str a, nsx_str b);

/* Ranks many strings by text. rank is by id; each entry that is not 0 becomes the place of its
 * text in sorted order, from 1 on. Errors: NSX_E_NOMEM.
 */
int nsx_strings_rank(const struct nsx_strings *s, uint32_t *rank,
		     unsigned threads, struct nsx_err *err) NSX_CHECKED;

/* Growable buffer, NUL-terminated after the first append. For small texts: ends the program
 * when memory is out.
 */
struct nsx_buf {
	char *p;
	size_t n, cap;
};
void nsx_buf_add(struct nsx_buf *b, const char *p, size_t n);
void nsx_buf_adds(struct nsx_buf *b, const char *s);
/* The number of leading bytes that are ASCII and need no escape in a JSON string. */
size_t nsx_unescaped(const char *p, size_t n);
/* Appends the inside of a JSON string; n bytes that are valid UTF-8 stay so. */
void nsx_buf_add_escaped(struct nsx_buf *b, const char *p, size_t n);
/* Room for n bytes and a NUL behind b->n, for callers that write there themselves. nsx_buf_grow is
 * its slow path.
 */
void nsx_buf_grow(struct nsx_buf *b, size_t n);
static inline char *nsx_buf_room(struct nsx_buf *b, size_t n)
{
	if (b->cap - b->n <= n)
		nsx_buf_grow(b, n);
	return b->p + b->n;
}
void nsx_buf_printf(struct nsx_buf *b, const char *fmt, ...) NSX_PRINTF(2, 3);
/* Appends a space and the word, quoted for a shell. */
void nsx_buf_add_word(struct nsx_buf *b, const char *word);
void nsx_buf_clear(struct nsx_buf *b);
void nsx_buf_done(struct nsx_buf *b);
/* Moves the text into an arena and frees the buffer; "" if it is empty. */
char *nsx_buf_keep(struct nsx_buf *b, struct nsx_arena *a);

/* Like nsx_strings_add, for many strings and for a table that is not on top of another. Strings are
 * collected and added together, which takes the lock less often. *ret may stay unset until
 * nsx_strings_settle. `late` begins as {0}; owner of its buffer: the caller.
 */
enum { NSX_LATE_STRINGS = 256 };
struct nsx_late_strings {
	struct nsx_buf texts;
	struct nsx_late_string {
		uint64_t hash;
		nsx_str *ret, id;
		uint32_t at, len; /* offset and length in `texts`            */
	} v[NSX_LATE_STRINGS];
	size_t n;
};
int nsx_strings_add_late(struct nsx_strings *s, struct nsx_late_strings *late,
			 const char *text, size_t len, nsx_str *ret,
			 struct nsx_err *err) NSX_CHECKED;
int nsx_strings_settle(struct nsx_strings *s, struct nsx_late_strings *late,
		       struct nsx_err *err) NSX_CHECKED;

/* Appends p as valid UTF-8 without NUL. Returns whether bytes were replaced. */
bool nsx_buf_add_utf8(struct nsx_buf *b, const char *p, size_t n);

/* The code point at s, valid UTF-8 that does not end there. *n: its length in bytes. */
uint32_t nsx_code_point(const char *s, size_t *n);
/* Whether a character moves the cursor, hides text or changes its direction. */
bool nsx_is_unsafe(uint32_t c);
/* Replaces each unsafe character by '?'; other bytes that are no UTF-8 stay. */
void nsx_make_safe(char *s);

/* The length of the common prefix of a and b within n bytes. */
size_t nsx_same_bytes(const char *a, const char *b, size_t n);

/* Writes the decimal digits of n so that they end before `end`; much faster than printf.
 * Returns their start.
 */
char *nsx_digits_before(char *end, uint64_t n);

/* Both are for valid UTF-8. nsx_cut_chars: the greatest length up to n that splits no character.
 * nsx_count_chars: the number of characters in n bytes.
 */
size_t nsx_cut_chars(const char *p, size_t n);
size_t nsx_count_chars(const char *p, size_t n);
/* The rest of s after its first n characters. */
const char *nsx_skip_chars(const char *s, size_t n);

/* The file name of a path; nsx_file_name also knows Windows' paths. */
const char *nsx_file_name(const char *path);
const char *nsx_base_name(const char *path);
/* A short name of a thread: the file name if it is a path or an address, otherwise the whole
 * name. "/bin/x", "~anna/x", "./x", "C:\\x" and "file://x" are paths, "kworker/0:1" is none.
 */
const char *nsx_thread_label(const char *name);
/* Returns the name of a process: the file name of a path, and of a title what follows its last
 * slash, because words before it may be paths. A slash between digits divides no path: "rank 2/4".
 */
const char *nsx_title_label(const char *name);
/* These know ASCII only, in any locale. */
static inline bool nsx_is_digit(char c)
{
	return c >= '0' && c <= '9';
}
static inline bool nsx_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool nsx_ends_with(const char *text, const char *end);
/* The length of the number at s[i]; 0: there is none. A word of six or more hexadecimal
 * digits is a number if one of them is 0 to 9: "000bde2a" in "req-000bde2a". After such a number and
 * a dash four digits suffice, as in a UUID, and after "0x" one.
 */
size_t nsx_number_at(const char *s, size_t i);
/* Appends a text with one "#" for each number and the "#" next to it: "step[bs=#]". False: the text
 * has no digit.
 */
bool nsx_buf_add_masked(struct nsx_buf *b, const char *s);
/* Whether `shown` is the masked form of a name, in which each "#" stands for a run of numbers. */
bool nsx_is_shown_as(const char *name, const char *shown);
bool nsx_is_one_of(const char *text, const char *const *list, size_t n);
#define NSX_IS_ONE_OF(text, list) nsx_is_one_of(text, list, ARRAY_LEN(list))

/* A 64-bit hash of bytes (FNV-1a variant, mixed); not for security. */
uint64_t nsx_hash(const void *p, size_t n);
static inline uint64_t nsx_hash_u64(uint64_t x)
{
	x ^= x >> 33;
	x *= UINT64_C(0xff51afd7ed558ccd);
	x ^= x >> 33;
	x *= UINT64_C(0xc4ceb9fe1a85ec53);
	return x ^ x >> 33;
}

/* The edit distance (letters inserted, deleted or changed) from the first na bytes of a to b;
 * SIZE_MAX if b has 64 bytes or more.
 */
size_t nsx_edits(const char *a, size_t na, const char *b);
/* Whether a name is more similar to the n letters of s than the best so far; *best begins as
 * SIZE_MAX. Names that differ in more than half of the letters are ignored.
 */
bool nsx_is_nearer(const char *s, size_t n, const char *name, size_t *best);
/* The most similar of n names to s; NULL: none is similar. `name` is an expression of the index i.
 */
#define NSX_NEAREST(s, i, n, name)                                            \
	__extension__({                                                       \
		const char *nearest_ = NULL;                                  \
		size_t best_ = SIZE_MAX;                                      \
                                                                              \
		for (__typeof__((n) + 0) i = 0; i < (n); i++)                 \
			if (nsx_is_nearer(s, strlen(s), name, &best_))        \
				nearest_ = name;                              \
		nearest_;                                                     \
	})
/* "did you mean 'NAME'? " for a message: nsx_meant(nearest).text; "" if nearest is NULL. */
struct nsx_meant {
	char text[96];
};
struct nsx_meant nsx_meant(const char *nearest);
