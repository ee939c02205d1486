/* regex.c - compiles users' regular expressions. */
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include "base/arena.h"
#include "base/regex.h"
#include "base/str.h"

enum {
	MAX_LENGTH = 4096, /* characters after repeats are expanded */
	MAX_WRITTEN = 512, /* characters that bounds in braces add */
	MAX_GROUPS = 64,   /* nesting depth */
	MAX_WAYS = 5000,   /* through an operand without reading */
};

/* The refused escape in a regex: "\d", which silently means the letter, or a
 * back-reference, which can take exponential time.
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

/* Points to the end of the bracket expression that begins at p. */
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

/* How many copies of its operand a repeat makes. A repeat that may match nothing makes
 * none, but doubles the paths through the operand.
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

/* Ways through a repeat that read nothing. 0: each way reads a character. */
static double repeated(double ways, const char *repeat)
{
	if (strchr("*?", *repeat))
		return ways + 1;
	return copies(repeat) > 1 ? ways * (ways + 1) : ways;
}

/* Ways through two operands in turn. */
static double in_turn(double a, double b)
{
	return a > 0 && b > 0 ? a + b - 1 : 0;
}

/* Reads one character, set or escape; the ways through it. */
static double skip_one(const char **p)
{
	double ways = strchr("^$", **p) != NULL;

	if (**p == '[')
		*p = end_of_set(*p);
	else if (**p == '\\' && (*p)[1])
		ways = strchr("bB<>`'", *++*p) != NULL;
	return ways;
}

/* regcomp expands repeats and follows all ways through them: a few nested ones exhaust
 * memory, or time where what they repeat may match nothing.
 */
static bool is_too_large(const char *p)
{
	struct group {
		long size;
		double ways, others; /* of this branch and those before it    */
	} group[MAX_GROUPS] = {{.ways = 1}}, *g = group;
	long size = 0, written = 0; /* of the last operand; of all bounds     */
	double ways = 1;

	for (; *p && g->size <= MAX_LENGTH && ways <= MAX_WAYS; p++) {
		if (strchr("+*?{", *p)) {
			g->size += size * (copies(p) - 1);
			if (*p == '{')
				written += size * (copies(p) - 1);
			size *= copies(p);
			ways = repeated(ways, p);
			continue;
		}
		g->ways = in_turn(g->ways, ways);
		size = 1;
		ways = 1;
		if (*p == '(') {
			if (++g == group + MAX_GROUPS)
				return true;
			*g = (struct group){1, 1, 0};
			continue;
		}
		if (*p == '|') {
			g->others += g->ways;
			g->ways = 1;
		} else if (*p == ')' && g > group) {
			size = g->size;
			ways = g->others + g->ways;
			g--;
		} else {
			ways = skip_one(&p);
		}
		g->size += size;
	}
	return g->size > MAX_LENGTH || written > MAX_WRITTEN || ways > MAX_WAYS;
}

/* The C library takes a parenthesis that closes none for a letter: within a larger pattern it would
 * close one of that pattern's.
 */
static bool closes_none(const char *p)
{
	long depth = 0;

	for (; *p && depth >= 0; p++) {
		if (*p == '[')
			p = end_of_set(p);
		else if (*p == '\\' && p[1])
			p++;
		else
			depth += (*p == '(') - (*p == ')');
	}
	return depth < 0;
}

int nsx_regex_compile(regex_t *ret, const char *pattern, int flags, struct nsx_err *err)
{
	char why[128], escape = refused_escape(pattern);
	int code;

	if (nsx_is_digit(escape))
		return nsx_fail(err, NSX_E_USAGE, "the back-reference \\%c may take "
				"for ever; write out what it is to match", escape);
	if (escape)
		return nsx_fail(err, NSX_E_USAGE, "write [0-9] for \\d");
	if (closes_none(pattern))
		return nsx_fail(err, NSX_E_USAGE, "a ')' has no '('; write \\) for the letter");
	if (is_too_large(pattern))
		return nsx_fail(err, NSX_E_USAGE, "it repeats too much");
	code = regcomp(ret, pattern, flags | REG_EXTENDED);
	if (!code)
		return 0;
	regerror(code, ret, why, sizeof(why));
	return nsx_fail(err, code == REG_ESPACE ? NSX_E_NOMEM : NSX_E_USAGE, "%s", why);
}

/* Many texts -------------------------------------------------------------------------*/

/* The C library caches what it learns about a compiled pattern, up to 5 kB for each
 * character of text. After this many characters the pattern is compiled again.
 */
enum { MAX_LEARNT = 1 << 14 };

struct nsx_regex {
	pthread_mutex_t lock;
	regex_t re;
	size_t learnt; /* characters matched since the pattern was compiled */
	char *pattern;
};

int nsx_regex_new(const char *pattern, struct nsx_regex **ret, struct nsx_err *err)
{
	struct nsx_buf b = {0};
	struct nsx_regex *r;
	regex_t re;

	/* The pattern is checked as it was written, because the parentheses below can hide a fault. */
	if (nsx_regex_compile(&re, pattern, 0, err))
		return err->rc;
	regfree(&re);
	/* An unanchored pattern is tried from each character with states of its own; a pattern with
	 * any beginning is read once, with as many states as it has characters.
	 */
	nsx_buf_printf(&b, "^.*(%s)", pattern);
	r = nsx_alloc(1, sizeof(*r));
	r->pattern = b.p;
	if (regcomp(&r->re, r->pattern, REG_EXTENDED | REG_NOSUB)) {
		free(r->pattern);
		free(r);
		return nsx_fail(err, NSX_E_NOMEM, "no memory for the pattern");
	}
	(void)pthread_mutex_init(&r->lock, NULL);
	*ret = r;
	return 0;
}

/* Compiles the pattern again, which forgets what was learnt about it. */
static int forget(struct nsx_regex *r)
{
	regex_t re;
	int code = regcomp(&re, r->pattern, REG_EXTENDED | REG_NOSUB);

	if (code)
		return code;
	regfree(&r->re);
	r->re = re;
	r->learnt = 0;
	return 0;
}

/* The C library takes a match that had no memory for no match; only errno tells them
 * apart. 0, or REG_NOMATCH or REG_ESPACE.
 */
static int try_match(const struct nsx_regex *r, const char *text)
{
	int code;

	errno = 0;
	code = regexec(&r->re, text, 0, NULL, 0);
	return code && errno == ENOMEM ? REG_ESPACE : code;
}

bool nsx_regex_matches(struct nsx_regex *r, const char *text)
{
	int code;

	pthread_mutex_lock(&r->lock);
	if (r->learnt > MAX_LEARNT)
		(void)forget(r);
	r->learnt += strlen(text);
	code = try_match(r, text);
	if (code == REG_ESPACE && !forget(r))
		code = try_match(r, text);
	pthread_mutex_unlock(&r->lock);
	if (code == REG_ESPACE)
		nsx_die_of_memory(strlen(text));
	return !code;
}

void nsx_regex_free(struct nsx_regex *r)
{
	if (!r)
		return;
	regfree(&r->re);
	(void)pthread_mutex_destroy(&r->lock);
	free(r->pattern);
	free(r);
}
