/* finding.h - what costs time: one type from the detector to the exit code.
 *
 * A detector says what it saw, where, and what would have to change; pricing
 * fills in what the change would win and ranks the findings; sections,
 * emitters and the gate of --fail-on read the ranked list.  Texts are Markdown,
 * in JSON too: names from the trace go through nsx_md_name.  All is owned by
 * the list's arena.
 */
#ifndef NSX_FINDING_H
#define NSX_FINDING_H

#include "facts/facts.h"
#include "facts/replay/change.h"
#include "report/table.h"

#define NSX_FINDING(id, category) NSX_ID_##id,
#define NSX_CAUSE(id, name, category) NSX_ID_##id,
enum nsx_finding_id {
#include "report/finding.def"
	NSX_NFINDING_IDS
};
#undef NSX_FINDING
#undef NSX_CAUSE

enum nsx_category { /* field of the remedy */
	NSX_CAT_BALANCE, NSX_CAT_COMMUNICATION, NSX_CAT_COMPUTE, NSX_CAT_HOST,
	NSX_CAT_IDLE, NSX_CAT_ITERATIONS, NSX_CAT_LAUNCH, NSX_CAT_MEMORY,
	NSX_CAT_STARTUP, NSX_CAT_SYNC,
	NSX_CAT_CAPTURE, /* concerns the trace, not the program              */
};
enum nsx_severity { NSX_SEV_LOW, NSX_SEV_MEDIUM, NSX_SEV_HIGH };
enum nsx_alarm { /* how a severity follows from a price */
	NSX_ALARM_BY_PRICE,
	NSX_ALARM_MEDIUM, /* medium at most: what it waits for may come from outside of
			     what was traced                                 */
	NSX_ALARM_NONE,	  /* low, whatever it wins                           */
	NSX_ALARM_SET,	  /* the severity is the detector's                  */
};
enum nsx_price_kind { /* where a headroom comes from */
	NSX_PRICE_NONE,	    /* there is none                                 */
	NSX_PRICE_ASSUMED,  /* a stated guess: no alarm follows from it      */
	NSX_PRICE_MEASURED, /* a stated rule over recorded times             */
	NSX_PRICE_REPLAYED, /* the recorded program, replayed with the change */
};
extern const char *const nsx_severity_names[];	 /* "low", ...             */
extern const char *const nsx_price_names[];	 /* NULL, "assumed", ...   */
extern const char *const nsx_category_names[];	 /* "balance", ...         */

struct nsx_finding_def {
	const char *name;
	enum nsx_category category;
};
extern const struct nsx_finding_def nsx_finding_defs[NSX_NFINDING_IDS];

/* The cell that shows a figure, named by the detector and found when all tables
 * are filled, together with what else tells its row from others: what is not found is not
 * shown, nor is a row that no cells tell from another.
 */
struct nsx_evidence {
	const char *csv;    /* the table's file, without ".csv"; NULL: none  */
	const char *column; /* whose cell is the figure                      */
	struct nsx_at {	    /* the row: the first with these cells, and a
			     figure that is not 0                            */
		const char *column; /* NULL: no more                         */
		struct nsx_cell is;
	} at[8];
	bool is_only; /* if others have these cells, too, it is not shown     */
	const struct nsx_table *table; /* NULL: not found                    */
	size_t row;
	const struct nsx_cell *cells; /* of the row: a copy                  */
	unsigned col;
};

struct nsx_finding {
	enum nsx_finding_id id;
	const char *subject; /* tells findings of one id apart; NULL: one    */
	const char *title;
	const char *evidence[8], *recommendation[6]; /* NULL-terminated      */
	const char *place; /* in the user's code; NULL: not known            */
	enum nsx_confidence confidence; /* in cause and price                */
	struct nsx_evidence proof[4];	/* up to the first without a csv     */

	uint32_t device; /* index; NSX_NONE: of none, or of several          */
	struct nsx_spans spans; /* when it costs; empty: not told            */
	nsx_str host; /* the NVTX range or the call that takes the host's time,
			 told by the id; 0: none */
	struct nsx_plan remedy; /* what would be different; n == 0: nothing to
				   replay                                    */
	struct nsx_plan surely; /* what of the remedy the trace leaves no doubt about;
				   n == 0: all of it                         */
	const char *if_least;	/* "if only ...": when no more than that is won */
	enum nsx_part_class part; /* slow iterations have most of this beyond
			       the others                                    */
	double guess_ns;    /* price where nothing can be replayed; 0: the
			       length of spans                               */
	bool is_rule;	    /* guess_ns is no guess, but by a stated rule     */
	double most_ns;	    /* no price is above it: the time of the calls that
			       would be gone; 0: no such bound               */
	double measured_ns; /* price by a stated rule, taken where the replay
			       sees less; 0: none                            */
	double weight;	    /* share of the judged window that a single kernel
			       of it takes; 0: of no matter                  */
	bool is_assumed;    /* how much the remedy changes is a guess, which
			       evidence[1] states                            */
	bool is_bound;	    /* the price is an upper bound, as evidence says   */
	bool is_least;	    /* measured_ns is a lower bound, as evidence says  */
	enum nsx_alarm alarm;
	unsigned also; /* categories, a bit each, that it is found in as well */
	const char *harmless; /* what there is, to say of it that it costs next to
				 nothing: "The host waits 2 ms in f"; NULL   */

	/* Filled by pricing: */
	const char *key; /* "id" or "id:subject": unique, and the same when
			    other findings come and go                       */
	enum nsx_severity severity;
	enum nsx_price_kind price;
	double headroom_ns, low_ns, high_ns; /* alone, and its range         */
	uint32_t set; /* whose time it is, as in struct nsx_gain             */
	double disjoint_ns; /* what it adds to those applied before it ...   */
	bool has_disjoint;  /* ... where that is known                       */
	unsigned applied;   /* its place among them, from 1; 0: adds nothing */
	bool is_minor;	    /* beyond the first ten, or next to nothing      */
};

/* The indices of its proofs. */
#define NSX_EACH_PROOF(f, k)                                                  \
	for (size_t k = 0; k < ARRAY_LEN((f)->proof) && (f)->proof[k].csv; k++)

/* Whether the trace leaves open how much of its price is won. */
static inline bool nsx_is_open(const struct nsx_finding *f)
{
	return f->is_bound || f->low_ns < 0.9 * f->headroom_ns;
}

/* Findings and what was checked and is fine. Empty: zeroed but for the arena. */
struct nsx_findings {
	struct nsx_finding *v;
	size_t n, cap;
	const char **fine; /* Markdown                                       */
	size_t nfine, cap_fine;
	struct nsx_arena *arena;
};

/* What findings win together, by set: those of one add up, and 0 is of all. */
struct nsx_won {
	double ns[NSX_MAX_SETS + 1];
};
/* Adds one, and returns what is won now: by all, and by the set that wins most. */
static inline double nsx_win(struct nsx_won *w, uint32_t set, double ns)
{
	double most = 0;

	w->ns[set] += ns;
	for (uint32_t k = 1; k <= NSX_MAX_SETS; k++)
		most = NSX_MAX(most, w->ns[k]);
	return w->ns[0] + most;
}

/* Copies *f; its strings are the list's (nsx_tell) or static, its spans on the
 * list's arena.
 */
void nsx_found(struct nsx_findings *l, const struct nsx_finding *f);
#define nsx_fine(l, ...) nsx_fine_(l, nsx_tell(l, __VA_ARGS__))
void nsx_fine_(struct nsx_findings *l, const char *text);
/* printf into the list's memory. */
#define nsx_tell(l, ...)                                                      \
	((const char *)nsx_arena_printf((l)->arena, __VA_ARGS__))
const char *nsx_tell_bytes(struct nsx_findings *l, int64_t bytes);
const char *nsx_tell_ns(struct nsx_findings *l, int64_t ns);
const char *nsx_tell_name(struct nsx_findings *l, const char *name);
/* What another list holds goes to the end of this one; that is gone. */
void nsx_findings_take(struct nsx_findings *l, struct nsx_findings *from);
void nsx_findings_done(struct nsx_findings *l); /* all but the arena */

/* The first of that id; NULL: there is none. */
const struct nsx_finding *nsx_find_finding(const struct nsx_findings *l,
					   enum nsx_finding_id id);

/* Adds a line of evidence behind what is there; NULL: none. */
void nsx_add_evidence(struct nsx_finding *f, const char *line);

/* Puts advice before what is there; the last of too many goes. */
void nsx_advise_first(struct nsx_finding *f, const char *advice);

/* A finding's title within a sentence. */
const char *nsx_title_within(struct nsx_arena *a, const struct nsx_finding *f);

/* "ms" of what its column is in, by the column's end; NULL: its end says none. */
const char *nsx_evidence_units(const struct nsx_evidence *e);

/* What finding a key, "name:subject", is of; NSX_NFINDING_IDS: none of this version. */
enum nsx_finding_id nsx_finding_id_of(const char *key);

static inline const char *nsx_finding_name(const struct nsx_finding *f)
{
	return nsx_finding_defs[f->id].name;
}
static inline enum nsx_category nsx_finding_category(const struct nsx_finding *f)
{
	return nsx_finding_defs[f->id].category;
}

#endif
