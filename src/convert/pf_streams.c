/* pf_streams.c - packets, their sequences, and blocks of packets.
 *
 * Readers keep names, clocks and the default track separately for each sequence. Packets of a
 * sequence are much alike, so a block groups them by sequence, which compresses better.
 */
#include <errno.h>
#include "convert/pf.h"
#include "convert/rings.h"

enum {
	PACKET_TIMESTAMP = 8, PACKET_SEQUENCE = 10, PACKET_INTERNED = 12,
	PACKET_FLAGS = 13, PACKET_CLOCK = 58, PACKET_DEFAULTS = 59,
	DEFAULTS_EVENT = 11, DEFAULTS_CLOCK = 58, EVENT_TRACK = 11,
	CLOCK_IS_STEPS = 3,
};
enum { STATE_CLEARED = 1 };
enum { OWN_CLOCK = 64 };  /* the first clock number private to a sequence */
enum { BLOCK = 1 << 20, MAX_ROOM = 4 * BLOCK }; /* size of packets compressed together */

/* Writes the sequence number, unique over all traces and parts of a file. The busiest sequences
 * have small numbers.
 */
static void pf_streams_put_head(const struct nsx_conv *c)
{
	const struct nsx_trace_place *place = &c->opts->place;
	struct nsx_pf_stream *s = c->pf->to;
	char *p = nsx_buf_room(&s->packets, 3 * NSX_PB_MAX_UINT);
	uint64_t number = (uint64_t)s->number * NSX_CONVERT_PARTS + c->part;

	p = nsx_pb_put_uint(p, PACKET_SEQUENCE,
			    number * NSX_MAX(place->ntraces, 1u) + place->trace + 1);
	if (place->machine)
		p = nsx_pb_put_uint(p, NSX_PF_MACHINE, place->machine);
	if (!s->is_begun)
		p = nsx_pb_put_uint(p, PACKET_FLAGS, STATE_CLEARED);
	s->is_begun = true;
	nsx_pb_take(&s->packets, p);
}

void nsx_pf_put_clock(struct nsx_buf *b, unsigned clock, int64_t ns, bool is_steps)
{
	size_t at = nsx_pb_begin(b, NSX_PF_CLOCKS_CLOCK);

	nsx_pb_uint(b, NSX_PF_IID, clock);
	nsx_pb_uint(b, NSX_PF_CLOCK_TIME, (uint64_t)ns);
	if (is_steps)
		nsx_pb_uint(b, CLOCK_IS_STEPS, true);
	nsx_pb_end(b, at);
}

/* Starts a clock at at_ns; later times of the sequence are steps from there. */
static void start_clock(struct nsx_conv *c, unsigned clock, uint64_t track, int64_t at_ns)
{
	struct nsx_pf_stream *s = c->pf->to;
	struct nsx_buf *b = &s->packets;
	size_t packet = nsx_pb_begin(b, NSX_PF_PACKET), at, event;

	at_ns += c->counts->shift_ns;
	pf_streams_put_head(c);
	at = nsx_pb_begin(b, NSX_PF_CLOCKS);
	nsx_pf_put_clock(b, clock, at_ns, true);
	nsx_pf_put_clock(b, NSX_PF_BOOT_CLOCK, at_ns, false);
	nsx_pb_end(b, at);
	at = nsx_pb_begin(b, PACKET_DEFAULTS);
	nsx_pb_uint(b, DEFAULTS_CLOCK, clock);
	event = nsx_pb_begin(b, DEFAULTS_EVENT);
	nsx_pb_uint(b, EVENT_TRACK, track);
	nsx_pb_end(b, event);
	nsx_pb_end(b, at);
	nsx_pb_end(b, packet);
	s->clock = clock;
	s->last_ns = at_ns;
}

void nsx_pf_to_names(struct nsx_conv *c)
{
	c->pf->to = &c->pf->names;
}

/* Starts a clock for each table of counters. */
void nsx_pf_to_counters(struct nsx_conv *c, int64_t at_ns)
{
	unsigned clock = OWN_CLOCK + c->activity;

	c->pf->to = &c->pf->counters;
	if (c->pf->to->clock != clock)
		start_clock(c, clock, 0, at_ns);
}

void nsx_pf_to_lane(struct nsx_conv *c, uint32_t track, int64_t at_ns)
{
	struct nsx_pf *pf = c->pf;
	struct nsx_track_lane *lane = c->lane;
	struct nsx_err err;

	if (!lane->stream) {
		if (nsx_grow(&pf->lanes, &pf->cap_lanes, pf->nlanes + 1,
			     sizeof(*pf->lanes), "tracks", &err) ||
		    !(lane->stream = nsx_try_alloc(1, sizeof(*lane->stream), "a track", &err))) {
			c->out->error = ENOMEM;
			pf->to = &pf->names;
			return;
		}
		pf->lanes[pf->nlanes++] = lane->stream;
		lane->stream->number = (uint32_t)pf->nlanes + 1;
	}
	pf->to = lane->stream;
	if (!pf->to->clock)
		start_clock(c, OWN_CLOCK, nsx_pf_lane_uuid(
			c, &c->tracks.tracks[track], lane), at_ns);
}

void nsx_pf_open_packet(struct nsx_conv *c, int64_t at_ns, unsigned field)
{
	struct nsx_pf *pf = c->pf;

	pf->at_ns = at_ns + c->counts->shift_ns;
	pf->is_step = pf->to->clock && pf->at_ns >= pf->to->last_ns;
	pf->packet = nsx_pb_begin(&pf->to->packets, NSX_PF_PACKET);
	pf_streams_put_head(c);
	pf->field = nsx_pb_begin(&pf->to->packets, field);
}

/* Writes the time after all fields except names. Fields that vary between packets are then
 * adjacent, which compresses better.
 */
static void put_time(struct nsx_pf *pf)
{
	struct nsx_pf_stream *s = pf->to;
	char *p = nsx_buf_room(&s->packets, 2 * NSX_PB_MAX_UINT);

	p = nsx_pb_put_uint(p, PACKET_TIMESTAMP, (uint64_t)(
		pf->is_step ? pf->at_ns - s->last_ns : pf->at_ns));
	if (pf->is_step)
		s->last_ns = pf->at_ns;
	else if (s->clock)
		p = nsx_pb_put_uint(p, PACKET_CLOCK, NSX_PF_BOOT_CLOCK);
	nsx_pb_take(&s->packets, p);
}

void nsx_pf_close_packet(struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;
	struct nsx_buf *b = &pf->to->packets;

	nsx_pb_end(b, pf->field);
	put_time(pf);
	if (pf->interned.n)
		nsx_pb_bytes(b, PACKET_INTERNED, pf->interned.p, pf->interned.n);
	nsx_buf_clear(&pf->interned);
	nsx_pb_end(b, pf->packet);
	pf->held += b->n - pf->packet;
	if (pf->held >= BLOCK)
		nsx_pf_flush(c);
}

/* Passes on a sequence's packets. Buffers are kept while they are small in total, because there may
 * be many sequences.
 */
static void take_packets(struct nsx_pf *pf, struct nsx_pf_stream *s, size_t *room)
{
	if (s->packets.n)
		nsx_buf_add(&pf->block, s->packets.p, s->packets.n);
	nsx_buf_clear(&s->packets);
	*room += s->packets.cap;
	if (*room > MAX_ROOM)
		nsx_buf_done(&s->packets);
}

void nsx_pf_flush(struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;
	size_t room = 0;

	take_packets(pf, &pf->names, &room);
	take_packets(pf, &pf->counters, &room);
	for (size_t i = 0; i < pf->nlanes; i++)
		take_packets(pf, pf->lanes[i], &room);
	pf->held = 0;
	if (pf->block.n && !nsx_rings_put(*c->rings, c->part, &pf->block))
		c->out->error = ECANCELED;
	nsx_buf_clear(&pf->block);
}

void nsx_pf_streams_done(struct nsx_pf *pf)
{
	for (size_t i = 0; i < pf->nlanes; i++) {
		nsx_buf_done(&pf->lanes[i]->packets);
		free(pf->lanes[i]->ends);
		free(pf->lanes[i]);
	}
	nsx_buf_done(&pf->names.packets);
	nsx_buf_done(&pf->counters.packets);
	nsx_buf_done(&pf->block);
	free(pf->lanes);
}
