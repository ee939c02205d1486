/* kernel_lex.h - splits a demangled name into identifiers and numbers. Casts before numbers are
 * skipped.
 */
#pragma once

#include "base/base.h"

enum nsx_word_kind {
	NSX_W_SCOPE,	/* an identifier before "::"                         */
	NSX_W_NAME,	/* any other identifier                              */
	NSX_W_NUMBER,	/* "4" of "(int)4"                                   */
	NSX_W_INSTANCE, /* "12" of "[lambda(int) (instance 12)]" and of
			   "{lambda(int)#12}"                                */
};
struct nsx_word {
	const char *p;
	uint32_t n;
	enum nsx_word_kind kind;
};

/* The next word of [*p, end); false at the end. */
bool nsx_next_word(const char **p, const char *end, struct nsx_word *ret);

/* A name that shares its first `same` bytes with `full` also shares all words that end at least two
 * bytes before the returned offset.
 */
size_t nsx_same_words(const char *full, size_t same);
