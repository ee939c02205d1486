/* memory.c - reads allocations and frees, and matches them.
 *
 * Rows are sorted by (process, address, time), so that a free follows the allocation that it ends.
 * Each row becomes a step of live memory.
 */
#include "base/stat.h"
#include "facts/memory.h"
#include "schema/cells.h"
#include "schema/codes.h"
#include "schema/viewscan.h"

const char *const nsx_mem_class_names[NSX_NMEM_CLASSES] = {
	[NSX_MC_DEVICE] = "device", [NSX_MC_MANAGED] = "managed",
	[NSX_MC_HOST] = "host", [NSX_MC_UNKNOWN] = "unknown",
};

/* Rows ---------------------------------------------------------------------*/

enum { START, GLOBAL_PID, DEVICE_ID, ADDRESS, BYTES, MEM_KIND, OPERATION, CORR,
       POOL, POOL_BYTES, POOL_USED };

static enum nsx_mem_class memory_class_of(const struct nsx_schema *s, const struct nsx_val *v)
{
	int64_t kind = nsx_i64_or(v, -1);

	switch ((uint64_t)kind > UINT8_MAX ? kind : s->mem_kinds.of[kind]) {
	case NSX_MEM_PAGEABLE:
	case NSX_MEM_PINNED:
		return NSX_MC_HOST;
	case NSX_MEM_DEVICE:
	case NSX_MEM_ARRAY:
	case NSX_MEM_DEVICE_STATIC:
		return NSX_MC_DEVICE;
	case NSX_MEM_MANAGED:
	case NSX_MEM_MANAGED_STATIC:
		return NSX_MC_MANAGED;
	default:
		return NSX_MC_UNKNOWN;
	}
}

struct memory_rows {
	const struct nsx_schema *s;
	struct nsx_memory *m;
};

static int memory_on_row(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			 struct nsx_err *err)
{
	const struct memory_rows *rows = ctx;
	struct nsx_memory *m = rows->m;
	int64_t op = nsx_i64_or(&v[OPERATION], -1), corr = nsx_i64_or(&v[CORR], 0);
	struct nsx_mem_event e;

	if (!nsx_is_possible(rows->s->shifts, &v[START]) || v[ADDRESS].type != NSX_V_I64 ||
	    v[BYTES].type != NSX_V_I64 || v[BYTES].u.i < 0 ||
	    v[BYTES].u.i > NSX_TIME_MAX || (op != NSX_MEM_ALLOCATE && op != NSX_MEM_FREE)) {
		m->defects++;
		return 0;
	}
	e = (struct nsx_mem_event){
		.at_ns = v[START].u.i,
		.process = nsx_process_key((uint64_t)nsx_i64_or(&v[GLOBAL_PID], 0)),
		.address = (uint64_t)v[ADDRESS].u.i,
		.device_id = nsx_i64_or(&v[DEVICE_ID], 0),
		.bytes = v[BYTES].u.i,
		.corr = corr > 0 && corr < UINT32_MAX ? (uint32_t)corr : 0,
		.kind = (uint8_t)memory_class_of(rows->s, &v[MEM_KIND]),
		.is_free = op == NSX_MEM_FREE};
	if (nsx_push(m->events, m->nevents, m->cap_events, "memory events", err, e))
		return err->rc;
	return !nsx_i64_or(&v[POOL], 0) ? 0 :
		nsx_push(m->pools, m->npools, m->cap_pools, "memory pools", err,
			 (struct nsx_mem_pool){e.process, (uint64_t)v[POOL].u.i, e.device_id,
					       nsx_i64_or(&v[POOL_BYTES], 0),
					       nsx_i64_or(&v[POOL_USED], 0)});
}

/* Matching -----------------------------------------------------------------*/

NSX_ORDER(cmp_events, struct nsx_mem_event, UP(process), UP(address), UP(at_ns),
	  DOWN(is_free), UP(bytes), UP(device_id), UP(kind), UP(corr));

static bool same_address(const struct nsx_mem_event *x, const struct nsx_mem_event *y)
{
	return x->process == y->process && x->address == y->address;
}

/* Adds a change of live memory. of: the event that gives process, device and kind. */
static void memory_add_step(struct nsx_memory *m, const struct nsx_mem_event *of,
			    int64_t at_ns, int64_t delta, unsigned turn, unsigned counts)
{
	m->steps[m->nsteps++] = (struct nsx_mem_step){
		.at_ns = at_ns, .delta = delta, .process = of->process,
		.device_id = of->device_id, .kind = of->kind,
		.turn = (uint8_t)turn, .counts = (uint8_t)counts};
}

/* Adds the changes of live memory that row i stands for. Rows at one address are neighbours: if
 * the row before is an allocation, that memory is live.
 */
static void add_steps_of_row(struct nsx_memory *m, size_t i)
{
	const struct nsx_mem_event *e = &m->events[i];
	const struct nsx_mem_event *before = i && same_address(e - 1, e) ? e - 1 : NULL;
	const struct nsx_mem_event *after =
		i + 1 < m->nevents && same_address(e, e + 1) ? e + 1 : NULL;
	const struct nsx_mem_event *live = before && !before->is_free ? before : NULL;
	/* A free comes before an allocation at the same time and address. */
	unsigned turn = after && after->at_ns == e->at_ns ? 0 : 2;

	if (!e->is_free) {
		if (live) /* the free was not recorded */
			memory_add_step(m, live, e->at_ns, -live->bytes, 0, 0);
		memory_add_step(m, e, e->at_ns, e->bytes, 1, NSX_STEP_ALLOC);
		if (!after)
			m->kept[m->nkept++] = (uint32_t)i;
	} else if (live) {
		memory_add_step(m, live, e->at_ns, -live->bytes, turn, NSX_STEP_FREE);
	} else {
		memory_add_step(m, e, e->at_ns, -e->bytes, turn,
				NSX_STEP_FREE | NSX_STEP_UNMATCHED);
	}
}

NSX_ORDER(memory_cmp_groups, struct nsx_mem_step, UP(process), UP(device_id), UP(kind));
NSX_ORDER(cmp_steps, struct nsx_mem_step, BY(memory_cmp_groups), UP(at_ns), UP(turn));

size_t nsx_mem_group_end(const struct nsx_memory *m, size_t at)
{
	size_t end = at + 1;

	while (end < m->nsteps && !memory_cmp_groups(&m->steps[at], &m->steps[end]))
		end++;
	return end;
}

int64_t nsx_mem_before(const struct nsx_mem_step *s, size_t n)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		if (s[i].counts & NSX_STEP_UNMATCHED)
			nsx_add_to(&bytes, -s[i].delta);
	return bytes;
}

static int match_allocations(struct nsx_memory *m, struct nsx_err *err)
{
	nsx_sort(m->events, m->nevents, sizeof(*m->events), cmp_events);
	for (size_t i = 1; i < m->nevents; i++)
		m->missed += !m->events[i].is_free &&
			     !m->events[i - 1].is_free &&
			     same_address(&m->events[i - 1], &m->events[i]);
	m->steps = nsx_try_alloc(m->nevents + m->missed, sizeof(*m->steps), "memory steps", err);
	if (m->steps)
		m->kept = nsx_try_alloc(m->nevents, sizeof(*m->kept), "memory never freed", err);
	if (!m->kept)
		return err->rc;
	for (size_t i = 0; i < m->nevents; i++)
		add_steps_of_row(m, i);
	nsx_sort(m->steps, m->nsteps, sizeof(*m->steps), cmp_steps);
	return 0;
}

int nsx_memory_read(const struct nsx_schema *s, struct nsx_memory *ret, struct nsx_err *err)
{
	struct memory_rows rows = {.s = s};

	*ret = (struct nsx_memory){.events = NULL};
	rows.m = ret;
	return nsx_view_each(s, memory_event, memory_on_row, &rows, err, start_ns,
			     global_pid, device_id, address, bytes, mem_kind,
			     operation, corr, pool_address, pool_bytes,
			     pool_used_bytes) ?: match_allocations(ret, err);
}

void nsx_memory_done(struct nsx_memory *m)
{
	free(m->events);
	free(m->steps);
	free(m->kept);
	free(m->pools);
}
