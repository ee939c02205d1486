/* tracks.c - assigns events to the viewer's processes and threads. */
#include <stdio.h>
#include "convert/convert.h"

/* Viewers read ids as 32-bit numbers. Real ids have 24 bits; the ids that we make lie above. */
enum { REAL_IDS = 1 << 24, FIRST_TID = REAL_IDS + 1, FIRST_PID = 20000000 };

int nsx_tracks_open(struct nsx_tracks *t, struct nsx_err *err)
{
	nsx_keymap_init(&t->group_keys, "groups of tracks");
	nsx_keymap_init(&t->track_keys, "tracks");
	t->next_pid = FIRST_PID;
	t->next_tid = FIRST_TID;
	for (unsigned i = 0; i < ARRAY_LEN(t->cache); i++) {
		t->cache[i] = nsx_try_alloc(1, sizeof(*t->cache[i]), "a key cache", err);
		if (!t->cache[i])
			return err->rc;
	}
	return 0;
}

void nsx_tracks_done(struct nsx_tracks *t)
{
	if (!t->next_pid)
		return;
	for (size_t i = 0; i < t->track_keys.n && i < t->cap_tracks; i++) {
		for (size_t k = 0; k < t->tracks[i].nlanes; k++)
			free(t->tracks[i].lanes[k].ends);
		free(t->tracks[i].lanes);
	}
	nsx_keymap_done(&t->group_keys);
	nsx_keymap_done(&t->track_keys);
	nsx_groups_done(&t->process_keys);
	nsx_groups_done(&t->tids);
	nsx_groups_done(&t->pids);
	for (unsigned i = 0; i < ARRAY_LEN(t->cache); i++)
		free(t->cache[i]);
	free(t->groups);
	free(t->tracks);
}

int nsx_tracks_process(struct nsx_tracks *t, uint64_t key, uint32_t *ret, struct nsx_err *err)
{
	return nsx_group(&t->process_keys, key, 0, ret, err);
}

/* Claims a real id for a track. *ret: no other track has it. */
static int claim_real_id(struct nsx_groups *m, uint64_t id, bool *ret, struct nsx_err *err)
{
	size_t before = m->n;
	uint32_t at;
	int rc = nsx_group(m, id, 0, &at, err);

	*ret = m->n > before;
	return rc;
}

int nsx_tracks_group(struct nsx_tracks *t, enum nsx_group_kind kind,
		     uint64_t key, int64_t device, uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key k = {{kind, key, (uint64_t)device}};
	size_t before = t->group_keys.n;
	uint64_t pid = key >> 24 & (REAL_IDS - 1);
	bool real = kind == NSX_G_CPU && pid;
	int rc = nsx_keymap_add(&t->group_keys, t->cache[0], &k, ret, err);

	if (rc || t->group_keys.n == before)
		return rc;
	if (nsx_grow(&t->groups, &t->cap_groups, t->group_keys.n,
		     sizeof(*t->groups), "groups of tracks", err) ||
	    (real && claim_real_id(&t->pids, pid, &real, err)))
		return err->rc;
	t->groups[*ret].pid = real ? (uint32_t)pid : t->next_pid++;
	return 0;
}

/* Grows the lanes of a track. Most tracks have one lane, so the capacity starts at one and
 * doubles.
 */
static int grow_lanes(struct nsx_track *track, struct nsx_err *err)
{
	size_t cap = track->cap_lanes ? 2 * track->cap_lanes : 1;
	struct nsx_track_lane *lanes;

	if (track->nlanes < track->cap_lanes)
		return 0;
	lanes = nsx_try_alloc(cap, sizeof(*lanes), "lanes", err);
	if (!lanes)
		return err->rc;
	if (track->nlanes)
		memcpy(lanes, track->lanes, track->nlanes * sizeof(*lanes));
	free(track->lanes);
	track->lanes = lanes;
	track->cap_lanes = cap;
	return 0;
}

static struct nsx_track_lane *tracks_add_lane(struct nsx_tracks *t,
					      struct nsx_track *track, uint32_t tid,
					      struct nsx_err *err)
{
	struct nsx_track_lane *lane;

	if (grow_lanes(track, err))
		return NULL;
	lane = &track->lanes[track->nlanes++];
	lane->tid = tid ? tid : t->next_tid++;
	lane->nhead = (uint8_t)snprintf(lane->head, sizeof(lane->head),
					"\"pid\":%u,\"tid\":%u,\"ts\":",
					t->groups[track->group].pid, lane->tid);
	return lane;
}

/* Finds or makes a track; *ret_new: the caller must add its first lane. */
static int tracks_add_track(struct nsx_tracks *t, const struct nsx_key *key,
			    uint32_t *ret, bool *ret_new, struct nsx_err *err)
{
	bool on_gpu = key->w[0] >= NSX_A_KERNEL && key->w[0] < NSX_A_FINDING;
	size_t before = t->track_keys.n;
	struct nsx_track *track;

	if (nsx_keymap_add(&t->track_keys, t->cache[1], key, ret, err))
		return err->rc;
	*ret_new = t->track_keys.n > before;
	if (!*ret_new)
		return 0;
	if (nsx_grow(&t->tracks, &t->cap_tracks, t->track_keys.n,
		     sizeof(*t->tracks), "tracks", err))
		return err->rc;
	track = &t->tracks[*ret];
	track->nests = !on_gpu || key->w[0] == NSX_A_NVTX_GPU;
	track->last_start_ns = INT64_MIN;
	track->cpu = -1;
	if (nsx_tracks_process(t, key->w[1], &track->process, err))
		return err->rc;
	return nsx_tracks_group(t, on_gpu ? NSX_G_GPU :
				   key->w[0] == NSX_A_FINDING ? NSX_G_REPORT :
								NSX_G_CPU,
				key->w[1], (int64_t)key->w[2], &track->group, err);
}

int nsx_tracks_thread(struct nsx_tracks *t, enum nsx_activity a, const struct nsx_val *global_tid,
		      const struct nsx_val *pid, const struct nsx_val *tid,
		      uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key key = {{a, nsx_read_process_key(global_tid, pid)}};
	uint64_t id = (uint64_t)nsx_i64_or(global_tid->type == NSX_V_I64 ? global_tid : tid, 0) &
		(REAL_IDS - 1);
	bool is_new, real = id != 0;

	key.w[4] = id;
	if (tracks_add_track(t, &key, ret, &is_new, err))
		return err->rc;
	if (!is_new)
		return 0;
	if (real && claim_real_id(&t->tids, key.w[1] | id, &real, err))
		return err->rc;
	return tracks_add_lane(t, &t->tracks[*ret], real ? (uint32_t)id : 0, err) ? 0 : err->rc;
}

int nsx_tracks_stream(struct nsx_tracks *t, enum nsx_activity a,
		      uint64_t process, int64_t device, int64_t context,
		      int64_t stream, uint32_t *ret, struct nsx_err *err)
{
	struct nsx_key key = {{a, process, (uint64_t)device, (uint64_t)context,
			       (uint64_t)stream}};
	bool is_new;

	if (tracks_add_track(t, &key, ret, &is_new, err))
		return err->rc;
	return !is_new || tracks_add_lane(t, &t->tracks[*ret], 0, err) ? 0 : err->rc;
}

/* Closes the slices that ended by start. Returns whether [start, end) may begin. */
static bool tracks_fits(struct nsx_track_lane *l, bool nests, int64_t start, int64_t end)
{
	while (l->nends && l->ends[l->nends - 1] <= start)
		l->nends--;
	return !l->nends || (nests && l->ends[l->nends - 1] >= end);
}

static int push_open_slice(struct nsx_track_lane *l, int64_t end, struct nsx_err *err)
{
	size_t cap = l->cap_ends;

	if (nsx_grow(&l->ends, &cap, l->nends + (size_t)1, sizeof(*l->ends), "open slices", err))
		return err->rc;
	l->cap_ends = (uint32_t)cap;
	l->ends[l->nends++] = end;
	return 0;
}

struct nsx_track_lane *nsx_tracks_fit(struct nsx_tracks *t, uint32_t track,
				      int64_t start_ns, int64_t end_ns, struct nsx_err *err)
{
	struct nsx_track *tr = &t->tracks[track];
	struct nsx_track_lane *lane = NULL;

	for (size_t i = 0; i < tr->nlanes && !lane; i++)
		if (tracks_fits(&tr->lanes[i], tr->nests, start_ns, end_ns))
			lane = &tr->lanes[i];
	err->rc = NSX_OK;
	if (!lane && tr->nlanes < NSX_MAX_TRACK_LANES)
		lane = tracks_add_lane(t, tr, 0, err);
	return lane && !push_open_slice(lane, end_ns, err) ? lane : NULL;
}
