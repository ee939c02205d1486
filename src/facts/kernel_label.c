/* kernel_label.c - one label for each kernel of the trace.
 *
 * Kernels whose words are the same are told apart by what differs between their
 * full names: by one word that no other of them has, where there is one, else by
 * the words at which their names part when they are read from the function's own
 * name on.  What still reads the same (texts that were cut) is numbered.  All of
 * it is sorting and one walk over the words: a trace may have 100 000 names.
 */
#include <stdlib.h>
#include <string.h>
#include "base/group.h"
#include "facts/kernel_lex.h"
#include "facts/kernel_name.h"
#include "trace/trace.h"

enum { MAX_WORDS = 128, MAX_TOLD = 4, MAX_WORD_CHARS = 32 };

struct member { /* a kernel whose words are not its alone */
	struct nsx_kernel_name *kernel;
	struct nsx_word *word; /* from the function's own name on, then what is
				  before it; scopes last                     */
	uint64_t *hash;	       /* of each word                               */
	unsigned n, told[MAX_TOLD], ntold;
};

/* A name that no demangler wrote holds its parts between underscores. */
static bool next_part(const char **p, const char *end, bool is_demangled,
		      struct nsx_word *ret)
{
	const char *cut;

	if (!nsx_next_word(p, end, ret))
		return false;
	cut = is_demangled ? NULL : memchr(ret->p + 1, '_', ret->n - 1);
	if (cut) {
		ret->n = (size_t)(cut - ret->p);
		*p = cut + 1;
	}
	return true;
}

static int read_words(const struct nsx_trace *t, struct member *m,
		      struct nsx_arena *a, struct nsx_err *err)
{
	const char *full = nsx_text(t, m->kernel->name);
	size_t nbase;
	const char *base = nsx_base_of(full, &nbase);
	const char *begin[] = {base, full};
	const char *end[] = {full + strlen(full), base};
	bool is_demangled = strpbrk(full, "(<") != NULL;
	struct nsx_word w[2][MAX_WORDS], word; /* scopes: the second */
	unsigned n[2] = {0};

	for (unsigned i = 0; i < ARRAY_LEN(begin); i++)
		while (next_part(&begin[i], end[i], is_demangled, &word)) {
			bool scope = word.kind == NSX_W_SCOPE;

			if (n[scope] < MAX_WORDS)
				w[scope][n[scope]++] = word;
		}
	m->n = NSX_MIN(n[0] + n[1], (unsigned)MAX_WORDS);
	if (nsx_new_arrays(a, m->n, "kernel names", err, m->word, m->hash))
		return err->rc;
	for (unsigned i = 0; i < m->n; i++) {
		m->word[i] = i < n[0] ? w[0][i] : w[1][i - n[0]];
		m->hash[i] = nsx_hash(m->word[i].p, m->word[i].n);
	}
	return 0;
}

static int cmp_words(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	for (size_t i = 0; i < x->n && i < y->n; i++)
		if (x->hash[i] != y->hash[i])
			return x->hash[i] < y->hash[i] ? -1 : 1;
	return NSX_CMP(x->n, y->n);
}

/* v in order of words, the same up to `at`: up to where they all are. */
static unsigned count_common(const struct member *v, size_t n, unsigned at)
{
	while (at < v[0].n && v[0].hash[at] == v[n - 1].hash[at])
		at++;
	return at;
}

/* Each gets the word at which it parts from the others. */
static void tell_by_branches(struct member *v, size_t n, unsigned at)
{
	size_t next;

	if (n < 2)
		return;
	at = count_common(v, n, at);
	for (size_t i = 0; i < n; i = next) {
		next = i + 1;
		if (v[i].n <= at)
			continue;
		while (next < n && v[next].hash[at] == v[i].hash[at])
			next++;
		for (size_t k = i; k < next; k++)
			if (v[k].ntold < MAX_TOLD)
				v[k].told[v[k].ntold++] = at;
		tell_by_branches(v + i, next - i, at + 1);
	}
}

/* How many members have a word, by its group in g.  The first `common` words of
 * all are the same: two of them will do.
 */
static int count_words(const struct member *v, size_t n, unsigned common,
		       struct nsx_groups *g, struct nsx_arena *a,
		       uint32_t **ret_members, struct nsx_err *err)
{
	uint32_t *members, *last, k;
	size_t most = 2 * (size_t)common;

	for (size_t i = 0; i < n; i++)
		most += v[i].n - common;
	if (nsx_new_arrays(a, most, "kernel names", err, members, last))
		return err->rc;
	for (uint32_t i = 0; i < n; i++)
		for (unsigned w = i < 2 ? 0 : common; w < v[i].n; w++) {
			if (nsx_group(g, v[i].hash[w], 0, &k, err))
				return err->rc;
			members[k] += last[k] != i + 1;
			last[k] = i + 1;
		}
	*ret_members = members;
	return 0;
}

static int tell_by_one_word(struct member *v, size_t n, struct nsx_arena *a,
			    struct nsx_err *err)
{
	unsigned common = count_common(v, n, 0);
	struct nsx_groups g = {0};
	uint32_t *members = NULL;
	int rc = count_words(v, n, common, &g, a, &members, err);

	for (size_t i = 0; !rc && i < n; i++)
		for (unsigned w = common; w < v[i].n; w++)
			if (members[nsx_group_find(&g, v[i].hash[w], 0)] == 1) {
				v[i].told[0] = w;
				v[i].ntold = 1;
				break;
			}
	nsx_groups_done(&g);
	return rc;
}

/* Of PyTorch's elementwise kernels only the way they walk memory is told. */
static void add_word(struct nsx_buf *b, const struct nsx_word *w)
{
	static const char tail[] = "_elementwise_kernel";
	size_t n = w->n, ntail = sizeof(tail) - 1;

	if (n == ntail - 1 && !memcmp(w->p, tail + 1, n)) {
		nsx_buf_adds(b, "strided");
		return;
	}
	if (n > ntail && !memcmp(w->p + n - ntail, tail, ntail))
		n -= ntail;
	if (n > MAX_WORD_CHARS)
		for (n = MAX_WORD_CHARS; n && (w->p[n] & 0xc0) == 0x80;)
			n--;
	nsx_buf_adds(b, w->kind == NSX_W_INSTANCE ? "#" : "");
	nsx_buf_add(b, w->p, n);
	nsx_buf_adds(b, n == MAX_WORD_CHARS ? "…" : "");
}

static void add_told(const struct member *m, struct nsx_arena *a)
{
	bool plain = !strpbrk(m->kernel->label, " <");
	struct nsx_buf b = {0};
	size_t nlabel;

	nsx_buf_adds(&b, m->kernel->label);
	nlabel = b.n;
	for (unsigned i = 0; i < m->ntold; i++) {
		const struct nsx_word *w = &m->word[m->told[i]];

		if (w->kind == NSX_W_NAME && memmem(b.p, b.n, w->p, w->n))
			continue; /* it says that already */
		nsx_buf_adds(&b, b.n > nlabel ? ", " : plain ? "<" : " [");
		add_word(&b, w);
	}
	if (b.n > nlabel)
		nsx_buf_adds(&b, plain ? ">" : "]");
	m->kernel->label = nsx_buf_keep(&b, a);
}

/* Kernels of one label, n of them. */
static int tell_apart(const struct nsx_trace *t, struct nsx_kernel_name **k,
		      size_t n, struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_arena *scratch = nsx_arena_new();
	struct member *v;
	int rc = nsx_new_arrays(scratch, n, "kernel names", err, v);

	for (size_t i = 0; !rc && i < n; i++) {
		v[i] = (struct member){.kernel = k[i]};
		rc = read_words(t, &v[i], scratch, err);
	}
	if (!rc) {
		nsx_sort(v, n, sizeof(*v), cmp_words);
		tell_by_branches(v, n, 0);
		rc = tell_by_one_word(v, n, scratch, err);
	}
	for (size_t i = 0; !rc && i < n; i++)
		add_told(&v[i], a);
	nsx_arena_free(scratch);
	return rc;
}

static void number(struct nsx_kernel_name **k, size_t n, struct nsx_arena *a)
{
	for (size_t i = 0; i < n; i++)
		k[i]->label = nsx_arena_printf(a, "%s (%zu of %zu)",
					       k[i]->label, i + 1, n);
}

static int cmp_full(const void *a, const void *b, void *trace)
{
	const struct nsx_kernel_name *const *x = a, *const *y = b;
	const struct nsx_trace *t = trace;

	return NSX_CMP(t->rank[(*x)->name], t->rank[(*y)->name]);
}

/* Puts the kernels of a label together into v; *ret_at: where those of each of the
 * *ret_n labels begin, and the end.
 */
static int deal_labels(const struct nsx_kernel_names *k, struct nsx_arena *a,
		       struct nsx_kernel_name **v, uint32_t **ret_at,
		       size_t *ret_n, struct nsx_err *err)
{
	struct nsx_groups g = {0};
	uint32_t *of, *order;
	int rc = nsx_new_arrays(a, k->n, "kernel names", err, of, order);

	for (size_t i = 0; !rc && i < k->n; i++)
		rc = nsx_group(&g, nsx_hash(k->v[i].label,
					    strlen(k->v[i].label)), 0,
			       &of[i], err);
	*ret_n = g.n;
	nsx_groups_done(&g);
	rc = rc ?: nsx_new_arrays(a, *ret_n + 2, "kernel names", err, *ret_at);
	if (rc)
		return rc;
	NSX_DEAL(*ret_at, order, *ret_n, k->n, i, of[i]);
	for (size_t i = 0; i < k->n; i++)
		v[i] = &k->v[order[i]];
	return 0;
}

/* Twice: what could not be told apart is numbered, in order of the full names. */
static int make_unique(const struct nsx_trace *t, struct nsx_kernel_names *k,
		       struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_arena *scratch = nsx_arena_new();
	struct nsx_kernel_name **v;
	int rc = nsx_new_arrays(scratch, k->n, "kernel names", err, v);

	for (int last = 0; !rc && last < 2; last++) {
		uint32_t *at;
		size_t n;

		rc = deal_labels(k, scratch, v, &at, &n, err);
		for (size_t i = 0; !rc && i < n; i++) {
			struct nsx_kernel_name **alike = v + at[i];
			size_t nalike = at[i + 1] - at[i];

			if (nalike > 1 && !last)
				rc = tell_apart(t, alike, nalike, a, err);
			if (nalike < 2 || !last)
				continue;
			nsx_sort_r(alike, nalike, sizeof(*v), cmp_full,
				   (void *)t);
			number(alike, nalike, a);
		}
	}
	nsx_arena_free(scratch);
	return rc;
}

NSX_ORDER(cmp_name, struct nsx_kernel_name, UP(name));

/* Names that differ in what is not read say the same. */
static int read_names(const struct nsx_trace *t, struct nsx_kernel_names *k,
		      struct nsx_arena *scratch, struct nsx_arena *a,
		      struct nsx_err *err)
{
	struct nsx_groups g = {0};
	uint32_t *first, which;
	int rc = 0;

	if (!nsx_new_array(first, scratch, k->n, "kernel names", err))
		return err->rc;
	for (uint32_t i = 0; i < k->n; i++) {
		const char *full = nsx_text(t, k->v[i].name);
		struct nsx_kernel_name *x = &k->v[i];
		size_t known = g.n;

		rc = nsx_group(&g, nsx_hash(full, nsx_kernel_words_length(full)),
			       0, &which, err);
		if (rc)
			break;
		if (which == known) {
			first[which] = i;
			nsx_kernel_words(full, a, x);
		} else {
			nsx_str name = x->name;

			*x = k->v[first[which]];
			x->name = name;
		}
	}
	nsx_groups_done(&g);
	return rc;
}

int nsx_kernel_names_build(const struct nsx_trace *t, struct nsx_arena *a,
			   struct nsx_kernel_names *ret, struct nsx_err *err)
{
	struct nsx_kernel_names k = {.n = 0};
	struct nsx_arena *scratch;
	int rc;

	if (nsx_new_arrays(a, t->nshapes, "kernel names", err, k.v) ||
	    nsx_new_arrays(a, nsx_strings_bound(t->strings), "kernel names",
			   err, k.at))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++) {
		uint32_t *at = &k.at[t->shape[i].name];

		if (*at)
			continue;
		k.v[k.n++].name = t->shape[i].name;
		*at = 1;
	}
	nsx_sort(k.v, k.n, sizeof(*k.v), cmp_name);
	for (uint32_t i = 0; i < k.n; i++)
		k.at[k.v[i].name] = i + 1;
	scratch = nsx_arena_new();
	rc = read_names(t, &k, scratch, a, err);
	nsx_arena_free(scratch);
	*ret = k;
	return rc ? rc : make_unique(t, ret, a, err);
}

const struct nsx_kernel_name *nsx_kernel_name(const struct nsx_kernel_names *k,
					      nsx_str name)
{
	return k->at[name] ? &k->v[k->at[name] - 1] : NULL;
}
