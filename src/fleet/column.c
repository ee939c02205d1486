/* column.c - encodes columns as bytes, and sketches lengths. */
#include <math.h>
#include <zstd.h>
#include <zstd_errors.h>
#include "fleet/column.h"

#define SKETCH_GROWTH 1.02
#define SKETCH_LEAST_NS 1000

int nsx_squeeze(const void *p, size_t n, struct nsx_buf *ret, struct nsx_err *err)
{
	size_t room = ZSTD_compressBound(n);
	char *bytes = nsx_try_alloc(room + 1, 1, "a compressed column", err);

	if (!bytes)
		return err->rc;
	n = ZSTD_compress(bytes, room, p, n, 3);
	if (ZSTD_isError(n)) {
		free(bytes);
		return nsx_fail(err, NSX_E_NOMEM, "cannot compress a column: %s",
				ZSTD_getErrorName(n));
	}
	*ret = (struct nsx_buf){bytes, n, room + 1};
	return 0;
}

int nsx_expand(const void *p, size_t n, size_t most, struct nsx_buf *ret, struct nsx_err *err)
{
	unsigned long long size = ZSTD_getFrameContentSize(p, n);
	bool is_known = size != ZSTD_CONTENTSIZE_UNKNOWN && size != ZSTD_CONTENTSIZE_ERROR;
	size_t room = is_known && size <= most ? (size_t)size : most, got = 0;
	bool is_too_long = is_known && size > most;
	char *bytes = is_too_long ? NULL : nsx_try_alloc(room + 1, 1, "a column", err);

	if (!bytes && !is_too_long)
		return err->rc;
	if (bytes)
		got = ZSTD_decompress(bytes, room, p, n);
	if (bytes && !ZSTD_isError(got)) {
		*ret = (struct nsx_buf){bytes, got, room + 1};
		return 0;
	}
	free(bytes);
	if (is_too_long || ZSTD_getErrorCode(got) == ZSTD_error_dstSize_tooSmall)
		return nsx_fail(err, NSX_E_DATA, "what is compressed expands to more than %zu "
				"bytes; if it is sound, run zstd -d on the file and give what "
				"that writes", room);
	return nsx_fail(err, NSX_E_DATA, "a compressed column is damaged");
}

bool nsx_is_squeezed(const void *p, size_t n)
{
	return n >= 4 && !memcmp(p, "\x28\xb5\x2f\xfd", 4);
}

/* Sketches --------------------------------------------------------------------*/

void nsx_sketch_add(struct nsx_sketch *s, int64_t ns, uint64_t count)
{
	double at = 1 + floor(log((double)ns / SKETCH_LEAST_NS) / log(SKETCH_GROWTH));

	s->n[ns < SKETCH_LEAST_NS ? 0 :
	     at < NSX_SKETCH_BUCKETS - 1 ? (size_t)at :
					   NSX_SKETCH_BUCKETS - 1] += count;
}

double nsx_sketch_quantile(const struct nsx_sketch *s, double q)
{
	uint64_t n = 0, sum = 0, want;
	size_t i = 0;

	for (size_t k = 0; k < NSX_SKETCH_BUCKETS; k++)
		n += s->n[k];
	if (!n)
		return 0;
	want = (uint64_t)(q * (double)(n - 1));
	while (sum + s->n[i] <= want)
		sum += s->n[i++];
	/* geometric middle of the bucket */
	return i ? SKETCH_LEAST_NS * pow(SKETCH_GROWTH, (double)i - 0.5) : SKETCH_LEAST_NS / 2.0;
}

void nsx_sketch_put(const struct nsx_sketch *s, struct nsx_buf *b)
{
	size_t last = 0;

	for (size_t i = 0; i < NSX_SKETCH_BUCKETS; i++) {
		if (!s->n[i])
			continue;
		nsx_put_number(b, i - last);
		nsx_put_number(b, s->n[i]);
		last = i;
	}
}

bool nsx_sketch_take(struct nsx_sketch *s, const void *p, size_t n)
{
	struct nsx_bytes b = {p, (const unsigned char *)p + n};
	uint64_t step, count, at = 0;

	while (b.p < b.end) {
		if (!nsx_get_number(&b, &step) || !nsx_get_number(&b, &count) ||
		    step >= NSX_SKETCH_BUCKETS - at)
			return false;
		at += step;
		s->n[at] += count;
	}
	return true;
}
