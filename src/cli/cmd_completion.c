/* cmd_completion.c - shell completion, from the option tables. */
#include <stdio.h>
#include "agent/shape.h"
#include "cli/cmd_common.h"

static void print_names(const struct nsx_cmd *c)
{
	for (unsigned i = 0; i < c->nopts; i++) {
		printf(" --%s", c->opts[i].name);
		if (c->opts[i].letter)
			printf(" -%c", c->opts[i].letter);
	}
	fputs(" --help", stdout);
}

/* Defines a function that prints the words of a list. */
#define PRINTER(name, n, ...)                                                 \
	static void name(void)                                                \
	{                                                                     \
		for (unsigned i = 0; i < (n); i++)                            \
			printf(" " __VA_ARGS__);                              \
	}
PRINTER(print_commands, nsx_ncommands, "%s", nsx_commands[i]->name)
PRINTER(print_questions, NSX_NQUESTIONS, "%s", nsx_questions[i].name)
PRINTER(print_actions, nsx_cmd_find("baseline")->noperands, "%s",
	nsx_cmd_find("baseline")->operand(i).word)
PRINTER(print_sections, nsx_npasses, "%s", nsx_passes[i]->id)
PRINTER(print_finding_ids, NSX_NFINDING_IDS, "%s", nsx_finding_defs[i].name)
PRINTER(print_step_kinds, NSX_NSTEP_KINDS, "%s", nsx_step_kinds[i])
PRINTER(print_windows, NSX_NSTEP_KINDS, "step:%s", nsx_step_kinds[i])

static void print_schemas(void)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	const char *name;

	for (unsigned i = 0; (name = nsx_shape_name(i, a)); i++)
		printf(" %s", name);
}

static void print_shells(void)
{
	fputs(" bash zsh fish", stdout);
}

/* Operands from a fixed list, by the command and the word before them. */
static const struct {
	const char *command, *after;
	void (*print)(void);
} operands[] = {
	{"help", "help", print_commands},	   {"completion", "completion", print_shells},
	{"schema-json", "schema-json", print_schemas}, {"ask", "section", print_sections},
	{"ask", "finding", print_finding_ids}, {"ask", "steps", print_step_kinds},
	{"ask", "window", print_windows},      {"baseline", "baseline", print_actions},
};

/* Values of options that are lists of the program; others have their words. */
static const struct {
	const char *option;
	void (*print)(void);
} lists[] = {{"pass", print_sections}, {"skip", print_sections},
	     {"explain", print_sections}, {"window", print_windows}};

static bool has_values(const struct nsx_opt *o)
{
	return o->words ||
	       NSX_FIRST(i, ARRAY_LEN(lists), !strcmp(lists[i].option, o->name), true, false);
}

/* Prints the possible values of an option as words: "auto, always or never". */
static void print_values(const struct nsx_opt *o)
{
	const char *s = o->words;

	for (unsigned i = 0; i < ARRAY_LEN(lists) && !s; i++)
		if (!strcmp(lists[i].option, o->name))
			lists[i].print();
	for (size_t n; s && *s; s += n + strspn(s + n, ", ")) {
		if (!strncmp(s, "or ", 3))
			s += 3;
		n = strcspn(s, ", ");
		printf(" %.*s", (int)n, s);
	}
}

static void print_bash_values(const struct nsx_cmd *c)
{
	for (unsigned k = 0; k < c->nopts; k++) {
		const struct nsx_opt *o = &c->opts[k];

		if (!has_values(o))
			continue;
		printf("\t%s--%s) words=\"", c == nsx_cmd_find("explain") ? "*" : c->name, o->name);
		print_values(o);
		fputs("\" ;;\n", stdout);
	}
}

/* Prints a case for each command and preceding word. The options of explain come last, because the
 * name of that command may be omitted.
 */
static void print_bash_words(void)
{
	const struct nsx_cmd *explain = nsx_cmd_find("explain");

	fputs("\tcase $cmd$last in\n", stdout);
	for (unsigned i = 0; i < nsx_ncommands; i++)
		if (nsx_commands[i] != explain)
			print_bash_values(nsx_commands[i]);
	print_bash_values(explain);
	for (size_t i = 0; i < ARRAY_LEN(operands); i++) {
		printf("\t%s%s) words=\"", operands[i].command, operands[i].after);
		operands[i].print();
		fputs("\" ;;\n", stdout);
	}
	fputs("\tesac\n", stdout);
}

static void print_bash(void)
{
	fputs("_nsys_explain()\n{\n\tlocal cur=${COMP_WORDS[COMP_CWORD]} "
	      "last=${COMP_WORDS[COMP_CWORD-1]} cmd=${COMP_WORDS[1]} words=\n\tCOMPREPLY=()\n"
	      "\tif [ \"$last\" = = ]; then last=${COMP_WORDS[COMP_CWORD-2]}; fi\n"
	      "\tif [ \"$cur\" = = ]; then cur=; fi\n"
	      "\tif [ \"$COMP_CWORD\" -eq 1 ]; then\n\t\twords=\"help", stdout);
	print_commands();
	fputs(" --version --man\"\n\tfi\n\tcase $cmd in\n", stdout);
	for (unsigned i = 0; i < nsx_ncommands; i++) {
		printf("\t%s) [[ $cur != -* ]] || words=\"", nsx_commands[i]->name);
		print_names(nsx_commands[i]);
		fputs("\" ;;\n", stdout);
	}
	fputs("\t*) [[ $cur != -* ]] || words=\"", stdout);
	print_names(nsx_cmd_find("explain"));
	fputs("\" ;;\n\tesac\n\tif [ \"$cmd\" = ask ] && [ \"$COMP_CWORD\" -eq 3 "
	      "]; then\n\t\twords=\"", stdout);
	print_questions();
	fputs("\"\n\tfi\n", stdout);
	print_bash_words();
	fputs("\t# Bash takes a colon for the end of a word.\n"
	      "\tif [[ $COMP_WORDBREAKS == *:* && "
	      "${COMP_LINE:0:COMP_POINT} =~ [\\ =]step:([a-z]*)$ ]]; then\n"
	      "\t\tcur=${BASH_REMATCH[1]} words=\"", stdout);
	print_step_kinds();
	fputs("\"\n\tfi\n", stdout);
	fputs("\t[ -z \"$words\" ] || mapfile -t COMPREPLY < "
	      "<(compgen -W \"$words\" -- \"$cur\")\n}\n"
	      "complete -o default -F _nsys_explain nsys-explain\n", stdout);
}

/* Prints text for use inside single quotes of a shell. */
static void print_quoted(const char *s, const char *also)
{
	for (; *s; s++)
		if (*s == '\'')
			fputs("'\\''", stdout);
		else if (strchr(also, *s))
			printf("\\%c", *s);
		else
			putchar(*s);
}

static void print_zsh_options(const struct nsx_cmd *c)
{
	for (unsigned i = 0; i < c->nopts; i++) {
		const struct nsx_opt *o = &c->opts[i];

		printf(" \\\n\t\t\t'%s--%s%s[",
		       o->kind == NSX_O_LIST || o->kind == NSX_O_COUNT ? "*" :
									 "",
		       o->name, o->arg ? "=" : "");
		print_quoted(o->help, "[]:\\");
		putchar(']');
		if (o->arg) {
			putchar(':');
			print_quoted(o->arg, "[]:\\");
			if (!strcmp(o->name, "window")) {
				fputs(":($windows)", stdout); /* a colon would end them */
			} else if (has_values(o)) {
				fputs(":(", stdout);
				print_values(o);
				putchar(')');
			} else {
				fputs(":_files", stdout);
			}
		}
		putchar('\'');
	}
}

static void print_zsh(void)
{
	fputs("#compdef nsys-explain\n_nsys_explain()\n{\n"
	      "\tlocal -a commands questions windows\n\tcommands=(\n"
	      "\t\t'help:what a command does, and its options'\n", stdout);
	for (unsigned i = 0; i < nsx_ncommands; i++) {
		printf("\t\t'%s:", nsx_commands[i]->name);
		print_quoted(nsx_commands[i]->summary, "\\");
		fputs("'\n", stdout);
	}
	fputs("\t)\n\tquestions=(", stdout);
	print_questions();
	fputs(" )\n\twindows=(", stdout);
	print_windows();
	fputs(" )\n\tif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
	      "\t\t_describe command commands\n\t\t_files\n\t\treturn\n\tfi\n"
	      "\tcase $words[2]$words[CURRENT-1] in\n", stdout);
	for (size_t i = 0; i < ARRAY_LEN(operands); i++) {
		printf("\t%s%s) compadd --", operands[i].command, operands[i].after);
		operands[i].print();
		fputs("; return ;;\n", stdout);
	}
	fputs("\tesac\n\tcase $words[2] in\n", stdout);
	for (unsigned i = 0; i < nsx_ncommands; i++) {
		printf("\t%s)\n", nsx_commands[i]->name);
		if (!strcmp(nsx_commands[i]->name, "ask"))
			fputs("\t\t(( CURRENT != 4 )) || _describe question questions\n", stdout);
		fputs("\t\t_arguments", stdout);
		print_zsh_options(nsx_commands[i]);
		fputs(" \\\n\t\t\t'*:file:_files' ;;\n", stdout);
	}
	fputs("\t*)\n\t\t_arguments", stdout);
	print_zsh_options(nsx_cmd_find("explain"));
	fputs(" \\\n\t\t\t'*:file:_files' ;;\n\tesac\n}\n_nsys_explain \"$@\"\n", stdout);
}

/* Prints where a command's options are valid. Those of explain are valid if no other command is
 * given.
 */
static void print_fish_place(const struct nsx_cmd *c)
{
	bool is_default = c == nsx_cmd_find("explain");

	fputs(is_default ? "'not __fish_seen_subcommand_from" :
			   "'__fish_seen_subcommand_from", stdout);
	for (unsigned i = 0; i < nsx_ncommands; i++)
		if (is_default != (nsx_commands[i] == c))
			printf(" %s", nsx_commands[i]->name);
	putchar('\'');
}

static void print_fish(void)
{
	fputs("complete -c nsys-explain -n __fish_use_subcommand -a help "
	      "-d 'what a command does, and its options'\n", stdout);
	for (unsigned i = 0; i < nsx_ncommands; i++) {
		const struct nsx_cmd *c = nsx_commands[i];

		printf("complete -c nsys-explain -n __fish_use_subcommand -a %s -d '", c->name);
		print_quoted(c->summary, "\\");
		fputs("'\n", stdout);
		for (unsigned k = 0; k < c->nopts; k++) {
			const struct nsx_opt *o = &c->opts[k];

			fputs("complete -c nsys-explain -n ", stdout);
			print_fish_place(c);
			printf(" -l %s%s -d '", o->name, o->arg ? " -r" : "");
			print_quoted(o->help, "\\");
			if (has_values(o)) {
				fputs("' -x -a '", stdout);
				print_values(o);
			}
			fputs("'\n", stdout);
		}
	}
	for (size_t i = 0; i < ARRAY_LEN(operands); i++) {
		printf("complete -c nsys-explain -f -n '__fish_seen_subcommand_from %s; "
		       "and test (commandline -opc)[-1] = %s' -a '",
		       operands[i].command, operands[i].after);
		operands[i].print();
		fputs("'\n", stdout);
	}
	fputs("complete -c nsys-explain -n '__fish_seen_subcommand_from ask; "
	      "and test (count (commandline -opc)) -eq 3' -a '", stdout);
	print_questions();
	fputs("'\n", stdout);
}

static const struct {
	const char *shell;
	void (*print)(void);
} shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};

static int cmd_completion_run(void *args NSX_UNUSED, int n, char **words, struct nsx_err *err)
{
	const char *nearest = n != 1 ? NULL :
		NSX_NEAREST(words[0], i, ARRAY_LEN(shells), shells[i].shell);

	for (size_t i = 0; i < ARRAY_LEN(shells) && n == 1; i++)
		if (!strcmp(words[0], shells[i].shell)) {
			shells[i].print();
			return 0;
		}
	return nearest ? nsx_fail(err, NSX_E_USAGE, "no completion for '%s'; did you mean '%s'?",
				  words[0], nearest) :
			 nsx_fail(err, NSX_E_USAGE, "give one shell: bash, zsh or fish");
}

const struct nsx_cmd nsx_cmd_completion = {
	.name = "completion",
	.usage = "bash|zsh|fish",
	.summary = "print the completion script of a shell",
	.doc = "Prints what a shell needs to complete commands, options and "
	       "questions. 'make install' puts it where shells look.",
	.examples = "source <(nsys-explain completion bash)\n"
		    "nsys-explain completion fish > ~/.config/fish/completions/nsys-explain.fish",
	.run = cmd_completion_run,
};
