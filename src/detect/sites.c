/* sites.c - the place in the program where most of a time comes from. */
#include <stdlib.h>
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

void nsx_votes_done(struct nsx_votes *v)
{
	nsx_groups_done(&v->keys);
	free(v->weight);
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

uint32_t nsx_python_or(const struct nsx_trace *t, uint32_t thread, struct nsx_span in,
		       uint32_t frame)
{
	const struct nsx_python_stack *most = t->npython ? nsx_python_most(t, thread, in) : NULL;

	return most ? most->site : frame;
}

static uint64_t sites_kind_of(struct nsx_places *p, const struct nsx_trace *t, uint32_t range)
{
	nsx_str name = t->nvtx.name[range];
	size_t i = name % NSX_RECENT_KINDS;

	if (p->recent[i].name != name || !p->recent[i].kind) {
		p->recent[i].name = name;
		p->recent[i].kind = nsx_range_kind(t, range);
	}
	return p->recent[i].kind;
}

int nsx_places_add(struct nsx_places *p, const struct nsx_trace *t,
		   uint32_t thing, uint32_t range, uint32_t call, int64_t ns,
		   struct nsx_place *most, struct nsx_err *err)
{
	size_t known = p->keys.n;
	struct nsx_place *x;

	if ((t->backtraces.n || t->npython) && call != NSX_NONE &&
	    nsx_vote(&p->sites, thing,
		     nsx_python_or(t, nsx_call_thread(t, call),
				   (struct nsx_span){nsx_call_start(&t->calls, call),
						     nsx_call_end(&t->calls, call)},
				   nsx_call_site(t, call)), ns, err))
		return err->rc;
	if (range == NSX_NONE)
		return 0;
	x = nsx_group_value(&p->keys, &p->v, thing, sites_kind_of(p, t, range), "places", err);
	if (!x)
		return err->rc;
	if (p->keys.n > known)
		*x = (struct nsx_place){0, range};
	nsx_add_to(&x->ns, ns);
	if (x->ns > most->ns)
		*most = *x;
	return 0;
}

void nsx_places_tell(struct nsx_detect *d, const struct nsx_places *p,
		     uint32_t thing, const struct nsx_place *most, struct nsx_finding *f)
{
	struct nsx_winner site = nsx_votes_won(&p->sites, thing);
	const char *from = site.frame == NSX_NONE ? NULL : nsx_frame_words(d, site.frame);
	struct nsx_findings *l = d->found;
	const char *path = nsx_range_path(d, most->range);

	f->place = d->trace->npython ? from ?: path : path ?: from;
	if (path)
		nsx_add_evidence(f, nsx_tell(l, say_largest_part_comes_from, path));
	if (from)
		nsx_add_evidence(
			f, nsx_tell(l, say_called_from,
				   site.weight == site.all ? "all" : nsx_tell_ns(l, site.weight),
				   from));
}

void nsx_places_done(struct nsx_places *p)
{
	nsx_groups_done(&p->keys);
	nsx_votes_done(&p->sites);
	free(p->v);
}
