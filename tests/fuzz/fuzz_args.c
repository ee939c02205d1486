/* fuzz_args.c - splits bytes at newlines into arguments, and gives them to the option parser of
 * each command.
 */
#include "fuzz.h"
#include "cli/opt.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1), *save = NULL;
	static char target[4096];

	memcpy(text, data, size);
	text[size] = '\0';
	for (unsigned c = 0; c < nsx_ncommands; c++) {
		char *copy = strdup(text), *argv[64];
		struct nsx_err err = {0};
		int argc = 1, n = 0, rc;

		argv[0] = (char *)"x";
		for (char *p = strtok_r(copy, "\n", &save); p && argc < 62;
		     p = strtok_r(NULL, "\n", &save))
			argv[argc++] = p;
		argv[argc] = NULL;
		memset(target, 0, sizeof(target));
		rc = nsx_opt_parse(nsx_commands[c], argc, argv, target, &n, &err);
		if (rc && (!err.msg[0] || strchr(err.msg, '\n')))
			abort();
		if (!rc && (n < 0 || n >= argc))
			abort();
		free(copy);
	}
	free(text);
	return 0;
}
