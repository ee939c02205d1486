/* building.c - CUDA graphs that a loop builds, or changes node by node, between its replays:
 * what it captures for them, and the calls that make, change and destroy them.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "detect/detect.h"
#include "trace/nvtx_walk.h"

#define LEAST_SHARE 0.003 /* of the window, that it takes */
enum {
	RECURS = 3,	/* times, in what is judged                          */
	MOST_NAMES = 2, /* told as evidence                                  */
};
/* What an API is for, by raw name; 0: not looked at yet. */
enum use { OTHER = 1, BEGINS, ENDS, MAKES, CHANGES };

struct build {
	struct nsx_detect *d;
	uint8_t *use;
	struct nsx_row_list calls, after; /* after: others of them           */
	struct nsx_groups names; /* (raw name, 0)                            */
	struct api {
		nsx_str name;
		int64_t ns;
	} *api;
	struct nsx_places places;
	struct nsx_place most;
	size_t ntimes, nmakes;
	int64_t ns, between_ns;
};
NSX_ORDER(cmp_apis, struct api, DOWN(ns), UP(name));

static enum use use_by_name(const char *name)
{
	char buf[256];
	const char *api = nsx_api_base(name, buf, sizeof(buf));

	api += !strncmp(api, "cuda", 4) ? 4 : !strncmp(api, "cu", 2) ? 2 : 0;
	return !strncmp(api, "StreamBeginCapture", 18) ? BEGINS :
	       !strncmp(api, "StreamEndCapture", 16)   ? ENDS :
	       strncmp(api, "Graph", 5) || !strncmp(api, "Graphics", 8) ||
			       !strncmp(api, "GraphLaunch", 11) ||
			       !strncmp(api, "GraphUpload", 11) ? OTHER :
	       !strncmp(api, "GraphInstantiate", 16) ? MAKES : CHANGES;
}

static enum use use_of(struct build *x, size_t call)
{
	nsx_str name = nsx_call_name(&x->d->trace->calls, call);

	if (!x->use[name])
		x->use[name] = (uint8_t)use_by_name(nsx_text(x->d->trace, name));
	return (enum use)x->use[name];
}

/* Behind the call that ends a capture, from a call of the thread on; end: none does. */
static size_t capture_end(struct build *x, size_t call, size_t end)
{
	while (call < end && use_of(x, call) != ENDS)
		call++;
	return call < end ? call + 1 : end;
}

static int add_call(struct build *x, size_t call, size_t before, uint32_t range,
		    struct nsx_err *err)
{
	const struct nsx_calls *c = &x->d->trace->calls;
	nsx_str name = nsx_call_name(c, call);
	int64_t ns = nsx_call_ns(c, call);
	struct api *api = nsx_group_value(&x->names, &x->api, name, 0, "calls", err);

	if (!api || nsx_list_row(&x->calls, call, err) ||
	    nsx_places_add(&x->places, x->d->trace, 0, range, (uint32_t)call, ns,
			   &x->most, err))
		return err->rc;
	api->name = name;
	nsx_add_to(&api->ns, ns);
	nsx_add_to(&x->ns, ns);
	x->nmakes += use_of(x, call) == MAKES;
	x->ntimes += before == SIZE_MAX;
	if (before == SIZE_MAX)
		return 0;
	nsx_add_to(&x->between_ns, NSX_MAX(0, nsx_call_start(c, call) -
						      nsx_call_end(c, before)));
	return nsx_list_row(&x->after, call, err);
}

static int walk_thread(struct build *x, uint32_t thread, uint32_t *below,
		       struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	const struct nsx_thread *th = &t->thread[thread];
	size_t end = th->calls_at + th->ncalls, captured = 0, before = SIZE_MAX;
	size_t last = end; /* behind the last capture                        */
	struct nsx_nvtx_walk walk;

	while (last > th->calls_at && use_of(x, last - 1) != ENDS)
		last--;
	nsx_nvtx_walk_begin(&walk, t, thread, true, false, below);
	for (size_t i = th->calls_at; i < end; i++) {
		int64_t start_ns = nsx_call_start(&t->calls, i);
		enum use use = use_of(x, i);

		if (use == BEGINS && i >= captured && i < last) {
			captured = capture_end(x, i, end);
			before = SIZE_MAX; /* what comes before is not for it */
		}
		if (t->calls.flags[i] & NSX_CALL_NESTED ||
		    !nsx_is_judged(x->d, start_ns))
			continue;
		if (i >= captured && use < MAKES) {
			before = SIZE_MAX;
			continue;
		}
		if (add_call(x, i, before, nsx_nvtx_walk_to(&walk, start_ns), err))
			return err->rc;
		before = i;
	}
	return 0;
}

/* Most programs build none: one look at each call tells. */
static bool builds_any(struct build *x)
{
	for (size_t i = 0; i < x->d->trace->calls.n; i++)
		if (use_of(x, i) > OTHER)
			return true;
	return false;
}

static int walk(struct build *x, struct nsx_err *err)
{
	const struct nsx_trace *t = x->d->trace;
	uint32_t *below;

	x->most = (struct nsx_place){0, NSX_NONE};
	if (!nsx_new_array(x->use, x->d->scratch, nsx_strings_bound(t->strings),
			   "API names", err))
		return err->rc;
	if (!builds_any(x))
		return 0;
	if (!nsx_new_array(below, x->d->scratch, t->nvtx.n, "ranges", err))
		return err->rc;
	for (uint32_t i = 0; i < t->nthreads; i++)
		if (walk_thread(x, i, below, err))
			return err->rc;
	return 0;
}

static void done(struct build *x)
{
	free(x->calls.v);
	free(x->after.v);
	free(x->api);
	nsx_groups_done(&x->names);
	nsx_places_done(&x->places);
}

static bool recurs(const struct build *x)
{
	return nsx_repeats(x->d) && x->ntimes >= RECURS;
}

int nsx_mark_building(struct nsx_detect *d, uint8_t *bits, struct nsx_err *err)
{
	struct build x = {.d = d};
	int rc = walk(&x, err);

	for (size_t i = 0; !rc && recurs(&x) && i < x.calls.n; i++)
		nsx_mark(bits, x.calls.v[i]);
	done(&x);
	return rc;
}

/* "97.8 ms in cudaGraphInstantiate, 28 ms in cudaLaunchKernel" */
static const char *say_apis(struct build *x)
{
	struct nsx_findings *l = x->d->found;
	const char *ret = NULL;

	nsx_sort(x->api, x->names.n, sizeof(*x->api), cmp_apis);
	for (size_t i = 0; i < NSX_MIN(x->names.n, (size_t)MOST_NAMES); i++)
		ret = nsx_tell(l, "%s%s%s in %s", ret ? ret : "", ret ? ", " : "",
			       nsx_tell_ns(l, x->api[i].ns),
			       nsx_text_api(l->arena, nsx_text(x->d->trace,
							       x->api[i].name)));
	return ret;
}

/* Its calls may come in two runs, before the replay and behind it. */
static bool is_made(const struct build *x)
{
	return x->nmakes >= RECURS && x->nmakes * 2 >= x->ntimes;
}

static void advise(const struct build *x, struct nsx_finding *f)
{
	bool makes = is_made(x);
	const char *keep = "let the kernels read from device memory what changes, so that "
			   "the graph stays as it is";

	f->title = makes ? "a CUDA graph is built again in each round of the loop" :
			   "CUDA graphs are changed between their replays";
	f->recommendation[0] = makes ?
		"keep the graph and update it in place (cudaGraphExecUpdate), or keep one "
		"for each shape" : keep;
	f->recommendation[1] = makes ? keep :
		"change only the nodes whose parameters differ";
}

static void propose(struct build *x)
{
	struct nsx_findings *l = x->d->found;
	struct nsx_change *v = nsx_arena_get(l->arena, 2 * sizeof(*v));
	struct nsx_finding f = {
		.id = NSX_ID_idle_by_slow_call, .subject = "graphs",
		.confidence = NSX_CONF_HIGH, .device = NSX_NONE,
		.guess_ns = (double)x->ns, .most_ns = (double)(x->ns + x->between_ns),
		.evidence = {nsx_tell(
			l, "%zu times, with %s, %s in all and %s between them; %s",
			is_made(x) ? x->nmakes : x->ntimes,
			nsx_text_n(l->arena, x->calls.n, "call", NULL),
			nsx_tell_ns(l, x->ns), nsx_tell_ns(l, x->between_ns),
			say_apis(x))},
		.proof = {{.csv = "gpu_idle_by_cause", .column = "total_ms",
			   .at = {{"detail", nsx_string(nsx_text(
				x->d->trace, x->api[0].name))}}}}};
	size_t n = 0;

	advise(x, &f);
	nsx_add_change(x->d, v, &n, &x->calls, (struct nsx_change){.verb = NSX_NO_COST});
	nsx_add_change(x->d, v, &n, &x->after, (struct nsx_change){
		.verb = NSX_FASTER_HOST, .amount = INFINITY});
	f.remedy = (struct nsx_plan){v, n};
	nsx_places_tell(x->d, &x->places, 0, &x->most, &f);
	nsx_found(l, &f);
}

int nsx_detect_building(struct nsx_detect *d, struct nsx_err *err)
{
	struct build x = {.d = d};
	int rc = walk(&x, err);

	if (!rc && recurs(&x) && (double)(x.ns + x.between_ns) >=
			LEAST_SHARE * (double)(d->w.end_ns - d->w.start_ns))
		propose(&x);
	done(&x);
	return rc;
}
