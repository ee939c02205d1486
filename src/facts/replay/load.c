/* load.c - loads the operations and calls of the part that is replayed.
 *
 * Nested calls are folded into the outermost call, which takes over their correlation ids. A call
 * that begins before the end of the previous one is made to begin there. MPI calls in which ranks
 * wait for each other are kept among the CUDA calls; other MPI calls are time between calls.
 */
#include "base/stat.h"
#include "base/str.h"
#include "facts/replay/model.h"

/* A call that begins inside another call and ends at most this long after it is nested in it. */
#define CROSSING_NS 1000

/* Properties of names --------------------------------------------------------------- */

static unsigned read_api(const char *name)
{
	static const char *const waits_for_all[] = {
		"Free", "MemFree", "FreeHost", "MemFreeHost", "HostUnregister",
		"MemHostUnregister", "DeviceReset", "ModuleUnload", "FreeArray",
		"CtxDestroy", "LibraryUnload", "ArrayDestroy"};
	static const struct {
		const char *part;
		unsigned says;
	} parts[] = {
		{"GraphLaunch", API_GRAPH}, {"Launch", API_WORK},
		{"Memcpy", API_WORK}, {"Memset", API_WORK},
		{"EventRecord", API_RECORD}, {"Stream", API_STREAM},
		{"Event", API_EVENT}, {"Device", API_WIDE}, {"Ctx", API_WIDE},
		{"Thread", API_WIDE},
	};
	const char *s = !strncmp(name, "cuda", 4) ? name + 4 :
			!strncmp(name, "cu", 2)	  ? name + 2 : "";
	unsigned says = 0;
	uint8_t flags = 0;

	if (nsx_classify_call(name, &flags) == NSX_CALL_SYNC)
		says |= API_SYNC;
	if (NSX_IS_ONE_OF(s, waits_for_all))
		says |= API_IMPLICIT;
	if (nsx_api_is_query(name))
		says |= API_QUERY;
	if ((!strncmp(s, "Memcpy", 6) || !strncmp(s, "Memset", 6)) && !strstr(s, "Async"))
		says |= API_COPY;
	if (nsx_api_is_host_func(name))
		says |= API_HOST_FUNC;
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		if (strstr(s, parts[i].part))
			says |= parts[i].says;
	return says;
}

/* Finds or adds the API of a call's name. Names that differ only in version are one API. */
static int find_api(struct build *b, nsx_str name, uint32_t *by_name,
		    uint32_t *ret, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	char buf[256];
	const char *base;
	uint32_t i;

	if (by_name[name]) {
		*ret = by_name[name] - 1;
		return 0;
	}
	base = nsx_api_base(nsx_text(m->t, name), buf, sizeof(buf));
	if (nsx_group(&b->api_groups, nsx_hash(base, strlen(base)),
		      strlen(base), &i, err) ||
	    nsx_grow(&m->api, &b->cap_apis, (size_t)i + 1, sizeof(*m->api), "API names", err))
		return err->rc;
	if (i == m->napis) {
		m->api[i] = (struct model_api){
			nsx_arena_strdup(m->arena, base), read_api(base), -1,
			-1};
		m->napis++;
	}
	by_name[name] = i + 1;
	*ret = i;
	return 0;
}

/* Calls -------------------------------------------------------------------------*/

/* Finds the slice of each thread's calls to load; returns their number. Loading begins before the
 * first operation, by as much as that lies before the window, because queues are filled in advance.
 * The last call before that is loaded, too: it may be a long wait that ends in the window.
 */
static uint32_t load_slice_calls(struct build *b)
{
	const struct nsx_trace *t = b->m->t;
	int64_t start_ns = b->m->closure.window.start_ns;
	int64_t from_ns = b->from_ns == NEVER ? NEVER : b->from_ns - (start_ns - b->from_ns);
	uint32_t n = 0;

	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct nsx_thread *th = &t->thread[h];
		struct model_slice *s = &b->slice[h];

		*s = (struct model_slice){model_first_call(t, th, from_ns),
					  model_first_call(t, th, b->to_ns), n};
		if (s->from > th->calls_at && s->from < s->to)
			s->from--;
		while (s->from > th->calls_at && (t->calls.flags[s->from] & NSX_CALL_NESTED))
			s->from--;
		n += s->to - s->from;
	}
	return n;
}

/* Lists the outermost calls of all threads. */
static uint32_t list_outermost(struct build *b, struct nsx_keyed *list)
{
	const struct nsx_trace *t = b->m->t;
	uint32_t n = 0;

	for (uint32_t h = 0; h < t->nthreads; h++) {
		const struct model_slice *s = &b->slice[h];
		int64_t end_ns = NEVER;

		for (uint32_t i = s->from; i < s->to; i++) {
			int64_t start = nsx_call_start(&t->calls, i);
			int64_t end = nsx_call_end(&t->calls, i);

			b->outer[s->at + i - s->from] = NSX_NONE;
			if (end_ns != NEVER &&
			    ((t->calls.flags[i] & NSX_CALL_NESTED) ||
			     (start < end_ns && end <= end_ns + CROSSING_NS)))
				continue;
			start = NSX_MIN(NSX_MAX(start, end_ns), end);
			list[n++] = (struct nsx_keyed){start, i};
			end_ns = end;
		}
	}
	return n;
}

/* Lists the MPI calls to load; returns their number. MPI calls between CUDA calls of their thread
 * get numbers after the trace's rows. All others stay as recorded.
 */
static uint32_t load_list_mpi(const struct build *b, struct nsx_keyed *list)
{
	const struct nsx_trace *t = b->m->t;
	const struct nsx_meets *x = b->m->f->meets;
	uint32_t n = 0;

	for (uint32_t i = 0; i < x->ncalls; i++) {
		const struct nsx_mpi_call *c = &x->call[i];
		const struct model_slice *s = &b->slice[c->thread];
		uint32_t row = model_first_call(t, &t->thread[c->thread], c->start_ns);

		if (row > s->from && row < s->to)
			list[n++] = (struct nsx_keyed){
				c->start_ns, (uint32_t)t->calls.n + i};
		else if (c->comes != NSX_NONE)
			model_fix_meet(b->m, c->comes, c->start_ns);
	}
	return n;
}

/* Sets, for every nested row, the model's call into which it was folded. */
static void fold_nested(struct build *b)
{
	for (uint32_t h = 0; h < b->m->t->nthreads; h++) {
		const struct model_slice *s = &b->slice[h];

		for (uint32_t i = 1; i < s->to - s->from; i++)
			if (b->outer[s->at + i] == NSX_NONE)
				b->outer[s->at + i] = b->outer[s->at + i - 1];
	}
}

uint32_t model_call_of(const struct build *b, uint32_t row)
{
	const struct model_slice *s;

	if (row == NSX_NONE)
		return NSX_NONE;
	s = &b->slice[nsx_call_thread(b->m->t, row)];
	return row >= s->from && row < s->to ? b->outer[s->at + row - s->from] : NSX_NONE;
}

static struct model_call read_mpi(struct build *b, uint32_t call, uint32_t i)
{
	const struct nsx_trace *t = b->m->t;
	const struct nsx_mpi_call *x = &b->m->f->meets->call[i];

	b->mpi[call] = i;
	if (x->comes != NSX_NONE && x->start_ns == b->m->meet[x->comes].last_ns)
		b->m->meet[x->comes].last = call;
	return (struct model_call){
		.start_ns = x->start_ns, .end_ns = x->end_ns, .op = NSX_NONE,
		.room = x->comes, .kind = CALL_MPI,
		.row = model_first_call(t, &t->thread[x->thread], x->start_ns)};
}

static int load_fill_calls(struct build *b, const struct nsx_keyed *list, uint32_t n,
			   struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	size_t bound = nsx_strings_bound(t->strings);
	uint32_t *by_name, *last;

	if (nsx_new_arrays(b->a, bound, "API names", err, by_name) ||
	    nsx_new_arrays(b->a, t->nthreads, "threads", err, last) ||
	    nsx_new_arrays(m->arena, (size_t)n + 1, "calls to replay", err,
			   m->call) ||
	    nsx_new_arrays(b->a, n, "calls to replay", err, b->thread, b->next))
		return err->rc;
	memset(last, 0xff, (size_t)t->nthreads * 4);
	m->ncalls = n;
	for (uint32_t i = 0; i < n; i++) {
		struct model_call *c = &m->call[i];
		bool is_mpi = list[i].at >= t->calls.n;
		nsx_str name;
		uint32_t h;

		*c = is_mpi ? read_mpi(b, i, list[i].at - (uint32_t)t->calls.n) :
			      (struct model_call){
				      .start_ns = list[i].key,
				      .end_ns = nsx_call_end(&t->calls, list[i].at),
				      .op = NSX_NONE, .room = NSX_NONE, .row = list[i].at};
		h = nsx_call_thread(t, c->row);
		name = is_mpi ? m->f->meets->call[b->mpi[i]].name :
				nsx_call_name(&t->calls, c->row);
		if (find_api(b, name, by_name, &c->api, err))
			return err->rc;
		c->before = last[h];
		if (last[h] != NSX_NONE)
			b->next[last[h]] = i;
		if (!is_mpi)
			b->outer[b->slice[h].at + c->row - b->slice[h].from] = i;
		b->next[i] = NSX_NONE;
		b->thread[i] = h;
		last[h] = i;
	}
	return 0;
}

static int load_meets(struct build *b, uint32_t most, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_meets *x = m->f->meets;

	m->nmeets = x->nmeets;
	if (nsx_new_arrays(m->arena, x->nmeets, "MPI calls", err, m->meet) ||
	    nsx_new_arrays(b->a, x->nmeets ? most : 0, "MPI calls", err, b->mpi))
		return err->rc;
	for (uint32_t k = 0; k < x->nmeets; k++)
		m->meet[k] = (struct model_meet){x->last_ns[k], NEVER,
						 NSX_NONE};
	return 0;
}

static int load_calls(struct build *b, struct nsx_err *err)
{
	struct nsx_keyed *list;
	uint32_t most, n;

	if (!nsx_new_array(b->slice, b->a, b->m->t->nthreads, "threads", err))
		return err->rc;
	most = load_slice_calls(b);
	if (!nsx_new_array(b->outer, b->a, most, "calls to replay", err))
		return err->rc;
	most += b->m->f->meets->ncalls;
	if (nsx_new_arrays(b->a, 2 * (size_t)most, "calls to replay", err,
			   list) || load_meets(b, most, err))
		return err->rc;
	n = list_outermost(b, list);
	n += load_list_mpi(b, list + n);
	nsx_keyed_sort(list, list + n, n);
	if (load_fill_calls(b, list, n, err))
		return err->rc;
	nsx_arena_drop(b->a, list);
	fold_nested(b);
	return 0;
}

/* Operations --------------------------------------------------------------------*/

/* Migrations of unified memory belong to no stream of the program. */
#define NO_STREAM UINT32_MAX
static uint32_t load_list_ops(const struct build *b, struct nsx_keyed *list)
{
	const struct nsx_trace *t = b->m->t;
	uint32_t n = 0;

	for (uint32_t d = 0; d < t->ndevices; d++) {
		const struct nsx_device *x = &t->device[d];
		uint32_t to = nsx_first_op(t, x, b->to_ns);

		for (uint32_t i = nsx_first_op(t, x, b->from_ns); i < to; i++)
			if (!(t->ops.flags[i] & NSX_OP_PEER))
				list[n++] = (struct nsx_keyed){
					nsx_op_start(&t->ops, i), i};
	}
	return n;
}

static struct model_op read_op(const struct build *b, uint32_t row)
{
	const struct nsx_trace *t = b->m->t;
	const struct nsx_stream *s = nsx_stream_of(t, row);
	struct model_op o = {
		.start_ns = nsx_op_start(&t->ops, row),
		.length_ns = nsx_op_ns(&t->ops, row),
		.call = model_call_of(b, nsx_op_call(&t->ops, row)),
		.group = NSX_NONE, .lane = NSX_NONE, .before = NSX_NONE,
		.row = row,
		.kind = t->ops.kind[row]};

	if (o.kind == NSX_OP_MEMCPY)
		o.copy_kind = nsx_op_copy(t, row)->copy_kind;
	if (s->stream_id != NO_STREAM && !nsx_copy_is_migration(o.copy_kind))
		o.flags |= OP_STREAM;
	if (t->ops.cls[row] == NSX_C_COMM)
		o.flags |= OP_COMM;
	return o;
}

/* Numbers the streams in use, and the engines on which copies with EDIT_OP_SIDE queue. There is one
 * engine for each kind and direction, device and process.
 */
static int number_streams(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	const struct nsx_trace *t = m->t;
	NSX_AT_EXIT(nsx_groups_done) struct nsx_groups engines = {0};
	size_t cap = 0;
	int rc = 0;

	if (nsx_new_arrays(b->a, t->nstreams, "streams", err, b->stream_of, b->stream_row))
		return err->rc;
	memset(b->stream_of, 0xff, (size_t)t->nstreams * 4);
	for (uint32_t i = 0; !rc && i < m->nops; i++) {
		struct model_op *o = &m->op[i];
		uint32_t row = nsx_op_stream(&t->ops, o->row);
		const struct nsx_stream *s = &t->stream[row];

		if (b->stream_of[row] == NSX_NONE) {
			b->stream_row[m->nstreams] = row;
			b->stream_of[row] = m->nstreams++;
		}
		o->stream = b->stream_of[row];
		rc = nsx_group(&engines, (uint64_t)s->process << 32 | s->device,
			       (uint64_t)o->kind << 8 | o->copy_kind,
			       &o->engine, err) ?:
		     nsx_grow(&m->engine_rank, &cap, engines.n,
			      sizeof(*m->engine_rank), "engines", err);
		if (!rc)
			m->engine_rank[o->engine] = (struct model_rank){s->process, s->device};
	}
	m->nengines = (uint32_t)engines.n;
	return rc;
}

/* Finds the first and last operation that each call queued. */
static int load_match_ops(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;

	if (!nsx_new_array(b->last_op, b->a, m->ncalls, "calls to replay", err))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++) {
		uint32_t c = m->op[i].call;

		if (c == NSX_NONE)
			continue;
		if (m->call[c].op == NSX_NONE)
			m->call[c].op = b->last_op[c] = i;
		else
			m->call[c].flags |= CALL_MANY;
		if (m->op[i].kind == NSX_OP_KERNEL || m->op[i].kind == NSX_OP_GRAPH)
			m->call[c].flags |= CALL_COMPUTES;
		if (model_op_end(&m->op[i]) > model_op_end(&m->op[b->last_op[c]]))
			b->last_op[c] = i;
	}
	return 0;
}

/* Lists operations by stream, with the time at which each was queued. */
static int list_streams(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;

	if (nsx_new_arrays(b->a, (size_t)m->nstreams + 2, "streams", err,
			   b->stream_at) ||
	    nsx_new_arrays(b->a, m->nops, "streams", err, b->stream_op, b->queued, b->place))
		return err->rc;
	NSX_DEAL(b->stream_at, b->stream_op, m->nstreams, m->nops, i,
		 m->op[i].flags & OP_STREAM ? m->op[i].stream : NSX_NONE);
	for (uint32_t k = 0; k < b->stream_at[m->nstreams]; k++)
		b->place[b->stream_op[k]] = k;
	for (uint32_t i = 0; i < m->nops; i++) {
		struct model_op *o = &m->op[i];
		uint32_t k = b->place[i];

		if (!(o->flags & OP_STREAM))
			continue;
		b->queued[k] = o->call == NSX_NONE ? NEVER : m->call[o->call].start_ns;
		if (k == b->stream_at[o->stream])
			continue;
		o->before = b->stream_op[k - 1];
		b->queued[k] = NSX_MAX(b->queued[k], b->queued[k - 1]);
	}
	return 0;
}

static int load_ops(struct build *b, struct nsx_err *err)
{
	struct nsx_model *m = b->m;
	struct nsx_keyed *list;
	size_t most = 0;

	for (uint32_t d = 0; d < m->t->ndevices; d++)
		most += nsx_first_op(m->t, &m->t->device[d], b->to_ns) -
			nsx_first_op(m->t, &m->t->device[d], b->from_ns);
	if (!nsx_new_array(list, b->a, 2 * most, "operations to replay", err))
		return err->rc;
	m->nops = load_list_ops(b, list);
	nsx_keyed_sort(list, list + m->nops, m->nops);
	if (!nsx_new_array(m->op, m->arena, (size_t)m->nops + 1, "operations to replay", err))
		return err->rc;
	for (uint32_t i = 0; i < m->nops; i++)
		m->op[i] = read_op(b, list[i].at);
	nsx_arena_drop(b->a, list);
	return 0;
}

int model_load(struct build *b, struct nsx_err *err)
{
	if (load_calls(b, err) || load_ops(b, err) || number_streams(b, err) ||
	    load_match_ops(b, err) || list_streams(b, err))
		return err->rc;
	return 0;
}
