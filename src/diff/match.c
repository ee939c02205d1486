/* match.c - matches kernels of both sides to rows. */
#include "diff/match.h"

const char *const nsx_match_names[NSX_NMATCHES] = {
	"exact", "shape", "template", "variant", "range", "removed", "new",
};

/* Kernels of both sides in one list: before, then after. */
struct work {
	const struct nsx_pool *pool[2];
	uint32_t n[2], all;
	/* by kernel: next kernel on the way to the leader of its row; a leader points to itself */
	uint32_t *leader;
	enum nsx_match *kind; /* by leader */
	uint32_t *partner; /* by kernel: its exact match; NSX_NONE */
	double *launches; /* by kernel, per unit */
	bool *used, *matched;
	struct nsx_arena *a;
};

static const struct nsx_kernel *kernel(const struct work *w, uint32_t i)
{
	return i < w->n[0] ? &w->pool[0]->kernels[i] : &w->pool[1]->kernels[i - w->n[0]];
}

static uint32_t lead(const struct work *w, uint32_t i)
{
	while (w->leader[i] != i)
		i = w->leader[i] = w->leader[w->leader[i]];
	return i;
}

/* Joins two rows. The lesser number becomes the leader, so a row is named after its first kernel
 * before.
 */
static void match_join(struct work *w, uint32_t i, uint32_t k, enum nsx_match kind)
{
	uint32_t x = lead(w, i), y = lead(w, k);
	uint32_t first = NSX_MIN(x, y);

	w->leader[NSX_MAX(x, y)] = first;
	w->kind[first] = kind;
	w->matched[i] = w->matched[k] = true;
}

/* Lists the kernels, and counts their launches. Owner: the caller, w.a. */
static struct work match_begin_work(const struct nsx_pool *before, const struct nsx_pool *after)
{
	struct nsx_arena *a = nsx_arena_new();
	uint32_t all = before->nkernels + after->nkernels;
	struct work w = {
		.pool = {before, after}, .n = {before->nkernels, after->nkernels},
		.all = all, .a = a,
		.leader = nsx_arena_get(a, all * sizeof(*w.leader)),
		.kind = nsx_arena_get(a, all * sizeof(*w.kind)),
		.partner = nsx_arena_get(a, all * sizeof(*w.partner)),
		.launches = nsx_arena_get(a, all * sizeof(*w.launches)),
		.used = nsx_arena_get(a, all), .matched = nsx_arena_get(a, all)};

	for (uint32_t i = 0; i < all; i++) {
		w.leader[i] = i;
		w.partner[i] = NSX_NONE;
		w.launches[i] = kernel(&w, i)->launches;
	}
	for (unsigned s = 0; s < 2; s++)
		for (size_t l = 0; l < w.pool[s]->nlanes; l++) {
			const struct nsx_lane *x = &w.pool[s]->lanes[l];

			for (size_t i = 0; i < x->nuses; i++) {
				uint32_t k = x->uses[i].kernel + (s ? w.n[0] : 0);

				w.used[k] = true;
				w.launches[k] += (double)x->uses[i].launches / (double)x->nunits;
			}
		}
	return w;
}

/* By name -----------------------------------------------------------------------*/

struct key {
	const char *text;
	uint32_t at;
};

NSX_ORDER(cmp_keys, struct key, TEXT(text), UP(at));

static double launches_in(const struct work *w, const struct key *v, size_t n, bool after)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		if ((v[i].at >= w->n[0]) == after)
			sum += w->launches[v[i].at];
	return sum;
}

/* Whether kernels of one text are one row: both sides must have some. For a range, both sides must
 * also launch them about equally often.
 */
static bool match_belong_together(const struct work *w, const struct key *v, size_t n,
				  enum nsx_match kind)
{
	double x = launches_in(w, v, n, false), y = launches_in(w, v, n, true);

	return kind == NSX_M_RANGE ?
		       x > 0 && y > 0 && x <= 1.02 * y && y <= 1.02 * x :
		       v[0].at < w->n[0] && v[n - 1].at >= w->n[0];
}

/* Joins kernels of both sides that share a text and have no match yet; `text` is its offset in a
 * kernel.
 */
static void join_by(struct work *w, size_t text, enum nsx_match kind)
{
	struct key *v = nsx_arena_get(w->a, w->all * sizeof(*v));
	size_t n = 0;

	for (uint32_t i = 0; i < w->all; i++) {
		const char *s = *(const char *const *)((const char *)kernel(w, i) + text);

		if (w->used[i] && !w->matched[i] && *s)
			v[n++] = (struct key){s, i};
	}
	nsx_sort(v, n, sizeof(*v), cmp_keys);
	NSX_EACH_RUN(i, next, n, !strcmp(v[i].text, v[next].text)) {
		if (!match_belong_together(w, v + i, next - i, kind))
			continue;
		for (size_t k = i + 1; k < next; k++)
			match_join(w, v[i].at, v[k].at, kind);
	}
}

static void join_exact(struct work *w)
{
	for (uint32_t i = 0, k = 0; i < w->n[0] && k < w->n[1];) {
		int c = nsx_kernel_cmp(kernel(w, i), kernel(w, w->n[0] + k));

		if (!c && w->used[i] && w->used[w->n[0] + k]) {
			match_join(w, i, w->n[0] + k, NSX_M_EXACT);
			w->partner[i] = w->n[0] + k;
			w->partner[w->n[0] + k] = i;
		}
		i += c <= 0;
		k += c >= 0;
	}
}

/* By GPU ------------------------------------------------------------------------*/

/* Marks the kernels that a GPU runs on one side only. */
static void mark_alone(const struct work *w, size_t lane, bool *is_on, bool *is_alone)
{
	memset(is_on, 0, w->all * sizeof(*is_on));
	for (unsigned s = 0; s < 2; s++) {
		const struct nsx_lane *l = &w->pool[s]->lanes[lane];

		for (size_t i = 0; i < l->nuses; i++)
			is_on[l->uses[i].kernel + (s ? w->n[0] : 0)] = true;
	}
	for (uint32_t i = 0; i < w->all; i++)
		is_alone[i] = is_on[i] && (w->partner[i] == NSX_NONE || !is_on[w->partner[i]]);
}

/* Joins kernels of the same name if a GPU runs one of them before and the other after. Other GPUs
 * may run one of them on both sides, as when a rank gets more work.
 */
static void join_on(struct work *w, const bool *is_alone)
{
	for (uint32_t i = 0, k = w->n[0], next, end; i < w->n[0]; i = next, k = end) {
		const char *name = kernel(w, i)->name;
		uint32_t before = NSX_NONE, after = NSX_NONE;

		for (next = i; next < w->n[0] && !strcmp(kernel(w, next)->name, name); next++)
			before = is_alone[next] ? NSX_MIN(before, next) : before;
		while (k < w->all && strcmp(kernel(w, k)->name, name) < 0)
			k++;
		for (end = k; end < w->all && !strcmp(kernel(w, end)->name, name); end++)
			after = is_alone[end] ? NSX_MIN(after, end) : after;
		if (before == NSX_NONE || after == NSX_NONE)
			continue;
		for (uint32_t x = i; x < next; x++)
			if (is_alone[x])
				match_join(w, before, x, NSX_M_SHAPE);
		for (uint32_t x = k; x < end; x++)
			if (is_alone[x])
				match_join(w, before, x, NSX_M_SHAPE);
	}
}

static void join_by_gpu(struct work *w)
{
	bool *is_on = nsx_arena_get(w->a, w->all), *is_alone = nsx_arena_get(w->a, w->all);

	for (size_t l = 0; l < NSX_MIN(w->pool[0]->nlanes, w->pool[1]->nlanes); l++) {
		mark_alone(w, l, is_on, is_alone);
		join_on(w, is_alone);
	}
}

/* By place ----------------------------------------------------------------------*/

enum { MOST_IN_BLOCK = 8 };

struct sequence { /* a typical unit as a sequence of kernels, which are indices in struct work */
	uint32_t *all, *anchor; /* anchor: rows of matched kernels; at: their positions in `all` */
	uint32_t *at;
	size_t n, nanchors;
};

static struct sequence list_sequence(const struct work *w, unsigned side, size_t lane)
{
	const struct nsx_lane *l = &w->pool[side]->lanes[lane];
	struct sequence s = {.n = l->norder,
			     .all = nsx_arena_get(w->a, l->norder * 3 * sizeof(uint32_t))};

	s.anchor = s.all + l->norder;
	s.at = s.anchor + l->norder;
	for (uint32_t i = 0; i < l->norder; i++) {
		uint32_t k = l->order[i].kernel + (side ? w->n[0] : 0);

		s.all[i] = k;
		if (w->matched[k]) {
			s.at[s.nanchors] = i;
			s.anchor[s.nanchors++] = lead(w, k);
		}
	}
	return s;
}

/* Lists the distinct kernels of a stretch that have no match. Returns MOST_IN_BLOCK + 1 if there
 * are more.
 */
static size_t list_block(const struct work *w, const struct sequence *s,
			 size_t from, size_t to, uint32_t *ret)
{
	size_t n = 0;

	for (size_t i = from; i < to && n <= MOST_IN_BLOCK; i++) {
		bool known = w->matched[s->all[i]] || !w->used[s->all[i]];

		for (size_t k = 0; k < n && !known; k++)
			known = ret[k] == s->all[i];
		if (!known)
			ret[n++] = s->all[i];
	}
	return n;
}

struct block {
	uint32_t v[2][MOST_IN_BLOCK + 1];
	size_t n[2];
};

static void join_blocks(struct work *w, const struct sequence *x, const struct sequence *y,
			const struct nsx_pair *pairs, size_t npairs)
{
	size_t from_x = 0, from_y = 0;
	struct block *blocks = nsx_arena_get(w->a, (npairs + 1) * sizeof(*blocks));

	/* Lists all stretches before joining any, because joining marks kernels as matched. */
	for (size_t i = 0; i <= npairs; i++) {
		size_t to_x = i < npairs ? x->at[pairs[i].i] : x->n;
		size_t to_y = i < npairs ? y->at[pairs[i].j] : y->n;

		blocks[i].n[0] = list_block(w, x, from_x, to_x, blocks[i].v[0]);
		blocks[i].n[1] = list_block(w, y, from_y, to_y, blocks[i].v[1]);
		from_x = to_x + 1;
		from_y = to_y + 1;
	}
	for (size_t i = 0; i <= npairs; i++) {
		const struct block *b = &blocks[i];

		if (!b->n[0] || !b->n[1] || b->n[0] > MOST_IN_BLOCK || b->n[1] > MOST_IN_BLOCK)
			continue;
		/* if both sides have equally many, each matches the one in the same position */
		for (unsigned s = 0; s < 2; s++)
			for (size_t k = 0; k < b->n[s]; k++)
				match_join(w, b->v[0][b->n[0] == b->n[1] ? k : 0],
					   b->v[s][k], NSX_M_VARIANT);
	}
}

static void join_by_place(struct work *w, size_t lane)
{
	struct sequence x = list_sequence(w, 0, lane), y = list_sequence(w, 1, lane);
	struct nsx_pair *pairs = nsx_arena_get(w->a, NSX_MIN(x.nanchors, y.nanchors) *
							     sizeof(*pairs));
	size_t n = nsx_align(x.anchor, x.nanchors, y.anchor, y.nanchors, pairs);

	if (n)
		join_blocks(w, &x, &y, pairs, n);
}

/* Rows --------------------------------------------------------------------------*/

/* Notes rows whose kernels without a partner have several grids on a side, and not those of the
 * other side.
 */
static void note_grids(const struct work *w, struct nsx_kernel_rows *rows)
{
	uint64_t *sum = nsx_arena_get(w->a, rows->nrows * sizeof(*sum));

	for (uint32_t i = 0; i < w->all; i++) {
		bool after = i >= w->n[0];
		uint32_t row = rows->row[after][after ? i - w->n[0] : i];
		const uint32_t *grid = kernel(w, i)->grid, *first;
		uint64_t hash = nsx_hash(grid, sizeof(kernel(w, i)->grid));

		if (row == NSX_NONE || rows->kind[row] != NSX_M_SHAPE || w->partner[i] != NSX_NONE)
			continue;
		first = w->pool[after]->kernels[rows->first[after][row]].grid;
		rows->has_grids[row] |= nsx_hash(first, sizeof(kernel(w, i)->grid)) != hash;
		sum[row] += after ? -hash : hash; /* equal grids of both sides cancel */
	}
	for (uint32_t r = 0; r < rows->nrows; r++)
		rows->has_grids[r] &= sum[r] != 0;
}

/* Links the kernels of each row. */
static void link_rows(const struct work *w, struct nsx_kernel_rows *rows)
{
	for (unsigned side = 0; side < 2; side++) {
		uint32_t *later = nsx_arena_get(w->a, rows->nrows * sizeof(*later));

		memset(later, 0xff, rows->nrows * sizeof(*later));
		for (uint32_t i = w->n[side]; i--;) {
			uint32_t row = rows->row[side][i];

			rows->next[side][i] = row == NSX_NONE ? NSX_NONE : later[row];
			if (row != NSX_NONE)
				later[row] = i;
		}
	}
}

static struct nsx_kernel_rows number_rows(struct work *w, struct nsx_arena *a)
{
	uint32_t *row = nsx_arena_get(a, w->all * sizeof(*row));
	uint32_t *next = nsx_arena_get(a, w->all * sizeof(*next));
	struct nsx_kernel_rows ret = {
		.row = {row, row + w->n[0]},
		.next = {next, next + w->n[0]},
		.kind = nsx_arena_get(a, w->all * sizeof(*ret.kind)),
		.has_grids = nsx_arena_get(a, w->all * sizeof(*ret.has_grids)),
		.first = {nsx_arena_get(a, w->all * sizeof(uint32_t)),
			  nsx_arena_get(a, w->all * sizeof(uint32_t))}};

	for (uint32_t i = 0; i < w->all; i++) {
		uint32_t leader = lead(w, i);
		bool after = i >= w->n[0];
		uint32_t *first;

		row[i] = NSX_NONE;
		if (!w->used[i])
			continue;
		if (leader == i) {
			row[i] = ret.nrows++;
			ret.kind[row[i]] = w->matched[i] ? w->kind[i] :
					    after ? NSX_M_NEW : NSX_M_REMOVED;
			ret.first[0][row[i]] = ret.first[1][row[i]] = NSX_NONE;
		}
		row[i] = row[leader];
		first = &ret.first[after][row[i]];
		if (*first == NSX_NONE ||
		    (w->kind[leader] == NSX_M_SHAPE && w->partner[i] == NSX_NONE &&
		     w->partner[*first + (after ? w->n[0] : 0)] != NSX_NONE))
			*first = after ? i - w->n[0] : i;
	}
	note_grids(w, &ret);
	link_rows(w, &ret);
	return ret;
}

struct nsx_kernel_rows nsx_match_kernels(const struct nsx_pool *before, const struct nsx_pool *after,
					 struct nsx_arena *a)
{
	struct work w = match_begin_work(before, after);
	struct nsx_kernel_rows ret;

	join_exact(&w);
	join_by_gpu(&w);
	join_by(&w, offsetof(struct nsx_kernel, name), NSX_M_SHAPE);
	join_by(&w, offsetof(struct nsx_kernel, base), NSX_M_TEMPLATE);
	/* pipeline stages run different kernels, so every lane is tried */
	for (size_t l = 0; l < NSX_MIN(before->nlanes, after->nlanes); l++)
		join_by_place(&w, l);
	join_by(&w, offsetof(struct nsx_kernel, range), NSX_M_RANGE);
	ret = number_rows(&w, a);
	nsx_arena_free(w.a);
	return ret;
}

/* Likeness ------------------------------------------------------------------------*/

struct named {
	const char *base;
	double n[2];
};

NSX_ORDER(cmp_named, struct named, TEXT(base));

double nsx_likeness(const struct nsx_pool *before, const struct nsx_pool *after)
{
	struct work w = match_begin_work(before, after);
	struct named *v = nsx_arena_get(w.a, w.all * sizeof(*v));
	double common = 0, all = 0;

	for (uint32_t i = 0; i < w.all; i++) {
		v[i].base = kernel(&w, i)->base;
		v[i].n[i >= w.n[0]] = w.launches[i] /
			(double)NSX_MAX(w.pool[i >= w.n[0]]->nlanes, 1u);
	}
	nsx_sort(v, w.all, sizeof(*v), cmp_named);
	NSX_EACH_RUN(i, next, w.all, !cmp_named(&v[i], &v[next])) {
		double n[2] = {0, 0};

		for (size_t k = i; k < next; k++) {
			n[0] += v[k].n[0];
			n[1] += v[k].n[1];
		}
		common += NSX_MIN(n[0], n[1]);
		all += NSX_MAX(n[0], n[1]);
	}
	nsx_arena_free(w.a);
	return all > 0 ? common / all : 1;
}
