/* fuzz_open.c - bytes as a file. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_path();
	FILE *f = fopen(path, "wb");

	if (!f)
		abort();
	fwrite(data, 1, size, f);
	fclose(f);
	fuzz_run(path);
	unlink(path);
	return 0;
}
