/* page.c - plans parts of leaf pages, and reads them in batches.
 *
 * A part is a range of leaves, so parts have about equal bytes. Their rows are counted only
 * on demand, all parts side by side: counting reads the head of every leaf, which a scan
 * that only sums up a huge table can avoid.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include "base/par.h"
#include "sqlite/page_record.h"
#include "sqlite/page_tree.h"
#include "sqlite/scan_backends.h"

#define BATCH_BYTES  ((size_t)256 * 1024)
#define PART_BYTES   BATCH_BYTES /* a part below this size is not worth a thread */
#define BLOCK_BYTES  ((size_t)64 * 1024)
#define AHEAD_CHUNK  ((size_t)512 * 1024)
#define AHEAD_CHUNKS 8
#define ASK_GAP	     8 /* pages with larger gaps between them are not requested together */
#define MAX_GAP	     2 /* greatest number of unneeded pages read to save a call */

struct nsx_pagescan {
	struct nsx_scan scan;
	const struct nsx_pagefile *f;
	struct nsx_arena *arena;
	const char *table;
	struct nsx_wants wants;
	struct nsx_leaves leaves;
	unsigned most_parts;
	pthread_mutex_t lock; /* guards the rest */
	bool is_counted;
	struct nsx_err count_err; /* the error that ended counting */
	size_t rows[NSX_MAX_THREADS];
};

/* A batch of pages in memory. */
struct batch {
	uint8_t *bytes;
	size_t room;	/* size of bytes, in pages */
	uint32_t first; /* page number */
	size_t n;	/* number of pages read */
	bool is_cold;	/* the last read was not served from the page cache */
	size_t asked;	/* the leaves before this one have been requested */
};

/* Planning ---------------------------------------------------------------*/
static void divide_leaves_into_parts(struct nsx_pagescan *s)
{
	size_t worth = NSX_MAX(PART_BYTES / s->f->page_size, 1);
	size_t n = s->leaves.n / worth;

	n = NSX_MIN(n, NSX_MIN(s->most_parts, NSX_MAX_THREADS));
	s->scan.nparts = (unsigned)NSX_MAX(n, 1);
}

static void page_close(struct nsx_scan *scan)
{
	struct nsx_pagescan *s = (struct nsx_pagescan *)scan;

	pthread_mutex_destroy(&s->lock);
	nsx_leaves_done(&s->leaves);
	nsx_arena_free(s->arena);
	free(s);
}

static int page_open(struct nsx_db *db, const struct nsx_table_info *t,
		     const char *const *columns, unsigned ncolumns,
		     unsigned nparts, struct nsx_scan **ret, struct nsx_err *err)
{
	const struct nsx_pagefile *f = nsx_db_pages(db);
	struct nsx_pagescan *s;
	int rc;

	if (!f || t->kind != NSX_TK_PLAIN)
		return 0;
	s = nsx_try_alloc(1, sizeof(*s), "a scan", err);
	if (!s)
		return err->rc;
	pthread_mutex_init(&s->lock, NULL);
	s->f = f;
	s->table = t->name;
	s->arena = nsx_arena_new();
	if (!nsx_wants_plan(t, columns, ncolumns, s->arena, &s->wants)) {
		page_close(&s->scan);
		return 0;
	}
	rc = nsx_leaves_find(f, t->name, t->root_page, &s->leaves, err);
	if (rc) {
		page_close(&s->scan);
		return rc;
	}
	s->most_parts = nparts;
	divide_leaves_into_parts(s);
	*ret = &s->scan;
	return 0;
}

/* Leaves far from a time window, in tables in order of time ----------------------------- */

enum {
	FEWEST = 256, /* with fewer leaves, sampling costs more time than it saves */
	/* Rows are in order if fewer than one sample in STEPS begins before the previous one. */
	STEPS = 8,
};

struct look { /* a sampled leaf */
	size_t leaf;
	int64_t least, most; /* least and greatest time of its rows */
};

static int note_row_time(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			 struct nsx_err *err)
{
	struct look *l = ctx;

	if (v->type != NSX_V_I64)
		return nsx_fail(err, NSX_E_DATA, "a row is at no instant");
	l->least = NSX_MIN(l->least, v->u.i);
	l->most = NSX_MAX(l->most, v->u.i);
	return 0;
}

/* Reads the times of the n sampled leaves. Returns false if they cannot be read or are not nearly
 * in order.
 */
static bool sample_leaves(const struct nsx_pagescan *s, struct nsx_decoder *d,
			  uint8_t *page, struct look *v, size_t n)
{
	struct nsx_err err;
	size_t nback = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t number = s->leaves.pages[v[i].leaf];

		v[i].least = INT64_MAX;
		v[i].most = INT64_MIN;
		if (nsx_page_get(s->f, s->table, number, page, &err) ||
		    nsx_decode_leaf(d, page, number, false, note_row_time, &v[i], &err))
			return false;
		nback += i && v[i].least < v[i - 1].least;
	}
	return nback * STEPS < n;
}

/* Whether no row from leaf a up to leaf b lies in [from, to), given that rows are in order. */
static bool lies_no_row_between(const struct look *a, const struct look *b, int64_t from,
				int64_t to)
{
	return a->least <= b->least && (a->least >= to || NSX_MAX(a->most, b->most) < from);
}

static void keep_leaves_near(struct nsx_leaves *leaves, const struct look *v, size_t n,
			     int64_t from, int64_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1 < n ? v[i + 1].leaf : leaves->n;

		if (i + 1 < n && lies_no_row_between(&v[i], &v[i + 1], from, to))
			end = v[i].leaf + !i;
		memmove(leaves->pages + kept, leaves->pages + v[i].leaf,
			(end - v[i].leaf) * sizeof(*leaves->pages));
		kept += end - v[i].leaf;
	}
	leaves->n = kept;
}

/* Keeps all leaves from the first to the last that may hold rows in [from, to). If there is none,
 * keeps only the last leaf.
 */
static void keep_leaf_run(struct nsx_leaves *leaves, const struct look *v, size_t n,
			  int64_t from, int64_t to)
{
	size_t first = n - 1, end = leaves->n;

	for (size_t i = 0; i + 1 < n; i++)
		if (!lies_no_row_between(&v[i], &v[i + 1], from, to)) {
			first = NSX_MIN(first, i);
			end = v[i + 1].leaf + 1;
		}
	leaves->n = end - v[first].leaf;
	memmove(leaves->pages, leaves->pages + v[first].leaf, leaves->n * sizeof(*leaves->pages));
}

/* Samples evenly spaced leaves, about the square root of their number. Drops the leaves between two
 * neighbouring samples if all rows there are before `from`, or all are at `to` or later. The first
 * and last leaf are never dropped. Nothing is dropped if a sampled row is no integer or unreadable,
 * or if the sampled leaves are not nearly all in order.
 * w: one column, the time. is_run: every leaf between the first and last kept one is kept, because
 * rows need their neighbours.
 */
static int drop_far_leaves(struct nsx_pagescan *s, const struct nsx_wants *w, int64_t from,
			   int64_t to, bool is_run, struct nsx_err *err)
{
	const struct nsx_pagefile *f = s->f;
	struct nsx_leaves *leaves = &s->leaves;
	size_t each = (size_t)sqrt((double)leaves->n), n = 0;
	struct nsx_decoder *d;
	NSX_AT_EXIT(nsx_free_at) struct look *v = NULL;
	NSX_AT_EXIT(nsx_free_at) uint8_t *page = NULL;
	int rc;

	if (leaves->n < FEWEST)
		return 0;
	d = nsx_decoder_new(f, w, s->table, err);
	v = nsx_try_alloc(leaves->n / each + 2, sizeof(*v), "looks at a table", err);
	page = nsx_try_alloc(1, f->page_size + NSX_PAGE_SLACK, "a page", err);
	rc = d && v && page ? 0 : NSX_E_NOMEM;
	for (size_t i = 0; !rc && i + 1 < leaves->n; i += each)
		v[n++].leaf = i;
	if (!rc)
		v[n++].leaf = leaves->n - 1;
	if (!rc && sample_leaves(s, d, page, v, n))
		(is_run ? keep_leaf_run : keep_leaves_near)(leaves, v, n, from, to);
	nsx_decoder_free(d);
	return rc;
}

static int page_near(struct nsx_scan *scan, const struct nsx_table_info *t,
		     const char *column, int64_t from, int64_t to, bool is_run,
		     struct nsx_err *err)
{
	struct nsx_pagescan *s = (struct nsx_pagescan *)scan;
	struct nsx_wants w;
	int rc = nsx_wants_plan(t, &column, 1, s->arena, &w) ?
			 drop_far_leaves(s, &w, from, to, is_run, err) : 0;

	divide_leaves_into_parts(s);
	return rc;
}

static size_t leaves_a_block(const struct nsx_pagescan *s)
{
	return NSX_MAX(BLOCK_BYTES / s->f->page_size, 1);
}

static size_t page_first_block(const struct nsx_scan *scan, unsigned part)
{
	const struct nsx_pagescan *s = (const struct nsx_pagescan *)scan;
	size_t each = leaves_a_block(s), n = (s->leaves.n + each - 1) / each;

	return (size_t)((unsigned __int128)n * part / scan->nparts);
}

/* The first leaf of a part; parts consist of whole blocks. */
static size_t part_begin(const struct nsx_pagescan *s, unsigned part)
{
	return NSX_MIN(page_first_block(&s->scan, part) * leaves_a_block(s), s->leaves.n);
}

/* Batches ----------------------------------------------------------------*/
/* Asks the kernel for the next leaves. Its own read-ahead does not suffice: threads share
 * the file descriptor, and pages of other tables lie between.
 */
static void page_read_ahead(const struct nsx_pagescan *s, struct batch *b, size_t i, size_t end)
{
	const uint32_t *pages = s->leaves.pages;
	size_t chunk = NSX_MAX(AHEAD_CHUNK / s->f->page_size, 1);

	b->asked = NSX_MAX(b->asked, i);
	while (b->asked < end && b->asked < i + AHEAD_CHUNKS * chunk) {
		size_t first = b->asked, last = first;

		while (last + 1 < end && pages[last + 1] > pages[last] &&
		       pages[last + 1] - pages[last] <= ASK_GAP &&
		       pages[last + 1] - pages[first] < chunk)
			last++;
		nsx_pagefile_ask(s->f, pages[first], pages[last] - pages[first] + 1);
		b->asked = last + 1;
	}
}

/* Reads the pages from leaf i on that are consecutive in the file. */
static int fill_batch(const struct nsx_pagescan *s, struct batch *b, size_t i,
		      size_t end, struct nsx_err *err)
{
	const uint32_t *pages = s->leaves.pages;
	size_t span = 1, leaf = i;
	int64_t got;

	if (nsx_stopped(err))
		return err->rc;
	b->first = pages[i];
	while (++i < end && pages[i] > pages[i - 1] &&
	       pages[i] - pages[i - 1] <= MAX_GAP &&
	       pages[i] - b->first < b->room)
		span = pages[i] - b->first + 1;
	b->n = span;
	if (!b->is_cold && nsx_pagefile_read_cached(s->f, b->first, b->bytes,
						    span * s->f->page_size))
		return 0;
	b->is_cold = true;
	page_read_ahead(s, b, leaf, end);
	got = nsx_pagefile_read(s->f, b->first, 0, b->bytes, span * s->f->page_size);
	b->n = got < 0 ? 0 : (size_t)got / s->f->page_size;
	if (got < 0)
		return nsx_fail(err, NSX_E_IO, "cannot read table '%s': page %lu: %s",
		    s->table, (unsigned long)b->first, strerror(errno));
	if (!b->n)
		return nsx_page_damaged(err, s->table, b->first,
					"the file was cut while it was read");
	return 0;
}

/* The page of leaf i, NULL for a failure. Owner: the batch, until the next call. */
static const uint8_t *get_leaf(const struct nsx_pagescan *s, struct batch *b,
			       size_t i, size_t end, struct nsx_err *err)
{
	uint32_t page = s->leaves.pages[i];

	if (page - b->first >= b->n && fill_batch(s, b, i, end, err))
		return NULL;
	return b->bytes + (page - b->first) * (size_t)s->f->page_size;
}

static int batch_init(const struct nsx_pagescan *s, struct batch *b,
		      size_t nleaves, struct nsx_err *err)
{
	size_t room = NSX_MAX(BATCH_BYTES / s->f->page_size, 1);

	*b = (struct batch){.room = NSX_MIN(room, nleaves * MAX_GAP + 1)};
	b->bytes = nsx_try_alloc(b->room * s->f->page_size + NSX_PAGE_SLACK, 1,
				 "a batch of pages", err);
	return b->bytes ? 0 : err->rc;
}

/* Counting ---------------------------------------------------------------*/
static bool is_leaf(const struct nsx_pagescan *s, const uint8_t *page)
{
	return page[0] == NSX_PAGE_LEAF && nsx_page_cells(page) <= s->f->usable / 2;
}

/* Counts the rows of a part. Damaged pages are left out, here as in the scan. */
static int count_rows_of_part(void *ctx, size_t part, struct nsx_err *err)
{
	struct nsx_pagescan *s = ctx;
	size_t i = part_begin(s, (unsigned)part);
	size_t end = part_begin(s, (unsigned)part + 1);
	struct batch b;
	size_t rows = 0;
	int rc = batch_init(s, &b, end - i, err);

	for (; !rc && i < end; i++) {
		const uint8_t *page = get_leaf(s, &b, i, end, err);

		if (!page)
			break;
		rows += is_leaf(s, page) ? nsx_page_cells(page) : 0;
	}
	s->rows[part] = rows;
	free(b.bytes);
	return rc;
}

static size_t page_rows(struct nsx_scan *scan, unsigned part)
{
	struct nsx_pagescan *s = (struct nsx_pagescan *)scan;
	struct nsx_err err = {.rc = 0};

	if (s->is_counted)
		return s->rows[part];
	if (nsx_par(scan->nparts, scan->nparts, count_rows_of_part, s, &err))
		memset(s->rows, 0, sizeof(s->rows));
	pthread_mutex_lock(&s->lock);
	s->count_err = err;
	s->is_counted = true;
	pthread_mutex_unlock(&s->lock);
	return s->rows[part];
}

/* Reading ----------------------------------------------------------------*/
/* Sets *ret to the number of rows for which a reader may have allocated room. If the file
 * grows during the scan, the scan must not deliver more. Errors: the error of the count.
 */
static int rows_promised(struct nsx_pagescan *s, unsigned part, size_t *ret, struct nsx_err *err)
{
	int rc;

	pthread_mutex_lock(&s->lock);
	*ret = s->is_counted ? s->rows[part] : SIZE_MAX;
	rc = s->count_err.rc;
	if (rc)
		*err = s->count_err;
	pthread_mutex_unlock(&s->lock);
	return rc;
}

static int decode_page(const struct nsx_pagescan *s, struct nsx_decoder *d, const uint8_t *page,
		       uint32_t number, size_t *left, nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	size_t n = is_leaf(s, page) ? nsx_page_cells(page) : 0;

	if (n > *left)
		return nsx_page_damaged(err, s->table, number,
					"the file changed while it was read");
	*left -= n;
	return nsx_decode_leaf(d, page, number, s->leaves.n == 1, fn, ctx, err);
}

/* Keeps the first damage of a table, so that the message is the same in however many parts the
 * table is read.
 */
static void keep_first_damage(struct nsx_err *first, const struct nsx_err *err)
{
	if (!first->rc || strverscmp(err->msg, first->msg) < 0)
		*first = *err;
}

/* The first leaf, from i on, of a wanted block; `end` if there is none. i: the first leaf of a
 * block, or `end`. *ret: the end of the wanted blocks that follow without a gap.
 */
static size_t next_wanted(const struct nsx_pagescan *s,
			  const struct nsx_choice *choice, void *ctx, size_t i,
			  size_t end, size_t *ret)
{
	size_t each = leaves_a_block(s);

	*ret = end;
	if (!choice || !choice->wants)
		return i;
	while (i < end && !choice->wants(ctx, i / each))
		i += each;
	for (*ret = i; *ret < end && choice->wants(ctx, *ret / each);)
		*ret += each;
	*ret = NSX_MIN(*ret, end);
	return NSX_MIN(i, end);
}

static int page_run(struct nsx_scan *scan, unsigned part, struct nsx_choice *choice,
		    nsx_row_fn fn, void *ctx, struct nsx_err *err)
{
	struct nsx_pagescan *s = (struct nsx_pagescan *)scan;
	size_t i = part_begin(s, part), end = part_begin(s, part + 1U);
	size_t until = i, each = leaves_a_block(s);
	struct nsx_decoder *d;
	struct nsx_err damage = {0};
	struct batch b = {0};
	size_t left;
	int rc = rows_promised(s, part, &left, err);

	if (rc)
		return rc;
	d = nsx_decoder_new(s->f, &s->wants, s->table, err);
	rc = d ? batch_init(s, &b, end - i, err) : err->rc;
	if (!rc && choice && choice->is_cut)
		nsx_decoder_cut(d, choice->from, choice->to);
	for (; !rc && i < end; i++) {
		const uint8_t *page;

		if (i == until)
			i = next_wanted(s, choice, ctx, i, end, &until);
		if (i == end)
			break;
		if (choice)
			choice->at = i / each;
		page = get_leaf(s, &b, i, until, err);
		rc = page ? decode_page(s, d, page, s->leaves.pages[i], &left, fn, ctx, err) :
			    err->rc;
		if (page && nsx_is_damage(rc)) {
			keep_first_damage(&damage, err);
			rc = 0;
		}
	}
	free(b.bytes);
	nsx_decoder_free(d);
	if (part + 1 == scan->nparts && s->leaves.damage.rc)
		keep_first_damage(&damage, &s->leaves.damage);
	if (!rc && damage.rc) {
		*err = damage;
		return err->rc;
	}
	return rc;
}

const struct nsx_scan_backend nsx_page_backend = {
	"page", page_open, page_close, page_near, page_rows, page_first_block, page_run};
