/* page_near.c - samples leaves to leave out those far from a time window. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "sqlite/page_near.h"
#include "sqlite/page_record.h"

enum {
	FEWEST = 256, /* with fewer leaves, sampling costs more than it saves */
	STEPS = 8,    /* if one sample in STEPS begins before the previous sample, rows are not in
			 order */
};

struct look { /* a sampled leaf */
	size_t leaf;
	int64_t least, most; /* of the times of its rows                     */
};

static int page_near_take_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			      struct nsx_err *err)
{
	struct look *l = ctx;

	if (v->type != NSX_V_I64)
		return nsx_fail(err, NSX_E_DATA, "a row is at no instant");
	l->least = NSX_MIN(l->least, v->u.i);
	l->most = NSX_MAX(l->most, v->u.i);
	return 0;
}

/* Reads the times of the n sampled leaves. False if they cannot be read or are not in order. */
static bool sample_leaves(const struct nsx_pagefile *f, const char *table,
			      const struct nsx_leaves *leaves, struct nsx_decoder *d,
			      uint8_t *page, struct look *v, size_t n)
{
	struct nsx_err err;
	size_t nback = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t number = leaves->pages[v[i].leaf];

		v[i].least = INT64_MAX;
		v[i].most = INT64_MIN;
		if (nsx_page_get(f, table, number, page, &err) ||
		    nsx_decode_leaf(d, page, number, false, page_near_take_row, &v[i], &err))
			return false;
		nback += i && v[i].least < v[i - 1].least;
	}
	return nback * STEPS < n;
}

/* Whether no row from leaf a up to leaf b lies in [from, to), given that rows are in order. */
static bool is_far(const struct look *a, const struct look *b, int64_t from, int64_t to)
{
	return a->least <= b->least && (a->least >= to || NSX_MAX(a->most, b->most) < from);
}

static void keep_near(struct nsx_leaves *leaves, const struct look *v, size_t n,
		      int64_t from, int64_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		size_t end = i + 1 < n ? v[i + 1].leaf : leaves->n;

		if (i + 1 < n && is_far(&v[i], &v[i + 1], from, to))
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
static void keep_run(struct nsx_leaves *leaves, const struct look *v, size_t n,
		     int64_t from, int64_t to)
{
	size_t first = n - 1, end = leaves->n;

	for (size_t i = 0; i + 1 < n; i++)
		if (!is_far(&v[i], &v[i + 1], from, to)) {
			first = NSX_MIN(first, i);
			end = v[i + 1].leaf + 1;
		}
	leaves->n = end - v[first].leaf;
	memmove(leaves->pages, leaves->pages + v[first].leaf, leaves->n * sizeof(*leaves->pages));
}

int nsx_leaves_near(const struct nsx_pagefile *f, const char *table,
		    const struct nsx_wants *w, int64_t from, int64_t to, bool is_run,
		    struct nsx_leaves *leaves, struct nsx_err *err)
{
	size_t each = (size_t)sqrt((double)leaves->n), n = 0;
	struct nsx_decoder *d;
	struct look *v;
	uint8_t *page;
	int rc;

	if (leaves->n < FEWEST)
		return 0;
	d = nsx_decoder_new(f, w, table, err);
	v = nsx_try_alloc(leaves->n / each + 2, sizeof(*v), "looks at a table", err);
	page = nsx_try_alloc(1, f->page_size + NSX_PAGE_SLACK, "a page", err);
	rc = d && v && page ? 0 : NSX_E_NOMEM;
	for (size_t i = 0; !rc && i + 1 < leaves->n; i += each)
		v[n++].leaf = i;
	if (!rc)
		v[n++].leaf = leaves->n - 1;
	if (!rc && sample_leaves(f, table, leaves, d, page, v, n))
		(is_run ? keep_run : keep_near)(leaves, v, n, from, to);
	nsx_decoder_free(d);
	free(v);
	free(page);
	return rc;
}
