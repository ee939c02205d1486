/* test_opt.c - the option parser; help and manual mention every option. */
#include "../testlib.h"
#include "cli/opt.h"

struct target {
	bool json;
	const char *out;
	int64_t threads;
	double share;
	int verbose, when;
};

#define OPT(...) NSX_OPT(struct target, __VA_ARGS__)
static const struct nsx_opt opts[] = {
	OPT('j', "json", NULL, NULL, FLAG, json, "as JSON"),
	OPT('o', "out", "output", "DIR", STR, out, "where to"),
	OPT(0, "threads", NULL, "N", INT, threads, "how many"),
	OPT(0, "share", NULL, "X", REAL, share, "how much"),
	OPT('v', "verbose", NULL, NULL, COUNT, verbose, "say more"),
	OPT(0, "least", NULL, "N", INT, threads, "how few", .least = 2, .most = INFINITY),
	OPT(0, "part", NULL, "X", REAL, share, "which part", .most = 1),
	OPT(0, "when", NULL, "WHEN", WORD, when, "when", .words = "auto, always or never"),
};
static const struct nsx_cmd plain = {
	.name = "plain",
	.usage = "FILE",
	.summary = "test",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
};
static const struct nsx_cmd wrapper = {
	.name = "wrapper",
	.usage = "-- COMMAND",
	.summary = "test",
	.opts = opts,
	.nopts = ARRAY_LEN(opts),
	.rest_is_command = true,
};

enum { MAX = 16 };

struct given { /* one parse of a line split at blanks */
	char line[256];
	char *argv[MAX];
	int argc, noperands, rc;
	struct target t;
	struct nsx_err err;
};

static struct given *parse(const struct nsx_cmd *cmd, const char *line)
{
	static struct given g;

	memset(&g, 0, sizeof(g));
	g.noperands = -1;
	strcpy(g.line, line);
	g.argv[g.argc++] = (char *)cmd->name;
	for (char *w = strtok(g.line, " "); w; w = strtok(NULL, " "))
		g.argv[g.argc++] = w;
	g.rc = nsx_opt_parse(cmd, g.argc, g.argv, &g.t, &g.noperands, &g.err);
	return &g;
}

static void check_operands(const struct given *g, const char *want)
{
	char got[256] = "";

	assert_int_equal(g->rc, 0);
	for (int i = 1; i <= g->noperands; i++) {
		strcat(got, i > 1 ? " " : "");
		strcat(got, g->argv[i]);
	}
	assert_string_equal(got, want);
}

TEST(each_kind_is_stored)
{
	struct given *g = parse(&plain, "-j --out x --threads -3 --share 0.25 -v --verbose");

	assert_int_equal(g->rc, 0);
	assert_true(g->t.json);
	assert_string_equal(g->t.out, "x");
	assert_int_equal(g->t.threads, -3);
	assert_true(g->t.share == 0.25);
	assert_int_equal(g->t.verbose, 2);
	assert_int_equal(g->noperands, 0);
}

TEST(all_spellings_mean_the_same)
{
	const char *lines[] = { "-o x",	    "-ox",	  "--out x",
				"--out=x",  "--output x", "--output=x",
				"-jvvo x",  "-jo x",	  "-o y -o x",
				"-o x -- y" };

	for (unsigned i = 0; i < ARRAY_LEN(lines); i++) {
		struct given *g = parse(&plain, lines[i]);

		assert_int_equal(g->rc, 0);
		assert_string_equal(g->t.out, "x");
	}
	assert_string_equal(parse(&plain, "--out=a=b")->t.out, "a=b");
	assert_string_equal(parse(&plain, "--out=")->t.out, "");
	assert_string_equal(parse(&plain, "--out --json")->t.out, "--json");
}

TEST(operands_keep_their_order)
{
	check_operands(parse(&plain, "a -j b --out c d"), "a b d");
	check_operands(parse(&plain, "a -j -- -b --out c"), "a -b --out c");
	check_operands(parse(&plain, "a -1.5s -v"), "a -1.5s");
	check_operands(parse(&plain, ""), "");
}

TEST(a_wrapped_command_is_left_alone)
{
	struct given *g = parse(&wrapper, "-j prog -v --out x");

	check_operands(g, "prog -v --out x");
	assert_true(g->t.json);
	assert_int_equal(g->t.verbose, 0);
	check_operands(parse(&wrapper, "-j -- prog -- -v"), "prog -- -v");
	check_operands(parse(&wrapper, "-- -j"), "-j");
}

static void check_error(const char *line, const char *want)
{
	struct given *g = parse(&plain, line);

	assert_int_equal(g->rc, NSX_E_USAGE);
	assert_int_equal(g->noperands, -1);
	assert_string_equal(g->err.msg, want);
}

TEST(errors_name_the_option)
{
	check_error("--thread 3", "unknown option '--thread'; did you mean '--threads'?");
	check_error("--outputs=3", "unknown option '--outputs'; did you mean '--output'?");
	check_error("--zzzz", "unknown option '--zzzz'; see nsys-explain help plain");
	check_error("-x", "unknown option '-x'; see nsys-explain help plain");
	check_error("--json=1", "option '--json' takes no argument");
	check_error("a --out", "option '--out' needs an argument: DIR");
	check_error("-jo", "option '--out' needs an argument: DIR");
	check_error("--threads 3x", "option '--threads' needs a whole number, not '3x'");
	check_error("--threads=", "option '--threads' needs a whole number, not ''");
	check_error("--threads 0.5", "option '--threads' needs a whole number, not '0.5'");
	check_error("--threads 99999999999999999999",
		    "option '--threads': '99999999999999999999' is out of range");
	check_error("--share nan", "option '--share' needs a number, not 'nan'");
	check_error("--share 1e999", "option '--share': '1e999' is out of range");
}

TEST(bounds_and_words_are_those_of_the_table)
{
	assert_int_equal(parse(&plain, "--least 2")->rc, 0);
	assert_int_equal(parse(&plain, "--part 0 --part 1")->rc, 0);
	assert_int_equal(parse(&plain, "--when never")->t.when, 2);
	assert_int_equal(parse(&plain, "--when never --when auto")->t.when, 0);
	check_error("--least 1", "--least must be 2 or more");
	check_error("--part 1.5", "--part must be 0 to 1");
	check_error("--part -0.1", "--part must be 0 to 1");
	check_error("--when or", "--when must be auto, always or never, not 'or'");
	check_error("--when alway", "--when must be auto, always or never, not 'alway'");
	check_error("--when=", "--when must be auto, always or never, not ''");
}

static bool help_wanted(const struct nsx_cmd *cmd, const char *line)
{
	struct given g = { .argc = 1 };

	strcpy(g.line, line);
	for (char *w = strtok(g.line, " "); w; w = strtok(NULL, " "))
		g.argv[g.argc++] = w;
	return nsx_opt_wants_help(cmd, g.argc, g.argv);
}

TEST(help_is_seen_where_it_is_ours)
{
	assert_true(help_wanted(&plain, "a -j --help"));
	assert_true(help_wanted(&plain, "-h"));
	assert_false(help_wanted(&plain, "a -j"));
	assert_false(help_wanted(&plain, "--out --help"));
	assert_false(help_wanted(&plain, "-o -h"));
	assert_false(help_wanted(&plain, "-- --help"));
	assert_true(help_wanted(&wrapper, "-o x --help prog"));
	assert_false(help_wanted(&wrapper, "-o x prog --help"));
}

/* The text that a writer wrote. Owner: the caller. */
static char *text_of(void (*write)(FILE *out))
{
	char *text = NULL;
	size_t n;
	FILE *f = open_memstream(&text, &n);

	write(f);
	fclose(f);
	return text;
}

static const struct nsx_cmd *subject;

static void write_help(FILE *out)
{
	nsx_opt_help(subject, out);
}

static void check_lines(const char *text, size_t longest)
{
	for (; *text; text += strcspn(text, "\n") + 1)
		assert_in_range(strcspn(text, "\n"), 0, longest);
}

/* An option's name with its dashes escaped for roff. */
static void roff_name(char *to, const char *name)
{
	to += sprintf(to, "\\-\\-");
	for (; *name; name++)
		to += sprintf(to, *name == '-' ? "\\%c" : "%c", *name);
}

TEST(help_and_manual_tell_every_option)
{
	char *manual = text_of(nsx_manual), name[128];

	for (unsigned i = 0; i < nsx_ncommands; i++) {
		const struct nsx_cmd *cmd = nsx_commands[i];
		char *help;

		subject = cmd;
		help = text_of(write_help);
		for (unsigned k = 0; k < cmd->nopts; k++) {
			sprintf(name, "--%s", cmd->opts[k].name);
			assert_non_null(strstr(help, name));
			roff_name(name, cmd->opts[k].name);
			assert_non_null(strstr(manual, name));
			assert_true((cmd->opts[k].arg != NULL) ==
				    (cmd->opts[k].kind != NSX_O_FLAG &&
				     cmd->opts[k].kind != NSX_O_COUNT));
		}
		free(help);
	}
	free(manual);
}

TEST(overview_lists_the_commands)
{
	char *text = text_of(nsx_overview);

	for (unsigned i = 0; i < nsx_ncommands; i++) {
		assert_ptr_equal(nsx_cmd_find(nsx_commands[i]->name), nsx_commands[i]);
		assert_non_null(strstr(text, nsx_commands[i]->summary));
	}
	assert_null(nsx_cmd_find("nothing"));
	check_lines(text, 80);
	free(text);
}

static bool is_option_taken(const struct nsx_cmd *cmd, unsigned upto, const struct nsx_opt *o)
{
	for (unsigned i = 0; i < upto; i++)
		if (!strcmp(cmd->opts[i].name, o->name) ||
		    (o->letter && cmd->opts[i].letter == o->letter))
			return true;
	return false;
}

TEST(no_option_stands_twice)
{
	for (unsigned i = 0; i < nsx_ncommands; i++)
		for (unsigned k = 0; k < nsx_commands[i]->nopts; k++)
			assert_false(is_option_taken(
				nsx_commands[i], k, &nsx_commands[i]->opts[k]));
}
