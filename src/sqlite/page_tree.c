/* page_tree.c - walks down a b-tree level by level.
 *
 * All leaves of a b-tree are equally deep, so the pages of one level, taken left to right,
 * give the next: no recursion, one page buffer. A damaged page cuts its level; the pages to
 * its left still lead to their leaves.
 */
#include "base/arena.h"
#include "sqlite/page_tree.h"

enum {
	MAX_DEPTH = 20,	  /* SQLite's limit              */
	HEADER = 12,	  /* header of an interior page, in bytes */
	MIN_CELL = 5,	  /* a cell is at least a child's page number and a key of one byte */
	POLL = 256,	  /* pages read between checks for an interrupt */
	READ_AHEAD = 256, /* pages requested in advance  */
};

struct walk {
	const struct nsx_pagefile *f;
	const char *table;
	uint8_t *page;
	uint8_t *seen; /* one bit per page */
	struct nsx_err *damage;
	struct nsx_err *err;
};

/* Ends this level at its present length because of damage, which is noted. Returns 1. */
static int end_level(struct walk *w, uint32_t page, const char *why)
{
	nsx_page_damaged(w->damage, w->table, page, why);
	return 1;
}

static int add_tree_page(struct walk *w, struct nsx_leaves *to, uint32_t page)
{
	const char *why = nsx_page_impossible(w->f, page);

	if (!why && w->seen[page / 8] >> page % 8 & 1)
		why = "two pages lead to it";
	if (why)
		return end_level(w, page, why);
	w->seen[page / 8] |= (uint8_t)(1 << page % 8);
	return nsx_push(to->pages, to->n, to->cap, "page numbers", w->err, page);
}

/* Appends the children of the page in the buffer. Returns 1 for damage, which is noted;
 * negative for a failure.
 */
static int add_children(struct walk *w, uint32_t number, struct nsx_leaves *to)
{
	const uint8_t *page = w->page;
	unsigned n = nsx_page_cells(page);
	int rc = 0;

	if (page[0] != NSX_PAGE_INTERIOR)
		return end_level(w, number, "not a page of this kind of tree");
	if (!n || HEADER + 2 * n > w->f->usable)
		return end_level(w, number, "impossible number of cells");
	for (size_t i = 0; !rc && i < n; i++) {
		unsigned at = nsx_be16(page + HEADER + 2 * i);

		if (at < HEADER + 2 * n || at > w->f->usable - MIN_CELL)
			return end_level(w, number, "a cell lies outside it");
		rc = add_tree_page(w, to, nsx_be32(page + at));
	}
	return rc ? rc : add_tree_page(w, to, nsx_be32(page + 8));
}

/* Requests the next pages from the kernel, because they are scattered over the file. */
static void page_tree_read_ahead(const struct walk *w, const struct nsx_leaves *l, size_t first)
{
	size_t end = NSX_MIN(l->n, first + READ_AHEAD);

	for (size_t i = first; i < end && end - first > 1; i++)
		nsx_pagefile_ask(w->f, l->pages[i], 1);
}

/* Fills `to` with the level below `from`. */
static int next_level(struct walk *w, const struct nsx_leaves *from, struct nsx_leaves *to)
{
	int rc = 0;

	to->n = 0;
	for (size_t i = 0; !rc && i < from->n; i++) {
		if (i % POLL == 0 && nsx_stopped(w->err))
			return w->err->rc;
		if (i % READ_AHEAD == 0)
			page_tree_read_ahead(w, from, i);
		rc = nsx_page_get(w->f, w->table, from->pages[i], w->page, w->damage)
			 ? 1
			 : add_children(w, from->pages[i], to);
	}
	return rc < 0 ? rc : 0;
}

/* Whether the level consists of leaves. If its first page cannot be read, the tree ends above it.
 */
static bool is_leaf_level(struct walk *w, struct nsx_leaves *level)
{
	if (level->n && nsx_page_get(w->f, w->table, level->pages[0], w->page, w->damage))
		level->n = 0;
	return !level->n || w->page[0] == NSX_PAGE_LEAF;
}

static int descend_to_leaves(struct walk *w, uint32_t root, struct nsx_leaves *level)
{
	struct nsx_leaves below = {0}, swap;
	int rc = add_tree_page(w, level, root);

	for (int depth = 1; rc >= 0 && !is_leaf_level(w, level); depth++) {
		if (depth == MAX_DEPTH) {
			end_level(w, level->pages[0], "the tree is too deep");
			level->n = 0;
			break;
		}
		rc = next_level(w, level, &below);
		swap = *level;
		*level = below;
		below = swap;
	}
	free(below.pages);
	return rc < 0 ? rc : 0;
}

int nsx_leaves_find(const struct nsx_pagefile *f, const char *table,
		    uint32_t root, struct nsx_leaves *ret, struct nsx_err *err)
{
	struct nsx_err damage = {0};
	struct walk w = {f, table, NULL, NULL, &damage, err};
	struct nsx_leaves level = {0};
	int rc = NSX_E_NOMEM;

	w.page = nsx_try_alloc(1, f->page_size + NSX_PAGE_SLACK, "a page", err);
	w.seen = nsx_try_alloc(f->npages / 8 + 1, 1, "a map of pages", err);
	if (w.page && w.seen)
		rc = descend_to_leaves(&w, root, &level);
	free(w.page);
	free(w.seen);
	if (rc) {
		free(level.pages);
		return rc;
	}
	*ret = level;
	ret->damage = damage;
	return 0;
}

void nsx_leaves_done(struct nsx_leaves *l)
{
	free(l->pages);
	*l = (struct nsx_leaves){0};
}
