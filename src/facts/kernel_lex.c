/* kernel_lex.c - splits names as written by nvcc's and the GNU demangler. */
#include "base/str.h"
#include "facts/kernel_lex.h"

static bool kernel_lex_is_word(char c)
{
	static const bool of_words[UINT8_MAX + 1] = {
		['0' ... '9'] = true, ['A' ... 'Z'] = true,
		['a' ... 'z'] = true, ['_'] = true, ['$'] = true,
		[0x80 ... UINT8_MAX] = true};

	return of_words[(unsigned char)c];
}

static bool kernel_lex_begins(const char *p, const char *end, const char *text)
{
	size_t n;

	if (p == end || *p != *text)
		return false;
	n = strlen(text);
	return (size_t)(end - p) >= n && !memcmp(p, text, n);
}

enum { MAX_CAST = 64 };

/* Skips "<unnamed>", "(anonymous namespace)", and a cast before a number such as "(unsigned int)".
 * The name of a type is shorter than MAX_CAST, so the search for the end of a cast stops there.
 */
static const char *skip_noise(const char *p, const char *end)
{
	static const char *const noise[] = {"<unnamed>", "(anonymous namespace)"};
	const char *close;

	for (size_t i = 0; i < ARRAY_LEN(noise); i++)
		if (kernel_lex_begins(p, end, noise[i]))
			return p + strlen(noise[i]);
	if (*p != '(')
		return p;
	close = memchr(p, ')', NSX_MIN((size_t)(end - p), MAX_CAST));
	return close && end - close > 1 && (nsx_is_digit(close[1]) ||
					    close[1] == '-') ? close + 1 : p;
}

static bool read_number_after(const char *text, const char **p, const char *end,
			      struct nsx_word *ret)
{
	const char *q;

	if (!kernel_lex_begins(*p, end, text))
		return false;
	q = *p + strlen(text);
	if (q == end || !nsx_is_digit(*q))
		return false;
	ret->p = q;
	while (q < end && nsx_is_digit(*q))
		q++;
	ret->n = (uint32_t)(q - ret->p);
	ret->kind = NSX_W_INSTANCE;
	*p = q;
	return true;
}

bool nsx_next_word(const char **p, const char *end, struct nsx_word *ret)
{
	while (*p < end && !kernel_lex_is_word(**p)) {
		const char *next = skip_noise(*p, end);

		if (next == *p && (read_number_after("(instance ", p, end, ret) ||
				   read_number_after("#", p, end, ret)))
			return true;
		*p = next == *p ? next + 1 : next;
	}
	if (*p == end)
		return false;
	ret->p = *p;
	while (*p < end && kernel_lex_is_word(**p))
		(*p)++;
	ret->n = (uint32_t)(*p - ret->p);
	ret->kind = nsx_is_digit(*ret->p)	   ? NSX_W_NUMBER :
		    kernel_lex_begins(*p, end, "::") ? NSX_W_SCOPE : NSX_W_NAME;
	return true;
}

/* The length of the words that two names surely share. Words that skip_noise() may have read beyond
 * `same` do not count.
 */
size_t nsx_same_words(const char *full, size_t same)
{
	const size_t reach = MAX_CAST + 2, tag = strlen("<unnamed>");

	for (size_t at = same > reach ? same - reach : 0; at < same; at++)
		if (full[at] == '(' ? !memchr(full + at, ')', same - at - 1) :
				      full[at] == '<' && same - at < tag)
			return at;
	return same;
}
