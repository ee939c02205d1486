/* python.c - Python stacks, which nsys records as NVTX marks with JSON:
 *
 *	{"Source": "Periodic sampling", "Frames": [{"Function": "collate_fn",
 *	 "File": "/app/data.py", "Line": 88}, ...]}	innermost first
 */
#include "trace/load.h"

enum { MOST_SHOWN = 8 }; /* most frames of a stack that are shown */

struct text {
	const char *p;
	size_t n;
};

/* Finds the value after a key, up to the character that ends it, and moves json past the value. */
static bool find_json_value(struct text *json, const char *key, char end, struct text *ret)
{
	const char *at = memmem(json->p, json->n, key, strlen(key));
	const char *last = json->p + json->n, *to;

	if (!at)
		return false;
	at += strlen(key);
	for (to = at; to < last && *to != end; to++)
		to += *to == '\\' && to + 1 < last;
	*ret = (struct text){at, (size_t)(to - at)};
	*json = (struct text){to, (size_t)(last - to)};
	return to < last;
}

/* Appends a text, decoding HTML entities: nsys writes Python's "<module>" with them. */
static void python_add_plain(struct nsx_buf *b, struct text s)
{
	static const struct {
		const char *from, to;
	} marks[] = {{"&lt;", '<'}, {"&gt;", '>'}, {"&amp;", '&'}};

	for (size_t i = 0; i < s.n;) {
		unsigned k = 0;

		while (k < ARRAY_LEN(marks) &&
		       (s.n - i < strlen(marks[k].from) ||
			memcmp(s.p + i, marks[k].from, strlen(marks[k].from)) != 0))
			k++;
		nsx_buf_add(b, k < ARRAY_LEN(marks) ? &marks[k].to : s.p + i, 1);
		i += k < ARRAY_LEN(marks) ? strlen(marks[k].from) : 1;
	}
}

static enum nsx_origin python_origin_of(struct text file)
{
	static const char *const of_libraries[] = {"/site-packages/", "/dist-packages/",
						   "/lib/python", "\\Lib\\"};

	if (file.n && (*file.p == '&' || *file.p == '<'))
		return NSX_ORIGIN_SYSTEM; /* "<frozen importlib>" */
	for (unsigned i = 0; i < ARRAY_LEN(of_libraries); i++)
		if (memmem(file.p, file.n, of_libraries[i], strlen(of_libraries[i])))
			return NSX_ORIGIN_LIBRARY;
	return NSX_ORIGIN_PROGRAM;
}

/* Appends "collate_fn (data.py:88)". */
static void python_add_frame(struct nsx_buf *b, struct text function, struct text file,
			     struct text line)
{
	const char *slash = memrchr(file.p, '/', file.n);

	if (slash)
		file = (struct text){slash + 1,
				     file.n - (size_t)(slash + 1 - file.p)};
	python_add_plain(b, function);
	nsx_buf_adds(b, " (");
	python_add_plain(b, file);
	nsx_buf_printf(b, ":%.*s)", (int)strspn(line.p, "0123456789"), line.p);
}

/* Builds the text of a stack and its site; false: no frames. */
static bool read_frames(struct text json, struct nsx_buf *stack, struct nsx_buf *site)
{
	enum nsx_origin least = NSX_NORIGINS;
	struct text function, file, line;
	unsigned n = 0;

	while (find_json_value(&json, "\"Function\": \"", '"', &function) &&
	       find_json_value(&json, "\"File\": \"", '"', &file) &&
	       find_json_value(&json, "\"Line\": ", '}', &line)) {
		if (n++ < MOST_SHOWN) {
			nsx_buf_adds(stack, n > 1 ? " < " : "");
			python_add_frame(stack, function, file, line);
		}
		if (python_origin_of(file) < least) {
			least = python_origin_of(file);
			nsx_buf_clear(site);
			python_add_frame(site, function, file, line);
		}
	}
	if (n > MOST_SHOWN)
		nsx_buf_adds(stack, " < ...");
	return n;
}

static int read_python_stack(struct nsx_loader *l, struct text json, struct nsx_python_stack *ret,
			     struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf stack = {0}, site = {0};

	return !read_frames(json, &stack, &site) ? 0 :
	       nsx_strings_add(l->strings, site.p, site.n, &ret->site, err) ?:
	       nsx_strings_add(l->strings, stack.p, stack.n, &ret->text, err);
}

int nsx_keep_python(struct nsx_loader *l, const struct nsx_val *json,
		    uint64_t global_tid, int64_t at_ns, struct nsx_err *err)
{
	struct text text = {json->u.p, json->len};
	struct nsx_python_stack *known;
	int rc;

	if (json->type != NSX_V_TEXT || !memmem(text.p, text.n, "\"Frames\"", 8))
		return 0;
	pthread_mutex_lock(&l->lock);
	known = nsx_group_value(&l->python_texts, &l->python_known, nsx_hash(text.p, text.n),
				text.n, "stacks of Python", err);
	rc = !known ? err->rc : known->text ? 0 : read_python_stack(l, text, known, err);
	if (!rc && known->text)
		rc = nsx_push(l->python, l->npython, l->cap_python, "stacks of Python", err,
			      (struct nsx_python_stack){global_tid, at_ns, known->site,
							known->text});
	pthread_mutex_unlock(&l->lock);
	return rc;
}

/* Functions ------------------------------------------------------------------------*/

struct function {
	size_t n; /* occurrences of its most frequent line                   */
	nsx_str site; /* the site with the most frequent line                */
};
struct functions { /* the functions of sites, without line numbers           */
	struct nsx_groups names, lines; /* lines: (function, site)           */
	struct function *v; /* one for each id in names */
	size_t *seen; /* for each id in lines: number of stacks */
	uint32_t *of; /* for each stack: its function */
};

static int count_site_line(struct nsx_loader *l, struct functions *f, size_t i, struct nsx_err *err)
{
	nsx_str site = l->python[i].site, name;
	const char *text = nsx_strings_text(l->strings, site);
	struct function *of;
	size_t *seen;

	if (nsx_strings_add(l->strings, text, (size_t)(strrchr(text, ':') - text), &name, err))
		return err->rc;
	of = nsx_group_value(&f->names, &f->v, 0, name, "functions of Python", err);
	if (!of)
		return err->rc;
	f->of[i] = (uint32_t)(of - f->v);
	seen = nsx_group_value(&f->lines, &f->seen, f->of[i], site, "lines of Python", err);
	if (!seen)
		return err->rc;
	if (++*seen > of->n)
		*of = (struct function){*seen, site};
	return 0;
}

/* Makes one site per function, with its most frequent line; among equally frequent lines, the
 * first.
 */
static int name_sites(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_keycache cache = {0};
	struct functions f = {0};
	int rc = 0;

	if (!nsx_new_array(f.of, l->t->arena, l->npython, "stacks of Python", err))
		return err->rc;
	for (size_t i = 0; !rc && i < l->npython; i++)
		rc = count_site_line(l, &f, i, err);
	for (size_t i = 0; !rc && i < l->npython; i++) {
		struct nsx_key key = {{f.v[f.of[i]].site, 0, NSX_ORIGIN_PROGRAM}};

		rc = nsx_keymap_add(&l->frames_map, &cache, &key, &l->python[i].site, err);
	}
	nsx_groups_done(&f.names);
	nsx_groups_done(&f.lines);
	free(f.v);
	free(f.seen);
	return rc;
}

NSX_ORDER_IN(cmp_stacks, struct nsx_python_stack, struct nsx_strings, UP(x->global_tid),
	     UP(x->at_ns), BY(nsx_str_cmp(c, x->text, y->text)));

int nsx_publish_python(struct nsx_loader *l, struct nsx_err *err)
{
	struct nsx_trace *t = l->t;
	struct nsx_python_stack *v;

	nsx_sort_r(l->python, l->npython, sizeof(*l->python), cmp_stacks, l->strings);
	if (!nsx_new_array(v, t->arena, l->npython, "stacks of Python", err) || name_sites(l, err))
		return err->rc;
	if (l->npython)
		memcpy(v, l->python, l->npython * sizeof(*v));
	t->python = v;
	t->npython = l->npython;
	return 0;
}

struct nsx_python_slice nsx_python_of(const struct nsx_trace *t, uint64_t tid, struct nsx_span in)
{
	const struct nsx_python_stack *v = t->python;
	size_t at = NSX_SEARCH((size_t)0, t->npython, i, v[i].global_tid < tid ||
			       (v[i].global_tid == tid && v[i].at_ns < in.start_ns));
	size_t end = NSX_SEARCH(at, t->npython, i, v[i].global_tid == tid &&
				v[i].at_ns < in.end_ns);

	return (struct nsx_python_slice){v + at, end - at};
}

const struct nsx_python_stack *nsx_python_most(const struct nsx_trace *t, uint32_t thread,
					       struct nsx_span in)
{
	struct nsx_python_slice s = nsx_python_of(t, t->thread[thread].global_tid, in);
	const struct nsx_python_stack *most = NULL;
	size_t votes = 0, of_most = 0;

	/* Majority vote: if pairs of different sites cancel out, a site with more than half
	 * remains.
	 */
	for (size_t i = 0; i < s.n; i++) {
		most = votes ? most : &s.v[i];
		votes += s.v[i].site == most->site ? 1 : (size_t)-1;
	}
	for (size_t i = 0; i < s.n; i++)
		of_most += s.v[i].site == most->site;
	return 2 * of_most > s.n ? most : NULL;
}
