/* replay.c - a main for the fuzz targets under any compiler.
 *
 * usage: fuzz_TARGET COUNT KEEP PATH...
 *
 * Runs each file, and each file of a folder, once; then COUNT inputs made from
 * them by a few random changes, the same ones every time.  The input being run
 * is in the file KEEP, which goes when all is well.  One that takes two minutes
 * is a failure.
 */
#include <dirent.h>
#include <sys/stat.h>
#include "fuzz.h"

enum { MAX_BYTES = 1 << 20, MOST_CHANGES = 6, MAX_SECONDS = 120 };

struct bytes {
	uint8_t *p;
	size_t n;
};
static struct bytes *inputs;
static size_t ninputs, cap_inputs;

static void read_file(const char *path)
{
	FILE *f = fopen(path, "rb");
	struct bytes b = {malloc(MAX_BYTES), 0};
	struct nsx_err err;

	CHECK(f && b.p);
	b.n = fread(b.p, 1, MAX_BYTES, f);
	fclose(f);
	b.p = realloc(b.p, b.n + 1);
	CHECK(!nsx_grow(&inputs, &cap_inputs, ninputs + 1, sizeof(*inputs), "inputs", &err));
	inputs[ninputs++] = b;
}

/* Runs the files in order of their names, because the random changes depend on the order. */
static void read_path(const char *path)
{
	struct dirent **v;
	struct stat st;
	char sub[4096];
	int n;

	if (stat(path, &st))
		return;
	if (!S_ISDIR(st.st_mode)) {
		read_file(path);
		return;
	}
	n = scandir(path, &v, NULL, alphasort);
	for (int i = 0; i < n; i++) {
		snprintf(sub, sizeof(sub), "%s/%s", path, v[i]->d_name);
		if (v[i]->d_name[0] != '.')
			read_path(sub);
		free(v[i]);
	}
	if (n >= 0)
		free(v);
}

static uint64_t random_state = 1;

static size_t below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (size_t)(random_state % n) : 0;
}

/* One change; b has room for MAX_BYTES. */
static void change(struct bytes *b)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '"', '\n', '|'};
	const struct bytes *other = &inputs[below(ninputs)];
	size_t at = below(b->n), n = below(NSX_MIN(b->n - at, 64) + 1), from;

	switch (b->n ? below(6) : 4) {
	case 0:
		b->p[at] ^= (uint8_t)(1 << below(8));
		break;
	case 1:
		b->p[at] = (uint8_t)below(256);
		break;
	case 2:
		memset(b->p + at, edges[below(sizeof(edges))], n);
		break;
	case 3:
		memmove(b->p + at, b->p + at + n, b->n - at - n);
		b->n -= n;
		break;
	case 4: /* a piece of another, put in */
		from = below(other->n);
		n = NSX_MIN(below(other->n - from + 1), MAX_BYTES - b->n);
		memmove(b->p + at + n, b->p + at, b->n - at);
		memcpy(b->p + at, other->p + from, n);
		b->n += n;
		break;
	default:
		b->n = at;
	}
}

static void run(const struct bytes *b, const char *keep)
{
	uint8_t *exact = malloc(b->n); /* so that a byte too far is seen */

	CHECK(exact || !b->n);
	memcpy(exact, b->p, b->n);
	fuzz_write(keep, b->p, b->n);
	alarm(MAX_SECONDS); /* ends the program */
	LLVMFuzzerTestOneInput(exact, b->n);
	free(exact);
}

int main(int argc, char **argv)
{
	struct bytes b = {malloc(MAX_BYTES), 0};
	size_t count;

	CHECK(argc > 3 && b.p);
	count = strtoul(argv[1], NULL, 10);
	for (int i = 3; i < argc; i++)
		read_path(argv[i]);
	for (size_t i = 0; i < ninputs; i++)
		run(&inputs[i], argv[2]);
	for (size_t i = 0; ninputs && i < count; i++) {
		const struct bytes *from = &inputs[i % ninputs];

		b.n = from->n;
		memcpy(b.p, from->p, b.n);
		for (size_t k = below(MOST_CHANGES) + 1; k; k--)
			change(&b);
		run(&b, argv[2]);
	}
	unlink(argv[2]);
	free(b.p);
	printf("%zu inputs, and %zu made from them\n", ninputs, count);
	return 0;
}
