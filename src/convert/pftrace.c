/* pftrace.c - Perfetto packets with typed GPU work.
 *
 * The messages and their numbers are those of Perfetto's public .proto files: trace_packet,
 * track_event, gpu_render_stage_event, gpu_track_event and gpu_counter_event, as of v55. The
 * reader sorts packets by time and puts work that overlaps on a GPU queue on further tracks.
 */
#include <errno.h>
#include "convert/pf.h"
#include "convert/rings.h"
#include "schema/viewscan.h"

enum { /* fields, grouped by message */
	TRACK_UUID = 1, TRACK_NAME = 2, TRACK_PROCESS = 3, TRACK_THREAD = 4,
	TRACK_PARENT = 5, TRACK_RANK = 12,
	PROCESS_PID = 1, PROCESS_NAME = 6,
	THREAD_PID = 1, THREAD_TID = 2, THREAD_NAME = 5,
};
enum { WALL_CLOCK = 1 };
enum { OUR_TRACK = 1 }; /* parent of the findings' tracks */

/* Names ------------------------------------------------------------------------*/

static void open_track(struct nsx_conv *c, uint64_t uuid, uint64_t parent,
		       const char *name, size_t order)
{
	struct nsx_buf *b = &c->pf->names.packets;

	nsx_pf_to_names(c);
	nsx_pf_open_packet(c, c->first_ns, NSX_PF_TRACK);
	nsx_pb_uint(b, TRACK_UUID, uuid);
	if (parent)
		nsx_pb_uint(b, TRACK_PARENT, parent);
	if (name)
		nsx_pb_text(b, TRACK_NAME, name);
	nsx_pb_uint(b, TRACK_RANK, order);
}

static uint64_t process_uuid(const struct nsx_conv *c, uint32_t group)
{
	return nsx_pf_own(c, UINT64_C(1) << NSX_PF_PROCESS_BIT | group);
}

static void pftrace_name_group(struct nsx_conv *c, uint32_t group, const char *name, size_t order)
{
	const struct nsx_key *key = &c->tracks.group_keys.keys[group];
	struct nsx_buf *b = &c->pf->names.packets;
	size_t at;

	if (key->w[0] == NSX_G_METRIC || key->w[0] == NSX_G_REPORT ||
	    (key->w[0] == NSX_G_GPU && c->writer->is_typed))
		return; /* the reader itself names GPUs and their counters */
	open_track(c, process_uuid(c, group), 0, NULL, order);
	at = nsx_pb_begin(b, TRACK_PROCESS);
	nsx_pb_uint(b, PROCESS_PID, c->tracks.groups[group].pid);
	nsx_pb_text(b, PROCESS_NAME, name);
	nsx_pb_end(b, at);
	nsx_pf_close_packet(c);
}

/* Writes the description of a thread before the first of its tracks. */
static uint64_t pftrace_name_thread(struct nsx_conv *c, const struct nsx_track *t,
				    uint64_t tid, const char *name, size_t order)
{
	struct nsx_buf *b = &c->pf->names.packets;
	uint64_t uuid = nsx_pf_own(c, UINT64_C(1) << NSX_PF_THREAD_BIT |
					      (uint64_t)t->group << 24 | tid);
	size_t at;

	if (c->pf->last_thread == uuid)
		return uuid;
	c->pf->last_thread = uuid;
	open_track(c, uuid, process_uuid(c, t->group), NULL, order);
	at = nsx_pb_begin(b, TRACK_THREAD);
	nsx_pb_uint(b, THREAD_PID, c->tracks.groups[t->group].pid);
	nsx_pb_uint(b, THREAD_TID, tid);
	nsx_pb_text(b, THREAD_NAME, name);
	nsx_pb_end(b, at);
	nsx_pf_close_packet(c);
	return uuid;
}

static void pftrace_name_lane(struct nsx_conv *c, uint32_t track, size_t lane,
			      const char *owner, const char *what, size_t order)
{
	const struct nsx_key *key = &c->tracks.track_keys.keys[track];
	const struct nsx_track *t = &c->tracks.tracks[track];
	bool on_gpu = key->w[0] >= NSX_A_KERNEL && key->w[0] <= NSX_A_GRAPH;
	uint64_t parent = 0;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf name = {0};

	if (on_gpu && c->writer->is_typed)
		return; /* the track is shown as a GPU queue */
	if (key->w[0] == NSX_A_FINDING)
		parent = nsx_pf_own(c, OUR_TRACK);
	else if (on_gpu)
		parent = process_uuid(c, t->group);
	else if (what)
		parent = pftrace_name_thread(c, t, key->w[4], owner, order);
	if (on_gpu)
		nsx_buf_printf(&name, "%s: ", owner);
	nsx_buf_adds(&name, what ? what : owner);
	open_track(c, nsx_pf_lane_uuid(c, t, &t->lanes[lane]), parent, name.p, order);
	nsx_pf_close_packet(c);
}

/* The file ---------------------------------------------------------------------*/

enum { INFO_GPU = 1, GPU_NAME = 1, GPU_VENDOR = 2, GPU_BUS = 7 };

/* Writes the trace's zero on its shifted clock and as wall time. */
static void put_clocks(struct nsx_conv *c)
{
	struct nsx_buf *b = &c->pf->names.packets;

	nsx_pf_open_packet(c, 0, NSX_PF_CLOCKS);
	nsx_pf_put_clock(b, NSX_PF_BOOT_CLOCK, c->counts->shift_ns, false);
	nsx_pf_put_clock(b, WALL_CLOCK, c->utc_epoch_ns, false);
	nsx_pf_close_packet(c);
}

static int pftrace_put_gpu(void *ctx, int64_t rid NSX_UNUSED, const struct nsx_val *v,
			   struct nsx_err *err NSX_UNUSED)
{
	struct nsx_conv *c = ctx;
	struct nsx_buf *b = &c->pf->names.packets, name = {0};
	size_t at = nsx_pb_begin(b, INFO_GPU);

	if (v[0].type == NSX_V_TEXT)
		nsx_buf_add_utf8(&name, v[0].u.p, NSX_MIN(v[0].len, 256u));
	nsx_pb_bytes(b, GPU_NAME, name.p, name.n);
	nsx_pb_text(b, GPU_VENDOR, "NVIDIA");
	nsx_buf_clear(&name);
	if (v[1].type == NSX_V_TEXT)
		nsx_buf_add_utf8(&name, v[1].u.p, NSX_MIN(v[1].len, 64u));
	if (name.n)
		nsx_pb_bytes(b, GPU_BUS, name.p, name.n);
	nsx_pb_end(b, at);
	nsx_buf_done(&name);
	return 0;
}

static int pftrace_put_gpus(struct nsx_conv *c, struct nsx_err *err)
{
	int rc;

	if (c->opts->no_metadata || c->opts->place.names_no_gpus ||
	    !nsx_has_view(c->schema, NSX_VIEW_gpu))
		return 0;
	nsx_pf_open_packet(c, c->first_ns, NSX_PF_GPU_INFO);
	rc = nsx_view_each(c->schema, gpu, pftrace_put_gpu, c, err, name, bus);
	nsx_pf_close_packet(c);
	return rc;
}

/* Physical indices --------------------------------------------------------------*/

static int read_device(void *ctx, int64_t rid NSX_UNUSED,
		       const struct nsx_val *v, struct nsx_err *err)
{
	struct nsx_pf *pf = ctx;
	int64_t *index;
	bool is_known = v[0].type == NSX_V_I64 && v[1].type == NSX_V_I64 &&
			v[2].type == NSX_V_I64 && v[2].u.i >= 0 &&
			v[2].u.i < INT32_MAX;

	if (!is_known)
		return 0;
	index = nsx_group_value(&pf->gpus, &pf->gpu, (uint64_t)v[0].u.i & 0xffffff,
				(uint64_t)v[1].u.i, "GPUs", err);
	if (!index)
		return err->rc;
	*index = v[2].u.i;
	return 0;
}

uint32_t nsx_pf_gpu(struct nsx_conv *c, uint64_t process, uint64_t ordinal)
{
	uint32_t at = nsx_group_find(&c->pf->gpus, process >> 24 & 0xffffff, ordinal);

	return at == NSX_NONE ? ordinal & 0x7fffffff : (uint32_t)c->pf->gpu[at];
}

static int pftrace_open_file(struct nsx_conv *c, struct nsx_err *err)
{
	struct nsx_pf *pf = nsx_try_alloc(1, sizeof(*pf), "a writer", err);

	if (!pf)
		return err->rc;
	c->pf = pf;
	nsx_keymap_init(&pf->specs_met, "streams");
	nsx_keymap_init(&pf->kernels, "kernels");
	pf->counters.number = 1;
	pf->texts = nsx_strings_new();
	for (unsigned i = 0; i < ARRAY_LEN(pf->cache); i++) {
		pf->cache[i] = nsx_try_alloc(1, sizeof(*pf->cache[i]), "a key cache", err);
		if (!pf->cache[i])
			return err->rc;
	}
	if (nsx_view_each(c->schema, cuda_device, read_device, c->pf, err, pid, cuda_id, gpu_id))
		return err->rc;
	if (c->part != NSX_PART_HOST)
		return 0;
	/* This packet is written alone and uncompressed, so that our files can be recognised by
	 * their first bytes.
	 */
	open_track(c, nsx_pf_own(c, OUR_TRACK), 0, "nsys-explain", 0);
	nsx_pf_close_packet(c);
	nsx_pf_flush(c);
	if (c->utc_epoch_ns != INT64_MIN && !c->opts->place.trace)
		put_clocks(c);
	return pftrace_put_gpus(c, err);
}

static void pftrace_close_file(struct nsx_conv *c)
{
	nsx_pf_counters_end(c);
	nsx_pf_end_all(c);
	nsx_pf_flush(c);
}

static void pftrace_done(struct nsx_conv *c)
{
	struct nsx_pf *pf = c->pf;

	if (!pf)
		return;
	nsx_pf_streams_done(pf);
	nsx_buf_done(&pf->interned);
	nsx_buf_done(&pf->specs);
	nsx_keymap_done(&pf->specs_met);
	nsx_groups_done(&pf->told);
	nsx_keymap_done(&pf->kernels);
	nsx_groups_done(&pf->contexts);
	nsx_groups_done(&pf->gpus);
	nsx_strings_free(pf->texts);
	for (unsigned i = 0; i < ARRAY_LEN(pf->cache); i++)
		free(pf->cache[i]);
	free(pf->source);
	free(pf->gpu);
	free(pf->last);
	free(pf);
}

/* Blocks -----------------------------------------------------------------------*/

struct sink {
	struct nsx_out *out;
	struct nsx_deflate *blocks; /* NULL: not compressed                  */
	bool is_begun;
};

static void put_packed(void *sink, const char *p, size_t n)
{
	enum { PACKET_COMPRESSED = 50 };
	struct nsx_out *out = ((struct sink *)sink)->out;
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf b = {0};
	size_t at;

	if (!p) {
		out->error = ENOMEM;
		return;
	}
	at = nsx_pb_begin(&b, NSX_PF_PACKET);
	nsx_pb_bytes(&b, PACKET_COMPRESSED, p, n);
	nsx_pb_end(&b, at);
	nsx_out_add(out, b.p, b.n);
}

static bool put_block(void *ctx, const char *p, size_t n)
{
	struct sink *s = ctx;

	if (s->blocks && s->is_begun)
		nsx_deflate_put(s->blocks, p, n);
	else
		nsx_out_add(s->out, p, n);
	s->is_begun = true;
	return !s->out->error;
}

int nsx_pf_run(const struct nsx_convert_opts *opts, struct nsx_out *out,
	       size_t nparts, nsx_task_fn produce, void *ctx,
	       struct nsx_rings **ret_rings, struct nsx_err *err)
{
	struct sink s = {.out = out};
	const struct nsx_production p = {nparts, produce, put_block, ctx, &s};
	int rc;

	if (!opts->no_compress && !out->gz) {
		s.blocks = nsx_deflate_open(NSX_DEFLATE_ZLIB, opts->threads, put_packed, &s, err);
		if (!s.blocks)
			return err->rc;
	}
	rc = nsx_rings_run(&p, ret_rings, err);
	if (!rc && s.blocks)
		nsx_deflate_drain(s.blocks);
	nsx_deflate_free(s.blocks);
	return rc;
}

const struct nsx_writer nsx_writer_pftrace = {
	true, pftrace_open_file, nsx_pf_begin, nsx_pf_put_int, nsx_pf_put_text,
	nsx_pf_put_dims, nsx_pf_kernel, nsx_pf_end, nsx_pf_sample, nsx_pf_counter,
	nsx_pf_sample_end, pftrace_name_group, pftrace_name_lane, pftrace_close_file, pftrace_done};
const struct nsx_writer nsx_writer_pftracks = {
	false, pftrace_open_file, nsx_pf_begin, nsx_pf_put_int, nsx_pf_put_text,
	nsx_pf_put_dims, NULL, nsx_pf_end, nsx_pf_sample, nsx_pf_counter,
	nsx_pf_sample_end, pftrace_name_group, pftrace_name_lane, pftrace_close_file, pftrace_done};
