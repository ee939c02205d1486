/* opt.h - option tables: parser, --help and the manual come from them.
 *
 * A command is one static struct nsx_cmd in cmd_NAME.c and one line in
 * src/cli/commands.def; its options are written once, in its table.
 */
#ifndef NSX_OPT_H
#define NSX_OPT_H

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include "base/err.h"

enum nsx_opt_kind {
	NSX_O_FLAG,  /* bool: set to true                                    */
	NSX_O_STR,   /* const char *: points into argv                       */
	NSX_O_WORD,  /* int or an enum: which of words, from 0               */
	NSX_O_INT,   /* int64_t: a decimal number, the whole argument        */
	NSX_O_REAL,  /* double: finite, the whole argument                   */
	NSX_O_SIZE,  /* int64_t: bytes, as 500k or 20M, at least 1           */
	NSX_O_COUNT, /* int: one more each time                              */
	NSX_O_LIST,  /* struct nsx_opt_list: its argument is added           */
};

struct nsx_opt_list { /* arguments of an option that may stand several times */
	const char *v[32];
	size_t n;
};

struct nsx_opt {
	char letter;	   /* 0: none                                        */
	const char *name;  /* long, without dashes                           */
	const char *alias; /* a second long name, or NULL                    */
	const char *arg;   /* label of the argument in help; NULL for flags  */
	enum nsx_opt_kind kind;
	size_t offset;	   /* of the target in the command's options struct  */
	const char *help;  /* one sentence, lower case, no full stop         */
	/* Of a number: what it must not be less or more than; most 0: any.
	 * Of a word: all there are, as "auto, always or never"; of a text those
	 * that shells offer.
	 */
	double least, most;
	const char *words;
};

/* An entry of the table whose values go to a T; a designated initializer of
 * least, most or words may follow the help.
 */
#define NSX_OPT(T, c, n, al, ar, k, f, ...)                                   \
	{.letter = c, .name = n, .alias = al, .arg = ar, .kind = NSX_O_##k,   \
	 .offset = offsetof(T, f), .help = __VA_ARGS__}
#define NSX_OPT_THREADS(T)                                                    \
	NSX_OPT(T, 0, "threads", NULL, "N", INT, threads,                     \
		"worker threads; default all processors",                     \
		.most = NSX_MAX_THREADS)

struct nsx_operand { /* a word that an operand may be, as help lists it */
	const char *word, *arg; /* arg: what follows it; NULL: nothing       */
	bool is_optional; /* arg                                             */
	const char *help;
};

struct nsx_cmd {
	const char *name;
	const char *usage;    /* after "nsys-explain NAME "                  */
	const char *summary;  /* one line, lower case                        */
	const char *doc;      /* paragraphs, blank line between              */
	const char *examples; /* lines "command  # what it does"             */
	const struct nsx_opt *opts;
	unsigned nopts;
	const char *operands_title; /* "questions"; NULL: there are none     */
	struct nsx_operand (*operand)(unsigned i);
	unsigned noperands;
	bool rest_is_command; /* everything after -- (or the first operand)
				 is left alone: capture                      */
	/* argv[0] is the command's name. Returns the exit code; prints its
	 * own results to stdout and one line to stderr on failure.
	 */
	int (*run)(const struct nsx_cmd *cmd, int argc, char **argv);
};

/* The registry, in the order of help; and lookup by name (NULL: none). */
extern const struct nsx_cmd *const nsx_commands[];
extern const unsigned nsx_ncommands;
const struct nsx_cmd *nsx_cmd_find(const char *name);
/* The command whose name is most like this one; NULL: none is. */
const struct nsx_cmd *nsx_cmd_nearest(const char *name);
void nsx_overview(FILE *out);
void nsx_manual(FILE *out); /* roff, man(7) */

/* Parses argv[1..] into *target; operands are moved, in order, to argv[1..]
 * and counted. GNU habits: --name=value, --name value, -xvalue, -x value,
 * bundled flags, "--" ends options, unambiguous prefixes are NOT accepted.
 * Errors: NSX_E_USAGE, one line which names the option and, for an unknown
 * one, the nearest known.
 */
int nsx_opt_parse(const struct nsx_cmd *cmd, int argc, char **argv,
		  void *target, int *ret_noperands,
		  struct nsx_err *err) NSX_CHECKED;

/* Whether --help (or -h, unless it is an option of cmd) stands among cmd's own
 * arguments, that is before "--" and not as the argument of an option.
 */
bool nsx_opt_wants_help(const struct nsx_cmd *cmd, int argc, char **argv);

/* The words that its operand may be, a line each. */
void nsx_opt_operands(const struct nsx_cmd *cmd, FILE *out);
/* The help and the manual page (roff) of one command; the overview and the manual of several. */
void nsx_opt_help(const struct nsx_cmd *cmd, FILE *out);
void nsx_opt_page(const struct nsx_cmd *cmd, FILE *out);
void nsx_opt_overview(const struct nsx_cmd *const *commands, unsigned n, FILE *out);
void nsx_opt_manual(const struct nsx_cmd *const *commands, unsigned n, FILE *out);

#endif
