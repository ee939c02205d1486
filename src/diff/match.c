/* match.c - matches kernels of both sides to rows. */
#include "diff/match.h"

const char *const nsx_match_names[NSX_NMATCHES] = {
	"exact", "shape", "template", "variant", "removed", "new",
};

struct work {
	const struct nsx_kernels *kernels;
	const struct nsx_pool *pool; /* before, after */
	uint32_t n;
	/* by kernel: next kernel on the way to the leader of its row; a leader points to itself */
	uint32_t *leader;
	enum nsx_match *kind; /* by leader */
	bool *used[2], *matched; /* by kernel */
	struct nsx_arena *a;
};

static uint32_t lead(const struct work *w, uint32_t i)
{
	while (w->leader[i] != i)
		i = w->leader[i] = w->leader[w->leader[i]];
	return i;
}

/* Joins the rows of two kernels. */
static void match_join(struct work *w, uint32_t i, uint32_t k, enum nsx_match kind)
{
	uint32_t x = lead(w, i), y = lead(w, k);
	uint32_t first = NSX_MIN(x, y);

	w->leader[NSX_MAX(x, y)] = first;
	w->kind[first] = kind;
	w->matched[i] = w->matched[k] = true;
}

/* Whether both sides use a kernel: an exact match. */
static bool is_exact(const struct work *w, uint32_t i)
{
	return w->used[0][i] && w->used[1][i];
}

/* Begins with one row for each kernel. Owner: the caller, w.a. */
static struct work match_begin_work(const struct nsx_kernels *kernels,
				    const struct nsx_pool pool[2])
{
	struct nsx_arena *a = nsx_arena_new();
	uint32_t n = kernels->n;
	struct work w = {
		.kernels = kernels, .pool = pool, .n = n, .a = a,
		.leader = nsx_arena_get(a, n * sizeof(*w.leader)),
		.kind = nsx_arena_get(a, n * sizeof(*w.kind)),
		.matched = nsx_arena_get(a, n)};

	for (unsigned s = 0; s < 2; s++) {
		w.used[s] = nsx_arena_get(a, n);
		for (size_t l = 0; l < pool[s].nlanes; l++)
			for (size_t i = 0; i < pool[s].lanes[l].nuses; i++)
				w.used[s][pool[s].lanes[l].uses[i].kernel] = true;
	}
	for (uint32_t i = 0; i < n; i++) {
		w.leader[i] = i;
		w.matched[i] = is_exact(&w, i);
		w.kind[i] = w.matched[i] ? NSX_M_EXACT : w.used[1][i] ? NSX_M_NEW : NSX_M_REMOVED;
	}
	return w;
}

/* By name -----------------------------------------------------------------------*/

struct key {
	const char *text;
	uint32_t at;
};

NSX_ORDER(cmp_keys, struct key, TEXT(text), UP(at));

/* Joins kernels of both sides that share a text and have no match yet; `text` is its offset in a
 * kernel.
 */
static void join_by(struct work *w, size_t text, enum nsx_match kind)
{
	struct key *v = nsx_arena_get(w->a, w->n * sizeof(*v));
	size_t n = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		const struct nsx_kernel *of = w->kernels->of[i][w->used[1][i]];
		const char *s = w->matched[i] || !(w->used[0][i] || w->used[1][i]) ? "" :
				*(const char *const *)((const char *)of + text);

		if (*s)
			v[n++] = (struct key){s, i};
	}
	nsx_sort(v, n, sizeof(*v), cmp_keys);
	NSX_EACH_RUN(i, next, n, !strcmp(v[i].text, v[next].text)) {
		bool of[2] = {false, false};

		for (size_t k = i; k < next; k++)
			of[w->used[1][v[k].at]] = true;
		for (size_t k = i + 1; k < next && of[0] && of[1]; k++)
			match_join(w, v[i].at, v[k].at, kind);
	}
}

/* By GPU ------------------------------------------------------------------------*/

/* Joins kernels of the same name if a GPU runs one of them before and the other after. Other GPUs
 * may run one of them on both sides, as when a rank gets more work. is_on: by side, the kernels
 * that the GPU runs.
 */
static void join_on(struct work *w, bool *const is_on[2])
{
	NSX_EACH_RUN(i, next, w->n, !strcmp(nsx_kernel_at(w->kernels, i),
					    nsx_kernel_at(w->kernels, next))) {
		uint32_t alone[2] = {NSX_NONE, NSX_NONE};

		for (uint32_t k = (uint32_t)i; k < next; k++)
			if (is_on[0][k] != is_on[1][k])
				alone[is_on[1][k]] = NSX_MIN(alone[is_on[1][k]], k);
		if (alone[0] == NSX_NONE || alone[1] == NSX_NONE)
			continue;
		for (uint32_t k = (uint32_t)i; k < next; k++)
			if (is_on[0][k] != is_on[1][k])
				match_join(w, alone[0], k, NSX_M_SHAPE);
	}
}

static void join_by_gpu(struct work *w)
{
	bool *const is_on[2] = {nsx_arena_get(w->a, w->n), nsx_arena_get(w->a, w->n)};

	for (size_t l = 0; l < NSX_MIN(w->pool[0].nlanes, w->pool[1].nlanes); l++) {
		for (unsigned s = 0; s < 2; s++) {
			const struct nsx_lane *x = &w->pool[s].lanes[l];

			memset(is_on[s], 0, w->n);
			for (size_t i = 0; i < x->nuses; i++)
				is_on[s][x->uses[i].kernel] = true;
		}
		join_on(w, is_on);
	}
}

/* By place ----------------------------------------------------------------------*/

enum { MOST_IN_BLOCK = 8 };

struct sequence { /* a typical unit as a sequence of kernels */
	uint32_t *all, *anchor; /* anchor: rows of matched kernels; at: their positions in `all` */
	uint32_t *at;
	size_t n, nanchors;
	const bool *used; /* by kernel: whether the side uses it */
};

static struct sequence list_sequence(const struct work *w, unsigned side, size_t lane)
{
	const struct nsx_lane *l = &w->pool[side].lanes[lane];
	struct sequence s = {.used = w->used[side], .n = l->norder,
			     .all = nsx_arena_get(w->a, l->norder * 3 * sizeof(uint32_t))};

	s.anchor = s.all + l->norder;
	s.at = s.anchor + l->norder;
	for (uint32_t i = 0; i < l->norder; i++) {
		uint32_t k = l->order[i].kernel;

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
		bool known = w->matched[s->all[i]] || !s->used[s->all[i]];

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

/* Marks rows of one name in which a side has kernels of several grids and the other side has other
 * grids.
 */
static void note_grids(const struct work *w, struct nsx_kernel_rows *rows)
{
	uint64_t *sum = nsx_arena_get(w->a, rows->nrows * sizeof(*sum));

	for (unsigned s = 0; s < 2; s++)
		for (uint32_t i = 0; i < w->n; i++) {
			uint32_t row = rows->row[i];
			const uint32_t *grid, *first;
			uint64_t hash;

			if (!w->used[s][i] || is_exact(w, i) || rows->kind[row] != NSX_M_SHAPE)
				continue;
			grid = w->kernels->of[i][s]->grid;
			first = w->kernels->of[rows->first[s][row]][s]->grid;
			hash = nsx_hash(grid, 3 * sizeof(*grid));
			rows->has_grids[row] |= nsx_hash(first, 3 * sizeof(*grid)) != hash;
			sum[row] += s ? -hash : hash; /* equal grids of both sides cancel */
		}
	for (uint32_t r = 0; r < rows->nrows; r++)
		rows->has_grids[r] &= sum[r] != 0;
}

/* Links the kernels of each row that the side uses, in order of their numbers. */
static void link_rows(const struct work *w, unsigned side, uint32_t *next,
		      const struct nsx_kernel_rows *rows)
{
	uint32_t *later = nsx_arena_get(w->a, rows->nrows * sizeof(*later));

	memset(later, 0xff, rows->nrows * sizeof(*later));
	for (uint32_t i = w->n; i--;)
		if (w->used[side][i]) {
			next[i] = later[rows->row[i]];
			later[rows->row[i]] = i;
		}
}

/* Numbers the rows. Rows with a kernel that the side before uses come first. */
static struct nsx_kernel_rows number_rows(struct work *w, struct nsx_arena *a)
{
	struct nsx_kernel_rows ret = {
		.row = nsx_arena_get(a, w->n * sizeof(*ret.row)),
		.kind = nsx_arena_get(a, w->n * sizeof(*ret.kind)),
		.has_grids = nsx_arena_get(a, w->n * sizeof(*ret.has_grids))};

	memset(ret.row, 0xff, w->n * sizeof(*ret.row));
	for (unsigned s = 0; s < 2; s++) {
		ret.next[s] = nsx_arena_get(a, w->n * sizeof(**ret.next));
		ret.first[s] = nsx_arena_get(a, w->n * sizeof(**ret.first));
		memset(ret.first[s], 0xff, w->n * sizeof(**ret.first));
		for (uint32_t i = 0; i < w->n; i++) {
			uint32_t leader = lead(w, i), *first;

			if (!w->used[s][i])
				continue;
			if (ret.row[leader] == NSX_NONE) {
				ret.kind[ret.nrows] = w->kind[leader];
				ret.row[leader] = ret.nrows++;
			}
			ret.row[i] = ret.row[leader];
			first = &ret.first[s][ret.row[i]];
			if (*first == NSX_NONE || (w->kind[leader] == NSX_M_SHAPE &&
						   !is_exact(w, i) && is_exact(w, *first)))
				*first = i;
		}
	}
	note_grids(w, &ret);
	for (unsigned s = 0; s < 2; s++)
		link_rows(w, s, ret.next[s], &ret);
	return ret;
}

struct nsx_kernel_rows nsx_match_kernels(const struct nsx_kernels *kernels,
					 const struct nsx_pool *pool, struct nsx_arena *a)
{
	struct work w = match_begin_work(kernels, pool);
	struct nsx_kernel_rows ret;

	join_by_gpu(&w);
	join_by(&w, offsetof(struct nsx_kernel, name), NSX_M_SHAPE);
	join_by(&w, offsetof(struct nsx_kernel, base), NSX_M_TEMPLATE);
	/* pipeline stages run different kernels, so every lane is tried */
	for (size_t l = 0; l < NSX_MIN(pool[0].nlanes, pool[1].nlanes); l++)
		join_by_place(&w, l);
	ret = number_rows(&w, a);
	nsx_arena_free(w.a);
	return ret;
}

/* Likeness ------------------------------------------------------------------------*/

struct named {
	const char *text;
	double n[2];
};

NSX_ORDER(cmp_named, struct named, TEXT(text));

double nsx_common_launches(const struct nsx_kernels *kernels, const double *const n[2], size_t text)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct named *v = nsx_arena_get(a, kernels->n * sizeof(*v));
	double common = 0, all = 0;

	for (uint32_t i = 0; i < kernels->n; i++) {
		const struct nsx_kernel *k = kernels->of[i][0] ?: kernels->of[i][1];

		v[i] = (struct named){*(const char *const *)((const char *)k + text),
				      {n[0][i], n[1][i]}};
	}
	nsx_sort(v, kernels->n, sizeof(*v), cmp_named);
	NSX_EACH_RUN(i, next, kernels->n, !cmp_named(&v[i], &v[next])) {
		double sum[2] = {0, 0};

		for (size_t k = i; k < next; k++) {
			sum[0] += v[k].n[0];
			sum[1] += v[k].n[1];
		}
		common += NSX_MIN(sum[0], sum[1]);
		all += NSX_MAX(sum[0], sum[1]);
	}
	return all > 0 ? common / all : 1;
}

void nsx_count_launches(const struct nsx_lane *lane, const uint32_t *number, double *n)
{
	for (const struct nsx_kernel_use *u = lane->uses; u < lane->uses + lane->nuses; u++)
		n[number ? number[u->kernel] : u->kernel] +=
			(double)u->launches / (double)lane->nunits;
}

double nsx_likeness(const struct nsx_kernels *kernels, const struct nsx_pool pool[2])
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	double *n[2];

	for (unsigned s = 0; s < 2; s++) {
		n[s] = nsx_arena_get(a, kernels->n * sizeof(**n));
		for (uint32_t i = 0; i < kernels->n; i++)
			n[s][i] = kernels->of[i][s] ? kernels->of[i][s]->launches : 0;
		for (size_t l = 0; l < pool[s].nlanes; l++)
			nsx_count_launches(&pool[s].lanes[l], NULL, n[s]);
		for (uint32_t i = 0; i < kernels->n; i++)
			n[s][i] /= (double)NSX_MAX(pool[s].nlanes, 1u);
	}
	return nsx_common_launches(kernels, (const double *const *)n,
				   offsetof(struct nsx_kernel, base));
}
