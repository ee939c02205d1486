/* peers.c - threads that do the same work one at a time, as if each waited for a lock: that they
 * could do it side by side is not in the trace, nor is what they wait for.
 */
#include "detect/detect.h"
#include "facts/replay/replay.h"

enum { HANDED_NS = 50000 /* a thread that waits for a lock goes on sooner    */ };

static void propose(struct nsx_detect *d, uint32_t process, const struct nsx_turns *x)
{
	struct nsx_findings *l = d->found;
	/* What is done first may be on its way to who sends the next. */
	bool may_be_sent = x->handed_ns > (int64_t)x->n * HANDED_NS;
	struct nsx_finding f = {
		.id = NSX_ID_idle_by_os_wait, .subject = "turns", .device = NSX_NONE,
		.confidence = NSX_CONF_MEDIUM, .is_bound = true,
		.is_quiet = may_be_sent,
		.title = nsx_tell(l, "%u threads that do the same work take turns%s",
				  x->nthreads, nsx_say_own_gpu(d, process, " on GPU ", "")),
		.guess_ns = (double)x->between_ns,
		.evidence = {
			nsx_tell(l, "%s one goes on when another has ended, %s later on "
				 "average, after %s without a call of its own; hardly "
				 "ever are two at work at once",
				 nsx_text_n(l->arena, x->n, "time", NULL),
				 nsx_text_ns(l->arena, (double)x->handed_ns / (double)x->n),
				 nsx_text_ns(l->arena, (double)x->between_ns / (double)x->n)),
			"whether a lock lets in one of them, work comes one piece at a time, or "
			"each needs what the one before did, is not in the trace"},
		.recommendation = {
			"to see whether they wait for a lock (a mutex, the GIL) or for what the "
			"others do: capture calls of the operating system as well "
			"(--trace=cuda,nvtx,osrt)",
			"if for a lock: hold it while launching, not while waiting for the GPU, "
			"or give each thread what needs none; else have several pieces of work "
			"under way"},
		.proof = {{.csv = "launches", .column = "total_time_ms"}},
		.remedy = nsx_plan_of(d, (struct nsx_change){
			.verb = NSX_NO_TURNS, .by = NSX_BY_PROCESS,
			.process = process})};

	nsx_found(l, &f);
}

int nsx_detect_peers(struct nsx_detect *d, struct nsx_err *err NSX_UNUSED)
{
	for (uint32_t p = 0; p < d->trace->nprocesses; p++) {
		struct nsx_turns x = nsx_model_turns(d->facts->model, p, d->scratch);

		if (x.n)
			propose(d, p, &x);
	}
	return 0;
}
