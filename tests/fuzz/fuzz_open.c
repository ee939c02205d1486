/* fuzz_open.c - opens bytes as the file of a trace. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *path = fuzz_path();
	struct fuzz_run run = {.threads = 1 + (size % 8 == 0),
			       .whole_json = size % 64 == 1,
			       .kernel_limit = 30};

	fuzz_write(path, data, size);
	free(fuzz_whole(path, &run));
	unlink(path);
	return 0;
}
