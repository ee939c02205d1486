/* nvtx_walk.c - open ranges of a thread, and ranges by name.
 *
 * Ranges are put on a stack as they begin, and taken off when they come to its
 * top and are closed.  Ranges of two domains may cross, so what is buried
 * under an open range may be closed already; the top never is, and it is the
 * open range that began last.
 */
#include <string.h>
#include "trace/nvtx_walk.h"

void nsx_nvtx_walk_begin(struct nsx_nvtx_walk *w, const struct nsx_trace *t,
			 uint32_t thread, bool user, bool library,
			 uint32_t *below)
{
	const struct nsx_thread *th = &t->thread[thread];
	uint32_t end = th->nvtx_at + th->nnvtx;

	while (end > th->nvtx_at && t->nvtx.kind[end - 1] != NSX_NVTX_STACK)
		end--;
	*w = (struct nsx_nvtx_walk){.t = t, .below = below,
				    .next = th->nvtx_at, .end = end,
				    .top = NSX_NONE, .user = user,
				    .library = library};
}

static void drop_closed(struct nsx_nvtx_walk *w, int64_t at)
{
	while (w->top != NSX_NONE && !nsx_nvtx_is_open(&w->t->nvtx, w->top, at))
		w->top = w->below[w->top];
}

uint32_t nsx_nvtx_walk_to(struct nsx_nvtx_walk *w, int64_t at)
{
	const struct nsx_nvtx *x = &w->t->nvtx;

	for (; w->next < w->end && nsx_range_start(x, w->next) <= at;
	     w->next++) {
		uint32_t i = w->next;

		if (!(w->t->domain[nsx_range_domain(x, i)].is_library ? w->library :
							      w->user))
			continue;
		drop_closed(w, nsx_range_start(x, i));
		w->below[i] = w->top;
		w->top = i;
	}
	drop_closed(w, at);
	return w->top;
}

/* Ranges of a process follow each other: the group a name was last met in is
 * its group in this process, or it has none there yet.
 */
static void assign_groups(const struct nsx_trace *t, bool by_process,
			  uint32_t *last, uint32_t *last_process,
			  struct nsx_nvtx_groups *g)
{
	const struct nsx_nvtx *x = &t->nvtx;

	for (size_t i = 0; i < x->n; i++) {
		nsx_str name = x->name[i];
		uint32_t process = by_process ?
					   t->thread[nsx_nvtx_thread(t, i)].process : 0;

		g->of[i] = NSX_NONE;
		if (x->kind[i] == NSX_NVTX_MARK)
			continue;
		if (!last[name] || last_process[name] != process) {
			last[name] = ++g->n;
			last_process[name] = process;
		}
		g->of[i] = last[name] - 1;
	}
}

int nsx_nvtx_group(const struct nsx_trace *t, bool by_process,
		   struct nsx_arena *a, struct nsx_nvtx_groups *ret,
		   struct nsx_err *err)
{
	size_t bound = nsx_strings_bound(t->strings);
	uint32_t *last, *last_process;
	struct nsx_nvtx_groups g = {.n = 0};

	if (nsx_new_arrays(a, bound, "range names", err, last, last_process) ||
	    nsx_new_arrays(a, t->nvtx.n, "range groups", err, g.of))
		return err->rc;
	assign_groups(t, by_process, last, last_process, &g);
	nsx_arena_drop(a, last);
	nsx_arena_drop(a, last_process);
	if (!nsx_new_array(g.name, a, g.n, "range groups", err) ||
	    !nsx_new_array(g.process, a, g.n, "range groups", err))
		return err->rc;
	for (size_t i = 0; i < t->nvtx.n; i++) {
		if (g.of[i] == NSX_NONE)
			continue;
		g.name[g.of[i]] = t->nvtx.name[i];
		g.process[g.of[i]] = t->thread[nsx_nvtx_thread(t, i)].process;
	}
	*ret = g;
	return 0;
}

NSX_ORDER(cmp_figures, struct nsx_nvtx_row, UP(process), DOWN(ns), DOWN(count));

struct names {
	const struct nsx_strings *strings;
	const nsx_str *by_group;
};

static const char *name_of(const struct names *names,
			   const struct nsx_nvtx_row *x)
{
	return nsx_str_text(names->strings, names->by_group[x->group]);
}

/* Eight bytes of a text as a number that has their order. */
static uint64_t letters(const char *text)
{
	uint64_t ret = 0;

	for (unsigned i = 0; i < 8; i++) {
		ret = ret << 8 | (unsigned char)*text;
		text += *text != '\0';
	}
	return ret;
}

static int cmp_letters(const void *a, const void *b, void *names)
{
	const struct nsx_nvtx_row *x = a, *y = b;
	const struct names *n = names;

	return NSX_CMP((uint64_t)x->ns, (uint64_t)y->ns) ?:
	       nsx_str_cmp(n->strings, n->by_group[x->group],
			   n->by_group[y->group]);
}

/* Rows with the same figures.  While they are sorted, the first letters in which
 * their names differ stand in place of the time: each name is fetched twice.
 */
static void sort_by_name(struct names *names, struct nsx_nvtx_row *v, size_t n)
{
	const char *first = name_of(names, v);
	size_t same = strlen(first);
	int64_t ns = v->ns;

	for (size_t i = 1; i < n && same; i++) {
		const char *name = name_of(names, &v[i]);
		size_t k = 0;

		while (k < same && name[k] == first[k])
			k++;
		same = k;
	}
	for (size_t i = 0; i < n; i++)
		v[i].ns = (int64_t)letters(name_of(names, &v[i]) + same);
	nsx_sort_r(v, n, sizeof(*v), cmp_letters, names);
	for (size_t i = 0; i < n; i++)
		v[i].ns = ns;
}

void nsx_nvtx_sort(const struct nsx_trace *t, const struct nsx_nvtx_groups *g,
		   struct nsx_nvtx_row *v, size_t n)
{
	struct names names = {t->strings, g->name};

	nsx_sort(v, n, sizeof(*v), cmp_figures);
	for (size_t at = 0, end; at < n; at = end) {
		for (end = at + 1; end < n && !cmp_figures(&v[at], &v[end]);)
			end++;
		if (end - at > 1)
			sort_by_name(&names, v + at, end - at);
	}
}
