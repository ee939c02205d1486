/* digest_channel.c - encodes the collectives of a channel as columns of bytes. */
#include "base/stat.h"
#include "fleet/digest.h"

static int squeeze(const struct nsx_buf *b, struct nsx_arena *a,
		   struct nsx_blob *ret, struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf out = {0};
	int rc = nsx_squeeze(b->p ? b->p : "", b->n, &out, err);

	if (!rc)
		*ret = (struct nsx_blob){nsx_arena_strndup(a, out.p, out.n),
					 out.n};
	return rc;
}

int nsx_channel_pack(struct nsx_dchannel *c, struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_buf b[NSX_NCOLUMNS] = {{0}};
	int64_t end_ns = 0;
	int rc = 0;

	for (size_t i = 0; i < c->n; i++) {
		char exposed;

		nsx_put_number(&b[NSX_CODE], nsx_coll_code(c, i));
		if (!c->has_times)
			continue;
		nsx_put_number(&b[NSX_START], nsx_fold(nsx_coll_start(c, i) - end_ns));
		nsx_put_number(&b[NSX_LENGTH], (uint64_t)nsx_coll_ns(c, i));
		exposed = (char)nsx_unpack(&c->column[NSX_EXPOSED], i);
		nsx_buf_add(&b[NSX_EXPOSED], &exposed, 1);
		end_ns = nsx_coll_end(c, i);
	}
	for (unsigned k = 0; k < NSX_NCOLUMNS; k++) {
		if (!rc && (!k || c->has_times))
			rc = squeeze(&b[k], a, &c->bytes[k], err);
		nsx_buf_done(&b[k]);
	}
	return rc;
}

int nsx_channel_set(struct nsx_dchannel *c, int64_t *const *v, struct nsx_arena *a,
		    struct nsx_err *err)
{
	int64_t most = 0;
	uint8_t *narrow;
	uint16_t *wide;

	for (size_t i = 0; i < c->n; i++)
		most = NSX_MAX(most, v[NSX_CODE][i]);
	c->is_wide = most > UINT8_MAX;
	c->code = narrow = nsx_arena_try_array(a, c->n, 1U + c->is_wide, "collectives", err);
	wide = (uint16_t *)(void *)narrow;
	for (size_t i = 0; i < c->n && c->code; i++)
		if (c->is_wide)
			wide[i] = (uint16_t)v[NSX_CODE][i];
		else
			narrow[i] = (uint8_t)v[NSX_CODE][i];
	for (unsigned k = NSX_START; k < NSX_NCOLUMNS && c->code && c->has_times; k++)
		if (nsx_pack_i64(a, v[k], c->n, "collectives", &c->column[k], err))
			return err->rc;
	return c->code ? 0 : err->rc;
}

/* The reader tells which channel is damaged. */
static int fail_column(struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_DATA, "a column is damaged");
}

/* Decodes a column of n numbers, or of n bytes. */
static int unpack(const struct nsx_blob *b, size_t n, bool is_bytes, int64_t *ret,
		  struct nsx_err *err)
{
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf raw = {0};
	struct nsx_bytes left = {0};
	int rc = nsx_expand(b->p, b->n, is_bytes ? n : n * 10, &raw, err);

	if (raw.n)
		left = (struct nsx_bytes){(unsigned char *)raw.p, (unsigned char *)raw.p + raw.n};
	for (size_t i = 0; i < n && !rc; i++)
		if (is_bytes && left.p < left.end)
			ret[i] = *left.p++;
		else if (is_bytes || !nsx_get_number(&left, (uint64_t *)&ret[i]))
			rc = fail_column(err);
	if (!rc && left.p != left.end)
		rc = fail_column(err);
	return rc;
}

/* Turns starts since the last end into starts, and checks the numbers. */
static int check_columns(struct nsx_dchannel *c, int64_t *const *v, struct nsx_err *err)
{
	int64_t *start = v[NSX_START], *length = v[NSX_LENGTH], end_ns = 0;

	for (size_t i = 0; i < c->n; i++) {
		if (v[NSX_CODE][i] < 0 || v[NSX_CODE][i] > UINT16_MAX)
			return fail_column(err);
		c->ncodes = NSX_MAX(c->ncodes, (unsigned)v[NSX_CODE][i] + 1);
		if (!c->has_times)
			continue;
		start[i] = nsx_add_sat(end_ns, nsx_unfold((uint64_t)start[i]));
		if (length[i] < 0 || length[i] > NSX_TIME_MAX / 2 ||
		    start[i] > NSX_TIME_MAX / 2 || start[i] < -NSX_TIME_MAX / 2)
			return fail_column(err);
		end_ns = start[i] + length[i];
	}
	return 0;
}

int nsx_channel_unpack(struct nsx_dchannel *c, struct nsx_arena *a, struct nsx_err *err)
{
	int64_t *v[NSX_NCOLUMNS] = {NULL};
	int rc = 0;

	c->has_times = c->bytes[NSX_START].n;
	for (unsigned k = 0; k < (c->has_times ? NSX_NCOLUMNS : NSX_START) && !rc; k++) {
		v[k] = nsx_try_alloc(c->n, sizeof(**v), "collectives", err);
		rc = v[k] ? unpack(&c->bytes[k], c->n, k == NSX_EXPOSED, v[k], err) : err->rc;
	}
	rc = rc ?: check_columns(c, v, err);
	if (!rc && a)
		rc = nsx_channel_set(c, v, a, err);
	c->has_times &= a != NULL;
	for (unsigned k = 0; k < NSX_NCOLUMNS; k++)
		free(v[k]);
	return rc;
}
