/* events.c - which table an event belongs to, and what its fields alone do not say. */
#include <string.h>
#include "nsysrep/events.h"

enum { /* fields of an event, which name the shape of its body              */
	NVTX = 102, SAMPLE = 104, SCHED = 106, ACTIVITY = 107, CALL = 108,
	MODULE = 109, DIAGNOSTIC = 110, PROCESS = 113,
};

void nsx_count_unknown(struct nsx_events *e, uint64_t type, uint64_t body,
		       uint64_t kind)
{
	for (unsigned i = 0; i < e->nunknown; i++)
		if (e->unknown[i].type == type && e->unknown[i].body == body &&
		    e->unknown[i].kind == kind) {
			e->unknown[i].n++;
			return;
		}
	if (e->nunknown < NSX_MOST_UNKNOWN)
		e->unknown[e->nunknown++] =
			(struct nsx_unknown){type, body, kind, 1};
	else
		e->unknown[NSX_MOST_UNKNOWN - 1].n++;
}

/* Kinds of CUDA activity: the field with the details, and their table. */
static const struct {
	uint8_t part, table;
} activities[] = {
	[1] = {102, NSX_REP_MEMCPY}, [2] = {103, NSX_REP_MEMSET},
	[3] = {101, NSX_REP_KERNEL}, [5] = {105, NSX_REP_SYNC},
	[6] = {106, NSX_REP_CUDA_EVENT}, [7] = {107, NSX_REP_GRAPH_TRACE},
};

static int add_activity(struct nsx_events *e, uint64_t type,
			const struct nsx_msg *body, struct nsx_err *err)
{
	uint64_t kind = nsx_msg_uint(body, 7);
	struct nsx_msg part;
	struct nsx_val sync_type;

	if (kind >= ARRAY_LEN(activities) || !activities[kind].part) {
		nsx_count_unknown(e, type, ACTIVITY, kind);
		return 0;
	}
	if (!nsx_msg_read(&part, nsx_msg_bytes(body, activities[kind].part))) {
		e->nbroken++;
		return 0;
	}
	/* Its numbers changed with 2025.1, and so did its field. */
	sync_type = nsx_val_field(&part, nsx_msg_has(&part, 2) ? 2 : 4);
	return nsx_rows_add(e->rows, activities[kind].table,
			    &(struct nsx_row_of){.body = body, .part = &part,
						 .code = &sync_type}, err);
}

/* Frames of a call stack, the repeated field of a message. */
static int add_stack(struct nsx_events *e, enum nsx_rep_table t,
		     struct nsx_piece message, unsigned field, int64_t id,
		     struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(message);
	struct nsx_msg frame;
	int64_t depth = 0;
	int rc = 0;

	while (!rc && nsx_wire_next(&w)) {
		struct nsx_val v[] = {nsx_val_int(id), nsx_val_int(depth)};

		if (w.field != field || !w.bytes.p)
			continue;
		if (!nsx_msg_read(&frame, w.bytes)) {
			e->nbroken++;
			break;
		}
		depth++;
		rc = nsx_rows_add(e->rows, t, &(struct nsx_row_of){
				  .part = &frame, .code = v}, err);
	}
	return rc;
}

enum { /* classes of calls, ENUM_NSYS_EVENT_CLASS                           */
	CLASS_PROFILER = 3, CLASS_OSRT = 27, CLASS_OSRT_START = 31,
	CLASS_OSRT_FINISH = 32, CLASS_OPENACC = 48, CLASS_JIT = 102,
	CLASS_OVERHEAD = 103,
};
static const struct {
	uint8_t class, table;
} calls[] = {
	{0, NSX_REP_RUNTIME}, {1, NSX_REP_RUNTIME},
	{CLASS_PROFILER, NSX_REP_PROFILER_OVERHEAD},
	{CLASS_OVERHEAD, NSX_REP_OVERHEAD}, {CLASS_OSRT, NSX_REP_OSRT},
	{CLASS_OSRT_START, NSX_REP_OSRT}, {CLASS_OSRT_FINISH, NSX_REP_OSRT},
	{28, NSX_REP_CUDNN}, {33, NSX_REP_CUDNN}, {34, NSX_REP_CUDNN},
	{29, NSX_REP_CUBLAS}, {35, NSX_REP_CUBLAS}, {36, NSX_REP_CUBLAS},
	{83, NSX_REP_VIDEO_ENCODER}, {84, NSX_REP_VIDEO_ENCODER},
	{85, NSX_REP_VIDEO_ENCODER}, {86, NSX_REP_VIDEO_DECODER},
	{87, NSX_REP_VIDEO_DECODER}, {88, NSX_REP_VIDEO_DECODER},
	{89, NSX_REP_VIDEO_JPEG}, {90, NSX_REP_VIDEO_JPEG},
	{91, NSX_REP_VIDEO_JPEG}, {94, NSX_REP_GRAPH_EVENT},
	{95, NSX_REP_GRAPH_EVENT}, {96, NSX_REP_GRAPH_EVENT},
};
/* Start and end of tracers, and the compiling of kernels: no table has them. */
static const uint8_t untabled[] = {6, 7, 8, 9, 10, 11, 45, 46, CLASS_JIT};

static int call_table(uint64_t class)
{
	for (size_t i = 0; i < ARRAY_LEN(calls); i++)
		if (calls[i].class == class)
			return calls[i].table;
	return -1;
}

static int add_openacc(struct nsx_events *e, const struct nsx_msg *body,
		       struct nsx_err *err)
{
	struct nsx_msg part, deep;
	bool is_launch, is_data;

	if (!nsx_msg_read(&part, nsx_msg_bytes(body, 25)))
		return e->nbroken++, 0;
	is_data = nsx_msg_has(&part, 102);
	is_launch = nsx_msg_has(&part, 101);
	if (!nsx_msg_read(&deep, nsx_msg_bytes(&part, is_launch ? 101 : 102)))
		return e->nbroken++, 0;
	return nsx_rows_add(e->rows, is_launch ? NSX_REP_OPENACC_LAUNCH :
				     is_data ? NSX_REP_OPENACC_DATA :
					       NSX_REP_OPENACC_OTHER,
			    &(struct nsx_row_of){body, &part, &deep, NULL}, err);
}

static int add_call(struct nsx_events *e, uint64_t type, struct nsx_piece bytes,
		    const struct nsx_msg *body, struct nsx_err *err)
{
	uint64_t class = nsx_msg_uint(body, 6);
	struct nsx_val stack = nsx_val_int(0);
	struct nsx_msg part = {{0, 0}, {{0}}};
	int table = call_table(class);

	if (class == CLASS_OPENACC)
		return add_openacc(e, body, err);
	if (table < 0) {
		if (class >= 256 || !memchr(untabled, (int)class, sizeof(untabled)))
			nsx_count_unknown(e, type, CALL, class);
		return 0;
	}
	if (table == NSX_REP_RUNTIME) {
		stack = nsx_val_none();
	} else if (class == CLASS_OSRT && nsx_msg_has(body, 15)) {
		stack = nsx_val_int(++e->stacks);
		if (add_stack(e, NSX_REP_OSRT_FRAME, bytes, 15, e->stacks, err))
			return err->rc;
	} else if (table == NSX_REP_GRAPH_EVENT) {
		unsigned f = nsx_msg_has(body, 37) ? 37 :
			     nsx_msg_has(body, 38) ? 38 : 39;

		if (!nsx_msg_read(&part, nsx_msg_bytes(body, f)))
			return e->nbroken++, 0;
	}
	return nsx_rows_add(e->rows, table, &(struct nsx_row_of){
			    .body = body, .part = &part, .code = &stack}, err);
}

static struct nsx_val real_64(const struct nsx_msg *m, unsigned field)
{
	double x;
	uint64_t bits = nsx_msg_uint(m, field);

	memcpy(&x, &bits, sizeof(x));
	return nsx_msg_has(m, field) ? (struct nsx_val){NSX_V_F64, 0, {.f = x}} :
				       nsx_val_none();
}

static struct nsx_val real_32(const struct nsx_msg *m, unsigned field)
{
	float x;
	uint32_t bits = (uint32_t)nsx_msg_uint(m, field);

	memcpy(&x, &bits, sizeof(x));
	return nsx_msg_has(m, field) ?
		       (struct nsx_val){NSX_V_F64, 0, {.f = (double)x}} :
		       nsx_val_none();
}

static int add_nvtx(struct nsx_events *e, uint64_t type,
		    const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg payload;
	struct nsx_val v[3] = {nsx_val_int((int64_t)type)};

	if (!nsx_msg_read(&payload, nsx_msg_bytes(body, 8)))
		return e->nbroken++, 0;
	v[1] = real_64(&payload, 3);
	v[2] = real_32(&payload, 6);
	return nsx_rows_add(e->rows, NSX_REP_NVTX, &(struct nsx_row_of){
			    .body = body, .part = &payload, .code = v}, err);
}

static int add_sample(struct nsx_events *e, struct nsx_piece bytes,
		      const struct nsx_msg *body, struct nsx_err *err)
{
	struct nsx_msg counter;
	struct nsx_val v[2] = {nsx_val_int(++e->samples)};

	if (!nsx_msg_read(&counter, nsx_msg_bytes(body, 5)))
		return e->nbroken++, 0;
	v[1] = nsx_val_field(&counter, 2);
	return nsx_rows_add(e->rows, NSX_REP_SAMPLE, &(struct nsx_row_of){
			    .body = body, .code = v}, err) ?:
	       add_stack(e, NSX_REP_SAMPLE_FRAME, bytes, 4, e->samples, err);
}

/* The same pair of process and name is told again and again, but has one row. */
static int add_process(struct nsx_events *e, const struct nsx_msg *body,
		       struct nsx_err *err)
{
	uint64_t key = nsx_msg_uint(body, 2);
	struct nsx_piece name = nsx_msg_bytes(body, 6);
	struct nsx_val v[2] = {nsx_val_int((int64_t)(key >> 24 & 0xffffff))};
	uint32_t id;

	if (!name.n)
		name = nsx_msg_bytes(body, 5);
	if (!nsx_msg_has(body, 5) && !nsx_msg_has(body, 6))
		return 0;
	if (nsx_keymap_add(&e->processes, &e->recent,
			   &(struct nsx_key){{key, name.n,
					      nsx_hash(name.p, name.n)}},
			   &id, err))
		return err->rc;
	if (id < e->rows->n[NSX_REP_PROCESS])
		return 0;
	v[1] = nsx_val_bytes(name);
	return nsx_rows_add(e->rows, NSX_REP_PROCESS, &(struct nsx_row_of){
			    .body = body, .code = v}, err);
}

static int add_diagnostic(struct nsx_events *e, const struct nsx_msg *body,
			  struct nsx_err *err)
{
	struct nsx_msg time;

	if (!nsx_msg_read(&time, nsx_msg_bytes(body, 1)))
		return e->nbroken++, 0;
	return nsx_rows_add(e->rows, NSX_REP_DIAGNOSTIC, &(struct nsx_row_of){
			    .body = body, .part = &time}, err);
}

static int add_event(struct nsx_events *e, uint64_t type, unsigned body_field,
		     struct nsx_piece bytes, struct nsx_err *err)
{
	struct nsx_msg body;

	if (!nsx_msg_read(&body, bytes))
		return e->nbroken++, 0;
	switch (body_field) {
	case ACTIVITY:
		return add_activity(e, type, &body, err);
	case CALL:
		return add_call(e, type, bytes, &body, err);
	case NVTX:
		return add_nvtx(e, type, &body, err);
	case SAMPLE:
		return add_sample(e, bytes, &body, err);
	case SCHED:
		return nsx_rows_add(e->rows, NSX_REP_SCHED, &(struct nsx_row_of){
				    .body = &body}, err);
	case DIAGNOSTIC:
		return add_diagnostic(e, &body, err);
	case PROCESS:
		return add_process(e, &body, err);
	case MODULE:
		return 0; /* a mapped module: no table has it */
	default:
		nsx_count_unknown(e, type, body_field, 0);
		return 0;
	}
}

/* An event is {1 type, N body}, that of a counter {1 type, 2 time, 3 values}. */
static int read_event(struct nsx_events *e, struct nsx_piece bytes,
		      struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(bytes);
	struct nsx_piece body = {NULL, 0};
	unsigned field = 0;
	uint64_t type = 0, time = 0;

	e->nevents++;
	while (nsx_wire_next(&w))
		if (w.field == 1) {
			type = w.n;
		} else if (w.field == 2) {
			time = w.n;
		} else if (w.bytes.p) {
			field = w.field;
			body = w.bytes;
		}
	if (w.is_bad)
		return e->nbroken++, 0;
	if (field == 3 && type >> 48)
		return nsx_metrics_add(e, type, (int64_t)time, body, err);
	if (!body.p || field < 100) {
		nsx_count_unknown(e, type, field, 0);
		return 0;
	}
	return add_event(e, type, field, body, err);
}

static int read_block(struct nsx_events *e, struct nsx_piece message,
		      struct nsx_err *err)
{
	struct nsx_wire w = nsx_wire_of(message);
	int rc = nsx_stopped(err);

	while (!rc && nsx_wire_next(&w))
		if (w.field == 1 && w.bytes.p)
			rc = read_event(e, w.bytes, err);
	e->nbroken += w.is_bad;
	return rc;
}

static int read_blocks(struct nsx_events *e, struct nsx_block_buf *buf,
		       struct nsx_err *err)
{
	struct nsx_wire at = nsx_wire_of(e->report->blocks);
	struct nsx_piece message;
	int rc = 0;

	/* Behind the events of a cut file the strings may follow. */
	while (!rc && at.p < at.end && !at.is_bad &&
	       !(e->report->is_cut && e->nevents >= e->report->nevents)) {
		rc = nsx_block_next(&at, buf, &message, err);
		if (rc == 1) {
			e->nblocks++;
			rc = read_block(e, message, err);
		} else if (rc == NSX_E_DATA) {
			e->nlost++;
			rc = 0;
		}
	}
	return rc;
}

int nsx_events_read(const struct nsx_container *report, struct nsx_rep_rows *rows,
		    struct nsx_events *ret, struct nsx_err *err)
{
	struct nsx_block_buf buf = {NULL, 0};
	int rc;

	*ret = (struct nsx_events){.rows = rows, .report = report};
	nsx_keymap_init(&ret->processes, "processes");
	rc = nsx_metrics_find(ret, err) ?: read_blocks(ret, &buf, err);
	free(buf.p);
	return rc;
}

void nsx_events_done(struct nsx_events *e)
{
	nsx_keymap_done(&e->processes);
	free(e->metrics);
}
