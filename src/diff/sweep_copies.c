/* sweep_copies.c - the time of each unit in which only copies ran, by direction.
 *
 * Where copies of several directions ran at once, their time is shared out by
 * what each of them took.
 */
#include <stdlib.h>
#include <string.h>
#include "diff/apportion.h"
#include "diff/side.h"

enum { NDIRECTIONS = 16 }; /* copy kinds, and one for memsets */

static unsigned direction_of(const struct nsx_trace *t, size_t op)
{
	unsigned kind = nsx_op_copy(t, op)->copy_kind;

	return t->ops.kind[op] == NSX_OP_MEMSET ? NDIRECTIONS - 1 :
	       kind < NDIRECTIONS - 1		? kind : 0;
}

static const char *direction_name(unsigned direction)
{
	return direction == NDIRECTIONS - 1 ? "memset" :
					      nsx_copy_direction(direction);
}

/* By direction: when copies of it ran and nothing but copies did. */
static int find_alone(const struct nsx_sweep *s, uint32_t device,
		      struct nsx_arena *a, struct nsx_spans ret[NDIRECTIONS],
		      struct nsx_err *err)
{
	const struct nsx_trace *t = s->t;
	const struct nsx_device *d = &t->device[device];
	const struct nsx_device_facts *f = &s->f->device[device];
	size_t n[NDIRECTIONS] = {0};
	struct nsx_spans busy, alone;

	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.cls[i] == NSX_C_COPY)
			n[direction_of(t, i)]++;
	for (unsigned k = 0; k < NDIRECTIONS; k++) {
		ret[k] = (struct nsx_spans){0};
		if (!nsx_new_array(ret[k].v, a, n[k], "copies", err))
			return err->rc;
	}
	for (size_t i = d->ops_at; i < d->ops_at + d->nops; i++)
		if (t->ops.cls[i] == NSX_C_COPY)
			nsx_spans_push(&ret[direction_of(t, i)],
				       nsx_op_start(&t->ops, i),
				       nsx_op_end(&t->ops, i));
	if (nsx_kernel_spans(f, a, &busy, err) ||
	    nsx_spans_minus(a, &f->copy, &busy, &alone, err))
		return err->rc;
	for (unsigned k = 0; k < NDIRECTIONS; k++) {
		struct nsx_spans all = ret[k];

		if (n[k] && nsx_spans_intersect(a, &all, &alone, &ret[k], err))
			return err->rc;
	}
	return 0;
}

int nsx_sweep_copies(struct nsx_sweep *s, uint32_t device,
		     struct nsx_lane *lane, struct nsx_err *err)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_spans alone[NDIRECTIONS];
	size_t cursor[NDIRECTIONS] = {0}, n = 0, cap = 0;
	struct nsx_split_use *v = NULL;
	int rc = find_alone(s, device, a, alone, err);

	for (uint32_t u = 0; !rc && u < lane->nunits; u++) {
		const struct nsx_unit *x = &lane->units[u];
		nsx_wide part[NDIRECTIONS], sum = 0;
		int64_t ns[NDIRECTIONS], all = x->ns[NSX_SHARE_COPY];

		if (!all)
			continue;
		for (unsigned k = 0; k < NDIRECTIONS; k++) {
			part[k] = nsx_spans_covered(&alone[k], &cursor[k],
						    x->start_ns, x->start_ns +
								 x->wall_ns);
			sum += part[k];
		}
		if (!sum) /* copies that are no operations of the device */
			part[0] = sum = 1;
		for (unsigned k = 0; k < NDIRECTIONS; k++)
			part[k] *= all;
		nsx_apportion(part, NDIRECTIONS, sum, all, ns);
		for (unsigned k = 0; !rc && k < NDIRECTIONS; k++) {
			const char *name = direction_name(k);
			uint32_t detail;

			if (!ns[k])
				continue;
			rc = nsx_number_detail(s, name, strlen(name), &detail,
					       err) ?:
			     nsx_push(v, n, cap, "copies", err,
				      (struct nsx_split_use){u, 0, detail, ns[k]});
		}
	}
	nsx_arena_free(a);
	if (rc)
		free(v);
	return rc ? rc : nsx_keep_split(s, lane, NSX_SPLIT_COPIES, v, n, err);
}
