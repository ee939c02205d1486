/* kernel_label.c - makes a unique label for each kernel of the trace.
 *
 * A label consists of the kernel's words (kernel_words.c), which many kernels may share, and of
 * words of its full name that distinguish it from those kernels. If one word is in no other of
 * their names, that word is enough. Otherwise the words at which the names branch are added, read
 * from the function's own name on. Labels that are still equal, because texts were cut, are
 * numbered. A trace may have 100 000 names, so all this is sorting and one pass over the words.
 */
#include <pthread.h>
#include "base/group.h"
#include "base/par.h"
#include "facts/kernel_lex.h"
#include "facts/kernel_name.h"
#include "trace/trace.h"

enum { MAX_WORDS = 128, MAX_WORD_CHARS = 32 };
_Static_assert(MAX_WORDS <= UINT8_MAX, "nsx_told holds any word, + 1");

struct nsx_kernel_labels {
	pthread_mutex_t lock; /* guards the members below                    */
	struct nsx_arena *a;
	struct nsx_groups made; /* for each name: labels made so far */
	const char **v;
};

struct member { /* a kernel that shares its words with others */
	struct nsx_told *told;
	const uint32_t *word; /* numbers of the n words of its name, from list_words() */
	uint8_t n, ntold;
	bool is_told; /* one unique word distinguishes it */
};

/* The words of a name. Members are read in order of names, and each reading reuses the prefix
 * shared with the previous name.
 */
struct reading {
	const char *full; /* NULL: nothing read yet                          */
	struct nsx_buf text[2]; /* buffers for this name and the previous one */
	/* Own: where the function's own name begins. head: nsx_kernel_words_length(); 0: not
	 * computed yet.
	 */
	size_t length, own, head;
	struct part {
		struct part_word {
			uint64_t hash;
			uint32_t at, n; /* place in the name                 */
			enum nsx_word_kind kind;
		} v[MAX_WORDS];
		unsigned n;
	/* Words from `own` on, and words before it; [1]: scopes, [0]: others. */
	} after[2], before[2];
};

/* Reads the next word. In a name that is not demangled, underscores also separate words. */
static bool kernel_label_next_part(const char **p, const char *end, bool is_demangled,
				   struct nsx_word *ret)
{
	const char *cut;

	if (!nsx_next_word(p, end, ret))
		return false;
	cut = is_demangled ? NULL : memchr(ret->p + 1, '_', ret->n - 1);
	if (cut) {
		ret->n = (uint32_t)(cut - ret->p);
		*p = cut + 1;
	}
	return true;
}

/* Reads all words of `full` from `at` to the end of the part. */
static void kernel_label_read_part(struct part to[2], const char *full, const char *at,
				   const char *end)
{
	bool is_demangled = strpbrk(full, "(<") != NULL;
	struct nsx_word word;

	while (kernel_label_next_part(&at, end, is_demangled, &word)) {
		struct part *x = &to[word.kind == NSX_W_SCOPE];

		if (x->n < MAX_WORDS)
			x->v[x->n++] = (struct part_word){
				nsx_hash(word.p, word.n),
				(uint32_t)(word.p - full), word.n, word.kind};
	}
}

static size_t end_of_last_word(const struct part *x)
{
	return x->v[x->n - 1].at + (size_t)x->v[x->n - 1].n;
}

/* Drops the words of a part that end after `end`. Returns where the last kept word ends. */
static size_t drop_words_after(struct part v[2], size_t begin, size_t end)
{
	for (unsigned scope = 0; scope < 2; scope++) {
		struct part *x = &v[scope];

		while (x->n && end_of_last_word(x) > end)
			x->n--;
		if (x->n)
			begin = NSX_MAX(begin, end_of_last_word(x));
	}
	return begin;
}

static void free_reading(struct reading *r)
{
	nsx_buf_done(&r->text[0]);
	nsx_buf_done(&r->text[1]);
}

static void read_name(struct reading *r, const struct nsx_trace *t, nsx_str name)
{
	const char *last = r->full, *own;
	bool other = last && last == r->text[0].p;
	const char *full = nsx_str_read(t->strings, name, &r->text[other]);
	size_t length = strlen(full), same = 0, from, n;

	if (last && !r->head)
		r->head = nsx_kernel_words_length(last);
	if (last)
		same = nsx_same_bytes(full, last, NSX_MIN(length, r->length));
	r->full = full;
	r->length = length;
	if (last && same >= r->head) {
		same = nsx_same_words(full, same);
		from = drop_words_after(r->after, r->own, NSX_MAX(same, 2) - 2);
	} else {
		own = nsx_base_of(full, &n);
		from = r->own = (size_t)(own - full);
		r->head = 0;
		r->after[0].n = r->after[1].n = 0;
		r->before[0].n = r->before[1].n = 0;
		kernel_label_read_part(r->before, full, full, own);
	}
	kernel_label_read_part(r->after, full, full + from, full + length);
}

/* Lists the words read: first those from the function's own name on, then those before it, then the
 * scopes in the same order. Returns their number.
 */
static uint8_t list_words(const struct reading *r, const struct part_word *ret[MAX_WORDS])
{
	const struct part *const parts[] = {&r->after[0], &r->before[0],
					    &r->after[1], &r->before[1]};
	uint8_t n = 0;

	for (unsigned i = 0; i < ARRAY_LEN(parts); i++)
		for (unsigned k = 0; k < parts[i]->n && n < MAX_WORDS; k++)
			ret[n++] = &parts[i]->v[k];
	return n;
}

/* Words of the names of one label. They are numbered by hash, because there may be a million
 * names.
 */
struct words {
	struct nsx_groups numbers;
	struct nsx_near near;
	uint32_t *v; /* words of all members, one after the other            */
	size_t n, cap;
};

static int read_words(const struct nsx_trace *t, nsx_str name, struct reading *r,
		      struct member *m, struct words *w, struct nsx_err *err)
{
	const struct part_word *word[MAX_WORDS];

	read_name(r, t, name);
	m->n = list_words(r, word);
	if (nsx_grow(&w->v, &w->cap, w->n + m->n, sizeof(*w->v), "kernel names", err))
		return err->rc;
	for (unsigned i = 0; i < m->n; i++)
		if (nsx_group_near(&w->numbers, &w->near, word[i]->hash, 0, &w->v[w->n++], err))
			return err->rc;
	return 0;
}

static int kernel_label_cmp_words(const void *a, const void *b)
{
	const struct member *x = a, *y = b;

	for (size_t i = 0; i < x->n && i < y->n; i++)
		if (x->word[i] != y->word[i])
			return x->word[i] < y->word[i] ? -1 : 1;
	return NSX_CMP(x->n, y->n);
}

/* The number of leading words that all members have in common; they share at least `at`. */
static unsigned count_common(const struct member *v, size_t n, unsigned at)
{
	unsigned common = v[0].n;

	for (size_t i = 1; i < n; i++) {
		unsigned k = at;

		while (k < common && k < v[i].n && v[i].word[k] == v[0].word[k])
			k++;
		common = k;
	}
	return common;
}

static void distinguish_by_word(struct member *m, unsigned word)
{
	m->told->word[m->ntold++] = (uint8_t)(word + 1);
}

/* Gives each member the words at which it branches from the others. v is sorted by words. */
static void distinguish_by_branches(struct member *v, size_t n, unsigned at)
{
	if (n < 2)
		return;
	at = count_common(v, n, at);
	NSX_EACH_RUN(i, next, n, v[i].n > at && v[next].word[at] == v[i].word[at]) {
		if (v[i].n <= at)
			continue;
		for (size_t k = i; k < next; k++)
			if (!v[k].is_told && v[k].ntold < NSX_MAX_TOLD)
				distinguish_by_word(&v[k], at);
		distinguish_by_branches(v + i, next - i, at + 1);
	}
}

/* Gives each member a word that no other member has, if there is one. *ret_n: the number of members
 * that got one.
 */
static int distinguish_by_one_word(struct member *v, size_t n, size_t nwords,
				   struct nsx_arena *a, size_t *ret_n, struct nsx_err *err)
{
	unsigned common = count_common(v, n, 0);
	uint32_t *members, *last; /* by word: the members that have it, the last of them + 1 */

	*ret_n = 0;
	if (nsx_new_arrays(a, nwords, "kernel names", err, members, last))
		return err->rc;
	/* Words that all members have in common need to be counted in two of them only. */
	for (uint32_t i = 0; i < n; i++)
		for (unsigned w = i < 2 ? 0 : common; w < v[i].n; w++) {
			uint32_t k = v[i].word[w];

			members[k] += last[k] != i + 1;
			last[k] = i + 1;
		}
	for (size_t i = 0; i < n; i++)
		for (unsigned w = common; w < v[i].n; w++)
			if (members[v[i].word[w]] == 1) {
				distinguish_by_word(&v[i], w);
				v[i].is_told = true;
				++*ret_n;
				break;
			}
	return 0;
}

/* Appends a word. For PyTorch's elementwise kernels this is only the way they access memory. */
static void kernel_label_add_word(struct nsx_buf *b, const char *full, const struct part_word *w)
{
	const char *p = full + w->at;
	static const char tail[] = "_elementwise_kernel";
	size_t n = w->n, ntail = sizeof(tail) - 1;

	if (n == ntail - 1 && !memcmp(p, tail + 1, n)) {
		nsx_buf_adds(b, "strided");
		return;
	}
	if (n > ntail && !memcmp(p + n - ntail, tail, ntail))
		n -= ntail;
	n = n > MAX_WORD_CHARS ? nsx_cut_chars(p, MAX_WORD_CHARS) : n;
	nsx_buf_adds(b, w->kind == NSX_W_INSTANCE ? "#" : "");
	nsx_buf_add(b, p, n);
	nsx_buf_adds(b, n == MAX_WORD_CHARS ? "…" : "");
}

/* Appends a kernel's label to b, which is empty. */
static void add_label(const struct nsx_kernel_names *k, size_t kernel, nsx_str name,
		      struct reading *r, struct nsx_buf *b)
{
	const char *label = k->v[kernel].words->label;
	const uint8_t *told = k->told[kernel].word;
	const struct part_word *word[MAX_WORDS];
	bool plain = !strpbrk(label, " <");
	size_t nlabel;

	nsx_buf_adds(b, label);
	nlabel = b->n;
	if (!*told)
		return;
	read_name(r, k->trace, name);
	list_words(r, word);
	for (unsigned i = 0; i < NSX_MAX_TOLD && told[i]; i++) {
		const struct part_word *w = word[told[i] - 1];

		if (w->kind == NSX_W_NAME && memmem(b->p, b->n, r->full + w->at, w->n))
			continue; /* already in the label */
		nsx_buf_adds(b, b->n > nlabel ? ", " : plain ? "<" : " [");
		kernel_label_add_word(b, r->full, w);
	}
	if (b->n > nlabel)
		nsx_buf_adds(b, plain ? ">" : "]");
}

/* The state of naming all kernels, in parallel. In a first pass, each task reads the words of
 * PIECE kernels. In a second one, kernels with the same label are handled together, in order of
 * their names.
 */
enum { PIECE = 1 << 14 };
struct dealt {
	struct nsx_kernel_names *k;
	nsx_str *name; /* nsx_kernel_full_names()                            */
	unsigned threads;
	size_t npieces, span; /* span: number of kernels of one task */
	struct nsx_arena **arenas; /* one for each piece, for words */
	uint64_t *label; /* for each kernel: hash of its label */
	uint32_t *order, *at; /* order: kernels grouped by label % n; at: where groups
				 begin                                       */
};

/* Distinguishes n kernels with one label, given in order of names. w: its arrays are reused. */
static int distinguish_kernels(const struct dealt *d, const uint32_t *alike, size_t n,
			       struct words *w, struct nsx_err *err)
{
	const struct nsx_trace *t = d->k->trace;
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	NSX_AT_EXIT(free_reading) struct reading r = {.full = NULL};
	struct member *v;
	size_t ntold = 0, at = 0;

	nsx_groups_done(&w->numbers);
	*w = (struct words){.v = w->v, .cap = w->cap};
	if (nsx_new_arrays(scratch, n, "kernel names", err, v))
		return err->rc;
	for (size_t i = 0; i < n; i++) {
		NSX_FETCH_TEXTS(t->strings, i, n, next, d->name[alike[next]], 0);
		v[i].told = &d->k->told[alike[i]];
		if (read_words(t, d->name[alike[i]], &r, &v[i], w, err))
			return err->rc;
	}
	for (size_t i = 0; i < n; at += v[i++].n)
		v[i].word = w->v + at;
	if (distinguish_by_one_word(v, n, w->numbers.n, scratch, &ntold, err))
		return err->rc;
	if (ntold < n) {
		nsx_sort(v, n, sizeof(*v), kernel_label_cmp_words);
		distinguish_by_branches(v, n, 0);
	}
	return 0;
}

static void number_equal_labels(const struct dealt *d, const uint32_t *alike, size_t n,
				struct nsx_arena *a)
{
	for (size_t i = 0; i < n; i++) {
		struct nsx_kernel_name *x = &d->k->v[alike[i]];
		struct nsx_kernel_words *own = nsx_arena_get(a, sizeof(*own));

		*own = *x->words;
		own->label = nsx_arena_printf(a, "%s (%zu of %zu)",
			nsx_kernel_label(d->k, d->name[alike[i]]), i + 1, n);
		x->words = own;
		d->k->told[alike[i]] = (struct nsx_told){{0}};
	}
}

static int hash_labels(void *ctx, size_t piece, struct nsx_err *err)
{
	const struct dealt *d = ctx;
	const struct nsx_kernel_names *k = d->k;
	size_t from = piece * PIECE, end = NSX_MIN(from + PIECE, k->n);
	NSX_AT_EXIT(free_reading) struct reading r = {.full = NULL};
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	for (size_t i = from; i < end; i++) {
		const struct nsx_kernel_name *x = &k->v[i];
		const struct nsx_told *told = &k->told[i];

		NSX_FETCH_TEXTS(k->trace->strings, i, end, next,
				k->told[next].word[0] ? d->name[next] : 0, 0);
		if (i > from && x->words == x[-1].words && !told->word[0] && !told[-1].word[0]) {
			d->label[i] = d->label[i - 1];
			continue;
		}
		nsx_buf_clear(&b);
		add_label(k, i, d->name[i], &r, &b);
		d->label[i] = nsx_hash(b.p, b.n);
	}
	return nsx_stopped(err);
}

NSX_ORDER_IN(cmp_dealt, uint32_t, uint64_t, UP(c[*x]), UP(*x));

static int group_equal_labels(struct dealt *d, struct nsx_err *err)
{
	const struct nsx_kernel_names *k = d->k;

	if (nsx_par(d->threads, d->npieces, hash_labels, d, err))
		return err->rc;
	memset(d->at, 0, (k->n + 2) * sizeof(*d->at));
	NSX_DEAL(d->at, d->order, k->n, k->n, i, (uint32_t)(d->label[i] % k->n));
	for (size_t g = 0; g < k->n; g++) {
		uint32_t *v = d->order + d->at[g];
		size_t n = d->at[g + 1] - d->at[g];

		for (size_t i = 1; i < n; i++)
			if (d->label[v[i]] != d->label[v[0]]) {
				nsx_sort_r(v, n, sizeof(*v), cmp_dealt, d->label);
				break;
			}
	}
	return 0;
}

static bool begins_label_group(const struct dealt *d, size_t i)
{
	return !i || d->label[d->order[i]] != d->label[d->order[i - 1]];
}

/* Distinguishes the kernels of each label whose run begins in the span. */
static int distinguish_span(void *ctx, size_t span, struct nsx_err *err)
{
	const struct dealt *d = ctx;
	size_t i = span * d->span, end = NSX_MIN(i + d->span, d->k->n), next;
	struct words w = {.v = NULL};
	int rc = 0;

	while (i < end && !begins_label_group(d, i))
		i++;
	for (; !rc && i < end; i = next) {
		for (next = i + 1; next < d->k->n && !begins_label_group(d, next);)
			next++;
		if (next - i > 1)
			rc = distinguish_kernels(d, d->order + i, next - i, &w, err);
	}
	free(w.v);
	nsx_groups_done(&w.numbers);
	return rc ? rc : nsx_stopped(err);
}

/* Distinguishes kernels with equal labels, and numbers kernels whose labels are still equal. */
static int make_labels_unique(struct dealt *d, struct nsx_arena *a, struct nsx_err *err)
{
	size_t n = d->k->n;

	/* Large spans are faster because the labels of one span share arrays; but there must be
	 * enough spans for all threads.
	 */
	d->span = NSX_MAX(n / (4 * (size_t)d->threads) + 1, (size_t)PIECE);
	if (group_equal_labels(d, err) ||
	    nsx_par(d->threads, (n + d->span - 1) / d->span, distinguish_span, d,
		    err) ||
	    group_equal_labels(d, err))
		return err->rc;
	NSX_EACH_RUN(i, next, n, !begins_label_group(d, next))
		if (next - i > 1)
			number_equal_labels(d, d->order + i, next - i, a);
	return 0;
}

/* Makes the words of a piece of the kernels. Names with the same significant prefix are adjacent
 * and share their words.
 */
static int kernel_label_read_names(void *ctx, size_t piece, struct nsx_err *err)
{
	const struct dealt *d = ctx;
	struct nsx_kernel_names *k = d->k;
	struct nsx_arena *a = d->arenas[piece];
	size_t from = piece * PIECE, end = NSX_MIN(from + PIECE, k->n);
	struct nsx_buf text[2] = {{0}};
	const char *last = NULL;
	size_t length = 0;

	for (size_t i = from; i < end; i++) {
		bool other = last && last == text[0].p;
		const char *full = nsx_str_read(k->trace->strings, d->name[i], &text[other]);
		struct nsx_kernel_words *words;

		NSX_FETCH_TEXTS(k->trace->strings, i, end, next, d->name[next], 0);
		if (last && !strncmp(full, last, length)) {
			k->v[i].words = k->v[i - 1].words;
			continue;
		}
		words = nsx_arena_get(a, sizeof(*words));
		nsx_kernel_words(full, a, words);
		k->v[i].words = words;
		last = full;
		length = nsx_kernel_words_length(full);
	}
	nsx_buf_done(&text[0]);
	nsx_buf_done(&text[1]);
	return nsx_stopped(err);
}

static int kernel_label_read_all(struct dealt *d, struct nsx_arena *a, struct nsx_err *err)
{
	int rc;

	for (size_t i = 0; i < d->npieces; i++)
		d->arenas[i] = nsx_arena_new();
	rc = nsx_par(d->threads, d->npieces, kernel_label_read_names, d, err);
	for (size_t i = 0; i < d->npieces; i++)
		nsx_arena_adopt(a, d->arenas[i]);
	return rc;
}

/* The index of a kernel by the rank of its name. */
static size_t kernel_label_index_of(const struct nsx_kernel_names *k, uint32_t rank)
{
	const struct nsx_kernel_ranks *x = &k->ranks[rank / 64];
	uint64_t below = (UINT64_C(1) << rank % 64) - 1;

	return x->before + (size_t)__builtin_popcountll(x->has & below);
}

/* Lists kernels in order of their names' ranks. */
static int kernel_label_list_kernels(struct nsx_kernel_names *k, struct nsx_arena *a,
				     struct nsx_err *err)
{
	const struct nsx_trace *t = k->trace;
	size_t n = nsx_strings_bound(t->strings) / 64 + 1;

	if (nsx_new_arrays(a, n, "kernel names", err, k->ranks) ||
	    nsx_new_arrays(a, t->nshapes, "kernel names", err, k->of_shape))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++) {
		NSX_FETCH_AHEAD(t->rank, t->shape_name, i, t->nshapes);
		uint32_t rank = k->of_shape[i] = t->rank[t->shape_name[i]];

		k->ranks[rank / 64].has |= UINT64_C(1) << rank % 64;
	}
	for (size_t i = 0; i < n; i++) {
		k->ranks[i].before = k->n;
		k->n += (size_t)__builtin_popcountll(k->ranks[i].has);
	}
	for (uint32_t i = 0; i < t->nshapes; i++)
		k->of_shape[i] = (uint32_t)kernel_label_index_of(k, k->of_shape[i]);
	return nsx_new_arrays(a, k->n, "kernel names", err, k->v, k->told);
}

int nsx_kernel_full_names(const struct nsx_kernel_names *k, struct nsx_arena *a,
			  nsx_str **ret, struct nsx_err *err)
{
	const struct nsx_trace *t = k->trace;

	if (!nsx_new_array(*ret, a, k->n, "kernel names", err))
		return err->rc;
	for (uint32_t i = 0; i < t->nshapes; i++)
		(*ret)[k->of_shape[i]] = t->shape_name[i];
	return 0;
}

int nsx_kernel_names_build(const struct nsx_trace *t, unsigned threads,
			   struct nsx_arena *a, struct nsx_kernel_names *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct dealt d = {.k = ret, .threads = threads};
	int rc;

	*ret = (struct nsx_kernel_names){
		.trace = t, .labels = nsx_alloc(1, sizeof(*ret->labels))};
	ret->labels->a = nsx_arena_new();
	pthread_mutex_init(&ret->labels->lock, NULL);
	rc = kernel_label_list_kernels(ret, a, err) ?:
	     nsx_kernel_full_names(ret, scratch, &d.name, err);
	d.npieces = (ret->n + PIECE - 1) / PIECE;
	return rc ?: nsx_new_arrays(scratch, d.npieces, "kernel names", err,
				  d.arenas) ?:
	     kernel_label_read_all(&d, a, err) ?:
	     nsx_new_arrays(scratch, ret->n + 2, "kernel names", err, d.label,
			    d.order, d.at) ?:
	     make_labels_unique(&d, a, err);
}

void nsx_kernel_names_done(struct nsx_kernel_names *k)
{
	if (!k->labels)
		return;
	pthread_mutex_destroy(&k->labels->lock);
	nsx_groups_done(&k->labels->made);
	free(k->labels->v);
	nsx_arena_free(k->labels->a);
	free(k->labels);
}

const struct nsx_kernel_name *nsx_kernel_name(const struct nsx_kernel_names *k, nsx_str name)
{
	uint32_t rank = k->trace->rank[name];

	return k->ranks[rank / 64].has >> rank % 64 & 1 ?
		       &k->v[kernel_label_index_of(k, rank)] : NULL;
}

/* The label that was already made for a name; NULL: none. */
static const char *find_made_label(struct nsx_kernel_labels *l, nsx_str name)
{
	uint32_t at;
	const char *label;

	pthread_mutex_lock(&l->lock);
	at = nsx_group_find(&l->made, name, 0);
	label = at == NSX_NONE ? NULL : l->v[at];
	pthread_mutex_unlock(&l->lock);
	return label;
}

/* Keeps a label. If there is no memory for that, the label is made again on the next request. */
static const char *keep_label(struct nsx_kernel_labels *l, nsx_str name, const char *label)
{
	struct nsx_err err;
	const char *own, **place;

	pthread_mutex_lock(&l->lock);
	place = nsx_group_value(&l->made, &l->v, name, 0, "kernel labels", &err);
	own = place && *place ? *place : nsx_arena_strdup(l->a, label);
	if (place)
		*place = own;
	pthread_mutex_unlock(&l->lock);
	return own;
}

const char *nsx_kernel_label(const struct nsx_kernel_names *k, nsx_str name)
{
	const struct nsx_kernel_name *x = nsx_kernel_name(k, name);
	bool is_told = k->told[x - k->v].word[0];
	const char *label = is_told ? find_made_label(k->labels, name) : x->words->label;
	struct reading r; /* not zeroed, because it is large and mostly unused */
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};

	if (label)
		return label;
	r.full = NULL;
	memset(r.text, 0, sizeof(r.text));
	add_label(k, (size_t)(x - k->v), name, &r, &b);
	free_reading(&r);
	return keep_label(k->labels, name, b.p);
}
