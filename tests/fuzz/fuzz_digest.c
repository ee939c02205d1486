/* fuzz_digest.c - reads bytes as a file of digests, or makes digests of ranks from them.
 *
 * Bit 0 of the first byte chooses a file of digests, and bits 1 and 2 the number of ranks. Ranks
 * are made of the numbers that follow. They are sealed, written and read, and must be unchanged.
 * Every file that can be read must give a report.
 */
#include "fuzz.h"
#include "fleet/report.h"

enum { MOST_STEPS = 12, MOST_COLLS = 40 };

static int64_t next_number(struct nsx_bytes *b, int64_t below)
{
	uint64_t x;

	return nsx_get_number(b, &x) ? (int64_t)(x % (uint64_t)below) : 0;
}

static void add_steps(struct nsx_digest *d, struct nsx_bytes *b)
{
	int64_t at = next_number(b, NSX_TIME_MAX / 8), colls = 0;

	d->nsteps = (size_t)next_number(b, MOST_STEPS);
	d->steps = nsx_arena_get(d->arena, (d->nsteps + 1) * sizeof(*d->steps));
	for (size_t i = 0; i < d->nsteps; i++) {
		struct nsx_dstep *s = &d->steps[i];

		s->start_ns = at;
		for (unsigned p = 0; p < NSX_NPARTS; p++)
			s->wall_ns += s->part_ns[p] = next_number(b, NSX_TIME_MAX / 512);
		s->cause_ns[next_number(b, NSX_NCAUSES)] = s->part_ns[NSX_P_IDLE];
		s->kernels = next_number(b, NSX_TIME_MAX);
		s->colls = colls += next_number(b, 5);
		at += s->wall_ns + next_number(b, 3);
	}
}

static void add_channel(struct nsx_digest *d, struct nsx_bytes *b)
{
	static const char *const names[] = {"allreduce", "broadcast", "MPI_Bcast"};
	struct nsx_dchannel *c = &d->channels[d->nchannels++];
	int64_t column[NSX_NCOLUMNS][MOST_COLLS], at = 0;
	int64_t *const columns[] = {column[0], column[1], column[2], column[3]};
	struct nsx_err err;

	*c = (struct nsx_dchannel){
		.is_mpi = next_number(b, 2), .comm = (uint64_t)next_number(b, 3),
		.stream = next_number(b, 3), .n = (size_t)next_number(b, MOST_COLLS),
		.nops = ARRAY_LEN(names), .has_times = next_number(b, 8)};
	c->ops = nsx_arena_get(d->arena, c->nops * sizeof(*c->ops));
	for (size_t i = 0; i < c->nops; i++)
		c->ops[i] = (struct nsx_dop){.name = names[i], .bytes = next_number(b, 9)};
	c->has_times = c->has_times && c->n;
	for (size_t i = 0; i < c->n; i++) {
		column[NSX_CODE][i] = next_number(b, 3);
		column[NSX_EXPOSED][i] = next_number(b, 256);
		column[NSX_START][i] = at += next_number(b, NSX_TIME_MAX / 512);
		column[NSX_LENGTH][i] = next_number(b, NSX_TIME_MAX / 512);
	}
	CHECK(!nsx_channel_set(c, columns, d->arena, &err));
}

static struct nsx_digest *make_digest(int64_t rank, struct nsx_bytes *b)
{
	struct nsx_arena *a = nsx_arena_new();
	struct nsx_digest *d = nsx_arena_get(a, sizeof(*d));
	struct nsx_err err;
	int64_t n;

	*d = (struct nsx_digest){
		.arena = a, .rank = rank - next_number(b, 2), .world = next_number(b, 6) - 1,
		.detail = (unsigned)next_number(b, NSX_NDETAILS),
		.who = (uint64_t)next_number(b, 4) + 8 * (uint64_t)rank,
		.host = (uint64_t)next_number(b, 3), .gpu_model = "", .gpu_label = "", .product = "",
		.schema = "", .unit = "", .peak_bytes = next_number(b, NSX_TIME_MAX) - 1,
		.utc_ns = next_number(b, NSX_TIME_MAX) - 1,
		.system_ns = next_number(b, NSX_TIME_MAX) - 1,
		.last_ns = next_number(b, NSX_TIME_MAX), .is_partial = next_number(b, 2)};
	n = next_number(b, 3);
	d->channels = nsx_arena_get(a, 3 * sizeof(*d->channels));
	add_steps(d, b);
	for (int64_t i = 0; i < n; i++)
		add_channel(d, b);
	CHECK(!nsx_digest_seal(d, &err));
	return d;
}

/* Makes a report of the digests, which it takes ownership of. */
static void make_report(struct nsx_digest **v, size_t n)
{
	static const struct nsx_left_out nothing;
	FILE *null = fopen("/dev/null", "w"), *json;
	struct nsx_out_file file = {.write = NULL};
	struct nsx_fleet *f;
	struct nsx_freport *r;
	struct nsx_err err;
	char *text;
	size_t size;

	CHECK(null && !nsx_fleet_new(v, n, &f, &err));
	free(v);
	CHECK(!nsx_fleet_analyse(f, &err) && !nsx_freport_new(f, &nothing, &r, &err));
	file.subject = r;
	CHECK(!nsx_freport_write_md(&file, null, &err) &&
	      !nsx_freport_write_html(&file, null, &err));
	json = open_memstream(&text, &size);
	CHECK(!nsx_freport_write_json(&file, json, &err));
	fclose(json);
	fuzz_check_json(text, size);
	free(text);
	nsx_freport_free(r);
	nsx_fleet_free(f);
	fclose(null);
}

static void round_trip(unsigned nranks, struct nsx_bytes *b)
{
	struct nsx_digest_writer *w;
	struct nsx_digest **v;
	uint64_t content[4];
	struct nsx_err err;
	const void *image;
	size_t n, size;

	CHECK(!nsx_digest_writer_new(&w, &err));
	for (unsigned i = 0; i < nranks; i++) {
		struct nsx_digest *d = make_digest(i, b);

		content[i] = d->content;
		CHECK(!nsx_digest_add(w, d, &err));
		nsx_digest_free(d);
	}
	CHECK(!nsx_digest_image(w, &image, &size, &err));
	CHECK(!nsx_digest_parse(image, size, "fuzz", NSX_KEEP_COLUMNS, &v, &n, &err));
	nsx_digest_writer_free(w);
	CHECK(n == nranks);
	for (size_t i = 0; i < n; i++)
		CHECK(v[i]->content == content[i]);
	make_report(v, n);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nsx_bytes b = {data + 1, data + size};
	struct nsx_digest **v;
	struct nsx_err err;
	size_t n;

	if (!size)
		return 0;
	if (!(data[0] & 1))
		round_trip(1 + (data[0] >> 1 & 3), &b);
	else if (!nsx_digest_parse(data + 1, size - 1, "fuzz", NSX_KEEP_COLUMNS, &v, &n, &err))
		make_report(v, n);
	else
		CHECK(err.msg[0] && !strpbrk(err.msg, "\n\r"));
	return 0;
}
