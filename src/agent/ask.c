/* ask.c - shared by all answers. */
#include "agent/ask.h"
#include "report/words.h"

struct nsx_answer *nsx_answer_new(const struct nsx_report *r, size_t limit)
{
	static const struct nsx_pass answer = {.id = "answer"};
	struct nsx_arena *arena = nsx_arena_new();
	struct nsx_answer *a = nsx_arena_get(arena, sizeof(*a));

	a->r = r;
	a->limit = limit ? limit : NSX_ASK_ROWS;
	if (r)
		a->window = nsx_judged(r->facts);
	a->confidence = NSX_CONF_HIGH;
	a->out = nsx_arena_get(arena, sizeof(*a->out));
	a->out->pass = &answer;
	a->out->arena = arena;
	return a;
}

int nsx_answer_end(struct nsx_answer *a, int rc, struct nsx_answer **ret, struct nsx_err *err)
{
	if (!rc)
		rc = nsx_section_whole(a->out, err);
	if (rc)
		nsx_answer_free(a);
	else
		*ret = a;
	return rc;
}

void nsx_answer_free(struct nsx_answer *a)
{
	if (a)
		nsx_section_done(a->out); /* this also frees a, which lies in the section's arena */
}

void nsx_answer_next(struct nsx_answer *a, enum nsx_question_id question,
		     const char *argument, const char *why)
{
	if (a->nnext < NSX_MAX_NEXT)
		a->next[a->nnext++] = (struct nsx_next){question, argument, why,
							  NULL};
}

const char *nsx_answer_at(struct nsx_answer *a, int64_t ns)
{
	return nsx_text_instant(a->out->arena, ns, 6);
}

const char *nsx_answer_when(const struct nsx_answer *a)
{
	const struct nsx_window *w = &a->window;

	if (w->start_ns >= w->end_ns)
		return NULL;
	return w->end_ns - w->start_ns == 1 ?
		       nsx_say(a->out, "at %s",
			       nsx_text_instant(a->out->arena, w->start_ns, 9)) :
		       nsx_say(a->out, "window %s", nsx_text_window(a->out->arena, w));
}

const char *nsx_answer_exactly(struct nsx_answer *a, int64_t ns)
{
	return nsx_text_instant(a->out->arena, ns, 9);
}

/* Fails for a time outside the recording, because its answer would be empty. */
static int check_recorded(const struct nsx_answer *a, const struct nsx_window *w,
			  struct nsx_err *err)
{
	const struct nsx_trace *t = a->r->trace;

	return w->start_ns > t->last_ns || w->end_ns < t->first_ns ?
		       nsx_fail_beyond(t, a->argument, err) : 0;
}

int nsx_answer_instant(const struct nsx_answer *a, int64_t *ret, struct nsx_err *err)
{
	if (!nsx_instant_parse(a->argument, a->r->trace->first_ns, ret))
		return nsx_fail(err, NSX_E_USAGE, "cannot read the instant '%s': give it as the "
				"report prints it (60.331s), in seconds from the first event "
				"(1.5), or in the trace's nanoseconds (5ns)", a->argument);
	return check_recorded(a, &(struct nsx_window){*ret, *ret + 1}, err);
}

int nsx_answer_window(const struct nsx_answer *a, struct nsx_window *ret, struct nsx_err *err)
{
	return nsx_named_window(a->r->facts, a->r->trace, a->argument, ret, err) ?: check_recorded(a, ret, err);
}

const char *nsx_answer_op(struct nsx_answer *a, size_t op)
{
	const struct nsx_trace *t = a->r->trace;

	switch (t->ops.kind[op]) {
	case NSX_OP_KERNEL:
		return nsx_kernel_label(&a->r->facts->kernels, nsx_op_name(t, op));
	case NSX_OP_MEMCPY:
		return nsx_say(a->out, "copy %s", nsx_copy_direction(
			nsx_op_copy(t, op)->copy_kind));
	case NSX_OP_MEMSET:
		return "memset";
	default:
		return "graph replay";
	}
}

void nsx_answer_show(struct nsx_answer *a, const struct nsx_table *t)
{
	nsx_md_table_of(a->out, t, a->limit, NULL, NSX_MIN(t->layout->ncols, 32u));
}
