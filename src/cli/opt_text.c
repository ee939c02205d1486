/* opt_text.c - text from the option tables: help, overview, manual.
 *
 * Text is reflowed. In roff every backslash, every dash and a leading dot or quote is escaped, so
 * nothing in a table can become a request.
 */
#include "base/clock.h"
#include "cli/opt.h"
#include "base/str.h"

enum { WIDTH = 79, OPT_COLUMN = 26 };

/* Last change of the manual's own text. */
#define MANUAL_DATE "2026-11-28"

static const struct {
	int code;
	const char *text;
} exit_codes[] = {
	{ 0, "done, whatever the report says" },
	{ 1, "--fail-on, --expect, --gate or --min-ranks failed; doctor found a fault" },
	{ 2, "misuse: an option or an argument is wrong" },
	{ 3, "the input cannot be used, or the output cannot be written" },
	{ 4, "partial: a table was damaged or a section failed" },
};

static const struct {
	const char *name, *text;
} environment[] = {
	{ "NSYS_PATH", "the nsys that captures and exports, in place of the newest "
		       "of PATH, CUDA_HOME, CUDA_PATH and the usual folders" },
	{ "TMPDIR", "where the export of a .nsys-rep lies while it is read (/tmp)" },
	{ "NO_COLOR", "if it is not empty, the summary on a terminal has no bold text" },
	{ "SOURCE_DATE_EPOCH", "the time that files say they were made at, in "
			       "seconds since 1970" },
};

static const char about[] = "Reads a report of NVIDIA Nsight Systems (.nsys-rep) or its SQLite "
	"export and says where the time went: what the GPUs did, what they waited for, and what to "
	"do about it. The file is opened read-only, and nothing is created beside it. A trace may "
	"be '-', which reads it from standard input. With --sqlite-library, which all commands "
	"take, SQLite itself reads all tables of an export, in place of this program's faster "
	"reader.";

static const char synopsis[] = "[explain] TRACE [OPTIONS]";

/* Plain text -------------------------------------------------------------*/

/* Prints escaped text. start: it stands at the beginning of an input line. */
static void roff_text(FILE *out, const char *s, size_t n, bool start)
{
	if (start && n && (*s == '.' || *s == '\''))
		fputs("\\&", out);
	for (; n; s++, n--)
		if (*s == '\\')
			fputs("\\e", out);
		else if (*s == '-')
			fputs("\\-", out);
		else
			fputc(*s, out);
}

/* Prints words of text from column `at` on, wrapped to column `indent`. */
static void print_wrapped(FILE *out, const char *text, size_t n, int at, int indent, bool is_roff)
{
	const char *end = text + n;
	bool first = true;

	for (size_t k; (text += strspn(text, " \n")) < end; text += k, first = false) {
		k = NSX_MIN(strcspn(text, " \n"), (size_t)(end - text));
		if (!first && at + 1 + (int)k > WIDTH - is_roff) {
			fprintf(out, "\n%*s", indent, "");
			at = indent;
		} else if (!first) {
			fputc(' ', out);
			at++;
		}
		if (is_roff)
			roff_text(out, text, k, !at);
		else
			fwrite(text, 1, k, out);
		at += (int)k;
	}
	fputc('\n', out);
}

/* Takes the next paragraph of *doc and advances; 0 at the end. */
static size_t next_paragraph(const char **doc, const char **ret)
{
	const char *end;

	*doc += strspn(*doc, "\n");
	*ret = *doc;
	end = strstr(*doc, "\n\n");
	*doc = end ? end : *doc + strlen(*doc);
	return (size_t)(*doc - *ret);
}

/* Takes the next line "command  # what it does" of *s; false at the end. */
static bool next_example(const char **s, const char **ret_cmd, int *ret_n,
			 const char **ret_what, int *ret_nwhat)
{
	const char *p, *end;

	*s += strspn(*s, "\n");
	if (!**s)
		return false;
	p = *s;
	end = p + strcspn(p, "\n");
	*s = end;
	*ret_cmd = p;
	*ret_what = end;
	for (const char *q = p; q + 2 < end; q++)
		if (q[0] == ' ' && q[1] == '#' && q[2] == ' ') {
			*ret_what = q + 3;
			end = q;
		}
	while (end > p && end[-1] == ' ')
		end--;
	*ret_n = (int)(end - p);
	*ret_nwhat = (int)(*s - *ret_what);
	return true;
}

/* Appends the names of an option: "-o, --out, --out-dir". */
static void option_head(const struct nsx_opt *o, struct nsx_buf *b)
{
	if (o->letter)
		nsx_buf_printf(b, "-%c, ", o->letter);
	nsx_buf_printf(b, "--%s", o->name);
	if (o->alias)
		nsx_buf_printf(b, ", --%s", o->alias);
}

static void option_line(FILE *out, const struct nsx_opt *o)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = { 0 };

	nsx_buf_adds(&b, o->letter ? "  " : "      ");
	option_head(o, &b);
	if (o->arg)
		nsx_buf_printf(&b, " %s", o->arg);
	if (b.n + 2 > OPT_COLUMN)
		nsx_buf_printf(&b, "\n%*s", OPT_COLUMN, "");
	else
		nsx_buf_printf(&b, "%*s", OPT_COLUMN - (int)b.n, "");
	fputs(b.p, out);
	print_wrapped(out, o->help, strlen(o->help), OPT_COLUMN, OPT_COLUMN, false);
}

/* Appends an operand as "gaps [A..B]". */
static void operand_head(const struct nsx_operand *t, struct nsx_buf *b)
{
	nsx_buf_adds(b, t->word);
	if (t->arg)
		nsx_buf_printf(b, t->is_optional ? " [%s]" : " %s", t->arg);
}

void nsx_opt_operands(const struct nsx_cmd *cmd, FILE *out)
{
	for (unsigned i = 0; i < cmd->noperands; i++) {
		struct nsx_operand t = cmd->operand(i);
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf head = { 0 };

		operand_head(&t, &head);
		fprintf(out, "  %-16s %s\n", head.p, t.help);
	}
}

void nsx_opt_help(const struct nsx_cmd *cmd, FILE *out)
{
	const char *doc = cmd->doc ? cmd->doc : "", *p, *what;
	size_t n;
	int k, nwhat;

	fprintf(out, "usage: nsys-explain %s%s%s\n\n%s\n", cmd->name,
		*cmd->usage ? " " : "", cmd->usage, cmd->summary);
	if (cmd->nopts)
		fputs("\noptions:\n", out);
	for (unsigned i = 0; i < cmd->nopts; i++)
		option_line(out, &cmd->opts[i]);
	if (cmd->noperands)
		fprintf(out, "\n%s:\n", cmd->operands_title);
	nsx_opt_operands(cmd, out);
	while ((n = next_paragraph(&doc, &p))) {
		fputc('\n', out);
		print_wrapped(out, p, n, 0, 0, false);
	}
	doc = cmd->examples ? cmd->examples : "";
	if (*doc)
		fputs("\nexamples:\n", out);
	while (next_example(&doc, &p, &k, &what, &nwhat)) {
		fprintf(out, "  %.*s\n", k, p);
		if (nwhat)
			fprintf(out, "      %.*s\n", nwhat, what);
	}
}

void nsx_opt_overview(const struct nsx_cmd *const *commands, unsigned n, FILE *out)
{
	fprintf(out, "usage: nsys-explain %s\n"
		"       nsys-explain COMMAND [OPTIONS] [ARGUMENT...]\n"
		"       nsys-explain help [COMMAND] | --help | --version | --man [COMMAND]\n\n",
		synopsis);
	print_wrapped(out, about, strlen(about), 0, 0, false);
	fputs("\ncommands:\n", out);
	for (unsigned i = 0; i < n; i++)
		fprintf(out, "  %-12s %s\n", commands[i]->name, commands[i]->summary);
	fputs("\nexit codes:\n", out);
	for (unsigned i = 0; i < ARRAY_LEN(exit_codes); i++)
		fprintf(out, "  %d  %s\n", exit_codes[i].code, exit_codes[i].text);
	fputs("\nnsys-explain help COMMAND lists a command's options.\n", out);
}

/* roff -------------------------------------------------------------------*/

/* Prints reflowed text in short lines. */
static void roff_flow(FILE *out, const char *s, size_t n)
{
	print_wrapped(out, s, n, 0, 0, true);
}

/* Prints a term in bold, its argument (NULL: none), and what it means. */
static void roff_term(FILE *out, const char *term, const char *arg, const char *text)
{
	fputs(".TP\n\\fB", out);
	roff_text(out, term, strlen(term), false);
	fputs("\\fR", out);
	if (arg) {
		fputs(" \\fI", out);
		roff_text(out, arg, strlen(arg), false);
		fputs("\\fR", out);
	}
	fputc('\n', out);
	roff_flow(out, text, strlen(text));
}

static void roff_synopsis(FILE *out, const struct nsx_cmd *cmd)
{
	fprintf(out, "\\fBnsys\\-explain %s\\fR%s", cmd->name, *cmd->usage ? " " : "");
	roff_flow(out, cmd->usage, strlen(cmd->usage));
}

/* Prints a command's description. follows: it does not stand directly after a heading, which
 * already separates paragraphs.
 */
static void roff_doc(FILE *out, const struct nsx_cmd *cmd, bool follows)
{
	const char *doc = cmd->doc ? cmd->doc : "", *p;
	size_t n;

	for (; (n = next_paragraph(&doc, &p)); follows = true) {
		fputs(follows ? ".PP\n" : "", out);
		roff_flow(out, p, n);
	}
}

static void roff_options(FILE *out, const struct nsx_cmd *cmd)
{
	for (unsigned i = 0; i < cmd->nopts; i++) {
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf head = { 0 };

		option_head(&cmd->opts[i], &head);
		roff_term(out, head.p, cmd->opts[i].arg, cmd->opts[i].help);
	}
}

static void roff_operands(FILE *out, const struct nsx_cmd *cmd)
{
	for (unsigned i = 0; i < cmd->noperands; i++) {
		struct nsx_operand t = cmd->operand(i);
		NSX_AT_EXIT(nsx_buf_done) struct nsx_buf head = { 0 };

		operand_head(&t, &head);
		roff_term(out, head.p, NULL, t.help);
	}
}

static void roff_examples(FILE *out, const struct nsx_cmd *cmd, bool follows)
{
	const char *doc = cmd->examples ? cmd->examples : "", *p, *what;
	int k, nwhat;

	for (; next_example(&doc, &p, &k, &what, &nwhat); follows = true) {
		fputs(follows ? ".PP\n" : "", out);
		if (nwhat) {
			roff_flow(out, what, (size_t)nwhat);
			fputs(".br\n", out);
		}
		fputs("\\fB", out);
		roff_text(out, p, (size_t)k, false);
		fputs("\\fR\n", out);
	}
}

static void roff_exit_codes(FILE *out)
{
	fputs(".SH EXIT STATUS\n", out);
	for (unsigned i = 0; i < ARRAY_LEN(exit_codes); i++) {
		fprintf(out, ".TP\n%d\n", exit_codes[i].code);
		roff_flow(out, exit_codes[i].text, strlen(exit_codes[i].text));
	}
}

/* Prints the date of the manual: the day of SOURCE_DATE_EPOCH if that is set, as in packages. */
static void roff_date(FILE *out)
{
	char now[NSX_UTC_SIZE];

	nsx_utc_now(now);
	fprintf(out, "%.10s", getenv("SOURCE_DATE_EPOCH") ? now : MANUAL_DATE);
}

void nsx_opt_page(const struct nsx_cmd *cmd, FILE *out)
{
	fputs(".TH \"NSYS\\-EXPLAIN\\-", out);
	for (const char *s = cmd->name; *s; s++)
		if (*s == '-')
			fputs("\\-", out);
		else
			fputc(*s - 'a' + 'A', out);
	fputs("\" 1 ", out);
	roff_date(out);
	fprintf(out, " \"nsys\\-explain %s\" \"User Commands\"\n"
		".SH NAME\nnsys\\-explain\\-", NSX_VERSION);
	roff_text(out, cmd->name, strlen(cmd->name), false);
	fputs(" \\- ", out);
	roff_flow(out, cmd->summary, strlen(cmd->summary));
	fputs(".SH SYNOPSIS\n", out);
	roff_synopsis(out, cmd);
	fputs(".SH DESCRIPTION\n", out);
	roff_doc(out, cmd, false);
	if (cmd->nopts)
		fputs(".SH OPTIONS\n", out);
	roff_options(out, cmd);
	if (cmd->noperands)
		fputs(".SH ", out);
	for (const char *s = cmd->operands_title; s && *s; s++)
		fputc(*s - 'a' + 'A', out);
	fputs(cmd->noperands ? "\n" : "", out);
	roff_operands(out, cmd);
	if (cmd->examples)
		fputs(".SH EXAMPLES\n", out);
	roff_examples(out, cmd, false);
	roff_exit_codes(out);
	fputs(".SH SEE ALSO\n.BR nsys\\-explain (1)\n", out);
}

void nsx_opt_manual(const struct nsx_cmd *const *commands, unsigned n, FILE *out)
{
	fputs(".TH NSYS\\-EXPLAIN 1 ", out);
	roff_date(out);
	fprintf(out, " \"nsys\\-explain %s\" \"User Commands\"\n"
		".SH NAME\nnsys\\-explain \\- explain NVIDIA Nsight Systems captures\n.SH "
		"SYNOPSIS\n\\fBnsys\\-explain\\fR ", NSX_VERSION);
	roff_flow(out, synopsis, strlen(synopsis));
	fputs(".br\n\\fBnsys\\-explain\\fR \\fICOMMAND\\fR [OPTIONS] "
	      "[ARGUMENT...]\n.br\n\\fBnsys\\-explain\\fR help [COMMAND] | \\-\\-help | "
	      "\\-\\-version | \\-\\-man [COMMAND]\n"
	      ".SH DESCRIPTION\n", out);
	roff_flow(out, about, strlen(about));
	for (unsigned i = 0; i < n; i++) {
		fprintf(out, ".TP\n\\fB%s\\fR\n", commands[i]->name);
		roff_flow(out, commands[i]->summary, strlen(commands[i]->summary));
	}
	fputs(".SH COMMANDS\n", out);
	for (unsigned i = 0; i < n; i++) {
		fprintf(out, ".SS %s\n", commands[i]->name);
		roff_synopsis(out, commands[i]);
		roff_doc(out, commands[i], true);
		roff_options(out, commands[i]);
		roff_operands(out, commands[i]);
		roff_examples(out, commands[i], true);
	}
	roff_exit_codes(out);
	fputs(".SH ENVIRONMENT\n", out);
	for (unsigned i = 0; i < ARRAY_LEN(environment); i++)
		roff_term(out, environment[i].name, NULL, environment[i].text);
	fputs(".SH SEE ALSO\nEach command has a page of its own, such as\n"
	      ".BR nsys\\-explain\\-explain (1).\n", out);
}
