/* digest_channel.c - encodes the collectives of a channel as columns of bytes. */
#include "base/stat.h"
#include "fleet/digest.h"

static int squeeze(const struct nsx_buf *b, struct nsx_arena *a,
		   struct nsx_blob *ret, struct nsx_err *err)
{
	struct nsx_buf out = {0};
	int rc = nsx_squeeze(b->p ? b->p : "", b->n, &out, err);

	if (!rc)
		*ret = (struct nsx_blob){nsx_arena_strndup(a, out.p, out.n),
					 out.n};
	nsx_buf_done(&out);
	return rc;
}

int nsx_channel_pack(struct nsx_dchannel *c, struct nsx_arena *a, struct nsx_err *err)
{
	struct nsx_blob *const to[] = {&c->bytes.code, &c->bytes.start,
				       &c->bytes.length, &c->bytes.exposed};
	struct nsx_buf b[ARRAY_LEN(to)] = {{0}};
	int64_t end_ns = 0;
	int rc = 0;

	for (size_t i = 0; i < c->n; i++) {
		nsx_put_number(&b[0], c->code[i]);
		if (!c->has_times)
			continue;
		nsx_put_number(&b[1], nsx_fold(nsx_coll_start(c, i) - end_ns));
		nsx_put_number(&b[2], (uint64_t)nsx_coll_ns(c, i));
		end_ns = nsx_coll_end(c, i);
	}
	if (c->has_times)
		nsx_buf_add(&b[3], (const char *)c->exposed, c->n);
	for (unsigned k = 0; k < ARRAY_LEN(to); k++) {
		if (!rc && (!k || c->has_times))
			rc = squeeze(&b[k], a, to[k], err);
		nsx_buf_done(&b[k]);
	}
	return rc;
}

/* The reader tells which channel is damaged. */
static int fail_column(struct nsx_err *err)
{
	return nsx_fail(err, NSX_E_DATA, "a column is damaged");
}

/* Decodes a column of n numbers. */
static int unpack(const struct nsx_blob *b, size_t n, uint64_t *ret, struct nsx_err *err)
{
	struct nsx_buf raw = {0};
	struct nsx_bytes left = {0};
	int rc = nsx_expand(b->p, b->n, n * 10, &raw, err);

	if (raw.n)
		left = (struct nsx_bytes){(unsigned char *)raw.p,
					  (unsigned char *)raw.p + raw.n};
	for (size_t i = 0; i < n && !rc; i++)
		if (!nsx_get_number(&left, &ret[i]))
			rc = fail_column(err);
	if (!rc && left.p != left.end)
		rc = fail_column(err);
	nsx_buf_done(&raw);
	return rc;
}

int nsx_channel_times(struct nsx_dchannel *c, const int64_t *start, const int64_t *length,
		      struct nsx_arena *a, struct nsx_err *err)
{
	c->has_times = true;
	return nsx_pack_i64(a, start, c->n, "collectives", &c->start, err) ?:
	       nsx_pack_i64(a, length, c->n, "collectives", &c->length, err);
}

/* Without an arena it only checks the columns. */
static int unpack_times(struct nsx_dchannel *c, uint64_t *scratch,
			struct nsx_arena *a, struct nsx_err *err)
{
	int64_t *start = nsx_try_alloc(c->n, 8, "collectives", err);
	int64_t *length = (int64_t *)scratch, end_ns = 0;
	struct nsx_buf raw = {0};
	int rc = !start || unpack(&c->bytes.start, c->n, (uint64_t *)start, err) ||
		 unpack(&c->bytes.length, c->n, scratch, err) ? err->rc : 0;

	for (size_t i = 0; i < c->n && !rc; i++) {
		start[i] = nsx_add_sat(end_ns, nsx_unfold((uint64_t)start[i]));
		if (length[i] < 0 || length[i] > NSX_TIME_MAX / 2 ||
		    start[i] > NSX_TIME_MAX / 2 || start[i] < -NSX_TIME_MAX / 2)
			rc = fail_column(err);
		else
			end_ns = start[i] + length[i];
	}
	rc = rc ?: nsx_expand(c->bytes.exposed.p, c->bytes.exposed.n, c->n, &raw, err);
	if (!rc && raw.n != c->n)
		rc = fail_column(err);
	if (!rc && a) {
		c->exposed = (uint8_t *)nsx_arena_strndup(a, raw.p ? raw.p : "", raw.n);
		rc = nsx_channel_times(c, start, length, a, err);
	}
	nsx_buf_done(&raw);
	free(start);
	return rc;
}

int nsx_channel_unpack(struct nsx_dchannel *c, struct nsx_arena *a, struct nsx_err *err)
{
	uint64_t *scratch;
	int rc;

	scratch = nsx_try_alloc(c->n, 8, "collectives", err);
	if (a)
		nsx_new_array(c->code, a, c->n, "collectives", err);
	rc = scratch && (c->code || !a) ? unpack(&c->bytes.code, c->n, scratch, err) : err->rc;
	for (size_t i = 0; i < c->n && !rc; i++) {
		if (scratch[i] > UINT16_MAX)
			rc = fail_column(err);
		c->ncodes = NSX_MAX(c->ncodes, (uint16_t)scratch[i] + 1U);
		if (a)
			c->code[i] = (uint16_t)scratch[i];
	}
	if (!rc && c->bytes.start.n)
		rc = unpack_times(c, scratch, a, err);
	free(scratch);
	return rc;
}
