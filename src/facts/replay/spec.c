/* spec.c - reads changes in the user's syntax. */
#include <ctype.h>
#include <math.h>
#include "base/regex.h"
#include "facts/facts.h"
#include "facts/replay/spec.h"

#define HELP                                                                  \
	"; give VERB:OBJECT[:AMOUNT][@nvtx:RANGE], as no:cudaMalloc, "        \
	"kernel:/gemm/:2x, host:inf or comm:hidden"

/* The rest of the text, which is read part by part. */
struct reader {
	const char *text, *at;
	struct nsx_arena *a;
	struct nsx_err *err;
};

/* The next part, up to a colon; NULL: the end. A pattern between slashes may contain colons.
 * *ret_pattern: the part is a pattern; NULL: patterns are not allowed here.
 */
static const char *spec_next_part(struct reader *r, bool *ret_pattern)
{
	const char *from = r->at, *end;

	if (ret_pattern)
		*ret_pattern = false;
	if (!*from)
		return NULL;
	if (*from == '/') {
		for (end = strchr(from + 1, '/');
		     end && end[1] && end[1] != ':'; end = strchr(end + 1, '/'))
			;
		if (end) {
			if (ret_pattern)
				*ret_pattern = true;
			r->at = end[1] ? end + 2 : end + 1;
			return nsx_arena_strndup(r->a, from + 1, (size_t)(end - from - 1));
		}
	}
	end = from + strcspn(from, ":");
	r->at = *end ? end + 1 : end;
	return nsx_arena_strndup(r->a, from, (size_t)(end - from));
}

/* The next part as a name, which may contain colons ("at::native"). It ends at the end of the text,
 * or with has_amount before the last part.
 */
static const char *name_part(struct reader *r, bool *ret_pattern, bool has_amount)
{
	const char *from = r->at, *end;

	if (*from == '/')
		return spec_next_part(r, ret_pattern);
	if (ret_pattern)
		*ret_pattern = false;
	end = has_amount ? strrchr(from, ':') : NULL;
	if (!end)
		end = from + strlen(from);
	if (end == from)
		return NULL;
	r->at = *end ? end + 1 : end;
	return nsx_arena_strndup(r->a, from, (size_t)(end - from));
}

static int spec_usage_error(struct reader *r, const char *why)
{
	return nsx_fail(r->err, NSX_E_USAGE, "cannot read the what-if '%s': %s%s", r->text, why,
			HELP);
}

/* Reads "1.5x", "2" or "inf". */
static int read_amount(struct reader *r, const char *s, double *ret)
{
	char *end;

	if (!s)
		return spec_usage_error(r, "it needs an amount like 2x or inf");
	if (!strcmp(s, "inf")) {
		*ret = INFINITY;
		return 0;
	}
	*ret = strtod(s, &end);
	if (end == s || !isdigit((unsigned char)*s) ||
	    (*end && strcmp(end, "x")) || !(*ret > 0) || !isfinite(*ret))
		return spec_usage_error(r, "an amount is a number of times like 2x, or inf");
	return 0;
}

/* Forms ---------------------------------------------------------------------------*/

/* The verb that removes an API's effect: NSX_NO_WAIT if its calls wait, according to the name. */
static enum nsx_change_verb verb_that_removes(const char *api)
{
	uint8_t flags = 0;

	if (strstr(api, "StreamWaitEvent"))
		return NSX_UNTIE;
	switch (nsx_classify_call(api, &flags)) {
	case NSX_CALL_SYNC:
	case NSX_CALL_COPY:
	case NSX_CALL_COPY_ASYNC:
		return NSX_NO_WAIT;
	case NSX_CALL_IMPLICIT_SYNC:
		return flags & NSX_CALL_MALLOC ? NSX_NO_COST : NSX_NO_WAIT;
	default:
		return NSX_NO_COST;
	}
}

/* The parts that follow the words of a form. */
enum { NAME = 1, DIRECTION = 2, AMOUNT = 4, RANK = 8 };

static const struct form {
	const char *words; /* words of the form, with the colons between them */
	struct nsx_change change;
	unsigned takes;
	enum nsx_spec_kind kind;
	const char *lacks; /* the error if no name follows; in a form that takes no NAME the error
			      for these words, which are never valid; NULL: none */
	bool is_whole; /* the form fits only if nothing follows its words    */
} forms[] = {
	{"no:preempt", {.verb = NSX_NO_PREEMPTION}, .is_whole = true},
	{"no:profiler", {.verb = NSX_NO_PROFILER}, .is_whole = true},
	{"no:lock", {.verb = NSX_NO_OS_WAIT, .is_pattern = true,
		     .name = "mutex|rwlock|cond_|sem_|futex"}, .is_whole = true},
	{"no", {.verb = NSX_NO_WAIT}, NAME, .kind = NSX_SPEC_API,
	 .lacks = "it does not say which calls"},
	{"async:copies", {.verb = NSX_ASYNC_COPY, .op = NSX_ON_COPIES}, .takes = DIRECTION},
	{"async", .lacks = "only copies can be async or overlap"},
	{"overlap:copies", {.verb = NSX_OVERLAP, .op = NSX_ON_COPIES}, .takes = DIRECTION},
	{"overlap", .lacks = "only copies can be async or overlap"},
	{"copies", {.verb = NSX_FASTER, .op = NSX_ON_COPIES}, .takes = DIRECTION | AMOUNT},
	{"kernel", {.verb = NSX_FASTER, .op = NSX_ON_KERNELS}, NAME | AMOUNT,
	 .kind = NSX_SPEC_KERNEL, .lacks = "it does not say which kernels"},
	{"family", {.verb = NSX_FASTER, .op = NSX_ON_KERNELS}, NAME | AMOUNT,
	 .kind = NSX_SPEC_FAMILY, .lacks = "it does not say which kernels"},
	{"host:inf", {.verb = NSX_INSTANT_HOST, .amount = INFINITY}, .takes = 0},
	{"host", {.verb = NSX_FASTER_HOST}, .takes = AMOUNT},
	{"launch", {.verb = NSX_FASTER_LAUNCH}, .takes = AMOUNT},
	{"drop:memset", {.verb = NSX_DROP, .op = NSX_ON_MEMSETS}, .takes = 0},
	{"drop:copies", {.verb = NSX_DROP, .op = NSX_ON_COPIES}, .takes = DIRECTION},
	{"drop:kernel", {.verb = NSX_DROP, .op = NSX_ON_KERNELS}, NAME, .kind = NSX_SPEC_KERNEL,
	 .lacks = "it does not say which kernel"},
	{"drop:range", {.verb = NSX_DROP_RANGE}, NAME, .kind = NSX_SPEC_RANGE,
	 .lacks = "it does not say which range"},
	{"drop", .lacks = "memset, copies, kernel:NAME and range:NAME can be dropped"},
	{"comm:hidden", {.verb = NSX_HIDE_COMM}, .takes = 0},
	{"comm", {.verb = NSX_FASTER_COMM}, .takes = AMOUNT},
	{"rank", {.verb = NSX_EVEN_RANK}, RANK, .kind = NSX_SPEC_RANK},
};

/* Reads the name of what the form changes. */
static int spec_read_name(struct reader *r, const struct form *f, struct nsx_spec *s)
{
	struct nsx_change *c = &s->change;
	bool can_match = f->kind == NSX_SPEC_API || f->kind == NSX_SPEC_KERNEL;
	const char *name = name_part(r, can_match ? &c->is_pattern : NULL, f->takes & AMOUNT);

	if (!name)
		return spec_usage_error(r, f->lacks);
	*(can_match ? &c->name : f->kind == NSX_SPEC_FAMILY ? &c->family : &c->range) = name;
	if (f->kind == NSX_SPEC_API && !c->is_pattern)
		c->verb = verb_that_removes(name);
	return 0;
}

/* Reads the direction of copies, if there is one. */
static int read_direction(struct reader *r, uint8_t *ret)
{
	const char *from = r->at, *s = spec_next_part(r, NULL);

	if (!s || !isalpha((unsigned char)*s) || !strcmp(s, "inf")) {
		r->at = from;
		return 0;
	}
	for (unsigned k = 1; k <= 13; k++)
		if (!strcasecmp(s, nsx_copy_direction(k))) {
			*ret = (uint8_t)k;
			return 0;
		}
	return spec_usage_error(r, "a direction of copies is HtoD, DtoH, DtoD, PtoP or the like");
}

static int read_rank(struct reader *r, struct nsx_spec *s)
{
	const char *number = spec_next_part(r, NULL), *even;
	char *end;

	s->is_pid = number && !strcmp(number, "pid");
	number = s->is_pid ? spec_next_part(r, NULL) : number;
	even = spec_next_part(r, NULL);
	if (!number || !even || strcmp(even, "even"))
		return spec_usage_error(r, "of a rank it can be asked to be even, as rank:1:even");
	s->rank = (uint32_t)strtoul(number, &end, 10);
	return end == number || *end ? spec_usage_error(r, "a rank is a number") : 0;
}

static int read_change(struct reader *r, struct nsx_spec *s)
{
	const struct form *f = forms, *end = forms + ARRAY_LEN(forms);
	size_t n = 0;

	if (!*r->at)
		return spec_usage_error(r, "it is empty");
	for (; f < end; f++) {
		n = strlen(f->words);
		if (!strncmp(r->at, f->words, n) && (!r->at[n] || (r->at[n] == ':' && !f->is_whole)))
			break;
	}
	if (f == end)
		return spec_usage_error(r, "its verb is none of no, async, overlap, copies, "
				   "kernel, family, host, launch, drop, comm and rank");
	r->at += n + (r->at[n] == ':');
	*s = (struct nsx_spec){.change = f->change, .kind = f->kind};
	if (f->lacks && !(f->takes & NAME))
		return spec_usage_error(r, f->lacks);
	if (((f->takes & NAME) && spec_read_name(r, f, s)) ||
	    ((f->takes & DIRECTION) && read_direction(r, &s->change.copy_kind)) ||
	    ((f->takes & AMOUNT) && read_amount(r, spec_next_part(r, NULL), &s->change.amount)) ||
	    ((f->takes & RANK) && read_rank(r, s)))
		return r->err->rc;
	return *r->at ? spec_usage_error(r, "there is more than it can mean") : 0;
}

static int check_pattern(struct reader *r, const struct nsx_change *c)
{
	struct nsx_regex *regex;

	if (!c->is_pattern)
		return 0;
	if (nsx_regex_new(c->name, &regex, r->err))
		return nsx_wrap(r->err, "cannot use the pattern of the what-if '%s'", r->text);
	nsx_regex_free(regex);
	return 0;
}

int nsx_spec_parse(const char *text, struct nsx_arena *a, struct nsx_spec *ret, struct nsx_err *err)
{
	const char *where = strstr(text, "@nvtx:");
	size_t n = where ? (size_t)(where - text) : strlen(text);
	struct reader r = {text, nsx_arena_strndup(a, text, n), a, err};

	if (read_change(&r, ret) || check_pattern(&r, &ret->change))
		return err->rc;
	if (!where)
		return 0;
	if (ret->change.range || !where[6])
		return spec_usage_error(&r, "it does not say which range");
	ret->change.range = nsx_arena_strdup(a, where + 6);
	return 0;
}

/* Names of the trace ----------------------------------------------------------------*/

enum { NEAREST = 3 };

struct nearest { /* the names of the trace that are most similar to `asked` */
	const char *asked;
	const char *name[NEAREST];
	size_t edits[NEAREST];
	unsigned n;
	bool found;
};

static void consider_name(struct nearest *x, const char *name)
{
	size_t edits = strcasestr(name, x->asked) ? 0 : nsx_edits(x->asked, strlen(x->asked), name);
	unsigned k;

	if (!strcmp(name, x->asked)) {
		x->found = true;
		return;
	}
	for (k = 0; k < x->n; k++)
		if (!strcmp(x->name[k], name))
			return;
	for (k = x->n; k && (edits < x->edits[k - 1] ||
			     (edits == x->edits[k - 1] &&
			      strcmp(name, x->name[k - 1]) < 0)); k--)
		if (k < NEAREST) {
			x->name[k] = x->name[k - 1];
			x->edits[k] = x->edits[k - 1];
		}
	if (k == NEAREST)
		return;
	x->name[k] = name;
	x->edits[k] = edits;
	if (x->n < NEAREST)
		x->n++;
}

/* Considers each of n names once. name NULL: those of calls, without their versions. */
static void consider_names(struct nearest *x, const struct nsx_trace *t, const nsx_str *name,
			   size_t n, struct nsx_arena *a)
{
	bool *seen = nsx_arena_get(a, nsx_strings_bound(t->strings));
	char buf[256];

	for (size_t i = 0; i < n; i++) {
		nsx_str id = name ? name[i] : nsx_call_name(&t->calls, i);
		const char *text = nsx_text(t, id);

		if (!seen[id])
			consider_name(x, name ? text : nsx_arena_strdup(
						a, nsx_api_base(text, buf, sizeof(buf))));
		seen[id] = true;
	}
}

static const char *say_nearest_names(const struct nearest *x, const char *what, struct nsx_arena *a)
{
	struct nsx_buf b = {0};

	if (x->found)
		return NULL;
	nsx_buf_printf(&b, "the trace has no %s '%s'", what, x->asked);
	for (unsigned k = 0; k < x->n; k++)
		nsx_buf_printf(&b, "%s'%s'", k ? ", " : "; the nearest: ", x->name[k]);
	return nsx_buf_keep(&b, a);
}

static const char *spec_find_range(const char *range, const struct nsx_trace *t,
				   struct nsx_arena *a)
{
	struct nearest x = {.asked = range};

	consider_names(&x, t, t->nvtx.name, t->nvtx.n, a);
	return say_nearest_names(&x, "NVTX range", a);
}

/* Finds a rank by its number, or a process with one GPU. */
static const char *spec_find_rank(struct nsx_spec *s, const struct nsx_trace *t,
				  struct nsx_arena *a)
{
	uint32_t n = 0, nfound = 0, process = NSX_NONE, device = NSX_NONE;

	for (uint32_t i = 0; i < t->nstreams; i++) {
		const struct nsx_stream *x = &t->stream[i];

		if (x->process == process && x->device == device)
			continue;
		process = x->process;
		device = x->device;
		if (s->is_pid ? process != NSX_NONE &&
					t->process[process].pid == s->rank :
				n == s->rank) {
			s->change.process = process;
			s->change.device = device;
			nfound++;
		}
		n++;
	}
	if (nfound == 1 && n > 1)
		return NULL;
	return nsx_arena_printf(a, "the trace has no rank %s%u: it has %u, one for each GPU of a "
				"process, counted from 0; that of a process with one GPU can be "
				"named as pid:PID, too", s->is_pid ? "pid:" : "", s->rank, n);
}

const char *nsx_spec_resolve(struct nsx_spec *s, const struct nsx_trace *t,
			     const struct nsx_facts *f, struct nsx_arena *a)
{
	struct nsx_change *c = &s->change;
	struct nearest x = {.asked = c->name ? c->name : c->family};

	if (s->kind != NSX_SPEC_RANGE && c->range) {
		const char *wrong = spec_find_range(c->range, t, a);

		if (wrong)
			return wrong;
	}
	if (c->is_pattern)
		return NULL;
	switch (s->kind) {
	case NSX_SPEC_API:
		consider_names(&x, t, NULL, t->calls.n, a);
		if (!x.found) {
			consider_names(&x, t, t->osrt.name, t->osrt.n, a);
			c->verb = x.found ? NSX_NO_OS_WAIT : c->verb;
		}
		return say_nearest_names(&x, "call", a);
	case NSX_SPEC_KERNEL:
		for (uint32_t i = 0; i < t->nshapes; i++) {
			consider_name(&x, nsx_text(t, t->shape[i].base_name));
			x.found |= !strcmp(c->name, nsx_text(t, t->shape_name[i]));
		}
		return say_nearest_names(&x, "kernel", a);
	case NSX_SPEC_FAMILY:
		for (size_t i = 0; i < f->kernels.n; i++)
			consider_name(&x, f->kernels.v[i].words->family);
		return say_nearest_names(&x, "family of kernels", a);
	case NSX_SPEC_RANGE:
		return spec_find_range(c->range, t, a);
	case NSX_SPEC_RANK:
		return spec_find_rank(s, t, a);
	default:
		return NULL;
	}
}
