/* counters.c - derived counters: memory in use and live allocations by process, GPU and kind, and
 * queued work by stream.
 *
 * Counters change in steps; steps at the same time are summed. A window begins with the state at
 * its start. Queues use the times of the loaded trace, in which GPU clocks are corrected.
 */
#include <inttypes.h>
#include "convert/convert.h"
#include "base/stat.h"
#include "facts/memory.h"
#include "facts/queues.h"

/* Steps ------------------------------------------------------------------------*/

struct series { /* a counter being written                                   */
	struct nsx_conv *c;
	uint32_t group;
	struct nsx_track_counter counter;
	/* at_ns, now: time and value after the last step; told: the last value written. */
	int64_t at_ns, now, told;
};

/* Begins a series where the converted part begins. The caller owns name, which must live as long
 * as the series.
 */
static int open_series(struct nsx_conv *c, uint64_t process, int64_t device,
		       const char *name, const char *unit, struct series *ret, struct nsx_err *err)
{
	uint32_t number; /* unused: the process is added so that it gets a name */

	*ret = (struct series){.c = c, .counter = {c->ncounters++, name, unit},
			       .at_ns = c->window.start_ns};
	if (c->window.start_ns == c->window.end_ns)
		ret->at_ns = c->writing ? c->first_ns : -NSX_TIME_MAX;
	return nsx_tracks_process(&c->tracks, process, &number, err) ?:
	       nsx_tracks_group(&c->tracks, NSX_G_GPU, process, device, &ret->group, err);
}

static int write_value(struct series *s, struct nsx_err *err)
{
	struct nsx_val v = {.type = NSX_V_I64, .u.i = s->now};
	struct nsx_conv *c = s->c;

	if (s->now == s->told || !nsx_conv_in_window(c, s->at_ns, s->at_ns))
		return 0;
	s->told = s->now;
	if (!c->writing) {
		if (s->at_ns > -NSX_TIME_MAX)
			nsx_conv_hull(c, s->at_ns, s->at_ns);
		return nsx_stopped(err);
	}
	c->writer->sample(c, &(struct nsx_counter_sample){s->at_ns, s->group,
						  s->counter.name});
	c->writer->counter(c, &s->counter, &v, true);
	c->writer->sample_end(c);
	c->counts->samples++;
	return c->out->error ? nsx_fail(err, NSX_E_IO, "cannot write") : nsx_stopped(err);
}

/* Adds a step; steps come in time order. Steps before the converted part make up the first
 * value.
 */
static int add_counter_step(struct series *s, int64_t at_ns, int64_t by, struct nsx_err *err)
{
	int rc = at_ns > s->at_ns ? write_value(s, err) : 0;

	s->at_ns = NSX_MAX(s->at_ns, at_ns);
	nsx_add_to(&s->now, by);
	return rc;
}

/* Memory -----------------------------------------------------------------------*/

static int put_memory_counter(struct nsx_conv *c, struct nsx_arena *a,
			      const struct nsx_mem_step *v, size_t n, struct nsx_err *err)
{
	const char *kind = nsx_mem_class_names[v->kind];
	int64_t pid = nsx_pid_of(v->process);
	struct series bytes, live;

	if (open_series(c, v->process, v->device_id,
			nsx_arena_printf(a, "%s memory of process %" PRId64,
					 kind, pid), "bytes", &bytes, err) ||
	    open_series(c, v->process, v->device_id,
			nsx_arena_printf(a, "live %s allocations of process %"
					 PRId64, kind, pid), "allocations", &live, err))
		return err->rc;
	bytes.now = nsx_mem_before(v, n);
	for (size_t i = 0; i < n; i++)
		live.now += v[i].counts & NSX_STEP_UNMATCHED ? 1 : 0;
	for (size_t i = 0; i < n; i++)
		if (add_counter_step(&bytes, v[i].at_ns, v[i].delta, err) ||
		    add_counter_step(&live, v[i].at_ns, v[i].counts & NSX_STEP_ALLOC ? 1 : -1, err))
			return err->rc;
	return write_value(&bytes, err) ?: write_value(&live, err);
}

int nsx_convert_memory(struct nsx_conv *c, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	NSX_AT_EXIT(nsx_memory_done) struct nsx_memory m = {.events = NULL};
	int rc = nsx_memory_read(c->schema, &m, err);

	for (size_t i = 0, end; !rc && i < m.nsteps; i = end) {
		end = nsx_mem_group_end(&m, i);
		rc = put_memory_counter(c, a, &m.steps[i], end - i, err);
	}
	return rc;
}

/* Queues -----------------------------------------------------------------------*/

struct queue { /* start times of a stream's calls, and of the first operation of each */
	uint64_t process;
	int64_t device_id;
	const char *name;
	size_t n;
	struct nsx_packed called, began;
};
struct nsx_queues_view {
	struct nsx_arena *arena;
	struct queue *v; /* one for each stream; n 0: no work is queued */
	size_t n;
};

void nsx_queues_view_free(struct nsx_queues_view *v)
{
	if (v)
		nsx_arena_free(v->arena);
	free(v);
}

/* Keeps the queue of one stream. began: scratch for n times. */
static int copy_queue_of_stream(struct nsx_queues_view *view, const struct nsx_trace *t,
				const struct nsx_queues *of, uint32_t stream,
				int64_t *began, struct nsx_err *err)
{
	const struct nsx_stream *s = &t->stream[stream];
	const struct nsx_process *p = &t->process[s->process];
	size_t first = of->at[stream], n = of->at[stream + 1] - first;
	struct queue *q = &view->v[stream];

	for (size_t i = 0; i < n; i++)
		began[i] = nsx_op_start(&t->ops, of->op[first + i]);
	*q = (struct queue){
		.process = p->key, .device_id = t->device[s->device].device_id,
		.name = nsx_arena_printf(view->arena, "queue of context %" PRId64 " stream %"
			PRId64 " of process %s", s->context_id,
			s->stream_id, nsx_pid_label(t, s->process)), .n = n};
	return nsx_pack_i64(view->arena, of->called_ns + first, n, "launches",
			    &q->called, err) ?:
	       nsx_pack_i64(view->arena, began, n, "launches", &q->began, err);
}

static int copy_queues_of_device(struct nsx_queues_view *view, const struct nsx_trace *t,
				 uint32_t device, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct nsx_queues of;
	int64_t *began = NULL;
	int rc = 0;

	if (nsx_queues_build(t, device, a, &of, err) ||
	    !nsx_new_array(began, a, of.at[t->nstreams], "launches", err))
		rc = err->rc;
	for (uint32_t s = 0; !rc && s < t->nstreams; s++)
		if (of.at[s] < of.at[s + 1] && t->stream[s].process != NSX_NONE)
			rc = copy_queue_of_stream(view, t, &of, s, began, err);
	return rc;
}

int nsx_convert_keep_queues(struct nsx_conv *c, const struct nsx_trace *t, struct nsx_err *err)
{
	struct nsx_queues_view *v = nsx_try_alloc(1, sizeof(*v), "queues", err);
	int rc = 0;

	c->queues = v;
	if (v)
		v->arena = nsx_arena_new();
	if (!v || !nsx_new_array(v->v, v->arena, t->nstreams, "queues", err))
		rc = err->rc;
	else
		v->n = t->nstreams;
	for (uint32_t d = 0; !rc && d < t->ndevices; d++)
		rc = copy_queues_of_device(v, t, d, err);
	return rc;
}

static int put_queue(struct nsx_conv *c, const struct queue *q, struct nsx_err *err)
{
	struct series s;
	size_t called = 0;

	if (open_series(c, q->process, q->device_id, q->name, "launches", &s, err))
		return err->rc;
	for (size_t i = 0; i < q->n; i++) {
		int64_t began_ns = nsx_unpack(&q->began, i);

		for (; called < q->n && nsx_unpack(&q->called, called) <= began_ns; called++)
			if (add_counter_step(&s, nsx_unpack(&q->called, called), 1, err))
				return err->rc;
		if (add_counter_step(&s, began_ns, -1, err))
			return err->rc;
	}
	return write_value(&s, err);
}

int nsx_convert_queues(struct nsx_conv *c, struct nsx_err *err)
{
	struct nsx_trace *t = c->trace;
	int rc = 0;

	/* The survey loads the trace, unless another activity already did. */
	if (!c->queues) {
		if (!t)
			rc = nsx_convert_load(c, NULL, &t, err);
		rc = rc ?: nsx_convert_keep_queues(c, t, err);
		if (!c->trace)
			nsx_trace_free(t);
	}
	for (size_t i = 0; !rc && i < c->queues->n; i++)
		if (c->queues->v[i].n)
			rc = put_queue(c, &c->queues->v[i], err);
	return rc;
}
