/* fuzz_mcp.c - sends bytes to the server for agents as lines of a client.
 *
 * Each line of the answer must be a message of JSON-RPC 2.0, and none may contain the private parts
 * of a trace.
 */
#include <sys/mman.h>
#include "agent/mcp.h"
#include "agent/reply.h"
#include "fuzz.h"

static int file_of(const void *p, size_t n)
{
	int fd = memfd_create("nsx-fuzz", MFD_CLOEXEC);

	CHECK(fd >= 0 && write(fd, p, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET));
	return fd;
}

static void check_line(const char *line, size_t n, bool said_it)
{
	json_t *root = json_loadb(line, n, JSON_ALLOW_NUL, NULL);
	const char *version = json_string_value(json_object_get(root, "jsonrpc"));

	CHECK(version && !strcmp(version, "2.0"));
	CHECK(said_it || !fuzz_has_secret(line, n));
	json_decref(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char root[FUZZ_SEED_PATH];
	const char *const roots[] = {root};
	struct nsx_mcp_opts o = {.roots = roots, .nroots = 1,
				 .budget = NSX_REPLY_TOKENS, .threads = 1,
				 .cache_bytes = 64 << 20};
	char *line = NULL;
	struct nsx_err err;
	size_t cap = 0;
	ssize_t n;
	FILE *said;

	fuzz_seed_path("", root);
	o.in = file_of(data, size);
	o.out = file_of("", 0);
	CHECK(!nsx_mcp_serve(&o, &err));
	said = fdopen(o.out, "r");
	CHECK(said);
	rewind(said);
	while ((n = getline(&line, &cap, said)) > 0)
		check_line(line, (size_t)n, fuzz_has_secret(data, size));
	free(line);
	fclose(said);
	close(o.in);
	return 0;
}
