/* regex.c - compiling users' regular expressions. */
#include <stdlib.h>
#include <string.h>
#include "base/regex.h"
#include "base/str.h"

enum {
	MAX_LENGTH = 4096, /* characters, after repeats are written out */
	MAX_WRITTEN = 512, /* of these, by bounds in braces */
	MAX_GROUPS = 64,   /* inside each other */
};

/* What stands behind a backslash and is refused: "\d", which silently means the letter
 * here, and a back-reference, on which a match takes a time that grows exponentially.
 */
static char refused_escape(const char *regex)
{
	for (; *regex; regex++) {
		if (*regex != '\\')
			continue;
		if (!*++regex)
			break;
		if (strchr("dD123456789", *regex))
			return *regex;
	}
	return '\0';
}

/* The last character of a set of characters that begins at p. */
static const char *end_of_set(const char *p)
{
	p += p[1] == '^' ? 2 : 1;
	p += *p == ']';
	while (*p && *p != ']') {
		const char end[] = {p[1], ']', '\0'}, *close = NULL;

		if (*p == '[' && p[1] && strchr(".:=", p[1]))
			close = strstr(p + 2, end);
		p = close ? close + 2 : p + 1;
	}
	return *p ? p : p - 1;
}

/* How many copies a repeat makes of what stands before it.  One that may match
 * nothing makes none, but doubles the ways through it.
 */
static long copies(const char *repeat)
{
	char *end;
	long n, most;

	if (*repeat != '{')
		return 2;
	n = NSX_MIN(strtol(repeat + 1, &end, 10), MAX_LENGTH);
	most = *end == ',' ? strtol(end + 1, NULL, 10) : n;
	return NSX_MAX(1, NSX_MIN(NSX_MAX(n + 1, most), MAX_LENGTH));
}

/* regcomp writes repeats out and follows all ways through them: a few nested
 * ones take all the memory and time there is.
 */
static bool is_too_large(const char *p)
{
	long size[MAX_GROUPS] = {0}, last = 0, written = 0;
	unsigned depth = 0;

	for (; *p && size[depth] <= MAX_LENGTH; p++) {
		if (*p == '(' && depth + 1 == MAX_GROUPS)
			return true;
		if (*p == '(') {
			size[++depth] = 1;
			continue;
		}
		if (strchr("+*?{", *p)) {
			size[depth] += last * (copies(p) - 1);
			if (*p == '{')
				written += last * (copies(p) - 1);
			last *= copies(p);
			continue;
		}
		last = 1;
		if (*p == ')' && depth)
			last = size[depth--];
		else if (*p == '[')
			p = end_of_set(p);
		else if (*p == '\\' && p[1])
			p++;
		size[depth] += last;
	}
	return size[depth] > MAX_LENGTH || written > MAX_WRITTEN;
}

/* Found anywhere, a pattern is begun again at each character, with states of its own;
 * with any beginning it is read once, in as many states as there are characters.
 */
static int compile_anywhere(regex_t *ret, const char *pattern, int flags)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	nsx_buf_printf(&b, "^.*(%s)", pattern);
	return regcomp(ret, b.p, flags | REG_EXTENDED);
}

int nsx_regex_compile(regex_t *ret, const char *pattern, int flags,
		      struct nsx_err *err)
{
	char why[128], escape = refused_escape(pattern);
	int code;

	if (nsx_is_digit(escape))
		return nsx_fail(err, NSX_E_USAGE, "the back-reference \\%c may take "
				"for ever; write out what it is to match", escape);
	if (escape)
		return nsx_fail(err, NSX_E_USAGE, "write [0-9] for \\d");
	if (is_too_large(pattern))
		return nsx_fail(err, NSX_E_USAGE, "it repeats too much");
	code = regcomp(ret, pattern, flags | REG_EXTENDED);
	if (!code && flags & REG_NOSUB) {
		regfree(ret);
		code = compile_anywhere(ret, pattern, flags);
	}
	if (!code)
		return 0;
	regerror(code, ret, why, sizeof(why));
	return nsx_fail(err, code == REG_ESPACE ? NSX_E_NOMEM : NSX_E_USAGE,
			"%s", why);
}
