/* names.c - matches names of steps with the patterns of steps.def. */
#include <string.h>
#include "facts/steps/steps.h"

const char *const nsx_step_kinds[NSX_NSTEP_KINDS] = {
	[NSX_STEP_DECODE] = "decode", [NSX_STEP_PREFILL] = "prefill",
	[NSX_STEP_MIXED] = "mixed", [NSX_STEP_IDLE] = "idle",
	[NSX_STEP_TRAINING] = "training",
};

enum { NSX_STEP_COUNTED = NSX_NSTEP_KINDS };
static const struct {
	const char *engine;
	int kind;
	const char *pattern;
} patterns[] = {
#define NSX_STEP(engine, kind, name) {engine, NSX_STEP_##kind, name},
#include "facts/steps/steps.def"
#undef NSX_STEP
};

#define MOST_COUNTED INT32_MAX /* larger numbers are no counts */

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

/* Stores a number; false: too large. */
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

static bool fits(const char *p, const char *s, struct nsx_step_name *x)
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

bool nsx_step_name(const char *text, struct nsx_step_name *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
		struct nsx_step_name x = {.engine = patterns[i].engine,
					  .prompts = -1, .decodes = -1,
					  .requests = -1, .tokens = -1};

		if (!fits(patterns[i].pattern, text, &x))
			continue;
		x.kind = patterns[i].kind == NSX_STEP_COUNTED ?
				 count_kind(&x) :
				 (enum nsx_step_kind)patterns[i].kind;
		/* Each decode makes one token, unless the name says otherwise. */
		if (!x.tells_decoded && x.decodes >= 0 &&
		    (x.tokens >= 0 || x.prompts <= 0))
			add_count(&x.tokens, x.decodes);
		*ret = x;
		return true;
	}
	return false;
}

int64_t nsx_step_size(const struct nsx_step_name *name)
{
	if (name->kind == NSX_STEP_PREFILL || name->kind == NSX_STEP_MIXED)
		return name->tokens >= 0 ? name->tokens : name->requests;
	return name->kind == NSX_STEP_DECODE ? name->decodes : -1;
}
