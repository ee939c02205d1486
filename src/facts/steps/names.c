/* names.c - matches names of steps with the patterns of steps.def. */
#include "base/jsonread.h"
#include "base/open.h"
#include "facts/steps/steps.h"

const char *const nsx_step_kinds[NSX_NSTEP_KINDS] = {
	[NSX_STEP_DECODE] = "decode", [NSX_STEP_PREFILL] = "prefill",
	[NSX_STEP_MIXED] = "mixed", [NSX_STEP_IDLE] = "idle",
	[NSX_STEP_TRAINING] = "training",
};

enum { NSX_STEP_COUNTED = NSX_NSTEP_KINDS };
struct pattern {
	const char *engine;
	int kind;
	const char *pattern;
};
static const struct pattern patterns[] = {
#define NSX_STEP(engine, kind, name) {engine, NSX_STEP_##kind, name},
#include "facts/steps/steps.def"
#undef NSX_STEP
};

#define MOST_COUNTED INT32_MAX /* greater numbers in a name are no counts */

static const char *read_number(const char *s, int64_t *ret)
{
	*ret = 0;
	for (; *s >= '0' && *s <= '9'; s++)
		if (*ret <= MOST_COUNTED)
			*ret = *ret * 10 + (*s - '0');
	return s;
}

static void add_count(int64_t *count, int64_t n)
{
	*count = *count < 0 ? n : *count + n;
}

/* Stores a number of a name by its field ('p' for %p); false: it is too large. */
static bool take_field(struct nsx_step_name *x, char field, int64_t n)
{
	if (field == 'n')
		return true;
	if (n > MOST_COUNTED)
		return false;
	if (field == 'p')
		add_count(&x->prompts, n);
	if (field == 'd')
		add_count(&x->decodes, n);
	if (strchr("Dt", field))
		x->tells_decoded = true;
	add_count(strchr("pdr", field) ? &x->requests : &x->tokens, n);
	return true;
}

static bool names_fits(const char *p, const char *s, struct nsx_step_name *x)
{
	for (; *p; p++) {
		int64_t number;
		const char *after;

		if (*p == '*')
			return true;
		if (*p != '%') {
			if (*p != *s++)
				return false;
			continue;
		}
		after = read_number(s, &number);
		if (after == s || !take_field(x, *++p, number))
			return false;
		s = after;
	}
	return !*s;
}

static enum nsx_step_kind count_kind(const struct nsx_step_name *x)
{
	if (x->prompts > 0)
		return x->decodes > 0 ? NSX_STEP_MIXED : NSX_STEP_PREFILL;
	return x->decodes > 0 ? NSX_STEP_DECODE : NSX_STEP_IDLE;
}

static bool names_is_named(const struct pattern *p, const char *text, struct nsx_step_name *ret)
{
	struct nsx_step_name x = {.engine = p->engine, .prompts = -1, .decodes = -1,
				  .requests = -1, .tokens = -1};

	if (!names_fits(p->pattern, text, &x))
		return false;
	x.kind = p->kind == NSX_STEP_COUNTED ? count_kind(&x) : (enum nsx_step_kind)p->kind;
	/* Each decode makes one token, unless the name says otherwise. */
	if (!x.tells_decoded && x.decodes >= 0 && (x.tokens >= 0 || x.prompts <= 0))
		add_count(&x.tokens, x.decodes);
	*ret = x;
	return true;
}

/* The user's own patterns ----------------------------------------------------------- */

enum { MOST_BYTES = 1 << 20 };

struct nsx_step_patterns {
	struct pattern *v;
	size_t n, cap;
	struct nsx_arena *arena; /* owner of the texts                       */
	const char *path;
};

static int add_own(void *ctx, const char *key, const char *text, size_t at NSX_UNUSED,
		   struct nsx_err *err)
{
	struct nsx_step_patterns *p = ctx;
	int kind = 0;

	while (kind < NSX_NSTEP_KINDS && strcmp(key, nsx_step_kinds[kind]) != 0)
		kind++;
	if (kind == NSX_NSTEP_KINDS && strcmp(key, "counted") != 0)
		return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': '%s' is no kind of step; "
				"these are decode, prefill, mixed, idle, training and "
				"counted", p->path, key);
	for (const char *c = text ? strchr(text, '%') : NULL; c; c = strchr(c + 1, '%'))
		if (!c[1] || !strchr("pdrPDtn", c[1]))
			return nsx_fail(err, NSX_E_USAGE, "cannot use '%s': in '%s' a %% "
					"must stand before one of p, d, r, P, D, t and n",
					p->path, text);
	return text ? nsx_push(p->v, p->n, p->cap, "patterns", err, (struct pattern){
			       "own", kind, nsx_arena_strdup(p->arena, text)}) : 0;
}

int nsx_step_patterns_read(const char *path, struct nsx_step_patterns **ret, struct nsx_err *err)
{
	struct nsx_step_patterns *p;
	NSX_AT_EXIT(nsx_free_at) char *text = NULL;
	size_t n;
	int rc = nsx_read_named(path, "the patterns", MOST_BYTES, &text, &n, err);

	if (!rc) {
		p = nsx_alloc(1, sizeof(*p));
		*p = (struct nsx_step_patterns){.arena = nsx_arena_new(), .path = path};
		rc = nsx_json_each_string(text, n, path, add_own, p, err);
		if (rc)
			nsx_step_patterns_free(p);
		else
			*ret = p;
	}
	return rc;
}

void nsx_step_patterns_free(struct nsx_step_patterns *p)
{
	if (!p)
		return;
	nsx_arena_free(p->arena);
	free(p->v);
	free(p);
}

bool nsx_step_name(const struct nsx_step_patterns *own, const char *text, struct nsx_step_name *ret)
{
	for (size_t i = 0; own && i < own->n; i++)
		if (names_is_named(&own->v[i], text, ret))
			return true;
	return NSX_ANY(i, ARRAY_LEN(patterns), names_is_named(&patterns[i], text, ret));
}

int64_t nsx_step_size(const struct nsx_step_name *name)
{
	if (name->kind == NSX_STEP_PREFILL || name->kind == NSX_STEP_MIXED)
		return name->tokens >= 0 ? name->tokens : name->requests;
	if (name->kind != NSX_STEP_DECODE)
		return -1;
	return name->decodes >= 0 ? name->decodes : name->requests;
}
