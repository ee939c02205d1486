/* report.h - what passes build and emitters print.
 *
 * A section is metrics.<pass id> in JSON: named values and tables, notes (caveats), and the names
 * of the queries that reproduce it. For Markdown a pass also lists blocks in order: headings,
 * bullets and views of its tables. The section owns everything, and lives as long as the report.
 */
#pragma once

#include "report/finding.h"
#include "report/first_page.h"
#include "report/opts.h"

enum nsx_status {
	NSX_S_ANSWERED,
	NSX_S_CANNOT, /* present:false, with a reason                        */
	NSX_S_FAILED, /* an error: exit code 4, other sections are kept      */
	NSX_S_NULL,   /* not requested: JSON null, no Markdown               */
	NSX_S_SKIPPED, /* left out by --pass or --skip                       */
};

#define NSX_MAX_NEEDS 8
struct nsx_facts;
struct nsx_report;
struct nsx_run;
struct nsx_schema;
struct nsx_section;

/* Describes an analysis; passes/pass.h tells how to write one. */
struct nsx_pass {
	const char *id;
	const char *json;    /* path in metrics ("by_pid.nvtx"); NULL: id */
	const char *title;   /* its "## " heading in report.md; NULL: none   */
	const char *summary; /* one line, for `nsys-explain passes`          */
	/* noun for "Not in this trace" if the section cannot be computed, such as "NCCL"; NULL:
	 * obvious
	 */
	const char *subject;
	const char *doc;     /* definition, formula, blind spots             */
	const char *derived_from; /* the sources of its figures              */
	const char *limitations;  /* limits of the sources                   */
	const char *caveat; /* first note of every result; NULL: none        */
	/* Views and fields that the pass requires, as NSX_NEED_VIEW(kernel) and
	 * NSX_NEED(kernel_corr). If one is missing the runner reports CANNOT.
	 */
	int needs[NSX_MAX_NEEDS];
	/* The pass needs at least one of these views. If all are missing, it says so itself. */
	int any_of[NSX_MAX_NEEDS];
	/* its rows are grouped by the phases of --phase-map (opts->phases); null without them */
	bool by_phase;
	/* Checks a small table before the pass runs. Returns what is missing, or NULL. */
	const char *(*lacks)(const struct nsx_schema *s, struct nsx_arena *a);
	const struct nsx_layout *layouts; /* layouts of its tables           */
	unsigned nlayouts;
	const struct nsx_layout *const *more; /* layouts in other files, NULL-terminated;
						 NULL: none                  */
	bool may_be_null;    /* may return NSX_S_NULL                        */
	bool is_top; /* stands at the top level of JSON, not in metrics */
	bool is_verdict; /* a result: shown at the beginning of the HTML page */
	bool measures;	 /* fills a member of detect/measured.h, on which a finding is based */
	bool replays;	 /* a summary that replays changes                   */
	bool walks; /* an analysis of the replay's model, which runs after the model is built */
	/* An analysis (`run`) reads the trace and the facts. A summary (`summarise`, without `run`)
	 * also reads the complete report. No section depends on another section's tables.
	 */
	int (*run)(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err);
	/* The second part of an analysis, or NULL. It makes the longest tables after the replay's
	 * model is freed, because both are large. Summaries cannot use these tables.
	 */
	int (*finish)(const struct nsx_run *run, struct nsx_section *out, struct nsx_err *err);
	int (*summarise)(const struct nsx_run *run, const struct nsx_report *report,
			 struct nsx_section *out, struct nsx_err *err);
};

struct nsx_value { /* a named value of a section */
	const char *key; /* a dot separates nested objects, "\." is a dot    */
	struct nsx_cell cell;
};

enum nsx_block_kind { NSX_B_HEADING, NSX_B_SUBHEADING, NSX_B_SUBSUBHEADING,
		      NSX_B_BULLET, NSX_B_TEXT, NSX_B_TABLE };
struct nsx_block { /* a Markdown block */
	enum nsx_block_kind kind;
	const char *text; /* heading, bullet or paragraph in our markup; names from the
			     trace go through nsx_md_name                    */
	const struct nsx_table *table;
	const int *columns; /* ids of the columns shown                      */
	size_t ncolumns;
	size_t max_rows;
};

struct nsx_curve { /* a quantity over the window, for drawing */
	const char *label, *unit; /* unit: "%", or "B" for bytes             */
	uint32_t device;   /* NSX_NONE: not in the trace                     */
	int64_t device_id; /* number by which such a GPU is named               */
	double full;	 /* value that fills the height of the drawing       */
	const float *at; /* NSX_CURVE_BINS values; NAN: unknown              */
};

struct nsx_section {
	const struct nsx_pass *pass;
	enum nsx_status status;
	const char *reason; /* required for CANNOT and FAILED                */
	struct nsx_value *values;
	size_t nvalues, cap_values;
	struct nsx_table **tables;
	size_t ntables, cap_tables;
	const char **notes;
	size_t nnotes, cap_notes;
	struct nsx_block *blocks;
	size_t nblocks, cap_blocks;
	const char **warnings; /* warnings about the whole report            */
	size_t nwarnings, cap_warnings;
	struct nsx_curve *curves;
	size_t ncurves, cap_curves;
	const char *headline; /* the line on stdout, or NULL                 */
	const char **asked; /* answers to --what-if for the first page: Markdown,
			       NULL-terminated; NULL: nothing was asked      */
	const char **page; /* lines for the first page: plain text, NULL-terminated;
			      NULL: none                                     */
	/* the section's queries give other figures on this trace, so the report does not offer
	 * them
	 */
	bool sql_differs;
	struct nsx_arena *arena;
};

struct nsx_report {
	const struct nsx_trace *trace;
	struct nsx_facts *facts; /* owned; drawings and questions use them after the
				    analyses                                 */
	struct nsx_section *sections; /* in registry order                   */
	size_t nsections;
	struct nsx_findings found; /* all findings, ranked                   */
	struct nsx_first_page *page; /* NULL with --pass or --skip           */
	const char **warnings;
	size_t nwarnings;
	const char *generated_at, *path; /* path: as typed                   */
	const char *ask; /* path for `ask`; NULL: deleted                    */
	const char *window; /* as typed; NULL: none                          */
	double reach_s; /* seconds around the window that were read; 0: everything */
	bool has_changed; /* the trace changed while it was read             */
	const char *unpriced; /* reason why nothing was replayed; NULL: the replay ran */
	bool is_classic; /* report.md has the sections of nsys-llm-explain   */
	bool all_rows;	  /* tables/ has no row limit                        */
	enum nsx_table_format format; /* format of the files in tables/      */
	size_t html_bytes; /* size limit of report.html; 0: NSX_HTML_BYTES   */
	enum nsx_html_events html_events;
	struct nsx_trace *own_trace;   /* set if the report owns its trace; NULL: borrowed */
	struct nsx_schema *own_schema; /* set if the report owns its schema; NULL: borrowed */
	struct nsx_arena *arena;
};

/* Why the report covers only a part: the file changed while it was read, is cut or damaged, or a
 * section failed. All answers from it say so, with exit code 4. NULL: it is complete. Borrowed.
 */
const char *nsx_report_damage(const struct nsx_report *r);

/* A cache of reports on unchanged whole traces. find returns NULL if the cache lacks it. For one
 * thread at a time.
 */
struct nsx_at_hand {
	struct nsx_report *(*find)(void *ctx, const char *path);
	void *ctx;
};

/* Filling a section (all functions end the program when memory is out) ---------- */

/* Sets the reason why the section cannot be computed; returns 0 for run() to return. */
#define nsx_cannot(s, ...) nsx_cannot_(s, nsx_say(s, __VA_ARGS__))
int nsx_cannot_(struct nsx_section *s, const char *reason);
void nsx_put(struct nsx_section *s, const char *key, struct nsx_cell cell);
/* Adds a table. A layout without a key makes a table for nsx_rows cells only: it is not written as
 * CSV, nor to JSON on its own.
 */
struct nsx_table *nsx_add_table(struct nsx_section *s, const struct nsx_layout *layout);
/* Calls nsx_table_whole on all tables of a finished section. */
int nsx_section_whole(const struct nsx_section *s, struct nsx_err *err) NSX_CHECKED;
/* Adds the tables of the pass's layouts, in order. Returns s->tables, which moves when
 * another table is added.
 */
struct nsx_table **nsx_add_tables(struct nsx_section *s);
#define nsx_note(s, ...) nsx_note_(s, nsx_say(s, __VA_ARGS__))
void nsx_note_(struct nsx_section *s, const char *text);
/* Adds a warning about the whole report, used if its numbers are doubtful. */
#define nsx_warn(s, ...) nsx_warn_(s, nsx_say(s, __VA_ARGS__))
void nsx_warn_(struct nsx_section *s, const char *text);
#define nsx_headline(s, ...) ((s)->headline = nsx_say(s, __VA_ARGS__))
/* Copies c and its NSX_CURVE_BINS values. */
void nsx_add_curve(struct nsx_section *s, const struct nsx_curve *c);
/* Formats a text into the section's arena, as printf does. */
#define nsx_say(s, ...)                                                       \
	((const char *)nsx_arena_printf((s)->arena, __VA_ARGS__))

/* Formats bytes in decimal units, "25.5 GB", and times, "421 ms". */
#define nsx_say_bytes(s, bytes) nsx_text_bytes((s)->arena, (double)(bytes))
#define nsx_say_time(s, ns) nsx_text_ns((s)->arena, (double)(ns))
#define nsx_say_ms(s, ms) nsx_text_ns((s)->arena, (ms) * 1e6)

/* Appends Markdown blocks. Without a heading they belong to the pass's title. */
#define nsx_md_heading(s, text) nsx_md_add(s, NSX_B_HEADING, text)
#define nsx_md_subheading(s, text) nsx_md_add(s, NSX_B_SUBHEADING, text)
#define nsx_md_subsubheading(s, text) nsx_md_add(s, NSX_B_SUBSUBHEADING, text)
#define nsx_md_bullet(s, ...)                                                 \
	nsx_md_add(s, NSX_B_BULLET, nsx_say(s, __VA_ARGS__))
#define nsx_md_text(s, ...) nsx_md_add(s, NSX_B_TEXT, nsx_say(s, __VA_ARGS__))
void nsx_md_add(struct nsx_section *s, enum nsx_block_kind kind, const char *text);
/* The number of leading rows whose value in a column is at least `least`; at most `most`. */
size_t nsx_first_rows(const struct nsx_table *t, size_t most, int column, double least);
/* Adds a Markdown table of the columns whose ids follow, with at most max_rows rows; 0: default.
 * columns NULL: the first ones.
 */
#define nsx_md_table(s, t, max_rows, ...)                                     \
	nsx_md_table_of(s, t, max_rows, NSX_IDS(__VA_ARGS__))
void nsx_md_table_of(struct nsx_section *s, const struct nsx_table *t,
		     size_t max_rows, const int *columns, size_t ncolumns);
/* Adds a Markdown table of all columns. */
#define nsx_md_whole(s, t, max_rows) nsx_md_table_of(s, t, max_rows, NULL, (t)->layout->ncols)
/* A name from the trace, shortened in the middle and escaped for Markdown. */
#define nsx_md_name(s, name) nsx_text_name((s)->arena, name)

/* Finds the cells that the findings cite. Returns a table whose missing rows may contain one of
 * them, or NULL.
 */
const struct nsx_table *nsx_prove_findings(struct nsx_report *r);

/* Reading sections (summaries, emitters) --------------------------------------*/
const struct nsx_section *nsx_report_section(const struct nsx_report *r, const char *pass_id);
/* The table of a CSV file, by the first n letters of csv; NULL: none. */
const struct nsx_table *nsx_report_table(const struct nsx_report *r, const char *csv, size_t n);
/* The section that holds the table. */
const struct nsx_section *nsx_section_of(const struct nsx_report *r, const struct nsx_table *t);
const struct nsx_table *nsx_section_table(const struct nsx_section *s,
					  const char *key); /* NULL: there is no such section */
const struct nsx_cell *nsx_section_value(const struct nsx_section *s,
					 const char *key); /* NULL: there is no such table */

void nsx_section_done(struct nsx_section *s);

/* Whether a rank or GPU other than the limiting one sets the pace; a finding then says so. */
static inline bool nsx_is_held_up(const struct nsx_report *r)
{
	return nsx_find_finding(&r->found, NSX_ID_nccl_straggler);
}
