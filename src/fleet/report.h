/* report.h - a fleet in words and tables. */
#pragma once

#include <stdio.h>
#include "emit/folder.h"
#include "fleet/fleet.h"
#include "fleet/input.h"
#include "fleet/tables.h"

/* Fills the table of stages. *ret_elsewhere_ns: exposed communication outside the collectives that
 * end stages, median of the ranks, summed over all steps. It is part of the work.
 */
int nsx_fleet_frontier(const struct nsx_fleet *f, struct nsx_table *t, int64_t *ret_elsewhere_ns,
		       struct nsx_err *err) NSX_CHECKED;

enum nsx_ffinding_id {
	NSX_FF_LATE_RANK, NSX_FF_SLOW_HOST, NSX_FF_SLOW_LINK, NSX_FF_SLOW_ENGINE, NSX_FF_ROTATING,
	NSX_FF_DESYNC, NSX_FF_MISSING_RANKS, NSX_NFF
};
extern const struct nsx_finding_def nsx_ffinding_defs[NSX_NFF];
extern const char *const nsx_late_causes[]; /* by enum nsx_late_cause */
struct nsx_ffinding {
	enum nsx_ffinding_id id;
	const char *key, *title;
	enum nsx_severity severity;
	enum nsx_confidence confidence;
	const char *evidence[8], *recommendation[4]; /* NULL-terminated */
	double headroom_ns; /* gain per step */
	double added_ns; /* gain per step beyond those priced before it; NAN: not known */
	enum nsx_price_kind price;
	const uint32_t *ranks;
	uint32_t n;
};

extern const struct nsx_layout nsx_fleet_layouts[NSX_NFTABLES];
struct nsx_freport {
	const struct nsx_fleet *f;
	struct nsx_ffinding *v; /* most expensive first */
	size_t n;
	struct nsx_table t[NSX_NFTABLES];
	int64_t elsewhere_ns; /* exposed communication between stages, from nsx_fleet_frontier */
	const struct nsx_left_out *left_out; /* inputs that could not be read */
	const char *generated_at; /* ISO, UTC */
	struct nsx_arena *arena;
};
int nsx_freport_new(const struct nsx_fleet *f, const struct nsx_left_out *left_out,
		    struct nsx_freport **ret, struct nsx_err *err) NSX_CHECKED;
void nsx_freport_free(struct nsx_freport *r);

/* Fills the tables; called by nsx_freport_new. */
int nsx_freport_tables(struct nsx_freport *r, struct nsx_err *err) NSX_CHECKED;

/* Writers of files (emit/folder.h). The subject of each file is a report. They write its
 * text, the text with a map of ranks and steps as a page, and its JSON. The JSON file's
 * detail is the folder whose other files it lists, or NULL.
 */
int nsx_freport_write_md(const struct nsx_out_file *f, FILE *out, struct nsx_err *err) NSX_CHECKED;
int nsx_freport_write_html(const struct nsx_out_file *f, FILE *out,
			   struct nsx_err *err) NSX_CHECKED;
int nsx_freport_write_json(const struct nsx_out_file *f, FILE *out,
			   struct nsx_err *err) NSX_CHECKED;
void nsx_freport_text(const struct nsx_freport *r, struct nsx_buf *b);
/* Appends the first page, as Markdown or plain text. */
void nsx_freport_page(const struct nsx_freport *r, bool is_md, struct nsx_buf *b);

/* Chooses between words for several things and for one: "rank[s|] wait[|s]". Owner: the arena. */
const char *nsx_choose_words(struct nsx_arena *a, size_t n, const char *text)
	__attribute__((format_arg(3)));
/* Formats a text with such words, which contain no argument. Owner: the report. */
const char *nsx_say_of(const struct nsx_freport *r, size_t n, const char *fmt,
		       ...) NSX_PRINTF(3, 4);

/* Indices of all ranks, those with the greatest excess first. Owner: the arena. */
const uint32_t *nsx_latest_ranks(const struct nsx_fleet *f, struct nsx_arena *a);
/* A list such as "0-3, 7, 16-40 by 8" for ascending indices of ranks. Owner: the arena. */
const char *nsx_rank_list(const struct nsx_fleet *f, const uint32_t *v,
			  size_t n, struct nsx_arena *a);
/* The axes of the mesh along which a communicator lies: "tp", "dp, pp". Without a mesh the
 * axis that one of NCCL looks like: neighbours that reduce are tp, ranks equally far apart
 * dp, those that send to each other ep, or pp if they are two. NULL: none.
 */
const char *nsx_axis_of(const struct nsx_fleet *f, const struct nsx_fcomm *c, struct nsx_arena *a);

/* The axes of the job and their sizes, given or found: "tp 8, dp 4"; "": none. */
const char *nsx_axes_text(const struct nsx_fleet *f, struct nsx_arena *a);
