/* sequence.c - finds iterations by the repetition of kernels.
 *
 * The kernels of a process's main stream form a sequence of symbols. A symbol is a kernel's base
 * name, or a graph replay. A run is 1, 2, 4, 8 or 16 neighbouring symbols. A run that recurs at a
 * steady distance is an anchor. Iterations begin at the anchor with the longest pause before it.
 * Runs are numbered by doubling, as in suffix arrays, so the work is linear in the number of
 * symbols. A Z-function would not do: some iterations of real loops have a kernel more or less
 * (logging, allocator, autotuning), which shifts everything after it.
 *
 * No iteration begins inside a graph, because one call launches all of it. An anchor whose
 * distances break off at regular intervals belongs to an inner loop (layers in a step). A single
 * repeating kernel is no iteration. In long sequences the period is found from the middle
 * MAX_SYMBOLS.
 */
#include "facts/iterations/iterations.h"
#include "base/group.h"
#include "base/stat.h"

#define MIN_LIKENESS 0.95
enum { MAX_SYMBOLS = 1 << 18, LEVELS = 5, MIN_COUNT = 4, BAD_COST = 10,
       MAX_TRIES = 8, LONG_ENOUGH = 512 };

struct anchor {
	uint32_t level, first; /* the run has 1 << level symbols; first: its first position */
	uint32_t from, to;     /* its occurrences in the regular stretch: indices [from, to) in
				  seq.at[level]                              */
	uint32_t period;       /* median distance between occurrences, in symbols */
	double gap_ns;	       /* mean pause before an occurrence            */
	double coverage;       /* share of the sequence in the regular stretch */
};

struct seq {
	struct nsx_finder *fd;
	struct nsx_arena *a;
	uint32_t *op;  /* one for each position */
	uint32_t *sym; /* for each position: number of the symbol */
	bool *inside;  /* for each position: inside a graph, so no iteration may begin there */
	size_t n;
	uint32_t *id[LEVELS]; /* for each position: number of the run that begins there */
	uint32_t *at[LEVELS]; /* positions of all runs, run by run           */
	uint32_t *start[LEVELS]; /* for each run: index of its first position in at */
	size_t nids[LEVELS];
	int64_t *scratch; /* distances of occurrences, starts of marks        */
	struct anchor *anchors;
	size_t nanchors, cap;
};

/* Numbering ---------------------------------------------------------------------*/

/* Numbers the pairs (x[i], y[i]) in the order of their first appearance. */
static int number_pairs(const uint32_t *x, const uint32_t *y, size_t n,
			uint32_t *ret, size_t *ret_n, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups g = {0};
	struct nsx_near near = {0};

	for (size_t i = 0; i < n; i++)
		if (nsx_group_near(&g, &near, x[i], y[i], &ret[i], err))
			return err->rc;
	*ret_n = g.n;
	return 0;
}

/* Whether an operation and the one before it belong to the same graph launch. */
static bool is_inside_graph(const struct seq *s, size_t pos)
{
	const struct nsx_trace *t = s->fd->t;
	uint32_t call = nsx_op_call(&t->ops, s->op[pos]);

	return pos && call != NSX_NONE &&
	       call == nsx_op_call(&t->ops, s->op[pos - 1]) &&
	       t->calls.flags[call] & NSX_CALL_GRAPH;
}

/* Lists the positions of each run, in order, without those where no iteration may begin. */
static int list_occurrences(struct seq *s, unsigned level, size_t n, struct nsx_err *err)
{
	if (nsx_new_arrays(s->a, s->nids[level] + 2, "kernel sequence", err,
			   s->start[level]) ||
	    nsx_new_arrays(s->a, n, "kernel sequence", err, s->at[level]))
		return err->rc;
	NSX_DEAL(s->start[level], s->at[level], s->nids[level], n, i,
		 s->inside[i] ? NSX_NONE : s->id[level][i]);
	return 0;
}

static int number_runs_of_level(struct seq *s, unsigned level, struct nsx_err *err)
{
	size_t run = (size_t)1 << level, n = s->n + 1 - run;

	if (!nsx_new_array(s->id[level], s->a, n, "kernel sequence", err))
		return err->rc;
	if (!level) {
		memcpy(s->id[0], s->sym, n * 4);
		return list_occurrences(s, 0, n, err);
	}
	return number_pairs(s->id[level - 1], s->id[level - 1] + run / 2, n,
			    s->id[level], &s->nids[level], err) ?:
	       list_occurrences(s, level, n, err);
}

/* Anchors -----------------------------------------------------------------------*/

/* Finds the stretch [*from, *to) of distances in which distances near the period far outnumber
 * others.
 */
static void find_regular_stretch(const int64_t *d, size_t n, int64_t period, size_t *from,
				 size_t *to)
{
	int64_t tolerance = period / 20, sum = 0, best = 0;
	size_t begin = 0;

	*from = *to = 0;
	for (size_t i = 0; i < n; i++) {
		bool good = llabs(d[i] - period) <= tolerance;

		if (sum <= 0) {
			sum = 0;
			begin = i;
		}
		sum += good ? 1 : -BAD_COST;
		if (sum > best) {
			best = sum;
			*from = begin;
			*to = i + 1;
		}
	}
}

/* Whether the anchor belongs to an inner loop: distances in the stretch that differ from the period
 * are evenly spaced.
 */
static bool is_inner_loop(const int64_t *d, size_t from, size_t to, int64_t period)
{
	size_t last = from, nbad = 0;
	size_t first_run = 0, run = 0;
	size_t tail;

	for (size_t i = from; i < to; i++) {
		if (llabs(d[i] - period) <= period / 20)
			continue;
		if (nbad == 0)
			first_run = i - last;
		else if (nbad == 1)
			run = i - last;
		else if (llabs((int64_t)(i - last) - (int64_t)run) > (int64_t)run / 10)
			return false;
		nbad++;
		last = i + 1;
	}
	tail = to - last;
	if (nbad == 1)
		return llabs((int64_t)first_run - (int64_t)tail) <=
		       (int64_t)NSX_MAX(first_run, tail) / 10;
	return nbad > 1 && first_run <= run + run / 10 && tail <= run + run / 10;
}

static int64_t pause_before_symbol(const struct seq *s, uint32_t pos)
{
	const struct nsx_ops *o = &s->fd->t->ops;
	int64_t gap;

	if (!pos)
		return 0;
	gap = nsx_op_start(o, s->op[pos]) - nsx_op_end(o, s->op[pos - 1]);
	return NSX_MAX(gap, 0);
}

static size_t count_occurrences(const struct seq *s, unsigned level, uint32_t id)
{
	return s->start[level][id + 1] - s->start[level][id];
}

static int try_anchor(struct seq *s, unsigned level, uint32_t id, struct nsx_err *err)
{
	const uint32_t *at = s->at[level] + s->start[level][id];
	size_t n = count_occurrences(s, level, id);
	struct anchor a = {.level = level};
	size_t from, to;
	int64_t period;

	if (n < MIN_COUNT)
		return 0;
	for (size_t i = 0; i + 1 < n; i++)
		s->scratch[i] = at[i + 1] - at[i];
	period = (int64_t)nsx_quantile(s->scratch, n - 1, 0.5);
	if (period < 2)
		return 0;
	for (size_t i = 0; i + 1 < n; i++)
		s->scratch[i] = at[i + 1] - at[i];
	find_regular_stretch(s->scratch, n - 1, period, &from, &to);
	if (to - from + 1 < MIN_COUNT || is_inner_loop(s->scratch, from, to, period))
		return 0;
	for (size_t i = from; i <= to; i++)
		a.gap_ns += (double)pause_before_symbol(s, at[i]) / (double)(to - from + 1);
	a.from = s->start[level][id] + (uint32_t)from;
	a.to = s->start[level][id] + (uint32_t)to + 1;
	a.first = at[from];
	a.period = (uint32_t)period;
	a.coverage = NSX_MIN(1, (double)(at[to] - at[from] + period) / (double)s->n);
	return nsx_push(s->anchors, s->nanchors, s->cap, "kernel sequence", err, a);
}

/* The longest period that counts as equal to this one. */
static uint32_t longest_equal_period(uint32_t period)
{
	return period < UINT32_MAX / 2 ? period + period / 5 : period;
}

/* Chooses the anchor with the longest pause before it among those with the best coverage, or
 * nearly, and the shortest period above `above`.
 */
static const struct anchor *choose_anchor(const struct seq *s, uint32_t above)
{
	const struct anchor *best = NULL;
	double most = 0;
	uint32_t period = UINT32_MAX;

	for (size_t i = 0; i < s->nanchors; i++)
		most = NSX_MAX(most, s->anchors[i].coverage);
	for (size_t i = 0; i < s->nanchors; i++)
		if (s->anchors[i].coverage >= 0.9 * most && s->anchors[i].period > above)
			period = NSX_MIN(period, s->anchors[i].period);
	for (size_t i = 0; i < s->nanchors; i++) {
		const struct anchor *a = &s->anchors[i];

		if (a->coverage < 0.9 * most || a->period <= above ||
		    a->period > longest_equal_period(period))
			continue;
		if (!best || a->gap_ns > best->gap_ns ||
		    (a->gap_ns == best->gap_ns && a->first < best->first))
			best = a;
	}
	return best;
}

/* Similarity ---------------------------------------------------------------------- */

/* The share of kernels that neighbouring iterations have in common, as the mean over iterations. */
static double likeness(const struct seq *s, const struct anchor *a, struct nsx_err *err)
{
	const uint32_t *at = s->at[a->level];
	uint32_t *count;
	double sum = 0;
	size_t n = 0;

	if (!nsx_new_array(count, s->a, s->nids[0], "kernel sequence", err))
		return -1;
	for (uint32_t k = a->from; k + 2 < a->to; k++) {
		size_t common = 0;
		size_t left = at[k + 1] - at[k], right = at[k + 2] - at[k + 1];

		for (uint32_t i = at[k]; i < at[k + 1]; i++)
			count[s->sym[i]]++;
		for (uint32_t i = at[k + 1]; i < at[k + 2]; i++)
			if (count[s->sym[i]]) {
				count[s->sym[i]]--;
				common++;
			}
		for (uint32_t i = at[k]; i < at[k + 1]; i++)
			count[s->sym[i]] = 0;
		sum += (double)common / (double)(left + right - common);
		n++;
	}
	return n ? sum / (double)n : 0;
}

/* The way -------------------------------------------------------------------------*/

static int add_sequence_way(struct seq *s, uint32_t process, const struct anchor *a,
			    double like, struct nsx_err *err)
{
	const struct nsx_trace *t = s->fd->t;
	const uint32_t *at = s->at[a->level] + a->from;
	size_t n = a->to - a->from, after;
	/* Hundreds of kernels in equal order are no coincidence, even if seen only a few times. */
	double seen = NSX_MIN(1, (double)n / 8);
	double sure = NSX_MAX(seen, NSX_MIN(1, (double)n * a->period / LONG_ENOUGH));
	struct nsx_way w = {.method = NSX_WAY_SEQUENCE, .process = process};

	for (size_t i = 0; i < n; i++)
		s->scratch[i] = nsx_op_start(&t->ops, s->op[at[i]]);
	after = (size_t)at[n - 1] + a->period;
	w.name = t->ops.kind[s->op[at[0]]] == NSX_OP_KERNEL ?
			 nsx_op_shape(t, s->op[at[0]])->base_name : 0;
	return nsx_add_way_from_starts(s->fd, &w, s->scratch, n, after < s->n ?
				       nsx_op_start(&t->ops, s->op[after]) :
				       nsx_op_end(&t->ops, s->op[s->n - 1]),
				       0.9 * like * sure / seen, 1, err);
}

static int list_symbols(struct seq *s, uint32_t process, struct nsx_err *err)
{
	const struct nsx_trace *t = s->fd->t;
	const struct nsx_finder *fd = s->fd;
	size_t from = fd->ops_at[process], to = fd->ops_at[process + 1], n = 0;
	uint32_t *kind, *name;

	if (!nsx_new_array(s->op, s->a, to - from, "kernel sequence", err))
		return err->rc;
	for (size_t k = from; k < to; k++)
		if (nsx_op_stream(&t->ops, fd->ops[k]) ==
			    fd->main_stream[process] &&
		    t->ops.cls[fd->ops[k]] != NSX_C_COPY)
			s->op[n++] = fd->ops[k];
	if (n > MAX_SYMBOLS) {
		s->op += (n - MAX_SYMBOLS) / 2;
		n = MAX_SYMBOLS;
	}
	s->n = n;
	if (nsx_new_arrays(s->a, n, "kernel sequence", err, kind, name, s->sym,
			   s->inside, s->scratch))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		s->inside[i] = is_inside_graph(s, i);
		kind[i] = t->ops.kind[s->op[i]];
		name[i] = kind[i] == NSX_OP_KERNEL ?
				  nsx_op_shape(t, s->op[i])->base_name :
				  nsx_op_detail(&t->ops, s->op[i]);
	}
	return number_pairs(kind, name, n, s->sym, &s->nids[0], err);
}

static int find_sequence(struct seq *s, uint32_t process, struct nsx_err *err)
{
	const struct anchor *best;
	uint32_t above = 0;
	double like;
	size_t most = MIN_COUNT; /* occurrences of the commonest run; longer runs cannot
				    have more */

	if (list_symbols(s, process, err))
		return err->rc;
	for (unsigned level = 0; most >= MIN_COUNT && level < LEVELS &&
				 s->n >= (size_t)MIN_COUNT << level; level++) {
		if (number_runs_of_level(s, level, err))
			return err->rc;
		most = 0;
		for (uint32_t id = 0; id < s->nids[level]; id++) {
			most = NSX_MAX(most, count_occurrences(s, level, id));
			if (try_anchor(s, level, id, err))
				return err->rc;
		}
	}
	for (unsigned i = 0; i < MAX_TRIES; i++) {
		best = choose_anchor(s, above);
		if (!best)
			break;
		like = likeness(s, best, err);
		if (like < 0)
			return err->rc;
		if (like >= MIN_LIKENESS)
			return add_sequence_way(s, process, best, like, err);
		above = longest_equal_period(best->period);
	}
	return 0;
}

int nsx_find_sequence(struct nsx_finder *fd, uint32_t process, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct seq s = {.fd = fd, .a = a};
	int rc = fd->main_stream[process] == NSX_NONE ? 0 : find_sequence(&s, process, err);

	free(s.anchors);
	return rc;
}
