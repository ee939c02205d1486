/* nvtx_gpu.c - NVTX ranges projected on the GPU: from the first to the last operation launched in
 * them, or in inner ranges of their domain.
 *
 * This is the only activity that needs the trace in memory. A range has a projection on each
 * device on which it launched work. The projections of a thread share a track; those that overlap
 * without nesting go to further lanes.
 */
#include "convert/convert.h"
#include "report/timeline.h"

struct projection {
	int64_t start_ns, end_ns;
	uint32_t range, thread;
};

/* Orders projections by thread, then as slices must come: by start, longest first. Of equal spans
 * the outer range comes first.
 */
NSX_ORDER(cmp_projections, struct projection, UP(thread), UP(start_ns), DOWN(end_ns), UP(range));

static int put_projection(struct nsx_conv *c, const struct projection *p,
			  int64_t device, struct nsx_err *err)
{
	const struct nsx_trace *t = c->trace;
	const struct nsx_thread *th = &t->thread[p->thread];
	const char *name = nsx_text(t, t->nvtx.name[p->range]);
	struct nsx_slice s = {.start_ns = p->start_ns, .end_ns = p->end_ns,
			      .name = nsx_text_val(name)};

	if (!nsx_conv_in_window(c, s.start_ns, s.end_ns) ||
	    (c->names->prefix && !nsx_names_matches(c->names, &s.name)))
		return 0;
	if (nsx_tracks_stream(&c->tracks, NSX_A_NVTX_GPU,
			      t->process[th->process].key, device, 0, th->tid, &s.track, err))
		return err->rc;
	return nsx_slice_put(c, &s, err);
}

static int nvtx_gpu_project(struct nsx_conv *c, const struct nsx_facts *f, struct nsx_err *err)
{
	const struct nsx_trace *t = c->trace;
	struct nsx_window *hull = nsx_arena_try_array(f->arena, t->nvtx.n,
						sizeof(*hull), "NVTX ranges", err);
	struct projection *p = nsx_arena_try_array(f->arena, t->nvtx.n, sizeof(*p), "NVTX ranges",
						   err);

	if (!hull || !p)
		return err->rc;
	for (uint32_t d = 0; d < t->ndevices; d++) {
		size_t n = 0;

		nsx_range_hulls(t, &f->nvtx, d, hull);
		for (uint32_t i = 0; i < t->nvtx.n; i++)
			if (hull[i].start_ns <= hull[i].end_ns)
				p[n++] = (struct projection){
					hull[i].start_ns, hull[i].end_ns, i,
					nsx_nvtx_thread(t, i)};
		nsx_sort(p, n, sizeof(*p), cmp_projections);
		for (size_t i = 0; i < n; i++)
			if (put_projection(c, &p[i], t->device[d].device_id, err))
				return err->rc;
	}
	return 0;
}

int nsx_convert_nvtx_gpu(struct nsx_conv *c, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *arena = nsx_arena_new();
	struct nsx_facts f = {.arena = arena};

	/* The survey loads the trace, and writing uses it again. */
	return (c->trace ? 0 : nsx_convert_load(c, NULL, &c->trace, err)) ?:
	       nsx_facts_nvtx(&f, c->trace, c->opts->threads, err) ?:
	       nvtx_gpu_project(c, &f, err);
}
