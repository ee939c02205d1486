/* phases.c - finds the phases of the run, and chooses the one that is judged.
 *
 * Segments come from NVTX ranges. If these do not mark phases, the run is divided at single long
 * pauses, and at the first kernel after a start that only copies data to the GPU. Each segment has
 * a steady part. The steady part of the segment with most compute is judged.
 */
#include "base/stat.h"
#include "facts/iterations/iterations.h"

#define PAUSE_SHARE 0.5	  /* a pause divides the run if it is this share of the shorter side */
#define LEAST_SHARE 0.01 /* a phase takes at least this share of the window */
#define IDLE_SHARE 0.98	  /* a start-up is idle for at least this share    */
/* the share that is enough for a run with hardly any work to be a start-up */
#define IDLE_ENOUGH 0.5
enum {
	RECURS = 3, /* this many pauses of at least half the longest belong to the loop */
	MIN_WORK_NS = 100000, /* a GPU with less busy time has hardly any work */
	REPEATS = 4, /* a kernel that runs this often makes a loop */
	NSLICES = 16, /* slices of the window; work in a quarter of them is continuous */
};

const char *const nsx_phase_names[NSX_NPHASE_KINDS] = {
	[NSX_PHASE_INIT] = "init", [NSX_PHASE_WARM_UP] = "warm-up",
	[NSX_PHASE_SETTLING] = "settling", [NSX_PHASE_STEADY] = "steady",
	[NSX_PHASE_PAUSE] = "pause", [NSX_PHASE_TAIL] = "tail",
	[NSX_PHASE_WHOLE] = "whole", [NSX_PHASE_WINDOW] = "window",
};
const char *const nsx_run_kind_names[] = {
	[NSX_RUN_STEADY] = "steady", [NSX_RUN_ONCE] = "once",
	[NSX_RUN_START_UP] = "start_up", [NSX_RUN_NO_GPU] = "no_gpu",
};

struct cutter {
	const struct nsx_finder *fd;
	struct nsx_facts *f;
	const struct nsx_trace *t;
	struct nsx_arena *a;
	struct nsx_segment *seg;
	size_t n, cap;
	int64_t least_ns; /* least length of a phase */
};

/* The run as a whole ----------------------------------------------------------*/

/* Time in which any device is busy. */
static int sum_any_busy(struct cutter *c, int64_t *ret_ns, struct nsx_err *err)
{
	struct nsx_spans busy = c->f->busy[0];

	for (uint32_t d = 1; d < c->f->ndevices; d++) {
		const struct nsx_span *before = d > 1 ? busy.v : NULL;

		if (nsx_spans_union(c->a, &busy, &c->f->busy[d], &busy, err))
			return err->rc;
		nsx_arena_drop(c->a, before);
	}
	*ret_ns = nsx_spans_total(&busy);
	return 0;
}

/* The name by which repeated work is recognised: a kernel's name; 0 for graphs; NSX_NONE for
 * copies.
 */
static uint32_t name_of_work(const struct nsx_trace *t, size_t op)
{
	return t->ops.cls[op] == NSX_C_COPY ? NSX_NONE :
	       t->ops.kind[op] == NSX_OP_KERNEL ?
		       nsx_op_shape(t, op)->base_name : 0;
}

struct repeats { /* statistics of the most frequent kernel or graph */
	uint32_t n;	 /* number of executions */
	/* Slices of the window that have at least half as many executions as if all were even. */
	unsigned slices;
};

static int find_repeats(const struct nsx_trace *t, struct repeats *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_free_at) uint32_t *n =
		nsx_try_alloc(nsx_strings_bound(t->strings) + 1, sizeof(*n), "kernel names", err);
	uint32_t in[NSLICES] = {0}, most = 0;
	const struct nsx_window *w = &t->window;

	if (!n)
		return err->rc;
	for (size_t i = 0; i < t->ops.n; i++) {
		uint32_t name = name_of_work(t, i);

		if (name != NSX_NONE && ++n[name] > n[most])
			most = name;
	}
	ret->n = n[most];
	for (size_t i = 0; i < t->ops.n; i++) {
		int64_t at_ns = nsx_op_start(&t->ops, i) - w->start_ns;

		if (name_of_work(t, i) == most && at_ns >= 0 && nsx_op_start(&t->ops,
									     i) < w->end_ns)
			in[(__int128)at_ns * NSLICES / (w->end_ns - w->start_ns)]++;
	}
	for (unsigned i = 0; i < NSLICES; i++)
		ret->slices += in[i] && 2 * NSLICES * (uint64_t)in[i] >= ret->n;
	return 0;
}

/* Sets f->run_kind. A start-up has little work, all of it late in the run. A program with little
 * work throughout the run is no start-up: it waits for tasks.
 */
static int find_run_kind(struct cutter *c, struct nsx_err *err)
{
	const struct nsx_window *w = &c->t->window;
	struct repeats most = {0};
	int64_t busy_ns = 0, idle_ns;

	if (c->f->niterations)
		return 0;
	if (sum_any_busy(c, &busy_ns, err) || find_repeats(c->t, &most, err))
		return err->rc;
	idle_ns = w->end_ns - w->start_ns - busy_ns;
	if (most.n < REPEATS)
		c->f->run_kind = NSX_RUN_ONCE;
	if (most.slices < NSLICES / 4 &&
	    (double)idle_ns >= (busy_ns < MIN_WORK_NS || !most.n ? IDLE_ENOUGH : IDLE_SHARE) *
				       (double)(w->end_ns - w->start_ns))
		c->f->run_kind = NSX_RUN_START_UP;
	return 0;
}

/* Segments ----------------------------------------------------------------------*/

static void add_segment(struct cutter *c, const struct nsx_segment *seg)
{
	nsx_push_or_die(c->seg, c->n, c->cap, *seg);
}

/* Reduces `quiet`, the time without work on earlier lists, to the gaps of one more list of busy
 * spans. Only gaps of at least half the least length of a phase count. A gap that all lists share,
 * and that lasts as long as a phase, stays whole.
 */
static int intersect_quiet_times(struct cutter *c, const struct nsx_spans *busy,
				 struct nsx_spans *quiet, struct nsx_err *err)
{
	const struct nsx_window *w = &c->t->window;
	int64_t least_ns = NSX_MAX(1, c->least_ns / 2), at_ns = w->start_ns;
	struct nsx_spans gaps = {0};

	if (!nsx_new_array(gaps.v, c->a, (size_t)((w->end_ns - w->start_ns) / least_ns),
			   "pauses", err))
		return err->rc;
	for (size_t i = 0; i <= busy->n; i++) {
		struct nsx_span x = i < busy->n ?
			nsx_span_at(busy, i) :
			(struct nsx_span){w->end_ns, w->end_ns};

		if (x.start_ns - at_ns >= least_ns)
			gaps.v[gaps.n++] = (struct nsx_span){at_ns, x.start_ns};
		at_ns = x.end_ns;
	}
	return nsx_spans_intersect(c->a, quiet, &gaps, quiet, err);
}

/* Finds times without any work, and times without kernels. */
static int find_quiet_times(struct cutter *c, struct nsx_spans *idle,
			    struct nsx_spans *no_kernels, struct nsx_err *err)
{
	const struct nsx_facts *f = c->f;
	int rc = 0;

	for (uint32_t d = 0; !rc && d < f->ndevices; d++)
		rc = intersect_quiet_times(c, &f->busy[d], idle, err) ?:
		     intersect_quiet_times(c, &f->device[d].compute, no_kernels, err) ?:
		     intersect_quiet_times(c, &f->device[d].comm, no_kernels, err);
	return rc;
}

static int64_t phases_length(const struct nsx_span *s)
{
	return s->end_ns - s->start_ns;
}

/* How long [from_ns, to_ns) has no kernel at its start. The result is 0 if such time recurs there,
 * because then copies precede the kernels of every iteration.
 */
static int64_t leading_quiet_ns(const struct cutter *c, const struct nsx_spans *quiet,
				int64_t from_ns, int64_t to_ns)
{
	size_t i = nsx_spans_find(quiet, from_ns), n = 0;
	int64_t lead_ns;

	if (i == quiet->n || quiet->v[i].start_ns > from_ns)
		return 0;
	lead_ns = NSX_MIN(quiet->v[i].end_ns, to_ns) - from_ns;
	while (++i < quiet->n && quiet->v[i].end_ns < to_ns)
		n += phases_length(&quiet->v[i]) >= lead_ns / 2;
	return lead_ns >= c->least_ns && n + 1 < RECURS ? lead_ns : 0;
}

/* Adds [from_ns, to_ns) as one segment or, if it starts with copies, as two that are cut at the
 * first kernel.
 */
static void add_stretch_segments(struct cutter *c, const struct nsx_spans *no_kernels,
				 int64_t from_ns, int64_t to_ns)
{
	int64_t first_ns = from_ns + leading_quiet_ns(c, no_kernels, from_ns, to_ns);
	const struct nsx_segment lead = {.window = {from_ns, first_ns}};
	const struct nsx_segment rest = {.window = {first_ns, to_ns},
					 .computes = true};

	if (from_ns < first_ns)
		add_segment(c, &lead);
	if (first_ns < to_ns)
		add_segment(c, &rest);
}

NSX_ORDER(cmp_starts, struct nsx_span, UP(start_ns));

/* Finds the longest pauses, in order of time. There are fewer than RECURS of them, and each is more
 * than twice as long as the pause after them in order of length.
 */
static size_t phases_find_pauses(const struct cutter *c, const struct nsx_spans *idle,
				 struct nsx_span *ret)
{
	const struct nsx_window *w = &c->t->window;
	struct nsx_span top[RECURS] = {{0, 0}};
	size_t n = 0;

	for (size_t i = 0; i < idle->n; i++) {
		struct nsx_span gap = idle->v[i];

		if (gap.start_ns == w->start_ns || gap.end_ns == w->end_ns)
			continue;
		for (size_t k = 0; k < RECURS; k++)
			if (phases_length(&gap) > phases_length(&top[k])) {
				struct nsx_span shorter = top[k];

				top[k] = gap;
				gap = shorter;
			}
	}
	for (size_t k = 0; k + 1 < RECURS; k++)
		if (phases_length(&top[k]) >= c->least_ns &&
		    phases_length(&top[k]) / 2 > phases_length(&top[RECURS - 1]))
			ret[n++] = top[k];
	nsx_sort(ret, n, sizeof(*ret), cmp_starts);
	return n;
}

static int cut_at_pauses(struct cutter *c, struct nsx_err *err)
{
	const struct nsx_window *w = &c->t->window;
	struct nsx_span all = {w->start_ns, w->end_ns}, pause[RECURS];
	struct nsx_spans idle = {.v = &all, .n = 1}, no_kernels = idle;
	int64_t from_ns = w->start_ns;
	size_t n;

	if (find_quiet_times(c, &idle, &no_kernels, err))
		return err->rc;
	n = phases_find_pauses(c, &idle, pause);
	for (size_t i = 0; i < n; i++) {
		int64_t next_ns = i + 1 < n ? pause[i + 1].start_ns : w->end_ns;
		int64_t around_ns = NSX_MIN(pause[i].start_ns - from_ns, next_ns - pause[i].end_ns);

		if ((double)phases_length(&pause[i]) <= PAUSE_SHARE * (double)around_ns)
			continue;
		add_stretch_segments(c, &no_kernels, from_ns, pause[i].start_ns);
		from_ns = pause[i].end_ns;
	}
	add_stretch_segments(c, &no_kernels, from_ns, w->end_ns);
	return 0;
}

static int find_segments(struct cutter *c, struct nsx_err *err)
{
	const struct nsx_segment *named;
	size_t n;

	if (c->f->run_kind != NSX_RUN_STEADY) {
		add_segment(c, &(struct nsx_segment){
				.window = c->t->window, .is_whole = true, .computes = true});
		return 0;
	}
	named = nsx_range_segments(c->fd, &n);
	for (size_t i = 0; i < n; i++)
		add_segment(c, &named[i]);
	return n ? 0 : cut_at_pauses(c, err);
}

/* The judged phase ---------------------------------------------------------------- */

/* The time that all devices have of a kind of work inside [start_ns, end_ns). */
static int64_t work_ns_in(const struct nsx_facts *f, bool is_compute, int64_t start_ns,
			  int64_t end_ns)
{
	int64_t sum_ns = 0;

	for (uint32_t d = 0; d < f->ndevices; d++) {
		const struct nsx_spans *s = is_compute ? &f->device[d].compute : &f->busy[d];
		size_t cursor = nsx_spans_find(s, start_ns);

		nsx_add_to(&sum_ns, nsx_spans_covered(s, &cursor, start_ns, end_ns));
	}
	return sum_ns;
}

static int64_t compute_ns_in(const struct nsx_facts *f, int64_t start_ns, int64_t end_ns)
{
	return work_ns_in(f, true, start_ns, end_ns);
}

static bool has_more_compute(const struct nsx_segment *a, const struct nsx_segment *b)
{
	if (a->warms_up != b->warms_up)
		return b->warms_up;
	if (a->work_ns != b->work_ns)
		return a->work_ns > b->work_ns;
	return a->window.end_ns - a->window.start_ns > b->window.end_ns - b->window.start_ns;
}

static size_t choose_judged_segment(struct cutter *c)
{
	size_t best = 0;

	for (size_t i = 0; i < c->n; i++) {
		c->seg[i].work_ns = compute_ns_in(c->f, c->seg[i].window.start_ns,
						  c->seg[i].window.end_ns);
		if (i && has_more_compute(&c->seg[i], &c->seg[best]))
			best = i;
	}
	return best;
}

/* The GPU that sets the pace: the one with the least idle time and exposed communication. */
static uint32_t find_limiting(const struct nsx_facts *f)
{
	const struct nsx_window *w = &f->steady.window;
	uint32_t best = NSX_NONE;
	int64_t least = INT64_MAX;

	for (uint32_t d = 0; d < f->ndevices; d++) {
		struct nsx_partition p;
		int64_t lost;

		nsx_partition(&f->device[d], w->start_ns, w->end_ns, &p);
		lost = p.ns[NSX_P_IDLE] + p.ns[NSX_P_COMM_EXPOSED];
		if (lost < least) {
			least = lost;
			best = d;
		}
	}
	return best;
}

/* Rows --------------------------------------------------------------------------*/

/* Adds a phase, or extends the previous one if that is of the same kind and neither has a range. */
static void phases_add_phase(struct nsx_facts *f, enum nsx_phase_kind kind,
			     nsx_str range, int64_t start_ns, int64_t end_ns)
{
	struct nsx_run_phase *last = f->nrun_phases ? &f->run_phases[f->nrun_phases - 1] : NULL;

	if (start_ns >= end_ns)
		return;
	if (last && last->kind == kind && !last->range && !range && !last->judged)
		last->window.end_ns = end_ns;
	else
		f->run_phases[f->nrun_phases++] = (struct nsx_run_phase){
			.kind = kind, .range = range,
			.window = {start_ns, end_ns}};
}

/* The kind of a phase before the judged one. If it has more work than the judged phase, it is more
 * than a warm-up.
 */
static enum nsx_phase_kind kind_before_judged(const struct nsx_facts *f,
					      int64_t start_ns, int64_t end_ns)
{
	const struct nsx_window *w = &f->steady.window;

	return compute_ns_in(f, start_ns, end_ns) >
			       compute_ns_in(f, w->start_ns, w->end_ns) ?
		       NSX_PHASE_SETTLING : NSX_PHASE_WARM_UP;
}

/* Adds the time between segments or at an end of the run. */
static void add_phase_between(struct cutter *c, bool is_before, int64_t start_ns, int64_t end_ns)
{
	phases_add_phase(c->f,
			 !work_ns_in(c->f, false, start_ns, end_ns) ? NSX_PHASE_PAUSE :
			 !is_before ? NSX_PHASE_TAIL :
			 compute_ns_in(c->f, start_ns, end_ns) ?
			  kind_before_judged(c->f, start_ns, end_ns) :
			  NSX_PHASE_INIT, 0, start_ns, end_ns);
}

static void add_judged_phase(struct cutter *c, const struct nsx_segment *seg)
{
	const struct nsx_window *w = &c->f->steady.window;

	phases_add_phase(c->f, kind_before_judged(c->f, seg->window.start_ns, w->start_ns),
			 0, seg->window.start_ns, w->start_ns);
	phases_add_phase(c->f, seg->is_whole ? NSX_PHASE_WHOLE : NSX_PHASE_STEADY,
			 seg->range, w->start_ns, w->end_ns);
	c->f->run_phases[c->f->nrun_phases - 1].judged = true;
	phases_add_phase(c->f, NSX_PHASE_TAIL, 0, w->end_ns, seg->window.end_ns);
}

/* The kind of a segment that is not judged. A segment with at least a tenth of the judged segment's
 * work is steady.
 */
static enum nsx_phase_kind phases_kind_of(const struct cutter *c, size_t i, size_t judged)
{
	const struct nsx_segment *seg = &c->seg[i];

	if (!seg->computes && i < judged)
		return NSX_PHASE_INIT;
	if (seg->warms_up)
		return NSX_PHASE_WARM_UP;
	if (seg->work_ns > c->seg[judged].work_ns / 10)
		return NSX_PHASE_STEADY;
	return i < judged ? NSX_PHASE_WARM_UP : NSX_PHASE_TAIL;
}

static void list_phases(struct cutter *c, size_t judged)
{
	struct nsx_facts *f = c->f;
	int64_t at_ns = c->t->window.start_ns;

	nsx_few(f->run_phases, c->fd->keep, 2 * c->n + 3);
	for (size_t i = 0; i < c->n; i++) {
		const struct nsx_segment *seg = &c->seg[i];

		add_phase_between(c, i <= judged, at_ns, seg->window.start_ns);
		if (i == judged)
			add_judged_phase(c, seg);
		else
			phases_add_phase(f, phases_kind_of(c, i, judged), seg->range,
					 seg->window.start_ns, seg->window.end_ns);
		at_ns = seg->window.end_ns;
	}
	add_phase_between(c, false, at_ns, c->t->window.end_ns);
}

/* Makes the user's window the only phase. */
static void use_window_as_phase(struct cutter *c)
{
	struct nsx_facts *f = c->f;

	f->steady = (struct nsx_steady){c->t->user, NSX_STEADY_USER, NSX_CONF_HIGH,
						NULL, 0};
	nsx_few(f->run_phases, c->fd->keep, 1);
	phases_add_phase(f, NSX_PHASE_WINDOW, 0, c->t->user.start_ns, c->t->user.end_ns);
	f->run_phases[0].judged = true;
}

static int find_phases(struct cutter *c, struct nsx_err *err)
{
	const struct nsx_window *w = &c->t->window;
	size_t judged;

	if (nsx_has_window(c->t)) {
		use_window_as_phase(c);
		return 0;
	}
	if (find_run_kind(c, err))
		return err->rc;
	if (w->start_ns == w->end_ns) {
		c->f->steady =
			(struct nsx_steady){*w, NSX_STEADY_TRIMMED, NSX_CONF_LOW,
					    NULL, 0};
		return 0;
	}
	c->least_ns = NSX_MAX(1, (int64_t)(LEAST_SHARE * (double)(w->end_ns - w->start_ns)));
	if (find_segments(c, err))
		return err->rc;
	judged = choose_judged_segment(c);
	if (nsx_steady_in(c->f, c->t, &c->seg[judged], c->fd->keep, &c->f->steady, err))
		return err->rc;
	list_phases(c, judged);
	return 0;
}

/* Gives each phase its name. Quadratic, but there are few phases, because each has a least share of
 * the window or of its work.
 */
static void name_phases(struct cutter *c)
{
	const struct nsx_facts *f = c->f;

	for (size_t i = 0; i < f->nrun_phases; i++) {
		struct nsx_run_phase *p = &f->run_phases[i];
		int64_t ns = p->window.end_ns - p->window.start_ns;
		size_t place = 1;

		for (size_t k = 0; k < f->nrun_phases; k++) {
			const struct nsx_run_phase *x = &f->run_phases[k];
			int64_t other_ns = x->window.end_ns - x->window.start_ns;

			place += x->range == p->range &&
				 (p->range || x->kind == p->kind) &&
				 (other_ns > ns || (other_ns == ns && k < i));
		}
		p->name = p->range ? nsx_text(c->t, p->range) : nsx_phase_names[p->kind];
		if (place > 1)
			p->name = nsx_arena_printf(c->fd->keep, "%s #%zu", p->name, place);
	}
}

int nsx_find_phases(struct nsx_finder *fd, struct nsx_err *err)
{
	struct nsx_facts *f = fd->f;
	struct cutter c = {.fd = fd, .f = f, .t = fd->t, .a = fd->a};
	const struct nsx_window *w = &f->steady.window;
	int rc;

	f->limiting = NSX_NONE;
	f->run_kind = f->ndevices ? NSX_RUN_STEADY : NSX_RUN_NO_GPU;
	if (!f->ndevices)
		return 0;
	rc = find_phases(&c, err);
	free(c.seg);
	if (rc)
		return rc;
	name_phases(&c);
	for (size_t i = 0; i < f->niterations; i++)
		f->iterations[i].steady =
			f->iterations[i].start_ns >= w->start_ns &&
			f->iterations[i].end_ns <= w->end_ns;
	f->limiting = find_limiting(f);
	return 0;
}
