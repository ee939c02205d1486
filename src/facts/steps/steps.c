/* steps.c - finds the ranges that are steps, and the GPU work they launched.
 *
 * Work belongs to the open step of the thread that launched it. If that thread has no steps, such
 * as that of the backward pass, the work belongs to the process's open step that began last.
 */
#include "facts/steps/steps.h"

struct build {
	const struct nsx_trace *t;
	struct nsx_arena *scratch;
	struct nsx_engine_step *host; /* ranges, sorted by thread, start     */
	uint32_t *by_process;	/* indices of host, sorted by process, start */
	size_t n;
	size_t cap;		/* capacity of the list in the result        */
};

NSX_ORDER(cmp_host, struct nsx_engine_step, UP(thread), UP(start_ns), DOWN(end_ns), UP(text));
NSX_ORDER(cmp_step, struct nsx_engine_step, UP(process), UP(device), UP(main_start_ns),
	  UP(start_ns), UP(text));

NSX_ORDER_IN(cmp_in_process, uint32_t, struct nsx_engine_step, UP(c[*x].process),
	     UP(c[*x].start_ns), UP(*x));

enum name_class { NOT_READ, NO_STEP, TRAINING_STEP, ENGINE_STEP };

static uint32_t range_process(const struct nsx_trace *t, size_t i)
{
	return t->thread[nsx_nvtx_thread(t, i)].process;
}

/* Sets the class of each range name, and which processes have steps of an engine. */
static void steps_read_names(const struct nsx_trace *t, uint8_t *classes, bool *has_engine)
{
	for (size_t i = 0; i < t->nvtx.n; i++) {
		nsx_str name = t->nvtx.name[i];
		struct nsx_step_name x;

		if (t->nvtx.kind[i] == NSX_NVTX_MARK)
			continue;
		if (classes[name] == NOT_READ)
			classes[name] = !nsx_step_name(t->steps_from, nsx_text(t, name), &x) ?
					NO_STEP : x.kind == NSX_STEP_TRAINING ? TRAINING_STEP :
										ENGINE_STEP;
		if (classes[name] == ENGINE_STEP)
			has_engine[range_process(t, i)] = true;
	}
}

static bool is_step_range(const struct nsx_trace *t, const uint8_t *classes,
			  const bool *has_engine, size_t i)
{
	uint8_t class = classes[t->nvtx.name[i]];

	return t->nvtx.kind[i] != NSX_NVTX_MARK &&
	       (class == ENGINE_STEP ||
		(class == TRAINING_STEP && !has_engine[range_process(t, i)]));
}

/* Removes steps that lie inside another step of their thread. Then both starts and ends of a thread's
 * steps ascend.
 */
static void drop_nested(struct build *b)
{
	size_t n = 0;

	for (size_t i = 0; i < b->n; i++) {
		struct nsx_engine_step *before = n ? &b->host[n - 1] : NULL;

		if (before && before->thread == b->host[i].thread) {
			if (b->host[i].end_ns <= before->end_ns)
				continue;
			before->host_gap_ns = NSX_MAX(0, b->host[i].start_ns - before->end_ns);
		}
		b->host[n++] = b->host[i];
	}
	b->n = n;
}

static bool decodes(const struct nsx_engine_step *x)
{
	return x->name.kind == NSX_STEP_DECODE || x->name.kind == NSX_STEP_MIXED;
}

/* Marks the prefills between two decode steps as stalls if the second decode step has more requests
 * than these prefills brought: the other requests waited.
 */
static void mark_stalls(struct build *b)
{
	struct nsx_engine_step *v = b->host;

	NSX_EACH_RUN(i, next, b->n, v[next].thread == v[i].thread &&
		     v[next].name.kind == v[i].name.kind) {
		int64_t prompts = 0;

		if (v[i].name.kind != NSX_STEP_PREFILL || !i || next == b->n ||
		    v[i - 1].thread != v[i].thread ||
		    v[next].thread != v[i].thread || !decodes(&v[i - 1]) ||
		    !decodes(&v[next]))
			continue;
		for (size_t k = i; k < next; k++)
			prompts += NSX_MAX(v[k].name.prompts, 0);
		for (size_t k = i; k < next; k++)
			v[k].stalls = v[next].name.requests > prompts;
	}
}

static int find_hosts(struct build *b, struct nsx_err *err)
{
	const struct nsx_trace *t = b->t;
	uint8_t *classes;
	bool *has_engine;
	size_t n = 0;

	if (!nsx_new_array(classes, b->scratch, nsx_strings_bound(t->strings),
			   "names of steps", err))
		return err->rc;
	nsx_few(has_engine, b->scratch, t->nprocesses);
	steps_read_names(t, classes, has_engine);
	for (size_t i = 0; i < t->nvtx.n; i++)
		n += is_step_range(t, classes, has_engine, i);
	if (nsx_new_arrays(b->scratch, n, "steps", err, b->host, b->by_process))
		return err->rc;
	for (size_t i = 0; i < t->nvtx.n; i++) {
		uint32_t thread;
		struct nsx_engine_step *x = &b->host[b->n];

		if (!is_step_range(t, classes, has_engine, i))
			continue;
		thread = nsx_nvtx_thread(t, i);
		*x = (struct nsx_engine_step){.text = t->nvtx.name[i], .host_gap_ns = -1,
			.thread = thread, .process = t->thread[thread].process,
			.start_ns = nsx_range_start(&t->nvtx, i),
			.end_ns = nsx_range_end(&t->nvtx, i)};
		nsx_step_name(t->steps_from, nsx_text(t, x->text), &x->name);
		b->n++;
	}
	nsx_sort(b->host, b->n, sizeof(*b->host), cmp_host);
	drop_nested(b);
	mark_stalls(b);
	nsx_sort_indices(b->by_process, b->n, cmp_in_process, b->host);
	return 0;
}

/* The step of a call: the open one that its thread began last, or else its process; NULL: none. */
static struct nsx_engine_step *steps_step_of(const struct build *b, uint32_t call)
{
	uint32_t thread = nsx_call_thread(b->t, call);
	uint32_t process = b->t->thread[thread].process;
	int64_t at = nsx_call_start(&b->t->calls, call);
	struct nsx_engine_step *v = b->host;
	size_t k = NSX_SEARCH((size_t)0, b->n, i, v[i].thread < thread ||
			      (v[i].thread == thread && v[i].start_ns <= at));

	if (k && v[k - 1].thread == thread && at < v[k - 1].end_ns)
		return &v[k - 1];
	k = NSX_SEARCH((size_t)0, b->n, i,
		       v[b->by_process[i]].process < process ||
		       (v[b->by_process[i]].process == process &&
			v[b->by_process[i]].start_ns <= at));
	if (!k)
		return NULL;
	v += b->by_process[k - 1];
	return v->process == process && at < v->end_ns ? v : NULL;
}

static void steps_count_launches(struct build *b)
{
	const struct nsx_calls *c = &b->t->calls;

	for (uint32_t i = 0; i < c->n; i++) {
		struct nsx_engine_step *x;

		if (c->cls[i] != NSX_CALL_LAUNCH || c->flags[i] & NSX_CALL_NESTED)
			continue;
		x = steps_step_of(b, i);
		if (!x)
			continue;
		x->launches++;
		x->replays += !!(c->flags[i] & NSX_CALL_GRAPH);
	}
}

static void find_work(struct build *b, const struct nsx_device *d)
{
	const struct nsx_ops *o = &b->t->ops;

	for (size_t i = 0; i < b->n; i++) {
		b->host[i].gpu_start_ns = b->host[i].main_start_ns = INT64_MAX;
		b->host[i].work_end_ns = b->host[i].main_end_ns = INT64_MIN;
	}
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++) {
		uint32_t call = nsx_op_call(o, i);
		struct nsx_engine_step *x = call == NSX_NONE || !nsx_op_counts(b->t, i) ?
					      NULL : steps_step_of(b, call);

		if (!x)
			continue;
		x->gpu_start_ns = NSX_MIN(x->gpu_start_ns, nsx_op_start(o, i));
		x->work_end_ns = NSX_MAX(x->work_end_ns, nsx_op_end(o, i));
		if (o->kind[i] != NSX_OP_KERNEL && o->kind[i] != NSX_OP_GRAPH)
			continue;
		x->main_start_ns = NSX_MIN(x->main_start_ns, nsx_op_start(o, i));
		x->main_end_ns = NSX_MAX(x->main_end_ns, nsx_op_end(o, i));
	}
}

static int steps_keep_steps(struct build *b, uint32_t device, struct nsx_engine_steps *ret,
			    struct nsx_err *err)
{
	for (size_t i = 0; i < b->n; i++) {
		struct nsx_engine_step *x = &b->host[i];

		x->device = device;
		x->gpu_end_ns = x->work_end_ns;
		if (x->main_end_ns < x->main_start_ns) {
			x->main_start_ns = x->gpu_start_ns;
			x->main_end_ns = x->work_end_ns;
		}
		if (x->work_end_ns >= x->gpu_start_ns &&
		    nsx_push(ret->v, ret->n, b->cap, "steps", err, *x))
			return err->rc;
	}
	return 0;
}

/* Divides each device's time among the steps of a process, sorted by their kernels. A copy made
 * ahead of its step, beside kernels of earlier steps, does not start it: their time stays theirs.
 */
static void divide_gpu_time(struct nsx_engine_step *v, size_t n)
{
	NSX_EACH_RUN(i, next, n, v[next].process == v[i].process &&
		     v[next].device == v[i].device) {
		int64_t busy_ns = v[i].main_end_ns;

		for (size_t k = i + 1; k < next; k++) {
			v[k].gpu_start_ns = NSX_MAX(v[k].gpu_start_ns,
						    NSX_MIN(v[k].main_start_ns, busy_ns));
			v[k - 1].gpu_end_ns = v[k].gpu_start_ns;
			busy_ns = NSX_MAX(busy_ns, v[k].main_end_ns);
		}
	}
}

static int steps_build(struct build *b, struct nsx_engine_steps *ret, struct nsx_err *err)
{
	if (find_hosts(b, err))
		return err->rc;
	if (!b->n)
		return 0;
	steps_count_launches(b);
	for (uint32_t d = 0; d < b->t->ndevices; d++) {
		find_work(b, &b->t->device[d]);
		if (steps_keep_steps(b, d, ret, err))
			return err->rc;
	}
	nsx_sort(ret->v, ret->n, sizeof(*ret->v), cmp_step);
	divide_gpu_time(ret->v, ret->n);
	return 0;
}

int nsx_steps_build(const struct nsx_trace *t, struct nsx_engine_steps *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *scratch = nsx_arena_new();
	struct build b = {.t = t, .scratch = scratch};
	int rc;

	*ret = (struct nsx_engine_steps){0};
	rc = steps_build(&b, ret, err);
	if (rc)
		nsx_steps_done(ret);
	return rc;
}

void nsx_steps_done(struct nsx_engine_steps *steps)
{
	free(steps->v);
	*steps = (struct nsx_engine_steps){0};
}

/* A typical step --------------------------------------------------------------------*/

static int64_t length_ns(const struct nsx_engine_step *s)
{
	return s->gpu_end_ns - s->gpu_start_ns;
}

NSX_ORDER_IN(window_cmp_length, struct nsx_engine_step, void, UP(length_ns(x)),
	     UP(x->gpu_start_ns), UP(x->process));

/* Keeps only the steps of a kind on a device. */
static void keep_steps_of(struct nsx_engine_steps *steps, uint32_t device, const char *kind)
{
	size_t n = 0;

	for (size_t i = 0; i < steps->n; i++)
		if (steps->v[i].device == device && length_ns(&steps->v[i]) > 0 &&
		    !strcmp(nsx_step_kinds[steps->v[i].name.kind], kind))
			steps->v[n++] = steps->v[i];
	steps->n = n;
}

int nsx_step_window(const struct nsx_facts *f, const struct nsx_trace *t, const char *kind,
		    struct nsx_window *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_steps_done) struct nsx_engine_steps steps;
	int64_t median;
	size_t i;

	if (nsx_steps_build(t, &steps, err))
		return err->rc;
	keep_steps_of(&steps, f->limiting, kind);
	nsx_sort_r(steps.v, steps.n, sizeof(*steps.v), window_cmp_length, NULL);
	if (!steps.n)
		return nsx_fail(err, NSX_E_USAGE, "no step '%s' in the trace: tables/steps.csv of "
				"a report lists the kinds there are", kind);
	/* The first of several steps of median length is taken. */
	median = length_ns(&steps.v[steps.n / 2]);
	i = NSX_SEARCH((size_t)0, steps.n, k, length_ns(&steps.v[k]) < median);
	*ret = (struct nsx_window){steps.v[i].gpu_start_ns, steps.v[i].gpu_end_ns};
	return 0;
}
