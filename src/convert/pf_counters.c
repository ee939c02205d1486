/* pf_counters.c - counters as packets.
 *
 * In a trace a value holds from its time on, but readers apply the value of a GPU counter to the
 * time since the previous sample. So each sample carries the values of the previous one, and a
 * final packet those of the last.
 */
#include <errno.h>
#include "convert/pf.h"

enum { COUNTERS_SPECS = 1, COUNTERS_VALUE = 2, COUNTERS_GPU = 3,
       SPECS_SPEC = 1, SPEC_UNIT = 7, UNIT_BYTE = 7,
       VALUE_INT = 2, VALUE_REAL = 3 };

void nsx_pf_sample(struct nsx_conv *c, const struct nsx_counter_sample *s)
{
	struct nsx_pf *pf = c->pf;
	const struct nsx_key *key = &c->tracks.group_keys.keys[s->group];

	nsx_pf_to_counters(c, s->at_ns);
	nsx_pf_open_packet(c, s->at_ns, NSX_PF_GPU_COUNTERS);
	nsx_pb_uint(&pf->to->packets, COUNTERS_GPU, key->w[0] == NSX_G_METRIC ? key->w[1] & 0xff :
		    nsx_pf_gpu(c, key->w[1], key->w[2]));
}

/* The id of a counter. Ids are unique over all GPUs and traces, and begin at 1. */
static uint64_t pf_counters_id_of(const struct nsx_conv *c, size_t number)
{
	return (uint64_t)c->opts->place.trace << 24 | (number + 1);
}

/* Describes a counter in the first sample that has it. */
static void pf_counters_describe(struct nsx_conv *c, const struct nsx_track_counter *counter)
{
	struct nsx_buf *b = &c->pf->specs;
	size_t at = nsx_pb_begin(b, SPECS_SPEC);

	nsx_pb_uint(b, NSX_PF_IID, pf_counters_id_of(c, counter->number));
	nsx_pb_text(b, NSX_PF_IID_NAME, counter->name);
	if (counter->unit && !strcmp(counter->unit, "bytes"))
		nsx_pb_uint(b, SPEC_UNIT, UNIT_BYTE);
	nsx_pb_end(b, at);
}

static void put_value(struct nsx_conv *c, size_t number, const struct nsx_val *v)
{
	struct nsx_buf *b = &c->pf->to->packets;
	size_t at = nsx_pb_begin(b, COUNTERS_VALUE);

	nsx_pb_uint(b, NSX_PF_IID, pf_counters_id_of(c, number));
	if (v->type == NSX_V_I64)
		nsx_pb_uint(b, VALUE_INT, (uint64_t)v->u.i);
	else
		nsx_pb_real(b, VALUE_REAL, v->u.f);
	nsx_pb_end(b, at);
}

void nsx_pf_counter(struct nsx_conv *c, const struct nsx_track_counter *counter,
		    const struct nsx_val *v, bool is_first NSX_UNUSED)
{
	struct nsx_pf *pf = c->pf;
	struct nsx_val *last;
	struct nsx_err err;

	if (nsx_grow(&pf->last, &pf->cap_last, counter->number + (size_t)1,
		     sizeof(*pf->last), "counters", &err)) {
		c->out->error = ENOMEM;
		return;
	}
	last = &pf->last[counter->number];
	pf->nlast = NSX_MAX(pf->nlast, counter->number + (size_t)1);
	if (last->type == NSX_V_NULL) {
		pf_counters_describe(c, counter);
		*last = *v; /* there is no previous value, so any will do */
	}
	put_value(c, counter->number, last);
	*last = *v;
}

void nsx_pf_sample_end(struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;

	if (pf->specs.n)
		nsx_pb_bytes(&pf->to->packets, COUNTERS_SPECS, pf->specs.p, pf->specs.n);
	nsx_buf_clear(&pf->specs);
	nsx_pf_close_packet(c);
}

void nsx_pf_counters_end(struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;

	if (!pf->nlast)
		return;
	nsx_pf_to_counters(c, c->last_ns + 1);
	nsx_pf_open_packet(c, c->last_ns + 1, NSX_PF_GPU_COUNTERS);
	for (size_t i = 0; i < pf->nlast; i++)
		if (pf->last[i].type != NSX_V_NULL)
			put_value(c, i, &pf->last[i]);
	nsx_pf_sample_end(c);
}
