/* sweep_idle.c - what each unit waited for: idle time by cause, and the part of exposed
 * communication in which a rank waits for the last one.
 */
#include "base/group.h"
#include "base/stat.h"
#include "diff/side.h"

/* Idle by cause -----------------------------------------------------------------*/

int nsx_number_detail(struct nsx_sweep *s, const char *text, size_t len,
		      uint32_t *ret, struct nsx_err *err)
{
	struct nsx_side *side = s->side;
	const char **detail;
	nsx_str id;

	if (nsx_strings_add(s->texts, text, len, &id, err))
		return err->rc;
	detail = nsx_group_value(&s->numbers, &side->details, id, 0, "idle causes", err);
	if (!detail)
		return err->rc;
	if (!*detail)
		*detail = nsx_arena_strndup(side->arena, text, len);
	*ret = (uint32_t)(detail - side->details);
	side->ndetails = s->numbers.n;
	return 0;
}

/* Numbers a text by its meaning: "step 12" is "step #", and cudaLaunchKernel_v7000 is
 * cudaLaunchKernel.
 */
static int detail_of(struct nsx_sweep *s, const struct nsx_idle_piece *p,
		     uint32_t *ret, struct nsx_err *err)
{
	uint32_t *known = &s->detail_of[p->detail];
	const char *text = nsx_fact_text(s->f, p->detail);
	struct nsx_buf b = {0};
	char api[256];
	int rc = 0;

	if (!*known && p->detail) { /* text 0, which is "", is details[0] */
		if (p->cause == NSX_CAUSE_HOST_CODE)
			nsx_buf_add_masked(&b, text);
		else
			nsx_buf_adds(&b, nsx_api_base(text, api, sizeof(api)));
		rc = nsx_number_detail(s, b.p ? b.p : "", b.n, known, err);
		nsx_buf_done(&b);
	}
	*ret = *known;
	return rc;
}

void nsx_add_split(struct nsx_split_uses *x, uint32_t cause, uint32_t detail, int64_t ns)
{
	struct nsx_split_use *use = nsx_group_few(&x->groups, &x->v, cause, detail);

	*use = (struct nsx_split_use){cause, detail, use->ns + ns};
}

struct nsx_split_uses nsx_keep_split(struct nsx_split_uses *x, struct nsx_arena *a)
{
	size_t n = x->groups.n;
	struct nsx_split_uses ret = {.v = nsx_arena_get(a, n * sizeof(*x->v)), .n = n};

	if (n)
		memcpy(ret.v, x->v, n * sizeof(*x->v));
	free(x->v);
	nsx_groups_done(&x->groups);
	return ret;
}

int nsx_sweep_idle(struct nsx_sweep *s, uint32_t device, struct nsx_lane *lane, struct nsx_err *err)
{
	const struct nsx_idle *idle = &s->f->idle[device];
	struct nsx_split_uses split = {0};
	size_t u = 0;
	int rc = 0;

	for (size_t i = 0; !rc && i < idle->n; i++) {
		struct nsx_idle_piece p = nsx_idle_at(idle, i);
		uint32_t detail;

		while (u < lane->nunits &&
		       lane->units[u].start_ns + lane->units[u].wall_ns <= p.start_ns)
			u++;
		for (size_t k = u; !rc && k < lane->nunits &&
				   lane->units[k].start_ns < p.end_ns; k++) {
			const struct nsx_unit *x = &lane->units[k];
			int64_t from = NSX_MAX(x->start_ns, p.start_ns);
			int64_t to = NSX_MIN(x->start_ns + x->wall_ns, p.end_ns);

			if (from >= to)
				continue;
			rc = detail_of(s, &p, &detail, err);
			if (!rc)
				nsx_add_split(&split, p.cause, detail, to - from);
		}
	}
	lane->split[NSX_SPLIT_IDLE] = nsx_keep_split(&split, s->side->arena);
	return rc;
}

/* Waiting for the last rank -----------------------------------------------------*/

/* Communication kernels that begin in a lane's units, in order. */
struct comm {
	uint32_t *op;
	size_t n, *at; /* at: by unit, index of its first kernel; one more entry than units */
};

static struct comm list_comm(const struct nsx_trace *t, const struct nsx_device *d,
			     const struct nsx_lane *lane, struct nsx_arena *a)
{
	struct comm ret = {.at = nsx_arena_get(a, (lane->nunits + 1) * sizeof(*ret.at))};
	size_t n = 0, op = d->ops_at, end = d->ops_at + d->nops;

	for (size_t i = op; i < end; i++)
		n += t->ops.cls[i] == NSX_C_COMM;
	ret.op = nsx_arena_get(a, n * sizeof(*ret.op));
	for (size_t u = 0; u < lane->nunits; u++) {
		const struct nsx_unit *x = &lane->units[u];

		while (op < end && nsx_op_start(&t->ops, op) < x->start_ns)
			op++;
		ret.at[u] = ret.n;
		for (; op < end && nsx_op_start(&t->ops, op) < x->start_ns + x->wall_ns; op++)
			if (t->ops.cls[op] == NSX_C_COMM)
				ret.op[ret.n++] = (uint32_t)op;
	}
	ret.at[lane->nunits] = ret.n;
	return ret;
}

/* The time at which all ranks have entered the k-th communication of unit u: its latest start.
 * INT64_MIN: some rank does not run it, or ranks do not run it at the same time.
 */
static int64_t all_there(const struct nsx_trace *t, const struct comm *c,
			 size_t nlanes, size_t u, size_t k)
{
	int64_t last = INT64_MIN, first_end = INT64_MAX;

	for (size_t i = 1; i < nlanes; i++)
		if (c[i].at[u + 1] - c[i].at[u] != c[0].at[u + 1] - c[0].at[u])
			return INT64_MIN;
	for (size_t i = 0; i < nlanes; i++) {
		uint32_t op = c[i].op[c[i].at[u] + k];

		last = NSX_MAX(last, nsx_op_start(&t->ops, op));
		first_end = NSX_MIN(first_end, nsx_op_end(&t->ops, op));
	}
	return last <= first_end ? last : INT64_MIN;
}

static int split_lane(const struct nsx_sweep *s, const struct comm *all,
		      struct nsx_seen *view, size_t i, uint32_t device,
		      struct nsx_arena *a, struct nsx_err *err)
{
	const struct nsx_device_facts *f = &s->f->device[device];
	const struct comm *mine = &all[i];
	struct nsx_lane *lane = &view->lanes[i];
	struct nsx_spans exposed, alone, waits = {.v = nsx_arena_get(a, mine->n *
								     sizeof(*waits.v))};
	size_t cursor = 0;

	for (size_t u = 0; u < lane->nunits; u++)
		for (size_t k = mine->at[u]; k < mine->at[u + 1]; k++) {
			const struct nsx_ops *o = &s->t->ops;
			int64_t from = nsx_op_start(o, mine->op[k]);
			int64_t last = all_there(s->t, all, view->nlanes, u, k - mine->at[u]);

			view->ncomm++;
			view->nsplit += last > INT64_MIN;
			if (last > from)
				nsx_spans_push(&waits, from, NSX_MIN(last, nsx_op_end(
								     o, mine->op[k])));
		}
	if (nsx_spans_minus(a, &f->comm, &f->compute, &exposed, err) ||
	    nsx_spans_intersect(a, &exposed, &waits, &alone, err))
		return err->rc;
	for (size_t u = 0; u < lane->nunits; u++) {
		struct nsx_unit *x = &lane->units[u];

		x->ns[NSX_SHARE_WAIT] = nsx_spans_covered(
			&alone, &cursor, x->start_ns, x->start_ns + x->wall_ns);
		x->ns[NSX_SHARE_TRANSFER] -= x->ns[NSX_SHARE_WAIT];
	}
	return 0;
}

int nsx_split_comm(const struct nsx_sweep *s, const uint32_t *devices,
		   struct nsx_seen *view, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_arena_end) struct nsx_arena *a = nsx_arena_new();
	struct comm *c = nsx_arena_get(a, view->nlanes * sizeof(*c) + 1);
	int rc = 0;

	for (size_t i = 0; i < view->nlanes; i++)
		c[i] = list_comm(s->t, &s->t->device[devices[i]], &view->lanes[i], a);
	for (size_t i = 0; !rc && i < view->nlanes; i++)
		rc = split_lane(s, c, view, i, devices[i], a, err);
	return rc;
}
