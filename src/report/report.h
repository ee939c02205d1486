/* report.h - what passes build and emitters print.
 *
 * A section is metrics.<pass id> in JSON: named values and tables, notes
 * (caveats), the names of the queries that reproduce it.  For Markdown a pass
 * also lists blocks: headings, bullets and views of its tables, in order.
 * Everything is owned by the section and lives as long as the report.
 */
#ifndef NSX_REPORT_H
#define NSX_REPORT_H

#include "report/finding.h"
#include "report/first_page.h"
#include "report/opts.h"

enum nsx_status {
	NSX_S_ANSWERED,
	NSX_S_CANNOT, /* present:false, with a reason                        */
	NSX_S_FAILED, /* an error; the other sections stay; exit code 4      */
	NSX_S_NULL,   /* nothing to ask for: JSON null, no Markdown          */
	NSX_S_SKIPPED, /* by --pass or --skip                                */
};

#define NSX_MAX_NEEDS 8
struct nsx_facts;
struct nsx_report;
struct nsx_run;
struct nsx_schema;
struct nsx_section;

/* What an analysis is: passes/pass.h says how one is written. */
struct nsx_pass {
	const char *id;
	const char *json;    /* its place in metrics ("by_pid.nvtx"); NULL: id */
	const char *title;   /* its "## " heading in report.md; NULL: none   */
	const char *summary; /* one line, for `nsys-explain passes`          */
	const char *subject; /* "NCCL": what is not in a trace of which this
				cannot be computed; NULL: goes without saying */
	const char *doc;     /* definition, formula, what it misses          */
	const char *derived_from; /* what its figures are made of ...        */
	const char *limitations;  /* ... and what they do not tell           */
	const char *caveat; /* the first note of each result; NULL: none     */
	/* Without one of these views or fields: CANNOT, said by the runner.
	 * Views as NSX_NEED_VIEW(kernel), fields as NSX_NEED(kernel_corr).
	 */
	int needs[NSX_MAX_NEEDS];
	/* Without all of these views it has no result and says so in words of
	 * its own.
	 */
	int any_of[NSX_MAX_NEEDS];
	bool by_phase; /* of opts->phases, as --phase-map gives them; without
			  it: null                                           */
	/* Why it has no heading, no query, and no trace that it has no answer
	 * for; the registry test wants the thing or the reason.
	 */
	const char *no_title, *no_query, *no_cannot;
	/* What a look at a small table finds lacking; NULL: nothing.        */
	const char *(*lacks)(const struct nsx_schema *s, struct nsx_arena *a);
	const struct nsx_layout *layouts; /* of its tables                   */
	unsigned nlayouts;
	const struct nsx_layout *const *more; /* of other files, NULL at the
						 end; NULL: none             */
	bool may_be_null;    /* NSX_S_NULL                                   */
	bool is_top; /* at the top level of JSON, not in metrics: a plain object */
	bool is_verdict; /* what was found: a page begins with it            */
	bool measures;	 /* what decides a finding: detect/measured.h        */
	bool replays;	 /* a summary that plays plans                       */
	bool walks;	 /* an analysis of the replay's model: after that    */
	/* An analysis reads the trace and the facts; a summary, which has no
	 * `run`, also the report when all is found: no section decides by what
	 * another one shows.
	 */
	int (*run)(const struct nsx_run *run, struct nsx_section *out,
		   struct nsx_err *err);
	/* The rest of an analysis, or NULL: tables that may have as many rows as
	 * are written, made when the replay's model, which takes as much room, is
	 * gone.  Nothing that a summary shows.
	 */
	int (*finish)(const struct nsx_run *run, struct nsx_section *out,
		      struct nsx_err *err);
	int (*summarise)(const struct nsx_run *run,
			 const struct nsx_report *report,
			 struct nsx_section *out, struct nsx_err *err);
};

struct nsx_value { /* a named value of a section */
	const char *key; /* a dot makes a nested object, "\." is a dot       */
	struct nsx_cell cell;
};

enum nsx_block_kind { NSX_B_HEADING, NSX_B_SUBHEADING, NSX_B_SUBSUBHEADING,
		      NSX_B_BULLET, NSX_B_TEXT, NSX_B_TABLE };
struct nsx_block { /* a piece of Markdown */
	enum nsx_block_kind kind;
	const char *text; /* heading, bullet, paragraph: markup is ours; names
			     from the trace go through nsx_md_name           */
	const struct nsx_table *table;
	const int *columns; /* ids of what is shown                          */
	size_t ncolumns;
	size_t max_rows;
};

struct nsx_curve { /* a quantity over the window, for pictures */
	const char *label, *unit; /* "%"; "B": told in bytes                 */
	int64_t device_id;
	double full;	 /* what a whole bar stands for                      */
	const float *at; /* NSX_CURVE_BINS; NAN: not known                   */
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
	const char **warnings; /* for the whole report                       */
	size_t nwarnings, cap_warnings;
	struct nsx_curve *curves;
	size_t ncurves, cap_curves;
	const char *headline; /* the line on stdout, or NULL                 */
	const char **asked; /* what --what-if was answered, for the first page: Markdown,
			       NULL-terminated; NULL: nothing was asked      */
	const char **page; /* its lines on the first page: plain text, NULL-terminated;
			      NULL: none                                     */
	bool sql_differs; /* its queries do not give its figures on this trace:
			     they are not offered                            */
	struct nsx_arena *arena;
};

struct nsx_report {
	const struct nsx_trace *trace;
	struct nsx_facts *facts; /* the report's own: pictures and questions
				    read them after the analyses             */
	struct nsx_section *sections; /* in registry order                   */
	size_t nsections;
	struct nsx_findings found; /* by rank                                */
	struct nsx_first_page *page; /* NULL: --pass or --skip               */
	const char **warnings;
	size_t nwarnings;
	const char *generated_at, *path; /* path: as the user gave it        */
	const char *ask; /* the path that `ask` takes; NULL: it is gone      */
	const char *window; /* as typed; NULL: none                          */
	double reach_s; /* as of nsx_opts                                    */
	bool has_changed; /* the trace, while it was read                    */
	const char *unpriced; /* why nothing could be replayed; NULL: it could */
	bool all_rows;	  /* tables/ has no bound                            */
	size_t html_bytes; /* as of nsx_opts                                 */
	enum nsx_html_events html_events;
	struct nsx_trace *own_trace;   /* NULL: somebody else's              */
	struct nsx_schema *own_schema; /* NULL: somebody else's              */
	struct nsx_arena *arena;
};

/* Why it is of a part only: the file was changed while it was read, is cut or damaged,
 * or a section failed.  Whoever answers from it says so, and exits with 4.  NULL: it is
 * of all.  Borrowed.
 */
const char *nsx_report_damage(const struct nsx_report *r);

/* Reports that are in memory, of the whole of a trace as it is now; find returns
 * NULL where there is none.  For one user at a time.
 */
struct nsx_at_hand {
	struct nsx_report *(*find)(void *ctx, const char *path);
	void *ctx;
};

/* Filling a section (all die when a small allocation fails) -----------------*/

/* Says why it cannot be computed; returns 0, to be returned from run(). */
#define nsx_cannot(s, ...) nsx_cannot_(s, nsx_say(s, __VA_ARGS__))
int nsx_cannot_(struct nsx_section *s, const char *reason);
void nsx_put(struct nsx_section *s, const char *key, struct nsx_cell cell);
/* A layout without a key makes a table for nsx_rows cells: it is in no CSV
 * and not in JSON by itself.
 */
struct nsx_table *nsx_add_table(struct nsx_section *s,
				const struct nsx_layout *layout);
/* Of all its tables, at the end: as nsx_table_whole. */
int nsx_section_whole(const struct nsx_section *s,
		      struct nsx_err *err) NSX_CHECKED;
/* The tables of the pass's layouts, in order: s->tables, which moves when another
 * table is added.
 */
struct nsx_table **nsx_add_tables(struct nsx_section *s);
#define nsx_note(s, ...) nsx_note_(s, nsx_say(s, __VA_ARGS__))
void nsx_note_(struct nsx_section *s, const char *text);
/* A warning of the whole report: what makes its numbers doubtful. */
#define nsx_warn(s, ...) nsx_warn_(s, nsx_say(s, __VA_ARGS__))
void nsx_warn_(struct nsx_section *s, const char *text);
#define nsx_headline(s, ...) ((s)->headline = nsx_say(s, __VA_ARGS__))
/* Copies c and its NSX_CURVE_BINS values. */
void nsx_add_curve(struct nsx_section *s, const struct nsx_curve *c);
/* printf into the section's memory. */
#define nsx_say(s, ...)                                                       \
	((const char *)nsx_arena_printf((s)->arena, __VA_ARGS__))

/* "25.5 GB": decimal units; "421 ms". */
const char *nsx_say_bytes(struct nsx_section *s, int64_t bytes);
const char *nsx_say_time(struct nsx_section *s, int64_t ns);
const char *nsx_say_ms(struct nsx_section *s, double ms);

/* Markdown, in order. Without a heading blocks go under the pass's title. */
#define nsx_md_heading(s, text) nsx_md_add(s, NSX_B_HEADING, text)
#define nsx_md_subheading(s, text) nsx_md_add(s, NSX_B_SUBHEADING, text)
#define nsx_md_subsubheading(s, text) nsx_md_add(s, NSX_B_SUBSUBHEADING, text)
#define nsx_md_bullet(s, ...)                                                 \
	nsx_md_add(s, NSX_B_BULLET, nsx_say(s, __VA_ARGS__))
#define nsx_md_text(s, ...) nsx_md_add(s, NSX_B_TEXT, nsx_say(s, __VA_ARGS__))
void nsx_md_add(struct nsx_section *s, enum nsx_block_kind kind,
		const char *text);
/* How many of a table's first rows, at most so many, have at least that in a column. */
size_t nsx_first_rows(const struct nsx_table *t, size_t most, int column,
		      double least);
/* The columns whose ids follow, of at most max_rows rows; 0: default. */
#define nsx_md_table(s, t, max_rows, ...)                                     \
	nsx_md_table_of(s, t, max_rows, NSX_IDS(__VA_ARGS__))
void nsx_md_table_of(struct nsx_section *s, const struct nsx_table *t,
		     size_t max_rows, const int *columns, size_t ncolumns);
/* All its columns. */
void nsx_md_whole(struct nsx_section *s, const struct nsx_table *t,
		  size_t max_rows);
/* A name from the trace, cut in the middle and escaped for Markdown. */
const char *nsx_md_name(struct nsx_section *s, const char *name);

/* Finds the cells that the findings point at in the tables that are filled.
 * Returns a table that does not hold all of its rows, where one of these may be
 * meant; NULL: none.
 */
const struct nsx_table *nsx_prove_findings(struct nsx_report *r);

/* Reading sections (summaries, emitters) --------------------------------------*/
const struct nsx_section *nsx_report_section(const struct nsx_report *r,
					     const char *pass_id);
/* The table of a file, by the first n letters of csv; NULL: none. */
const struct nsx_table *nsx_report_table(const struct nsx_report *r, const char *csv,
					 size_t n);
/* Whose table it is. */
const struct nsx_section *nsx_section_of(const struct nsx_report *r,
					 const struct nsx_table *t);
const struct nsx_table *nsx_section_table(const struct nsx_section *s,
					  const char *key); /* NULL: none */
const struct nsx_cell *nsx_section_value(const struct nsx_section *s,
					 const char *key); /* NULL: none */

void nsx_section_done(struct nsx_section *s);

/* Whether another rank or GPU than the limiting one sets the pace: a finding says so. */
static inline bool nsx_is_held_up(const struct nsx_report *r)
{
	return nsx_find_finding(&r->found, NSX_ID_nccl_straggler) ||
	       nsx_find_finding(&r->found, NSX_ID_mpi_straggler);
}

#endif
