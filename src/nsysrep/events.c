/* events.c - finds the table of an event, and computes values that need more than one field. */
#include "nsysrep/events.h"

enum { /* an event's fields for bodies; each stands for one kind of body   */
	NVTX = 102, SAMPLE = 104, SCHED = 106, ACTIVITY = 107, CALL = 108,
	MODULE = 109, DIAGNOSTIC = 110, PROCESS = 113,
};

void nsx_count_unknown(struct nsx_unknown *v, unsigned *n, const struct nsx_unknown *x)
{
	unsigned i = 0;

	while (i < *n && (v[i].type != x->type || v[i].body != x->body || v[i].kind != x->kind))
		i++;
	if (i < *n)
		v[i].n += x->n;
	else if (*n < NSX_MOST_UNKNOWN)
		v[(*n)++] = *x;
	else
		v[NSX_MOST_UNKNOWN - 1].n += x->n;
}

static void note_unknown(struct nsx_walker *w, uint64_t body, uint64_t kind)
{
	if (w->notes)
		nsx_count_unknown(w->notes->unknown, &w->notes->nunknown,
				  &(struct nsx_unknown){w->type, body, kind, 1});
}

static int note_broken(struct nsx_walker *w)
{
	if (w->notes)
		w->notes->at.nbroken++;
	return 0;
}

static int count_table_row(struct nsx_walker *w, enum nsx_rep_table t)
{
	w->notes->at.rows[t]++;
	if (w->type < NSX_SMALL_TYPES)
		w->notes->tables[w->type] |= UINT64_C(1) << t;
	return 0;
}

int nsx_walk_row(struct nsx_walker *w, enum nsx_rep_table t,
		 const struct nsx_row_of *of, struct nsx_err *err)
{
	struct nsx_val v[NSX_MAX_COLUMNS];

	if (w->notes) {
		if (w->rep->def[t].instant)
			nsx_note_instant(w->notes, nsx_rep_value(w->rep->def[t].instant, of).u.i);
		return count_table_row(w, t);
	}
	if (t != w->wanted)
		return 0;
	for (unsigned i = 0; i < w->ncolumns; i++)
		v[i] = w->column[i] < 0 ? nsx_val_none() :
		       nsx_rep_value(&w->rep->def[t].columns[w->column[i]], of);
	return w->fn(w->ctx, w->rid++, v, err);
}

/* By kind of CUDA activity: the field with the details, and the table. */
static const struct {
	uint8_t part, table;
} activities[] = {
	[1] = {102, NSX_REP_MEMCPY}, [2] = {103, NSX_REP_MEMSET},
	[3] = {101, NSX_REP_KERNEL}, [5] = {105, NSX_REP_SYNC},
	[6] = {106, NSX_REP_CUDA_EVENT}, [7] = {107, NSX_REP_GRAPH_TRACE},
};

enum { /* fields of an activity and of its part                             */
	KIND = 7, SYNC_TYPE = 2, SYNC_TYPE_BEFORE = 4,
	PART_OF = 256, /* added to an activity's kind: the kind of layout of its part */
	FRAME = 512, /* the kind of layout of a frame                        */
};

static int add_activity(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	uint64_t kind = nsx_msg_uint(body, KIND);
	struct nsx_msg part;
	struct nsx_val sync_type;

	if (kind >= ARRAY_LEN(activities) || !activities[kind].part) {
		note_unknown(w, ACTIVITY, kind);
		return 0;
	}
	if (!nsx_layout_read(&w->layouts, PART_OF + (uint32_t)kind, w->part_fields, 0, &part,
			     nsx_msg_bytes(body, activities[kind].part)))
		return note_broken(w);
	/* Both the field and its numbering changed with 2025.1. */
	sync_type = nsx_val_field(&part, nsx_msg_has(&part, SYNC_TYPE) ?
					 SYNC_TYPE : SYNC_TYPE_BEFORE);
	return nsx_walk_row(w, activities[kind].table,
			    &(struct nsx_row_of){.body = body, .part = &part,
						 .code = &sync_type}, err);
}

/* Adds the frames of a call stack, a repeated field of the message. */
static int add_stack(struct nsx_walker *w, enum nsx_rep_table t,
		     struct nsx_piece message, unsigned field, int64_t id, struct nsx_err *err)
{
	struct nsx_wire at = nsx_wire_of(message);
	struct nsx_msg frame;
	int64_t depth = 0;
	int rc = 0;

	if (!w->notes && w->wanted != t)
		return 0;
	while (!rc && nsx_wire_next(&at)) {
		struct nsx_val v[] = {nsx_val_int(id), nsx_val_int(depth)};

		if (at.field != field || !at.bytes.p)
			continue;
		if (!nsx_layout_read(&w->layouts, FRAME, w->part_fields, 0, &frame, at.bytes))
			return note_broken(w);
		depth++;
		rc = nsx_walk_row(w, t, &(struct nsx_row_of){
				  .part = &frame, .code = v}, err);
	}
	return rc;
}

enum { START = 1, CLASS = 6, STACK = 15 }; /* fields of a call; 1 of an activity */
enum { /* classes of calls, ENUM_NSYS_EVENT_CLASS                           */
	CLASS_PROFILER = 3, CLASS_OSRT = 27, CLASS_OSRT_START = 31,
	CLASS_OSRT_FINISH = 32, CLASS_OPENACC = 48, CLASS_JIT = 102,
	CLASS_OVERHEAD = 103,
};
/* The table of a call, by class; 0: no table (0 is the table of strings, which has no calls). */
static const uint8_t calls[] = {
	[0] = NSX_REP_RUNTIME, [1] = NSX_REP_RUNTIME,
	[CLASS_PROFILER] = NSX_REP_PROFILER_OVERHEAD,
	[CLASS_OVERHEAD] = NSX_REP_OVERHEAD, [CLASS_OSRT] = NSX_REP_OSRT,
	[CLASS_OSRT_START] = NSX_REP_OSRT, [CLASS_OSRT_FINISH] = NSX_REP_OSRT,
	[28] = NSX_REP_CUDNN, [33] = NSX_REP_CUDNN, [34] = NSX_REP_CUDNN,
	[29] = NSX_REP_CUBLAS, [35] = NSX_REP_CUBLAS, [36] = NSX_REP_CUBLAS,
	[83] = NSX_REP_VIDEO_ENCODER, [84] = NSX_REP_VIDEO_ENCODER,
	[85] = NSX_REP_VIDEO_ENCODER, [86] = NSX_REP_VIDEO_DECODER,
	[87] = NSX_REP_VIDEO_DECODER, [88] = NSX_REP_VIDEO_DECODER,
	[89] = NSX_REP_VIDEO_JPEG, [90] = NSX_REP_VIDEO_JPEG,
	[91] = NSX_REP_VIDEO_JPEG, [94] = NSX_REP_GRAPH_EVENT,
	[95] = NSX_REP_GRAPH_EVENT, [96] = NSX_REP_GRAPH_EVENT,
};
_Static_assert(!NSX_REP_STRING, "no call has strings");
/* Classes that no table has: start and end of tracers, and compilation of kernels. */
static const uint8_t untabled[] = {6, 7, 8, 9, 10, 11, 45, 46, CLASS_JIT};

static int add_openacc(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg part, deep;
	bool is_launch, is_data;

	if (!nsx_msg_read(&part, nsx_msg_bytes(body, 25)))
		return note_broken(w);
	is_data = nsx_msg_has(&part, 102);
	is_launch = nsx_msg_has(&part, 101);
	if (!nsx_msg_read(&deep, nsx_msg_bytes(&part, is_launch ? 101 : 102)))
		return note_broken(w);
	return nsx_walk_row(w, is_launch ? NSX_REP_OPENACC_LAUNCH :
			       is_data ? NSX_REP_OPENACC_DATA :
					 NSX_REP_OPENACC_OTHER,
			    &(struct nsx_row_of){body, &part, &deep, NULL}, err);
}

static bool call_is_wanted(const struct nsx_walker *w, uint64_t class, enum nsx_rep_table table)
{
	return w->notes || class == CLASS_OPENACC || w->wanted == table ||
	       (table == NSX_REP_OSRT && w->wanted == NSX_REP_OSRT_FRAME);
}

static int events_add_call(struct nsx_walker *w, struct nsx_piece bytes,
			   const struct nsx_msg *body, struct nsx_err *err)
{
	uint64_t class = nsx_msg_uint(body, CLASS);
	enum nsx_rep_table table = class < ARRAY_LEN(calls) ? calls[class] : 0;
	struct nsx_val stack = nsx_val_int(0);
	struct nsx_msg part;

	part.has[0] = part.has[1] = 0;
	if (!call_is_wanted(w, class, table))
		return 0;
	if (class == CLASS_OPENACC)
		return add_openacc(w, body, err);
	if (!table) {
		if (class >= 256 || !memchr(untabled, (int)class, sizeof(untabled)))
			note_unknown(w, CALL, class);
		return 0;
	}
	if (table == NSX_REP_RUNTIME) {
		stack = nsx_val_none();
		if (w->notes && nsx_msg_has(body, STACK))
			nsx_count_unknown(w->notes->unknown, &w->notes->nunknown,
					  &(struct nsx_unknown){NSX_CUDA_STACK,
								CALL, STACK, 1});
	} else if (class == CLASS_OSRT && nsx_msg_has(body, STACK)) {
		stack = nsx_val_int(++w->stacks);
		if (add_stack(w, NSX_REP_OSRT_FRAME, bytes, STACK, w->stacks, err))
			return err->rc;
	} else if (table == NSX_REP_GRAPH_EVENT) {
		unsigned f = nsx_msg_has(body, 37) ? 37 : nsx_msg_has(body, 38) ? 38 : 39;

		if (!nsx_msg_read(&part, nsx_msg_bytes(body, f)))
			return note_broken(w);
	}
	return nsx_walk_row(w, table, &(struct nsx_row_of){
			    .body = body, .part = &part, .code = &stack}, err);
}

/* Finds out whether the messages of a layout become rows of one table with nothing but numbers of
 * the body, and which numbers. Notes need one number: the instant.
 */
static void plan_cells(const struct nsx_walker *w, unsigned body_field, struct nsx_msg_layout *l,
		       const struct nsx_msg *body)
{
	uint64_t class = nsx_msg_uint(body, CLASS);
	unsigned table = body_field == SCHED ? NSX_REP_SCHED :
			 class < ARRAY_LEN(calls) ? calls[class] : 0;
	const struct nsx_rep_def *def = &w->rep->def[table];

	l->row = NSX_ROW_NONE;
	l->table = table;
	l->ncells = w->notes ? 1 : table == w->wanted ? w->ncolumns : 0;
	if (!table || table == NSX_REP_GRAPH_EVENT || nsx_msg_has(body, STACK) ||
	    l->ncells > NSX_LAYOUT_CELLS)
		return;
	for (unsigned i = 0; i < l->ncells; i++) {
		const struct nsx_rep_column *c = w->notes ? def->instant :
				w->column[i] < 0 ? NULL : &def->columns[w->column[i]];

		l->cell[i] = (struct nsx_layout_cell){.is_null = true};
		if (c && c->from == CODE)
			l->cell[i].is_null = table == NSX_REP_RUNTIME;
		else if (c)
			l->cell[i] = nsx_layout_cell(l, c->field);
		l->cell[i].is_null &= !(c && c->from == BODY0);
	}
	l->row = NSX_ROW_OF_CELLS;
}

/* The row of a message whose layout is planned. */
static int add_cells(struct nsx_walker *w, const struct nsx_msg_layout *l, const uint8_t *message,
		     struct nsx_err *err)
{
	struct nsx_val v[NSX_LAYOUT_CELLS];

	if (w->notes) {
		nsx_note_instant(w->notes, nsx_cell_number(l->cell[0], message));
		return count_table_row(w, l->table);
	}
	if (l->table != w->wanted)
		return 0;
	for (unsigned i = 0; i < l->ncells; i++)
		v[i] = (struct nsx_val){l->cell[i].is_null ? NSX_V_NULL : NSX_V_I64, 0,
					{nsx_cell_number(l->cell[i], message)}};
	return w->fn(w->ctx, w->rid++, v, err);
}

static int add_sample(struct nsx_walker *w, struct nsx_piece bytes,
		      const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg counter;
	struct nsx_val v[2] = {nsx_val_int(++w->samples)};

	if (!nsx_msg_read(&counter, nsx_msg_bytes(body, 5)))
		return w->samples--, note_broken(w);
	v[1] = nsx_val_field(&counter, 2);
	return nsx_walk_row(w, NSX_REP_SAMPLE, &(struct nsx_row_of){
			    .body = body, .code = v}, err) ?:
	       add_stack(w, NSX_REP_SAMPLE_FRAME, bytes, 4, w->samples, err);
}

static int note_process(struct nsx_walker *w, const struct nsx_msg *body)
{
	struct nsx_piece name = nsx_msg_bytes(body, 6);
	struct nsx_notes *n = w->notes;

	if (!n || (!nsx_msg_has(body, 5) && !nsx_msg_has(body, 6)))
		return 0;
	if (!name.n)
		name = nsx_msg_bytes(body, 5);
	struct nsx_rep_process process = {
		n->block, n->nprocesses, nsx_msg_uint(body, 2),
		nsx_arena_strndup(n->arena, (const char *)name.p, name.n)};

	nsx_push_or_die(n->processes, n->nprocesses, n->processes_cap, process);
	return 0;
}

static int add_diagnostic(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg time;

	if (!nsx_msg_read(&time, nsx_msg_bytes(body, 1)))
		return note_broken(w);
	return nsx_walk_row(w, NSX_REP_DIAGNOSTIC, &(struct nsx_row_of){
			    .body = body, .part = &time}, err);
}

static int events_add_event(struct nsx_walker *w, unsigned body_field, struct nsx_piece bytes,
			    struct nsx_err *err)
{
	bool is_plain = body_field == CALL || body_field == SCHED;
	struct nsx_msg_layout *l;
	struct nsx_msg body;

	if (body_field == MODULE)
		return 0; /* a mapped module has no table */
	l = is_plain ? nsx_layout_find(&w->layouts, body_field, bytes) : NULL;
	if (l && l->row == NSX_ROW_OF_CELLS)
		return add_cells(w, l, bytes.p, err);
	if (!nsx_layout_read(&w->layouts, body_field, is_plain || body_field == ACTIVITY ?
			     w->fields : UINT64_MAX, body_field == CALL ? UINT64_C(1) << CLASS : 0,
			     &body, bytes))
		return note_broken(w);
	if (l && l->row == NSX_ROW_UNTRIED)
		plan_cells(w, body_field, l, &body);
	switch (body_field) {
	case CALL:
		return events_add_call(w, bytes, &body, err);
	case ACTIVITY:
		return add_activity(w, &body, err);
	case NVTX:
		return nsx_walk_nvtx(w, &body, err);
	case SAMPLE:
		return add_sample(w, bytes, &body, err);
	case SCHED:
		return nsx_walk_row(w, NSX_REP_SCHED, &(struct nsx_row_of){
				    .body = &body}, err);
	case DIAGNOSTIC:
		return add_diagnostic(w, &body, err);
	case PROCESS:
		return note_process(w, &body);
	default:
		note_unknown(w, body_field, 0);
		return 0;
	}
}

/* Whether an event may have stacks of OS calls, if these are what is wanted: then it has a byte
 * like the key of a stack.
 */
static bool may_have_stack(const struct nsx_walker *w, struct nsx_piece event)
{
	return w->notes || w->wanted != NSX_REP_OSRT_FRAME ||
	       memchr(event.p, STACK << 3 | NSX_BYTES, event.n);
}

/* Whether events of this type may have wanted rows. */
static bool type_is_wanted(const struct nsx_walker *w, uint64_t type)
{
	return w->notes || type >= NSX_SMALL_TYPES || w->rep->tables[type] >> w->wanted & 1;
}

/* Reads an event {1 type, N body} whose type takes one byte and whose N takes two. False: the event
 * is different, and must be read field by field.
 */
static bool read_usual_event(struct nsx_piece event, unsigned *ret_field, struct nsx_piece *ret)
{
	const uint8_t *p = event.p;
	size_t head = event.n < 128 + 5 ? 5 : 6, n;

	if (event.n < 6 || p[0] != (1 << 3) || p[1] >= 128 || p[3] >= 128 ||
	    (p[2] & (128 | 7)) != (128 | NSX_BYTES))
		return false;
	n = head == 5 ? p[4] : (p[4] & 127u) | (size_t)p[5] << 7;
	*ret_field = (p[2] & 127u) >> 3 | (unsigned)p[3] << 4;
	*ret = (struct nsx_piece){p + head, n};
	if (n != event.n - head || (head == 6 && (p[4] < 128 || p[5] >= 128)))
		return false;
	return *ret_field >= 100;
}

/* Reads one event. A counter event is {1 type, 2 time, 3 values}. */
static int read_event(struct nsx_walker *w, struct nsx_piece bytes, struct nsx_err *err)
{
	struct nsx_wire at = nsx_wire_of(bytes);
	struct nsx_piece body = {NULL, 0};
	unsigned field = 0;
	uint64_t time = 0;

	w->type = 0;
	if (read_usual_event(bytes, &field, &body)) {
		w->type = bytes.p[1];
		return type_is_wanted(w, w->type) && may_have_stack(w, body) ?
			       events_add_event(w, field, body, err) : 0;
	}
	while (nsx_wire_next(&at))
		if (at.field == 1) {
			w->type = at.n;
			if (!type_is_wanted(w, w->type))
				return 0;
		} else if (at.field == 2) {
			time = at.n;
		} else if (at.bytes.p) {
			field = at.field;
			body = at.bytes;
		}
	if (at.is_bad)
		return note_broken(w);
	if (field == 3 && w->type >> 48)
		return nsx_metrics_add(w, (int64_t)time, body, err);
	if (!body.p || field < 100) {
		note_unknown(w, field, 0);
		return 0;
	}
	return events_add_event(w, field, body, err);
}

void nsx_walker_begin(struct nsx_walker *w)
{
	const struct nsx_rep_column *all = w->rep->def[w->wanted].columns;

	w->fields = UINT64_C(1) << START | UINT64_C(1) << CLASS | UINT64_C(1) << KIND;
	w->part_fields = UINT64_C(1) << SYNC_TYPE | UINT64_C(1) << SYNC_TYPE_BEFORE;
	for (unsigned i = 0; !w->notes && i < w->ncolumns; i++) {
		const struct nsx_rep_column *c = &all[NSX_MAX(w->column[i], 0)];
		bool is_part = c->from == PART || c->from == PART0;

		if (w->column[i] >= 0 && c->field < 64)
			*(is_part ? &w->part_fields : &w->fields) |= UINT64_C(1) << c->field;
	}
}

/* Advances to the next event of a block. The usual one has a length of one or two bytes. */
static inline bool next_event(struct nsx_wire *at)
{
	const uint8_t *p = at->p;
	size_t n, left = (size_t)(at->end - p);

	if (left < 3 || p[0] != (1 << 3 | NSX_BYTES) || (p[1] >= 128 && p[2] >= 128))
		return nsx_wire_next(at);
	n = p[1] < 128 ? p[1] : (p[1] & 127u) | (size_t)p[2] << 7;
	p += p[1] < 128 ? 2 : 3;
	if (n > (size_t)(at->end - p))
		return nsx_wire_next(at);
	at->field = 1;
	at->bytes = (struct nsx_piece){p, n};
	at->p = p + n;
	return true;
}

int nsx_walk_block(struct nsx_walker *w, size_t block, struct nsx_err *err)
{
	struct nsx_piece message;
	struct nsx_wire at;
	int rc = nsx_block_read(&w->rep->file, &w->rep->file.blocks[block], &w->buf, &message, err);

	if (rc)
		return rc;
	for (at = nsx_wire_of(message); !rc && next_event(&at);)
		if (at.field == 1 && at.bytes.p) {
			if (w->notes)
				w->notes->at.nevents++;
			rc = read_event(w, at.bytes, err);
		}
	if (at.is_bad)
		note_broken(w);
	return rc;
}

void nsx_walker_done(struct nsx_walker *w)
{
	nsx_buf_done(&w->text);
	free(w->buf.plain);
	free(w->buf.packed);
}
