/* opt.h - option tables, from which the parser, --help and the manual are made.
 *
 * A command is a static struct nsx_cmd in cmd_NAME.c and a line in src/cli/commands.def. Its
 * options are written only in its table.
 */
#pragma once

#include <math.h>
#include <stdio.h>
#include "base/err.h"

enum nsx_opt_kind {
	NSX_O_FLAG,  /* bool: set to true                                    */
	NSX_O_STR,   /* const char *: points into argv                       */
	NSX_O_WORD,  /* int or an enum: index in words                       */
	NSX_O_INT,   /* int64_t: a decimal number, the whole argument        */
	NSX_O_REAL,  /* double: finite, the whole argument                   */
	NSX_O_SIZE,  /* int64_t: bytes, at least 1, as 500k or 20M           */
	NSX_O_COUNT, /* int: incremented each time                           */
	NSX_O_LIST,  /* struct nsx_opt_list: appends its argument            */
};

struct nsx_opt_list { /* arguments of a repeatable option */
	const char *v[32];
	size_t n;
};

struct nsx_opt {
	char letter;	   /* 0: none                                        */
	const char *name;  /* long, without dashes                           */
	const char *alias; /* a second long name, or NULL                    */
	const char *arg;   /* the argument's name in help; NULL for flags    */
	enum nsx_opt_kind kind;
	size_t offset;	   /* offset of the target in the options struct     */
	const char *help;  /* one sentence, lower case, no full stop         */
	/* least, most: limits of a number; most 0: none. words: the possible values of a word, as
	 * "auto, always or never"; for a text those that shell completion offers.
	 */
	double least, most;
	const char *words;
	bool is_json; /* a flag with which errors are written as JSON, too    */
};

/* A table entry that stores into a T. Designated initialisers of least, most or words may follow
 * the help text.
 */
#define NSX_OPT(T, c, n, al, ar, k, f, ...)                                   \
	{.letter = c, .name = n, .alias = al, .arg = ar, .kind = NSX_O_##k,   \
	 .offset = offsetof(T, f), .help = __VA_ARGS__}
#define NSX_OPT_THREADS(T)                                                    \
	NSX_OPT(T, 0, "threads", NULL, "N", INT, threads,                     \
		"worker threads; default all processors",                     \
		.most = NSX_MAX_THREADS)

struct nsx_operand { /* a possible operand, as listed in help */
	const char *word, *arg; /* arg: its argument, which follows the word; NULL: none */
	bool is_optional; /* the argument may be left out                    */
	const char *help;
};

struct nsx_cmd {
	const char *name;
	const char *usage;    /* the text after "nsys-explain NAME "         */
	const char *summary;  /* one line, lower case                        */
	const char *doc;      /* paragraphs, separated by blank lines        */
	const char *examples; /* lines "command  # what it does"             */
	const struct nsx_opt *opts;
	unsigned nopts;
	const char *operands_title; /* "questions"; NULL: no operands        */
	struct nsx_operand (*operand)(unsigned i);
	unsigned noperands;
	/* Only capture sets it: words after -- or after the first operand are not parsed. */
	bool rest_is_command;
	size_t args_size;     /* size of the options struct                  */
	const void *defaults; /* initial content of the options struct; NULL: zeros */
	/* Runs the command with its options and operands, which end with NULL. Prints results to
	 * stdout. Returns the exit code, or an error.
	 */
	int (*run)(void *args, int n, char **operands, struct nsx_err *err);
};
#define NSX_ARGS(T, ...) .args_size = sizeof(T), .defaults = &(const T){__VA_ARGS__}
/* Parses the arguments and runs the command; argv[0] is its name, and argv[argc] is NULL. Prints
 * one line on stderr if it fails. Returns the exit code.
 */
int nsx_cmd_run(const struct nsx_cmd *cmd, int argc, char **argv);

/* The registry of commands in the order of help, and lookup by name (NULL: none). */
extern const struct nsx_cmd *const nsx_commands[];
extern const unsigned nsx_ncommands;
const struct nsx_cmd *nsx_cmd_find(const char *name);
const char *nsx_cmd_nearest(const char *name); /* the most similar name; NULL: none is similar */
void nsx_overview(FILE *out);
void nsx_manual(FILE *out); /* roff, man(7) */

/* Parses argv[1..] into *target. Operands are moved, in order, to argv[1..] and counted. Follows
 * GNU: --name=value, --name value, -xvalue, -x value, bundled flags, "--" ends options; but
 * prefixes are NOT accepted.
 * Errors: NSX_E_USAGE, one line which names the option and, for an unknown one, the nearest known.
 */
int nsx_opt_parse(const struct nsx_cmd *cmd, int argc, char **argv,
		  void *target, int *ret_noperands, struct nsx_err *err) NSX_CHECKED;

/* Whether --help (or -h, unless it is an option of cmd) is among cmd's own arguments: before "--",
 * and not the argument of an option.
 */
bool nsx_opt_wants_help(const struct nsx_cmd *cmd, int argc, char **argv);

/* Lists the possible operands of a command, a line each. */
void nsx_opt_operands(const struct nsx_cmd *cmd, FILE *out);
/* Print help and manual page (roff) of one command, or overview and manual of several. */
void nsx_opt_help(const struct nsx_cmd *cmd, FILE *out);
void nsx_opt_page(const struct nsx_cmd *cmd, FILE *out);
void nsx_opt_overview(const struct nsx_cmd *const *commands, unsigned n, FILE *out);
void nsx_opt_manual(const struct nsx_cmd *const *commands, unsigned n, FILE *out);
