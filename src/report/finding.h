/* finding.h - what costs time: one type from the detector to the exit code.
 *
 * A detector states what it saw, where, and what would have to change. Pricing fills in how
 * much time that change would win, and ranks the findings. Sections, emitters and the
 * --fail-on gate read the ranked list. Texts are Markdown, in JSON too: names from the
 * trace go through nsx_md_name. The list's arena owns everything.
 */
#pragma once

#include "base/figures.h"
#include "facts/facts.h"
#include "facts/replay/change.h"
#include "report/table.h"
#include "report/text.h"

#define NSX_FINDING(id, category) NSX_ID_##id,
#define NSX_CAUSE(id, name, category) NSX_ID_##id,
enum nsx_finding_id {
#include "report/finding.def"
	NSX_NFINDING_IDS
};
#undef NSX_FINDING
#undef NSX_CAUSE

enum nsx_category { /* fields of the program in which the remedy lies */
	NSX_CAT_BALANCE, NSX_CAT_COMMUNICATION, NSX_CAT_COMPUTE, NSX_CAT_HOST,
	NSX_CAT_IDLE, NSX_CAT_ITERATIONS, NSX_CAT_LAUNCH, NSX_CAT_MEMORY,
	NSX_CAT_STARTUP, NSX_CAT_SYNC,
	NSX_CAT_CAPTURE, /* about the trace, not the program                 */
};
enum nsx_severity { NSX_SEV_LOW, NSX_SEV_MEDIUM, NSX_SEV_HIGH };
enum nsx_alarm { /* how the severity is derived from the price */
	NSX_ALARM_BY_PRICE,
	/* medium at most, because the cause may lie outside the recorded activities */
	NSX_ALARM_MEDIUM,
	NSX_ALARM_NONE,	  /* severity is always low                          */
	NSX_ALARM_SET,	  /* severity is set by the detector                 */
};
enum nsx_price_kind { /* how a headroom was found */
	NSX_PRICE_NONE,	    /* no price                                      */
	NSX_PRICE_ASSUMED,  /* a stated guess; raises no alarm               */
	NSX_PRICE_MEASURED, /* a stated rule over recorded times             */
	NSX_PRICE_REPLAYED, /* a replay of the recorded program with the change */
};
extern const char *const nsx_severity_names[];	 /* "low", ...             */
extern const char *const nsx_price_names[];	 /* NULL, "assumed", ...   */
extern const char *const nsx_category_names[];	 /* "balance", ...         */

struct nsx_finding_def {
	const char *name;
	enum nsx_category category;
};
extern const struct nsx_finding_def nsx_finding_defs[NSX_NFINDING_IDS];

/* The cell of a column of processes: the pid, or the label if several processes have this pid; null
 * for an unknown process. Cells of one process are equal.
 */
static inline struct nsx_cell nsx_pid_cell(const struct nsx_trace *t, uint32_t process)
{
	return process == NSX_NONE ? nsx_null() :
	       strchr(nsx_pid_label(t, process), '(') ?
	       nsx_string(nsx_pid_label(t, process)) : nsx_int(t->process[process].pid);
}

/* The cell of a column of devices: the ordinal or, if several devices have it, a text that also has
 * what tells them apart; null for an unknown device.
 */
static inline struct nsx_cell nsx_device_cell(const struct nsx_trace *t, uint32_t device)
{
	return device == NSX_NONE ? nsx_null() :
	       nsx_is_ordinal_shared(t, device) ? nsx_string(nsx_ordinal_label(t, device)) :
	       nsx_int(t->device[device].device_id);
}

/* The table cell that shows a figure. The detector names the cell and its row. Both are looked up
 * once all tables are filled, and cells that distinguish the row from similar rows are added. The
 * evidence is not shown if the cell is not found, or if no cells distinguish its row.
 */
struct nsx_evidence {
	const char *csv;    /* the table's file, without ".csv"; NULL: none  */
	const char *column; /* column of the figure                          */
	/* names the row: the first one with these cells and a figure other than 0 */
	struct nsx_at {
		const char *column; /* column that names the row; NULL: end of the list */
		struct nsx_cell is;
	} at[8];
	bool is_only; /* not shown if several rows have these cells           */
	const struct nsx_table *table; /* table that holds the row; NULL: not found */
	size_t row;
	const struct nsx_cell *cells; /* copy of the row                     */
	unsigned col;
};

struct nsx_finding {
	enum nsx_finding_id id;
	const char *subject; /* distinguishes findings with the same id; NULL: there is only one */
	const char *title;
	const char *evidence[8], *recommendation[6]; /* NULL-terminated      */
	const char *idle_after; /* evidence that a price near idle_after_ns shows; or NULL */
	int64_t idle_after_ns;
	const char *place; /* line in the user's code; NULL: unknown         */
	enum nsx_confidence confidence; /* confidence in cause and price     */
	struct nsx_evidence proof[4]; /* up to four cells; the first without a csv ends the list */

	uint32_t device; /* index; NSX_NONE: none or several                 */
	struct nsx_spans spans; /* when the finding costs time; empty: unknown */
	/* name of the NVTX range or call that takes the host's time; the finding's id determines
	 * which; 0: none
	 */
	nsx_str host;
	struct nsx_plan remedy; /* the change to replay; n == 0: none        */
	/* the part of the remedy that the trace proves possible; v == NULL: the whole remedy */
	struct nsx_plan surely;
	const char *if_least;	/* words "if only ..." for the case in which only `surely` is won */
	double guess_ns;    /* price without a replay; 0: the length of spans */
	bool is_rule;	    /* guess_ns follows a stated rule                 */
	/* upper limit of the price: the time of the calls that the remedy removes; 0: no limit */
	double most_ns;
	double measured_ns; /* price by a stated rule, used if the replay finds less; 0: none */
	/* share of the judged window that the finding's kernel takes; 0: the finding is not about
	 * one kernel
	 */
	double weight;
	bool is_assumed;    /* the size of the change is a guess, stated in evidence[1] */
	bool is_bound;	    /* evidence says that the price is an upper bound  */
	bool is_least;	    /* evidence says that measured_ns is a lower bound */
	enum nsx_alarm alarm;
	unsigned also; /* further categories, as bits by enum nsx_category */
	/* beginning of a note, "The host waits 2 ms in f", that the finding costs next to nothing;
	 * NULL: no note
	 */
	const char *harmless;

	/* Pricing fills these fields: */
	const char *key; /* "id" or "id:subject": unique, and independent of other findings */
	enum nsx_severity severity;
	enum nsx_price_kind price;
	double headroom_ns, low_ns, high_ns; /* price of this remedy alone, with its range */
	double step_ns; /* mean part of headroom_ns in a step of an engine; 0: none, or not known */
	uint32_t set; /* the set of processes whose time it costs, from 1; 0: not distinguished */
	const char *only; /* label of the process whose time the price is; NULL: the whole run's */
	double disjoint_ns; /* gain in addition to the remedies with lower `applied` */
	double sure_ns; /* certain gain in addition to what is certain of these */
	bool has_disjoint;  /* disjoint_ns and sure_ns are known             */
	/* position among the applied remedies, from 1; 0: the remedy adds nothing */
	unsigned applied;
	bool is_minor;	    /* the finding is not among the first ten, or wins next to nothing */
};

/* Loops over the indices of a finding's proofs. */
#define NSX_EACH_PROOF(f, k)                                                  \
	for (size_t k = 0; k < ARRAY_LEN((f)->proof) && (f)->proof[k].csv; k++)

/* Whether the trace leaves open how much of the price is won. */
static inline bool nsx_is_open(const struct nsx_finding *f)
{
	return f->is_bound || f->low_ns < 0.9 * f->headroom_ns;
}

/* Findings, and checks that found nothing wrong. Empty: zeroed except for the arena. */
struct nsx_findings {
	struct nsx_finding *v;
	size_t n, cap;
	const char **fine; /* texts in Markdown                              */
	size_t nfine, cap_fine;
	struct nsx_arena *arena;
};

/* Time won by several remedies, by set: gains of one set add up; set 0 is shared by all. */
struct nsx_won {
	double ns[NSX_MAX_SETS + 1];
};
/* Adds a gain. Returns the total: the gain of set 0 and of the set that wins most. */
static inline double nsx_win(struct nsx_won *w, uint32_t set, double ns)
{
	double most = 0;

	w->ns[set] += ns;
	for (uint32_t k = 1; k <= NSX_MAX_SETS; k++)
		most = NSX_MAX(most, w->ns[k]);
	return w->ns[0] + most;
}

/* Adds a copy of *f to the list. Its strings must be static or the list's own (nsx_tell), its spans
 * on the list's arena.
 */
void nsx_found(struct nsx_findings *l, const struct nsx_finding *f);
#define nsx_fine(l, ...) nsx_fine_(l, nsx_tell(l, __VA_ARGS__))
void nsx_fine_(struct nsx_findings *l, const char *text);
/* Formats a text into the list's arena, as printf does. */
#define nsx_tell(l, ...)                                                      \
	((const char *)nsx_arena_printf((l)->arena, __VA_ARGS__))
#define nsx_tell_bytes(l, bytes) nsx_text_bytes((l)->arena, (double)(bytes))
#define nsx_tell_ns(l, ns) nsx_text_ns((l)->arena, (double)(ns))
#define nsx_tell_name(l, name) nsx_text_name((l)->arena, name)
/* Moves the findings of `from` to the end of l; frees `from`. */
void nsx_findings_take(struct nsx_findings *l, struct nsx_findings *from);
void nsx_findings_done(struct nsx_findings *l); /* frees the list, but not its arena */

/* The first finding with that id; NULL if there is none. */
const struct nsx_finding *nsx_find_finding(const struct nsx_findings *l, enum nsx_finding_id id);

/* Appends a line of evidence; ignores NULL. */
void nsx_add_evidence(struct nsx_finding *f, const char *line);

/* Inserts a line of evidence before line `at`, which must exist or be the next; drops the last one
 * if there is no room.
 */
void nsx_insert_evidence(struct nsx_finding *f, size_t at, const char *line);

/* Puts advice first; drops the last one if there is no room. */
void nsx_advise_first(struct nsx_finding *f, const char *advice);

/* A finding's title, worded for use inside a sentence. */
const char *nsx_title_within(struct nsx_arena *a, const struct nsx_finding *f);

/* The unit of the cited figure, such as "ms", from its column's suffix; NULL: none. */
const char *nsx_evidence_units(const struct nsx_evidence *e);

/* The id of the finding in a key "name:subject"; NSX_NFINDING_IDS if this version has no such
 * id.
 */
enum nsx_finding_id nsx_finding_id_of(const char *key);

static inline const char *nsx_finding_name(const struct nsx_finding *f)
{
	return nsx_finding_defs[f->id].name;
}
static inline enum nsx_category nsx_finding_category(const struct nsx_finding *f)
{
	return nsx_finding_defs[f->id].category;
}
