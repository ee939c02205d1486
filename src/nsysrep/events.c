/* events.c - finds the table of an event, and computes values that need more than one field. */
#include "nsysrep/events.h"

/* The kind of layout of an event depends on its type's first byte; that of a frame is its table. */
static uint32_t event_kind(struct nsx_piece event)
{
	return NSX_REP_NTABLES + (event.n > 1 ? event.p[1] : 0);
}

enum { /* an event's fields for bodies; each stands for one kind of body   */
	NVTX = 102, SAMPLE = 104, SCHED = 106, ACTIVITY = 107, CALL = 108,
	MODULE = 109, DIAGNOSTIC = 110, PROCESS = 113, CPU_COUNT = 128,
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
	w->learnt = NULL;
	if (w->notes)
		nsx_count_unknown(w->notes->unknown, &w->notes->nunknown,
				  &(struct nsx_unknown){w->type, body, kind, 1});
}

int nsx_walk_broken(struct nsx_walker *w)
{
	w->learnt = NULL;
	if (w->notes)
		w->notes->at.nbroken++;
	return 0;
}

/* The cell of a column in messages of the layout that was learnt last. False: the layout does not
 * have the column's values.
 */
static bool plan_cell(struct nsx_walker *w, const struct nsx_rep_column *c,
		      const struct nsx_val *code, struct nsx_layout_cell *to)
{
	bool is_part = c->from == PART || c->from == PART0;
	bool is_text = c->from == TEXT || c->from == TEXT0;
	const struct nsx_layout_place *p =
		&w->layouts.place[is_part ? NSX_IN_PART : NSX_IN_BODY][c->field];

	if (c->from == CODE && c->field < NSX_LAYOUT_CODES) {
		w->learnt->code[c->field] = code[c->field];
		*to = (struct nsx_layout_cell){.how = NSX_CELL_CODE, .at = (uint8_t)c->field};
		return true;
	}
	*to = nsx_layout_cell(p);
	if (p->kind == NSX_ABSENT && (c->from == BODY0 || c->from == PART0))
		to->is = nsx_val_int(0);
	return c->from != CODE && c->from != DEEP && c->from != TEXT0 &&
	       (p->kind == NSX_ABSENT || p->kind == (is_text ? NSX_TEXT : NSX_NUMBER));
}

/* Finds out how rows of this table are made from the layout that was learnt last. Notes need one
 * value: the instant. A message that becomes several rows is not made from its layout.
 */
static void plan_row(struct nsx_walker *w, enum nsx_rep_table t, const struct nsx_val *code)
{
	const struct nsx_rep_def *def = &w->rep->def[t];
	struct nsx_event_layout *l = w->learnt;
	bool is_sound = l->row == NSX_ROW_UNKNOWN;

	l->table = t;
	l->ncells = w->notes ? def->instant != NULL : w->use[t]->ncolumns;
	is_sound &= l->ncells <= NSX_LAYOUT_CELLS;
	for (unsigned i = 0; is_sound && i < l->ncells; i++) {
		static const struct nsx_rep_column none = {"", TEXT, 0};
		const struct nsx_rep_column *c = w->notes ? def->instant :
				w->use[t]->columns[i] < 0 ? &none :
				&def->columns[w->use[t]->columns[i]];

		is_sound = plan_cell(w, c, code, &l->cell[i]) &&
			   (!w->notes || l->cell[i].how == NSX_CELL_FIXED);
	}
	l->row = is_sound ? NSX_ROW_OF_CELLS : NSX_ROW_UNKNOWN;
	w->learnt = is_sound ? l : NULL;
}

int nsx_walk_row(struct nsx_walker *w, enum nsx_rep_table t,
		 const struct nsx_row_of *of, struct nsx_err *err)
{
	struct nsx_source_use *use = w->use[t];
	struct nsx_val v[NSX_MAX_COLUMNS];

	if (w->learnt && (w->notes || nsx_is_wanted(w, t)))
		plan_row(w, t, of->code);
	if (w->notes) {
		if (w->rep->def[t].instant)
			nsx_note_instant(w->notes, nsx_rep_value(w->rep->def[t].instant, of).u.i);
		nsx_note_row(w->notes, t);
		return 0;
	}
	if (!nsx_is_wanted(w, t))
		return 0;
	for (unsigned i = 0; i < use->ncolumns; i++)
		v[i] = use->columns[i] < 0 ? nsx_val_none() :
		       nsx_rep_value(&w->rep->def[t].columns[use->columns[i]], of);
	return use->fn(use->ctx, use->rid++, v, err);
}

/* The row of a message whose layout is planned. */
static inline int add_cells(struct nsx_walker *w, const struct nsx_event_layout *l,
			    const uint8_t *message, const struct nsx_val *code,
			    struct nsx_err *err)
{
	struct nsx_source_use *use = w->use[l->table];
	struct nsx_val v[NSX_LAYOUT_CELLS];

	if (w->notes) {
		nsx_note_row(w->notes, l->table);
		if (l->ncells) {
			uint64_t bits = nsx_layout_bits(l->cell, message);

			w->notes->least_bits = NSX_MIN(w->notes->least_bits, bits);
			w->notes->most_bits = NSX_MAX(w->notes->most_bits, bits);
		}
		return 0;
	}
	nsx_layout_row(l, message, code, v);
	return use->fn(use->ctx, use->rid++, v, err);
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
};

static unsigned part_of_activity(const struct nsx_msg *body)
{
	uint64_t kind = nsx_msg_uint(body, KIND);

	return kind < ARRAY_LEN(activities) ? activities[kind].part : 0;
}

static int add_activity(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	uint64_t kind = nsx_msg_uint(body, KIND);
	unsigned field = part_of_activity(body);
	struct nsx_layout_place *at = w->layouts.place[NSX_IN_PART];
	struct nsx_msg part;

	if (!field) {
		note_unknown(w, ACTIVITY, kind);
		return 0;
	}
	if (!nsx_msg_read(&part, nsx_msg_bytes(body, field)))
		return nsx_walk_broken(w);
	/* Both the field and its numbering changed with 2025.1. */
	if (activities[kind].table == NSX_REP_SYNC && !nsx_msg_has(&part, SYNC_TYPE) &&
	    nsx_msg_has(&part, SYNC_TYPE_BEFORE)) {
		part.has[0] |= UINT64_C(1) << SYNC_TYPE;
		part.v[SYNC_TYPE] = part.v[SYNC_TYPE_BEFORE];
		at[SYNC_TYPE] = at[SYNC_TYPE_BEFORE];
	}
	return nsx_walk_row(w, activities[kind].table,
			    &(struct nsx_row_of){.body = body, .part = &part}, err);
}

enum { STACK = 15 }; /* a field of a call                                   */
/* The table of frames, and the repeated field that has them. */
static const struct {
	uint8_t table, field;
} stacked[NSX_NSTACKED] = {[NSX_OF_SAMPLE] = {NSX_REP_SAMPLE_FRAME, 4},
			   [NSX_OF_CALL] = {NSX_REP_OSRT_FRAME, STACK}};

/* Advances to the next field of this number (below 16) that is bytes: an event of a block, or a
 * frame of an event. The usual one has a length of one byte.
 */
static inline bool next_bytes(struct nsx_wire *at, unsigned field, struct nsx_piece *ret)
{
	const uint8_t *p = at->p;

	if (at->end - p > 2 && p[0] == (field << 3 | NSX_BYTES) && p[1] < 128 &&
	    p[1] < at->end - p - 1) {
		*ret = (struct nsx_piece){p + 2, p[1]};
		at->p = p + 2 + p[1];
		return true;
	}
	while (nsx_wire_next(at))
		if (at->field == field && at->bytes.p) {
			*ret = at->bytes;
			return true;
		}
	return false;
}

/* Adds the frames among some fields of an event. */
static int add_frames(struct nsx_walker *w, enum nsx_rep_stacked kind, struct nsx_piece fields,
		      int64_t id, struct nsx_err *err)
{
	const struct nsx_layout_shape shape = {NSX_IN_PART, 0, 0, 0};
	enum nsx_rep_table t = stacked[kind].table;
	struct nsx_wire at = nsx_wire_of(fields);
	struct nsx_val v[] = {nsx_val_int(id), nsx_val_int(-1)};
	struct nsx_piece bytes;
	struct nsx_msg frame;
	int rc = 0;

	while (!rc && next_bytes(&at, stacked[kind].field, &bytes)) {
		const struct nsx_event_layout *l = nsx_layout_find(&w->layouts, t, bytes);

		v[1].u.i++;
		if (l && l->row == NSX_ROW_OF_CELLS) {
			rc = add_cells(w, l, bytes.p, v, err);
			continue;
		}
		if (!nsx_msg_read(&frame, bytes))
			return nsx_walk_broken(w);
		w->learnt = l ? NULL : nsx_layout_learn(&w->layouts, t, bytes, &shape);
		rc = nsx_walk_row(w, t, &(struct nsx_row_of){.part = &frame, .code = v}, err);
	}
	w->learnt = NULL;
	return rc;
}

/* Keeps the frames of an event, and counts them. */
static int note_stack(struct nsx_walker *w, enum nsx_rep_stacked kind, struct nsx_piece message,
		      const struct nsx_msg *body, struct nsx_err *err)
{
	uint32_t *nrows = &w->notes->at.rows[stacked[kind].table], before = *nrows;
	uint32_t nbroken = w->notes->at.nbroken;
	const struct nsx_msg_field *last = &body->v[stacked[kind].field];
	struct nsx_wire at = nsx_wire_of(message);
	struct nsx_rep_order *order = &w->notes->order[kind];
	const struct nsx_rep_stack *x;

	if (!nsx_msg_has(body, stacked[kind].field)) {
		message.n = 0;
	} else if (last->bytes) {
		do
			message.p = at.p;
		while (nsx_wire_next(&at) && at.field != stacked[kind].field);
		message.n = (size_t)(last->bytes + last->n - message.p);
	}
	w->notes->made |= (uint64_t)(message.n > 0) << stacked[kind].table;
	x = nsx_stacks_find(&w->notes->stacks[kind], order, message);
	if (x) {
		*nrows += x->nframes;
		w->notes->at.nbroken += x->is_broken;
	} else {
		if (add_frames(w, kind, message, 0, err))
			return err->rc;
		x = nsx_stacks_add(&w->notes->stacks[kind], &(struct nsx_rep_stack){
				   .fields = message, .nframes = *nrows - before,
				   .is_broken = w->notes->at.nbroken > nbroken});
	}
	order->is_full |= !x;
	if (!order->is_full)
		nsx_push_or_die(order->v, order->n, order->cap, x->index);
	return 0;
}

static int add_stack(struct nsx_walker *w, enum nsx_rep_stacked kind, struct nsx_piece message,
		     const struct nsx_msg *body, struct nsx_err *err)
{
	int64_t id = ++w->nstacks[kind];

	return w->notes ? note_stack(w, kind, message, body, err) :
	       nsx_is_wanted(w, stacked[kind].table) ? add_frames(w, kind, message, id, err) : 0;
}

enum { CLASS = 6 }; /* a field of a call                                     */
enum { /* classes of calls, ENUM_NSYS_EVENT_CLASS                           */
	CLASS_PROFILER = 3, CLASS_OSRT = 27, CLASS_OSRT_START = 31,
	CLASS_OSRT_FINISH = 32, CLASS_OPENACC = 48, CLASS_OPENMP = 78, CLASS_JIT = 102,
	CLASS_OVERHEAD = 103,
};
/* The table of a call, by class; 0: no table (0 is the table of strings, which has no calls). */
static const uint8_t calls[] = {
	[0] = NSX_REP_RUNTIME, [1] = NSX_REP_RUNTIME, [67] = NSX_REP_RUNTIME,
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
static const uint8_t untabled[] = {6, 7, 8, 9, 10, 11, 45, 46, 68, 69, 79, 80, CLASS_JIT};

static int add_openacc(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg part, deep;
	bool is_launch, is_data;

	if (!nsx_msg_read(&part, nsx_msg_bytes(body, 25)))
		return nsx_walk_broken(w);
	is_data = nsx_msg_has(&part, 102);
	is_launch = nsx_msg_has(&part, 101);
	if (!nsx_msg_read(&deep, nsx_msg_bytes(&part, is_launch ? 101 : 102)))
		return nsx_walk_broken(w);
	return nsx_walk_row(w, is_launch ? NSX_REP_OPENACC_LAUNCH :
			       is_data ? NSX_REP_OPENACC_DATA :
					 NSX_REP_OPENACC_OTHER,
			    &(struct nsx_row_of){body, &part, &deep, NULL}, err);
}

static int add_openmp(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	/* By kind of event: the field with the details, and the table. */
	static const struct {
		uint8_t field, table;
	} kinds[] = {
		[15] = {9, NSX_REP_OMP_TASK_CREATE}, [20] = {14, NSX_REP_OMP_MUTEX_RELEASED},
		[28] = {3, NSX_REP_OMP_PARALLEL}, [30] = {5, NSX_REP_OMP_SYNC_REGION},
		[31] = {6, NSX_REP_OMP_TASK}, [32] = {7, NSX_REP_OMP_MASTER},
		[34] = {12, NSX_REP_OMP_MUTEX_WAIT}, [35] = {13, NSX_REP_OMP_CRITICAL},
		[36] = {17, NSX_REP_OMP_WORKSHARE}};
	struct nsx_msg part, deep;
	uint64_t kind;

	if (!nsx_msg_read(&part, nsx_msg_bytes(body, 34)))
		return nsx_walk_broken(w);
	kind = nsx_msg_uint(&part, 1);
	if (kind >= ARRAY_LEN(kinds) || !kinds[kind].field) {
		note_unknown(w, CALL, CLASS_OPENMP);
		return 0;
	}
	if (!nsx_msg_read(&deep, nsx_msg_bytes(&part, kinds[kind].field)))
		return nsx_walk_broken(w);
	return nsx_walk_row(w, kinds[kind].table, &(struct nsx_row_of){body, &part, &deep, NULL},
			    err);
}

static bool call_is_wanted(const struct nsx_walker *w, uint64_t class, enum nsx_rep_table table)
{
	return w->notes || class == CLASS_OPENACC || class == CLASS_OPENMP || nsx_is_wanted(w, table) ||
	       (table == NSX_REP_OSRT && nsx_is_wanted(w, NSX_REP_OSRT_FRAME));
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
	if (class == CLASS_OPENACC || class == CLASS_OPENMP || table == NSX_REP_GRAPH_EVENT ||
	    nsx_msg_has(body, STACK))
		w->learnt = NULL;
	if (class == CLASS_OPENACC)
		return add_openacc(w, body, err);
	if (class == CLASS_OPENMP)
		return add_openmp(w, body, err);
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
		if (add_stack(w, NSX_OF_CALL, bytes, body, err))
			return err->rc;
		stack = nsx_val_int(w->nstacks[NSX_OF_CALL]);
	} else if (table == NSX_REP_GRAPH_EVENT) {
		unsigned f = nsx_msg_has(body, 37) ? 37 : nsx_msg_has(body, 38) ? 38 : 39;

		if (!nsx_msg_read(&part, nsx_msg_bytes(body, f)))
			return nsx_walk_broken(w);
	}
	return nsx_walk_row(w, table, &(struct nsx_row_of){
			    .body = body, .part = &part, .code = &stack}, err);
}

enum { COUNTER = 5 }; /* a field of a sample */

static int add_sample(struct nsx_walker *w, struct nsx_piece bytes,
		      const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg counter;
	struct nsx_val id = nsx_val_int(w->nstacks[NSX_OF_SAMPLE] + 1);

	if (!nsx_msg_read(&counter, nsx_msg_bytes(body, COUNTER)))
		return nsx_walk_broken(w);
	return nsx_walk_row(w, NSX_REP_SAMPLE, &(struct nsx_row_of){
			    .body = body, .part = &counter, .code = &id}, err) ?:
	       add_stack(w, NSX_OF_SAMPLE, bytes, body, err);
}

static int note_process(struct nsx_walker *w, const struct nsx_msg *body)
{
	struct nsx_piece name = nsx_msg_bytes(body, 6);
	struct nsx_notes *n = w->notes;

	if (!n || (!nsx_msg_has(body, 5) && !nsx_msg_has(body, 6)))
		return 0;
	if (!name.n)
		name = nsx_msg_bytes(body, 5);
	nsx_push_or_die(n->processes, n->nprocesses, n->processes_cap, (struct nsx_rep_process){
			nsx_msg_uint(body, 2),
			nsx_arena_strndup(n->arena, (const char *)name.p, name.n)});
	return 0;
}

static int add_diagnostic(struct nsx_walker *w, const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg time;

	if (!nsx_msg_read(&time, nsx_msg_bytes(body, 1)))
		return nsx_walk_broken(w);
	return nsx_walk_row(w, NSX_REP_DIAGNOSTIC, &(struct nsx_row_of){
			    .body = body, .part = &time}, err);
}

/* Learns the layout of an event, if all events of that layout become rows in the same way, and the
 * body is a field below NSX_MSG_FIELDS.
 */
static struct nsx_event_layout *learn_event(struct nsx_walker *w, unsigned body_field,
				      struct nsx_piece event, const struct nsx_msg *body)
{
	struct nsx_layout_shape shape = {NSX_IN_EVENT, body_field, 0, 0};

	switch (body_field) {
	case CALL:
		shape.fixed = CLASS;
		break;
	case ACTIVITY:
		shape.fixed = KIND;
		shape.part = part_of_activity(body);
		break;
	case NVTX:
		if (!nsx_nvtx_is_plain(w, body))
			return NULL;
		break;
	case SAMPLE:
		if (w->notes || w->asked >> NSX_REP_SAMPLE_FRAME & 1)
			return NULL;
		shape.part = COUNTER;
		break;
	case SCHED:
		break;
	default:
		return NULL;
	}
	return nsx_layout_learn(&w->layouts, event_kind(event), event, &shape);
}

static int add_body(struct nsx_walker *w, unsigned body_field, struct nsx_piece bytes,
		    const struct nsx_msg *body, struct nsx_err *err)
{
	switch (body_field) {
	case CALL:
		return events_add_call(w, bytes, body, err);
	case ACTIVITY:
		return add_activity(w, body, err);
	case NVTX:
		return nsx_walk_nvtx(w, body, err);
	case SAMPLE:
		return add_sample(w, bytes, body, err);
	case SCHED:
		return nsx_walk_row(w, NSX_REP_SCHED, &(struct nsx_row_of){.body = body}, err);
	case CPU_COUNT:
		return nsx_walk_row(w, NSX_REP_CPU_COUNT, &(struct nsx_row_of){.body = body}, err);
	case DIAGNOSTIC:
		return add_diagnostic(w, body, err);
	case PROCESS:
		return note_process(w, body);
	default:
		note_unknown(w, body_field, 0);
		return 0;
	}
}

/* Adds an event that is not made from a layout; is_new: none matches it. */
static int events_add_event(struct nsx_walker *w, unsigned body_field, struct nsx_piece event,
			    struct nsx_piece bytes, bool is_new, struct nsx_err *err)
{
	struct nsx_msg body;
	int rc;

	if (body_field == MODULE)
		return 0; /* a mapped module has no table */
	if (!nsx_msg_read(&body, bytes))
		return nsx_walk_broken(w);
	w->learnt = is_new ? learn_event(w, body_field, event, &body) : NULL;
	rc = add_body(w, body_field, bytes, &body, err);
	if (w->learnt && w->learnt->row == NSX_ROW_UNKNOWN && !w->notes)
		w->learnt->row = NSX_ROW_NONE;
	w->learnt = NULL;
	return rc;
}

/* Whether events of this type may have wanted rows. */
static bool type_is_wanted(const struct nsx_walker *w, uint64_t type)
{
	return w->notes || type >= NSX_SMALL_TYPES || w->rep->tables[type] & w->wanted;
}

/* Reads an event that is not made from a layout; is_new: none matches it. A counter event is
 * {1 type, 2 time, 3 values}.
 */
static int read_event(struct nsx_walker *w, struct nsx_piece bytes, bool is_new,
		      struct nsx_err *err)
{
	struct nsx_wire at = nsx_wire_of(bytes);
	struct nsx_piece body = {NULL, 0};
	unsigned field = 0;
	uint64_t time = 0;

	w->type = 0;
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
		return nsx_walk_broken(w);
	if (field == 3 && w->type >> 48)
		return nsx_metrics_add(w, (int64_t)time, body, err);
	if (!body.p || field < 100) {
		note_unknown(w, field, 0);
		return 0;
	}
	return events_add_event(w, field, bytes, body, is_new, err);
}

enum { TYPE_KEY = 1 << 3 | NSX_VARINT }; /* the byte before an event's type  */

/* Walks an event of a type that is not skipped. */
static inline int walk_event(struct nsx_walker *w, struct nsx_piece event, struct nsx_err *err)
{
	struct nsx_event_layout *l = nsx_layout_find(&w->layouts, event_kind(event), event);
	int rc;

	if (!l || l->row == NSX_ROW_UNKNOWN) {
		rc = read_event(w, event, !l, err);
		if (w->notes && w->type < NSX_SMALL_TYPES)
			w->notes->tables[w->type] |= w->notes->made;
		return rc;
	}
	if (l->row == NSX_ROW_NONE)
		return 0;
	if (!w->notes && l->table == NSX_REP_SAMPLE)
		l->code[0].u.i = ++w->nstacks[NSX_OF_SAMPLE];
	return add_cells(w, l, event.p, l->code, err);
}

#define FRAMES (UINT64_C(1) << NSX_REP_SAMPLE_FRAME | UINT64_C(1) << NSX_REP_OSRT_FRAME)

/* Notes that the event that was walked last is to be copied, if the tables in which it has rows may
 * have few.
 */
static inline void note_copy(struct nsx_notes *n, struct nsx_piece event)
{
	uint64_t made = n->made & ~FRAMES;
	size_t *of = &n->of[made ? __builtin_ctzll(made) : 0];

	n->made = 0;
	if (!made)
		return;
	*of += event.n;
	if (*of > n->most || made & n->many)
		n->many |= made;
	else
		nsx_push_or_die(n->copy, n->ncopies, n->copies_cap,
				(struct nsx_rep_copy){event, made});
}

/* Copies the events of those tables that have few in the block. */
static void copy_few(struct nsx_notes *n)
{
	uint8_t *to;
	size_t size = 0;

	for (size_t i = 0; i < n->ncopies; i++)
		size += n->copy[i].made & n->many ? 0 : n->copy[i].event.n;
	if (size <= n->room) {
		n->room -= size;
		n->at.has_few = ~(n->many | FRAMES);
		n->at.few.p = to = nsx_arena_get(n->arena, size + NSX_LAYOUT_SLACK);
		for (size_t i = 0; i < n->ncopies; i++) {
			const struct nsx_rep_copy *c = &n->copy[i];

			if (c->made & n->many)
				continue;
			memcpy(to + n->at.few.n, c->event.p, c->event.n);
			n->at.few.n += c->event.n;
		}
	}
	n->ncopies = 0;
	n->many = 0;
	for (enum nsx_rep_table t = 0; t < NSX_REP_THREAD_NAME; t++) /* has events */
		n->many |= (uint64_t)(n->of[t] > n->most) << t;
	memset(n->of, 0, sizeof(n->of));
}

/* Notes the first and the last instant of the block's rows that were made from layouts. */
static void note_instants(struct nsx_notes *n)
{
	if (n->least_bits <= n->most_bits) {
		nsx_note_instant(n, (int64_t)nsx_varint_packed(n->least_bits));
		nsx_note_instant(n, (int64_t)nsx_varint_packed(n->most_bits));
	}
	n->least_bits = UINT64_MAX;
	n->most_bits = 0;
}

static int walk_events(struct nsx_walker *w, struct nsx_piece message, struct nsx_err *err)
{
	struct nsx_wire at = nsx_wire_of(message);
	bool is_skipped[256] = {false}; /* for each type that takes one byte */
	const uint8_t *from = at.p;
	struct nsx_piece event;
	uint32_t n;
	int rc = 0;

	for (unsigned type = 0; type < 128; type++)
		is_skipped[type] = !type_is_wanted(w, type);
	for (n = 0; !rc && next_bytes(&at, 1, &event); n++, from = at.p) {
		if (!w->notes && event.n > 1 && event.p[0] == TYPE_KEY && is_skipped[event.p[1]])
			continue;
		rc = walk_event(w, event, err);
		if (w->notes)
			note_copy(w->notes, (struct nsx_piece){from, (size_t)(at.p - from)});
	}
	if (w->notes) {
		w->notes->at.nevents = n;
		note_instants(w->notes);
		copy_few(w->notes);
	}
	if (at.is_bad)
		nsx_walk_broken(w);
	return rc;
}

/* Passes on the frames of a block's stacks, all of which are in memory. The user may refuse (by
 * `again`) the frames of a stack that equals an earlier one.
 */
static int walk_kept(struct nsx_walker *w, const struct nsx_rep_index *x,
		     enum nsx_rep_stacked kind, struct nsx_err *err)
{
	const struct nsx_rep_stacks *stacks = &w->rep->stacks[kind];
	struct nsx_source_use *use = w->use[stacked[kind].table];
	int rc = 0;

	if (!w->first[kind])
		w->first[kind] = nsx_alloc(stacks->groups.n, sizeof(**w->first));
	for (int64_t i = 0; !rc && i < x->nstacks[kind]; i++) {
		const struct nsx_rep_stack *stack = stacks->content[x->kept[kind][i]];
		int64_t *first = &w->first[kind][stack->index], id = x->before[kind] + i + 1;

		if (*first && use->again && use->again(use->ctx, *first, id)) {
			use->rid += stack->nframes;
			continue;
		}
		*first = *first ?: id;
		rc = add_frames(w, kind, stack->fields, id, err);
	}
	return rc;
}

/* Whether all wanted rows of a block come from events that were copied. */
static bool has_copies(const struct nsx_walker *w, const struct nsx_rep_index *x)
{
	uint64_t missing = w->wanted & ~x->has_few;

	while (missing && !x->rows[__builtin_ctzll(missing)])
		missing &= missing - 1;
	return !w->notes && !missing;
}

int nsx_walk_block(struct nsx_walker *w, uint64_t wanted, size_t block, struct nsx_err *err)
{
	const struct nsx_rep_index *x = &w->rep->index[block];
	struct nsx_piece message;

	memcpy(w->nstacks, x->before, sizeof(w->nstacks));
	/* A layout says whether its messages become a wanted row. */
	if (wanted != w->asked)
		memset(&w->layouts, 0, sizeof(w->layouts));
	w->asked = w->wanted = wanted;
	for (enum nsx_rep_stacked kind = 0; kind < NSX_NSTACKED; kind++)
		if (nsx_is_wanted(w, stacked[kind].table) && x->kept[kind]) {
			if (walk_kept(w, x, kind, err))
				return err->rc;
			w->wanted &= ~(UINT64_C(1) << stacked[kind].table);
		}
	if (has_copies(w, x))
		return walk_events(w, x->few, err);
	return nsx_block_read(&w->rep->file, &w->rep->file.blocks[block], &w->buf, &message, err) ?:
	       walk_events(w, message, err);
}

struct nsx_walker *nsx_walker_take(struct nsx_rep *rep)
{
	struct nsx_walker *w = __atomic_exchange_n(&rep->idle, NULL, __ATOMIC_ACQ_REL);

	if (!w)
		w = nsx_alloc(1, sizeof(*w));
	w->rep = rep;
	return w;
}

void nsx_walker_give(struct nsx_walker *w)
{
	for (enum nsx_rep_stacked kind = 0; kind < NSX_NSTACKED; kind++) {
		free(w->first[kind]);
		w->first[kind] = NULL;
	}
	memset(w->use, 0, sizeof(w->use));
	w->notes = NULL;
	w->asked = UINT64_MAX; /* its layouts are those of other rows */
	nsx_walker_done(__atomic_exchange_n(&w->rep->idle, w, __ATOMIC_ACQ_REL));
}

void nsx_walker_done(struct nsx_walker *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < ARRAY_LEN(w->json); i++) {
		nsx_buf_done(&w->json[i].payload);
		nsx_buf_done(&w->json[i].text);
	}
	free(w->buf.plain);
	free(w->buf.packed);
	free(w);
}
