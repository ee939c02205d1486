/* regex.c - compiles users' regular expressions. */
#include <errno.h>
#include <pthread.h>
#include "base/regex.h"
#include "base/str.h"

enum {
	MAX_LENGTH = 4096, /* characters of a pattern, repeats expanded */
	MAX_WRITTEN = 512, /* characters that repeats in braces add when they are expanded */
	MAX_GROUPS = 64,   /* greatest nesting depth of parentheses */
	MAX_WAYS = 5000,   /* most ways in which an operand of a repeat can match nothing */
};

/* The letter after the backslash of an escape that is refused; 0: none. "\d" is refused because it
 * silently means the letter, and back-references because they can take exponential time.
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

/* How many copies of its operand the C library makes for a repeat; at least 1. "*", "+" and "?"
 * make no copies, but count as 2 because they double the ways through the operand.
 */
static long copies_of_operand(const char *repeat)
{
	char *end;
	long n, most;

	if (*repeat != '{')
		return 2;
	n = NSX_MIN(strtol(repeat + 1, &end, 10), MAX_LENGTH);
	most = *end == ',' ? strtol(end + 1, NULL, 10) : n;
	return NSX_MAX(1, NSX_MIN(NSX_MAX(n + 1, most), MAX_LENGTH));
}

/* Points to the last character of a repeat. Further repeats may follow it, of the same operand. */
static const char *end_of_repeat(const char *p)
{
	size_t n = *p == '{' ? strspn(p + 1, "0123456789,") : 0;

	return n && p[n + 1] == '}' ? p + n + 1 : p;
}

/* The number of ways through a repeat that read no character, from that of its operand: each copy
 * may be followed by the next one in each way, or may be the last.
 */
static double ways_of_repeat(double ways, const char *repeat)
{
	double all = ways;

	if (strchr("*?", *repeat))
		return ways + 1;
	for (long n = copies_of_operand(repeat); n > 1 && all > 0 && all <= MAX_WAYS; n--)
		all *= ways + 1;
	return all;
}

/* The number of ways through two operands in sequence that read no character. */
static double ways_of_sequence(double a, double b)
{
	return a > 0 && b > 0 ? a + b - 1 : 0;
}

/* Moves *p to the end of a character, set or escape. Returns 1 if it matches without reading a
 * character (an anchor), otherwise 0.
 */
static double read_atom(const char **p)
{
	double ways = strchr("^$", **p) != NULL;

	if (**p == '[')
		*p = end_of_set(*p);
	else if (**p == '\\' && (*p)[1])
		ways = strchr("bB<>`'", *++*p) != NULL;
	return ways;
}

/* Whether a pattern would exhaust memory or time. regcomp expands repeats, so a few nested ones
 * exhaust memory. It also follows all ways through them, which exhausts time if a repeated operand
 * may match nothing.
 */
static bool is_too_large(const char *p)
{
	struct group {
		long size;
		double ways, others; /* ways through this branch; those through earlier ones */
	} group[MAX_GROUPS] = {{.ways = 1}}, *g = group;
	long size = 0, written = 0; /* characters of the last operand; added by all braces */
	double ways = 1;

	for (; *p && g->size <= MAX_LENGTH && ways <= MAX_WAYS; p++) {
		if (strchr("+*?{", *p)) {
			g->size += size * (copies_of_operand(p) - 1);
			if (*p == '{')
				written += size * (copies_of_operand(p) - 1);
			size *= copies_of_operand(p);
			ways = ways_of_repeat(ways, p);
			p = end_of_repeat(p);
			continue;
		}
		g->ways = ways_of_sequence(g->ways, ways);
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
			ways = read_atom(&p);
		}
		g->size += size;
	}
	return g->size > MAX_LENGTH || written > MAX_WRITTEN || ways > MAX_WAYS;
}

/* Whether a ')' has no '('. The C library takes such a ')' for a letter, but inside the larger
 * pattern of nsx_regex_new it would close a group of that pattern.
 */
static bool has_unopened_parenthesis(const char *p)
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
	if (has_unopened_parenthesis(pattern))
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

	/* The pattern is checked as written, because the parentheses below can hide a fault. */
	if (nsx_regex_compile(&re, pattern, 0, err))
		return err->rc;
	regfree(&re);
	/* An unanchored pattern is tried from each character anew. With ".*" in front the text is
	 * read once, with as many states as the pattern has characters.
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

/* Compiles the pattern again, which empties the C library's cache for it. */
static int compile_again(struct nsx_regex *r)
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

/* Returns 0, REG_NOMATCH or REG_ESPACE. The C library also returns REG_NOMATCH if it runs out of
 * memory; errno distinguishes the two.
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
		(void)compile_again(r);
	r->learnt += strlen(text);
	code = try_match(r, text);
	if (code == REG_ESPACE && !compile_again(r))
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
