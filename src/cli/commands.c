/* commands.c - the registry of commands. */
#include "base/str.h"
#include "cli/opt.h"

#define NSX_COMMAND(name) extern const struct nsx_cmd nsx_cmd_##name;
#include "cli/commands.def"
#undef NSX_COMMAND

const struct nsx_cmd *const nsx_commands[] = {
#define NSX_COMMAND(name) &nsx_cmd_##name,
#include "cli/commands.def"
#undef NSX_COMMAND
};
const unsigned nsx_ncommands = ARRAY_LEN(nsx_commands);

const struct nsx_cmd *nsx_cmd_find(const char *name)
{
	for (unsigned i = 0; i < nsx_ncommands; i++)
		if (!strcmp(nsx_commands[i]->name, name))
			return nsx_commands[i];
	return NULL;
}

const struct nsx_cmd *nsx_cmd_nearest(const char *name)
{
	const struct nsx_cmd *nearest = NULL;
	size_t best = SIZE_MAX;

	for (unsigned i = 0; i < nsx_ncommands; i++)
		if (nsx_is_nearer(name, strlen(name), nsx_commands[i]->name, &best))
			nearest = nsx_commands[i];
	return nearest;
}

void nsx_overview(FILE *out)
{
	nsx_opt_overview(nsx_commands, nsx_ncommands, out);
}

void nsx_manual(FILE *out)
{
	nsx_opt_manual(nsx_commands, nsx_ncommands, out);
}
