/* replay.c - a main() for the fuzz targets that needs no fuzzer.
 *
 * usage: fuzz_TARGET COUNT KEEP PATH...
 *
 * Runs each file, and each file of a folder, once. Then runs COUNT inputs that are made from these
 * files by a few random changes, the same ones every time. The file KEEP holds the current input;
 * it is removed at the end if there was no failure. An input that takes two minutes is a failure.
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

static size_t random_below(size_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (size_t)(random_state % n) : 0;
}

/* Makes one random change; b has room for MAX_BYTES. */
static void change_randomly(struct bytes *b)
{
	static const uint8_t edges[] = {0, 1, 0x7f, 0x80, 0xff, '"', '\n', '|'};
	const struct bytes *other = &inputs[random_below(ninputs)];
	size_t at = random_below(b->n), n = random_below(NSX_MIN(b->n - at, 64) + 1), from;

	switch (b->n ? random_below(6) : 4) {
	case 0:
		b->p[at] ^= (uint8_t)(1 << random_below(8));
		break;
	case 1:
		b->p[at] = (uint8_t)random_below(256);
		break;
	case 2:
		memset(b->p + at, edges[random_below(sizeof(edges))], n);
		break;
	case 3:
		memmove(b->p + at, b->p + at + n, b->n - at - n);
		b->n -= n;
		break;
	case 4: /* inserts a part of another input */
		from = random_below(other->n);
		n = NSX_MIN(random_below(other->n - from + 1), MAX_BYTES - b->n);
		memmove(b->p + at + n, b->p + at, b->n - at);
		memcpy(b->p + at, other->p + from, n);
		b->n += n;
		break;
	default:
		b->n = at;
	}
}

static void run_input(const struct bytes *b, const char *keep)
{
	/* a copy of the exact size, so that ASan sees reads beyond it */
	uint8_t *exact = malloc(b->n);

	CHECK(exact || !b->n);
	memcpy(exact, b->p, b->n);
	fuzz_write(keep, b->p, b->n);
	alarm(MAX_SECONDS); /* ends the program if the input takes too long */
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
		run_input(&inputs[i], argv[2]);
	for (size_t i = 0; ninputs && i < count; i++) {
		const struct bytes *from = &inputs[i % ninputs];

		b.n = from->n;
		memcpy(b.p, from->p, b.n);
		for (size_t k = random_below(MOST_CHANGES) + 1; k; k--)
			change_randomly(&b);
		run_input(&b, argv[2]);
	}
	unlink(argv[2]);
	free(b.p);
	printf("%zu inputs, and %zu made from them\n", ninputs, count);
	return 0;
}
