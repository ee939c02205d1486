/* opt.c - the option parser.
 *
 * Options may stand between operands, so operands are moved to the front of argv while parsing, in
 * order. Arguments after "--" are not examined.
 */
#include <ctype.h>
#include <errno.h>
#include "cli/opt.h"
#include "cli/piped.h"
#include "sqlite/db.h"

/* State of the parser. at: the current argument. */
struct reader {
	const struct nsx_cmd *cmd;
	int argc, at;
	char **argv;
};

static bool takes_arg(const struct nsx_opt *o)
{
	return o->kind != NSX_O_FLAG && o->kind != NSX_O_COUNT;
}

static const struct nsx_opt *find_option_by_letter(const struct nsx_cmd *cmd, char letter)
{
	return NSX_FIRST(i, cmd->nopts, cmd->opts[i].letter == letter, &cmd->opts[i], NULL);
}

static bool is_option_name(const char *known, const char *s, size_t n)
{
	return known && strlen(known) == n && !memcmp(known, s, n);
}

static const struct nsx_opt *find_option_by_name(const struct nsx_cmd *cmd, const char *s, size_t n)
{
	return NSX_FIRST(i, cmd->nopts, is_option_name(cmd->opts[i].name, s, n) ||
			 is_option_name(cmd->opts[i].alias, s, n), &cmd->opts[i], NULL);
}

static int opt_fail_unknown(const struct nsx_cmd *cmd, const char *s, size_t n, struct nsx_err *err)
{
	const char *nearest = NULL;
	size_t best = SIZE_MAX;

	for (unsigned i = 0; i < cmd->nopts; i++) {
		const char *names[] = { cmd->opts[i].name, cmd->opts[i].alias };

		for (unsigned k = 0; k < 2 && names[k]; k++)
			if (nsx_is_nearer(s, n, names[k], &best))
				nearest = names[k];
	}
	if (nearest)
		return nsx_fail(err, NSX_E_USAGE, "unknown option '--%.*s'; did you mean '--%s'?",
				(int)n, s, nearest);
	return nsx_fail(err, NSX_E_USAGE, "unknown option '--%.*s'; see nsys-explain help %s",
			(int)n, s, cmd->name);
}

static int store_number(const struct nsx_opt *o, const char *arg, void *to, struct nsx_err *err)
{
	const char *what = o->kind == NSX_O_INT ? "whole number" : "number";
	double real = 0;
	int64_t integer = 0;
	char *end = NULL;

	errno = 0;
	if (o->kind == NSX_O_INT)
		integer = strtoll(arg, &end, 10);
	else
		real = strtod(arg, &end);
	if (!strchr("+-.0123456789", arg[0]) || end == arg || *end)
		return nsx_fail(err, NSX_E_USAGE, "option '--%s' needs a %s, not '%s'", o->name,
				what, arg);
	if (errno == ERANGE || !isfinite(real))
		return nsx_fail(err, NSX_E_USAGE, "option '--%s': '%s' is out of range", o->name,
				arg);
	if (o->kind == NSX_O_INT)
		*(int64_t *)to = integer;
	else
		*(double *)to = real;
	real += (double)integer;
	if (o->most <= 0 || (real >= o->least && real <= o->most))
		return 0;
	if (isinf(o->most))
		return nsx_fail(err, NSX_E_USAGE, "--%s must be %.0f or more", o->name, o->least);
	return nsx_fail(err, NSX_E_USAGE, "--%s must be %.0f to %.0f", o->name, o->least, o->most);
}

/* Stores a size such as "500k" or "400M": powers of 1000, optionally followed by B. */
static int store_size(const struct nsx_opt *o, const char *arg, int64_t *to, struct nsx_err *err)
{
	static const char units[] = "KMGT";
	char *end;
	double size = strtod(arg, &end);
	const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;

	for (const char *u = units; unit && u <= unit; u++)
		size *= 1000;
	if (unit)
		end++;
	end += toupper((unsigned char)*end) == 'B';
	if (end == arg || *end || !(size >= 1) || size > 9e18)
		return nsx_fail(err, NSX_E_USAGE, "--%s must be a size such as "
				"500k or 20M (k, M, G or T), not '%s'", o->name, arg);
	*to = (int64_t)size;
	return 0;
}

/* Stores the index of arg in a list such as "auto, always or never". */
static int store_word(const struct nsx_opt *o, const char *arg, int *to, struct nsx_err *err)
{
	const char *list = o->words;

	for (int i = 0; *list; i++) {
		size_t n = strcspn(list, ", ");

		if (is_option_name(arg, list, n)) {
			*to = i;
			return 0;
		}
		list += n + strspn(list + n, ", ");
		if (!strncmp(list, "or ", 3))
			list += 3;
	}
	return nsx_fail(err, NSX_E_USAGE, "--%s must be %s, not '%s'", o->name, o->words, arg);
}

static int add_to_list(const struct nsx_opt *o, const char *arg,
		       struct nsx_opt_list *to, struct nsx_err *err)
{
	if (to->n == ARRAY_LEN(to->v))
		return nsx_fail(err, NSX_E_USAGE, "option '--%s' can stand %zu times at most",
				o->name, ARRAY_LEN(to->v));
	to->v[to->n++] = arg;
	return 0;
}

static int store_value(const struct nsx_opt *o, const char *arg, void *target, struct nsx_err *err)
{
	void *to = (char *)target + o->offset;

	switch (o->kind) {
	case NSX_O_FLAG:
		*(bool *)to = true;
		return 0;
	case NSX_O_COUNT:
		++*(int *)to;
		return 0;
	case NSX_O_STR:
		*(const char **)to = arg;
		return 0;
	case NSX_O_WORD:
		return store_word(o, arg, to, err);
	case NSX_O_LIST:
		return add_to_list(o, arg, to, err);
	case NSX_O_SIZE:
		return store_size(o, arg, to, err);
	case NSX_O_INT:
	case NSX_O_REAL:
		break;
	}
	return store_number(o, arg, to, err);
}

/* Stores option o with its argument, which is attached or follows. */
static int store_option(struct reader *r, const struct nsx_opt *o, const char *attached,
			void *target, struct nsx_err *err)
{
	if (takes_arg(o) && !attached) {
		if (r->at + 1 >= r->argc)
			return nsx_fail(err, NSX_E_USAGE, "option '--%s' needs an argument: %s",
					o->name, o->arg);
		attached = r->argv[++r->at];
	}
	return store_value(o, attached, target, err);
}

static int parse_long_option(struct reader *r, void *target, struct nsx_err *err)
{
	const char *s = r->argv[r->at] + 2, *equals = strchr(s, '=');
	size_t n = equals ? (size_t)(equals - s) : strlen(s);
	const struct nsx_opt *o = find_option_by_name(r->cmd, s, n);
	struct nsx_opt as_typed;

	if (!o)
		return opt_fail_unknown(r->cmd, s, n, err);
	if (equals && !takes_arg(o))
		return nsx_fail(err, NSX_E_USAGE, "option '--%s' takes no argument", o->name);
	as_typed = *o; /* a copy, so that errors name the option as typed */
	if (is_option_name(o->alias, s, n))
		as_typed.name = o->alias;
	return store_option(r, &as_typed, equals ? equals + 1 : NULL, target, err);
}

static int parse_letter_options(struct reader *r, void *target, struct nsx_err *err)
{
	const char *s = r->argv[r->at];

	while (*++s) {
		const struct nsx_opt *o = find_option_by_letter(r->cmd, *s);

		if (!o)
			return nsx_fail(err, NSX_E_USAGE, "unknown option '-%c'; see nsys-explain "
					"help %s", *s, r->cmd->name);
		if (takes_arg(o))
			return store_option(r, o, s[1] ? s + 1 : NULL, target, err);
		if (store_option(r, o, NULL, target, err))
			return err->rc;
	}
	return 0;
}

/* Whether an argument holds option letters. "-1.5s" is a time, because no option letter is a digit.
 */
static bool has_letters(const char *s)
{
	return s[0] == '-' && s[1] && !isdigit((unsigned char)s[1]);
}

int nsx_opt_parse(const struct nsx_cmd *cmd, int argc, char **argv,
		  void *target, int *ret_noperands, struct nsx_err *err)
{
	struct reader r = { .cmd = cmd, .argc = argc, .argv = argv };
	int n = 0, rc = 0;

	for (r.at = 1; r.at < argc && !rc; r.at++) {
		char *s = argv[r.at];

		if (!strcmp(s, "--")) {
			r.at++;
			break;
		}
		if (!strcmp(s, "--sqlite-library"))
			nsx_db_use_library();
		else if (s[0] == '-' && s[1] == '-')
			rc = parse_long_option(&r, target, err);
		else if (!strcmp(s, "-"))
			rc = nsx_piped(&argv[++n], err);
		else if (has_letters(s))
			rc = parse_letter_options(&r, target, err);
		else if (cmd->rest_is_command)
			break;
		else
			argv[++n] = s;
	}
	if (rc)
		return rc;
	while (r.at < argc)
		argv[++n] = argv[r.at++];
	*ret_noperands = n;
	return 0;
}

bool nsx_opt_wants_help(const struct nsx_cmd *cmd, int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		const char *s = argv[i];
		const struct nsx_opt *o = NULL;

		if (!strcmp(s, "--help") || (!strcmp(s, "-h") && !find_option_by_letter(cmd, 'h')))
			return true;
		if (s[0] != '-' && cmd->rest_is_command)
			return false;
		if (s[0] == '-' && s[1] == '-')
			o = find_option_by_name(cmd, s + 2, strlen(s + 2));
		else if (s[0] == '-' && s[1] && !s[2])
			o = find_option_by_letter(cmd, s[1]);
		if (o && takes_arg(o))
			i++; /* skips the option's argument, which may look like an option */
	}
	return false;
}
