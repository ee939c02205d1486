/* sites.c - the place in the program where most of a time comes from. */
#include "detect/detect.h"
#include "detect/words.h"

const char *nsx_frame_words(struct nsx_detect *d, uint32_t frame)
{
	const struct nsx_trace *t = d->trace;
	const struct nsx_frame *f = &t->frame[frame];
	const char *module = f->module ? nsx_tell_name(d->found, nsx_text(t, f->module)) : NULL;
	const char *function = f->function ?
		nsx_tell_name(d->found, nsx_text(t, f->function)) : NULL;

	if (function && module)
		return nsx_tell(d->found, "%s in %s", function, module);
	return function ? function : module;
}

struct nsx_votes {
	struct nsx_groups keys; /* (group, frame)                            */
	int64_t *weight;
};

struct nsx_votes *nsx_new_votes(struct nsx_detect *d)
{
	struct nsx_votes *v = nsx_arena_get(d->scratch, sizeof(*v));

	nsx_keep_groups(d, &v->keys, &v->weight);
	return v;
}

int nsx_vote(struct nsx_votes *v, uint32_t group, uint32_t frame,
	     int64_t weight, struct nsx_err *err)
{
	int64_t *sum = nsx_group_value(&v->keys, &v->weight, group, frame, "call sites", err);

	if (!sum)
		return err->rc;
	nsx_add_to(sum, weight);
	return 0;
}

/* Among equal sums, the first to have voted wins. */
struct nsx_winner nsx_votes_won(const struct nsx_votes *v, uint32_t group)
{
	struct nsx_winner w = {NSX_NONE, 0, 0};

	for (size_t i = 0; i < v->keys.n; i++) {
		if (nsx_group_key(&v->keys, i).a != group)
			continue;
		nsx_add_to(&w.all, v->weight[i]);
		if (nsx_group_key(&v->keys, i).b == NSX_NONE || v->weight[i] <= w.weight)
			continue;
		w.frame = (uint32_t)nsx_group_key(&v->keys, i).b;
		w.weight = v->weight[i];
	}
	return w;
}

NSX_ORDER(cmp_sampled, struct nsx_sampled, UP(global_tid));

uint32_t nsx_sample_frame(const struct nsx_trace *t, size_t sample)
{
	uint32_t stack = t->samples.stack[sample], frame = nsx_site(t, stack);

	return frame == NSX_NONE && stack != NSX_NONE ? t->stack[stack].leaf : frame;
}

int nsx_vote_samples(struct nsx_detect *d, struct nsx_votes *v, uint32_t group,
		     uint32_t thread, size_t *cursor, struct nsx_span in, struct nsx_err *err)
{
	const struct nsx_trace *t = d->trace;
	struct nsx_sampled want = {.global_tid = t->thread[thread].global_tid};
	const struct nsx_sampled *s = t->nsampled ?
		bsearch(&want, t->sampled, t->nsampled, sizeof(want), cmp_sampled) : NULL;

	if (t->npython) {
		struct nsx_python_slice python = nsx_python_of(t, want.global_tid, in);

		for (size_t i = 0; i < python.n; i++)
			if (nsx_vote(v, group, python.v[i].site, 1, err))
				return err->rc;
		if (python.n)
			return 0;
	}
	for (; s && *cursor < s->n; ++*cursor) {
		int64_t at_ns = nsx_unpack(&t->samples.start, s->at + *cursor);

		if (at_ns >= in.end_ns)
			break;
		if (at_ns >= in.start_ns &&
		    nsx_vote(v, group, nsx_sample_frame(t, s->at + *cursor), 1, err))
			return err->rc;
	}
	return 0;
}

/* Places ------------------------------------------------------------------------*/

enum { RECENT_KINDS = 64 };
struct nsx_places {
	struct nsx_detect *d;
	struct nsx_groups keys; /* (thing, kind of range)                    */
	struct place {
		int64_t ns;
		uint32_t range; /* 1 + the first range of its kind           */
	} *v;
	struct nsx_votes *sites; /* by thing, weighted by time               */
	struct {
		nsx_str name;
		uint64_t kind; /* nsx_range_kind; 0: the slot is free        */
	} recent[RECENT_KINDS]; /* cache by name, because names repeat and hashing is slow */
};

struct nsx_places *nsx_new_places(struct nsx_detect *d)
{
	struct nsx_places *p = nsx_arena_get(d->scratch, sizeof(*p));

	p->d = d;
	p->sites = nsx_new_votes(d);
	nsx_keep_groups(d, &p->keys, &p->v);
	return p;
}

static uint64_t sites_kind_of(struct nsx_places *p, const struct nsx_trace *t, uint32_t range)
{
	nsx_str name = t->nvtx.name[range];
	size_t i = name % RECENT_KINDS;

	if (p->recent[i].name != name || !p->recent[i].kind) {
		p->recent[i].name = name;
		p->recent[i].kind = nsx_range_kind(t, range);
	}
	return p->recent[i].kind;
}

/* Votes for the site at which Python mostly was, or for `frame` without Python samples. */
static int vote_site(struct nsx_places *p, uint32_t thing, uint32_t thread, struct nsx_span in,
		     uint32_t frame, int64_t ns, struct nsx_err *err)
{
	const struct nsx_trace *t = p->d->trace;
	const struct nsx_python_stack *most = t->npython ? nsx_python_most(t, thread, in) : NULL;

	return nsx_vote(p->sites, thing, most ? most->site : frame, ns, err);
}

int nsx_places_add_stack(struct nsx_places *p, uint32_t thing, uint32_t thread, struct nsx_span in,
			 uint32_t stack, struct nsx_err *err)
{
	return vote_site(p, thing, thread, in, nsx_site(p->d->trace, stack),
			 in.end_ns - in.start_ns, err);
}

int nsx_places_add(struct nsx_places *p, uint32_t thing, uint32_t range, uint32_t call, int64_t ns,
		   struct nsx_err *err)
{
	const struct nsx_trace *t = p->d->trace;
	struct place *x;

	if ((t->backtraces.n || t->npython) && call != NSX_NONE &&
	    vote_site(p, thing, nsx_call_thread(t, call),
		      (struct nsx_span){nsx_call_start(&t->calls, call),
					nsx_call_end(&t->calls, call)},
		      nsx_call_site(t, call), ns, err))
		return err->rc;
	if (range == NSX_NONE)
		return 0;
	x = nsx_group_value(&p->keys, &p->v, thing, sites_kind_of(p, t, range), "places", err);
	if (!x)
		return err->rc;
	x->range = x->range ?: range + 1;
	nsx_add_to(&x->ns, ns);
	return 0;
}

int nsx_places_add_op(struct nsx_places *p, uint32_t thing, size_t op, int64_t ns,
		      struct nsx_err *err)
{
	return nsx_places_add(p, thing, nsx_op_range(&p->d->facts->nvtx, op),
			      nsx_op_call(&p->d->trace->ops, op), ns, err);
}

void nsx_places_tell(const struct nsx_places *p, uint32_t thing, struct nsx_finding *f)
{
	struct nsx_detect *d = p->d;
	struct nsx_winner site = nsx_votes_won(p->sites, thing);
	const char *from = site.frame == NSX_NONE ? NULL : nsx_frame_words(d, site.frame);
	struct nsx_findings *l = d->found;
	struct place most = {0, 0};
	const char *path;

	for (size_t i = 0; i < p->keys.n; i++)
		if (nsx_group_key(&p->keys, i).a == thing && p->v[i].ns > most.ns)
			most = p->v[i];
	path = nsx_range_path(d, most.range - 1);
	f->place = d->trace->npython ? from ?: path : path ?: from;
	if (path)
		nsx_add_evidence(f, nsx_tell(l, say_largest_part_comes_from, path));
	if (from)
		nsx_add_evidence(
			f, nsx_tell(l, say_called_from,
				   site.weight == site.all ? "all" : nsx_tell_ns(l, site.weight),
				   from));
}
