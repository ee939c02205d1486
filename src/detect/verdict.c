/* verdict.c - what binds the program, in one word, read from the ledger. */
#include "detect/verdict.h"
#include "detect/words.h"
#include "report/failures.h"
#include "report/text.h"
#include "report/words.h"

const char *const nsx_verdict_words[NSX_NVERDICTS] = {
	[NSX_V_COPY] = "copy-bound",
	[NSX_V_LAUNCH] = "launch-bound",
	[NSX_V_HOST] = "host-bound",
	[NSX_V_SYNC] = "sync-bound",
	[NSX_V_COMMUNICATION] = "communication-bound",
	[NSX_V_COMPUTE] = "compute-bound",
	[NSX_V_ALLOCATION] = "memory-allocation-bound",
	[NSX_V_HELD] = "queued work held up",
	[NSX_V_NODES] = "idle between graph nodes",
	[NSX_V_STARTUP] = "start-up only",
	[NSX_V_PACED] = "externally paced",
	[NSX_V_MIXED] = "mixed",
	[NSX_V_NO_GPU] = "no GPU work",
	[NSX_V_LOST] = "GPU work lost",
	[NSX_V_UNREAD] = "no verdict",
	[NSX_V_FAILED] = "the program failed",
};

#define RIVAL 0.1   /* share of the judged time; if two classes differ by less, both are named */
#define FINE 0.01   /* share of the judged time; a class with less is fine   */
#define MOSTLY 0.5
#define WAIT_NS 1000000 /* a wait that finds nothing to wait for is shorter  */

static enum nsx_page_verdict word_of_cause(enum nsx_cause cause)
{
	static const enum nsx_page_verdict words[NSX_NCAUSES] = {
		[NSX_CAUSE_SYNC] = NSX_V_SYNC, [NSX_CAUSE_BLOCKING_COPY] = NSX_V_SYNC,
		[NSX_CAUSE_IMPLICIT_SYNC] = NSX_V_SYNC,
		[NSX_CAUSE_STREAM_WAIT] = NSX_V_SYNC,
		[NSX_CAUSE_ALLOC] = NSX_V_ALLOCATION, [NSX_CAUSE_MODULE] = NSX_V_HOST,
		[NSX_CAUSE_OSRT] = NSX_V_HOST, [NSX_CAUSE_OTHER_API] = NSX_V_HOST,
		[NSX_CAUSE_HOST_CODE] = NSX_V_HOST, [NSX_CAUSE_UNKNOWN] = NSX_V_HOST,
		[NSX_CAUSE_EDGE] = NSX_V_HOST, [NSX_CAUSE_LAUNCH_CALL] = NSX_V_LAUNCH,
		[NSX_CAUSE_LAUNCH_TO_START] = NSX_V_LAUNCH,
		[NSX_CAUSE_DISPATCH] = NSX_V_LAUNCH,
		[NSX_CAUSE_DEPENDENCY] = NSX_V_HELD,
		[NSX_CAUSE_MIGRATION] = NSX_V_HOST,
	};

	return words[cause];
}

struct nsx_idle_words nsx_sum_words(const struct nsx_ledger *l)
{
	struct nsx_idle_words ret = {{0}};

	for (unsigned c = 0; c < NSX_NCAUSES; c++)
		ret.ns[word_of_cause(c)] += l->idle_ns[c];
	ret.ns[NSX_V_HOST] -= l->short_host_ns + l->mpi_ns;
	ret.ns[NSX_V_COMMUNICATION] += l->mpi_ns;
	ret.ns[NSX_V_LAUNCH] += l->short_host_ns - l->between_nodes_ns;
	ret.ns[NSX_V_NODES] += l->between_nodes_ns;
	return ret;
}

bool nsx_holds_little(const struct nsx_ledger *l, int64_t ns)
{
	return (double)ns < FINE * (double)l->total_ns;
}

/* The verdict for a class. Idle time has the verdict of its greatest cause. */
static enum nsx_page_verdict word_of_class(const struct nsx_ledger *l, enum nsx_ledger_class cls)
{
	static const enum nsx_page_verdict words[NSX_NLEDGER] = {
		[NSX_L_COMPUTE] = NSX_V_COMPUTE, [NSX_L_COMM] = NSX_V_COMMUNICATION,
		[NSX_L_COPY] = NSX_V_COPY};
	struct nsx_idle_words idle = nsx_sum_words(l);
	enum nsx_page_verdict best = NSX_V_HOST;

	if (cls != NSX_L_IDLE)
		return words[cls];
	for (unsigned w = 0; w < NSX_NVERDICTS; w++)
		if (idle.ns[w] > idle.ns[best])
			best = w;
	return best;
}

void nsx_judge_ledger(const struct nsx_ledger *l, struct nsx_judgement *ret)
{
	unsigned best = 0, next;

	for (unsigned i = 1; i < NSX_NLEDGER; i++)
		if (l->ns[i] > l->ns[best])
			best = i;
	next = best ? 0 : 1;
	for (unsigned i = 0; i < NSX_NLEDGER; i++)
		if (i != best && l->ns[i] > l->ns[next])
			next = i;
	ret->verdict = ret->first = word_of_class(l, best);
	ret->is_of_most_time = l->n && l->v[0].cls == best &&
			     (best != NSX_L_IDLE || l->v[0].cause == NSX_CAUSE_HOST_CODE ||
			      (l->v[0].is_mpi ? NSX_V_COMMUNICATION :
						word_of_cause(l->v[0].cause)) == ret->first);
	ret->second = word_of_class(l, next);
	if ((double)(l->ns[best] - l->ns[next]) < RIVAL * (double)l->total_ns &&
	    ret->second != ret->first)
		ret->verdict = NSX_V_MIXED;
}

const char *nsx_account_words(const struct nsx_facts *f, const struct nsx_account *x,
			      struct nsx_arena *a)
{
	static const struct {
		const char *what, *before; /* before: words before the place, if that is known */
	} idle[NSX_NCAUSES] = {
		[NSX_CAUSE_SYNC] = {"waits", " in "},
		[NSX_CAUSE_BLOCKING_COPY] = {"blocking copies", " by "},
		[NSX_CAUSE_IMPLICIT_SYNC] = {"waits", " in "},
		[NSX_CAUSE_ALLOC] = {"allocation", " by "},
		[NSX_CAUSE_MODULE] = {"loading of code", " by "},
		[NSX_CAUSE_OSRT] = {"the host", " in "},
		[NSX_CAUSE_OTHER_API] = {"the host", " in "},
		[NSX_CAUSE_HOST_CODE] = {"host code", " in "},
		[NSX_CAUSE_LAUNCH_CALL] = {"launch calls", " of "},
		[NSX_CAUSE_LAUNCH_TO_START] = {"delays from launch to start", " of "},
		[NSX_CAUSE_STREAM_WAIT] = {"waits of a stream", " for "},
		[NSX_CAUSE_DISPATCH] = {"pauses between queued operations", " of "},
		[NSX_CAUSE_DEPENDENCY] = {"queued work that is held up", " in "},
		[NSX_CAUSE_MIGRATION] = {"the host between migrations of pages", ": "},
		[NSX_CAUSE_UNKNOWN] = {"pauses before work whose launch was not recorded", ": "},
		[NSX_CAUSE_EDGE] = {"time without any launch", ": "},
	};
	const char *place = nsx_account_place(f, x, a);

	place = place ? nsx_text_name(a, nsx_text_range(a, place)) : NULL;
	if (x->cls != NSX_L_IDLE)
		return place;
	return nsx_arena_printf(a, "%s%s%s%s", idle[x->cause].what,
				!place && 2 * x->short_ns > x->ns ? " between launches" : "",
				place ? idle[x->cause].before : "", place ?: "");
}

const char *nsx_say_account(const struct nsx_facts *f, const struct nsx_ledger *l,
			    const struct nsx_account *x, struct nsx_arena *a)
{
	return nsx_arena_printf(a, "%s %s", nsx_text_share(a, (double)x->ns, (double)l->total_ns),
				nsx_account_words(f, x, a));
}

/* Whether GPU work was lost: there are launches but no work, or waits for work that must have run.
 */
static bool is_lost(const struct nsx_trace *t)
{
	const struct nsx_calls *c = &t->calls;

	return NSX_ANY(i, c->n, (c->cls[i] == NSX_CALL_LAUNCH &&
				!(c->flags[i] & NSX_CALL_FAILED)) ||
				(c->cls[i] == NSX_CALL_SYNC && nsx_call_ns(c, i) >= WAIT_NS));
}

/* Judges a trace or a user's window without GPU work, or in which none has a length. */
static void judge_idle(const struct nsx_report *r, double length, struct nsx_first_page *p)
{
	const struct nsx_finding *f = r->found.n ? &r->found.v[0] : NULL;

	p->verdict = NSX_V_NO_GPU;
	if (r->trace->has_gpu_work) {
		p->because = r->trace->ops.n ? say_no_length : say_gpu_idle_throughout_window;
		if (f && f->id != NSX_ID_gpu_idle && f->headroom_ns >= MOSTLY * length)
			p->because = nsx_arena_printf(r->arena, "%s; %s", p->because,
						      nsx_title_within(r->arena, f));
	} else if (is_lost(r->trace)) {
		p->verdict = NSX_V_LOST;
	} else if (f && nsx_finding_category(f) == NSX_CAT_HOST) {
		p->because = nsx_title_within(r->arena, f);
	}
}

/* The call that sets the pace; NULL if it was not recorded or is not a single call. */
static const char *say_awaited(const struct nsx_report *r, const struct nsx_finding *paced)
{
	const char *name = nsx_text(r->trace, paced->host);

	return !paced->host	     ? NULL :
	       nsx_osrt_sleeps(name) ? nsx_arena_printf(r->arena, "it waits in %s", name) :
				       nsx_arena_printf(r->arena, say_waits_input, name);
}

/* Names the other program as the cause of idle time. Calls that block while it has the GPU are no
 * cause: it holds their work up.
 */
static void blame_other_program(const struct nsx_ledger *l, const struct nsx_finding *shared,
				struct nsx_judgement *j)
{
	enum nsx_page_verdict idle = word_of_class(l, NSX_L_IDLE);

	if (shared->headroom_ns * l->ngpus < MOSTLY * (double)l->ns[NSX_L_IDLE])
		return;
	j->verdict = j->verdict == idle ? NSX_V_HELD : j->verdict;
	j->first = j->first == idle ? NSX_V_HELD : j->first;
	j->second = j->second == idle ? NSX_V_HELD : j->second;
}

void nsx_judge(const struct nsx_report *r, const struct nsx_ledger *l, struct nsx_first_page *p)
{
	const struct nsx_failure *failure = nsx_fatal_failure(r->trace);
	const struct nsx_schema *s = r->trace->schema;
	const struct nsx_finding *paced, *shared;
	struct nsx_judgement j;

	if (failure) {
		p->verdict = NSX_V_FAILED;
		p->because = nsx_arena_printf(r->arena, "%s; %s",
					      nsx_say_failure(r->trace, failure, r->arena),
					      nsx_advise_failure(failure));
		return;
	}
	if (!s->table[NSX_VIEW_kernel] && s->refused[NSX_VIEW_kernel]) {
		p->verdict = NSX_V_UNREAD;
		p->because = nsx_arena_printf(r->arena, "the table of kernels %s",
					      s->refused[NSX_VIEW_kernel]);
		return;
	}
	if (nsx_is_idle_unknown(&r->facts->lost)) {
		p->verdict = NSX_V_LOST;
		p->because = nsx_arena_printf(r->arena, say_launches_left_no_gpu_row,
			nsx_text_share(r->arena, (double)r->facts->lost.lost,
				(double)r->facts->lost.launches));
		return;
	}
	if (!r->trace->ops.n || !l->total_ns) {
		judge_idle(r, (double)(p->judged.end_ns - p->judged.start_ns), p);
		return;
	}
	paced = nsx_find_finding(&r->found, NSX_ID_paced);
	if (paced) {
		p->verdict = NSX_V_PACED;
		p->because = say_awaited(r, paced);
		return;
	}
	nsx_judge_ledger(l, &j);
	shared = nsx_find_finding(&r->found, NSX_ID_gpu_shared);
	if (shared)
		blame_other_program(l, shared, &j);
	p->verdict = j.verdict;
	p->first = j.first;
	p->second = j.second;
	/* Time in kernels that wait for pages is no computing. */
	if (j.verdict == NSX_V_COMPUTE && r->found.n && r->found.v[0].id == NSX_ID_unified_memory) {
		const char *title = nsx_title_within(r->arena, &r->found.v[0]);

		p->because = nsx_arena_printf(r->arena, "%.*s", (int)strcspn(title, ":"), title);
	}
	/* later work may be missing from a damaged file */
	if (r->facts->run_kind == NSX_RUN_START_UP && !nsx_report_damage(r)) {
		p->verdict = NSX_V_STARTUP;
		p->because = say_paid_once_so_nothing_rated;
	}
}
