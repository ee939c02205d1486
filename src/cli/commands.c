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
	return NSX_FIRST(i, nsx_ncommands, !strcmp(nsx_commands[i]->name, name),
			 nsx_commands[i], NULL);
}

const char *nsx_cmd_nearest(const char *name)
{
	return NSX_NEAREST(name, i, nsx_ncommands, nsx_commands[i]->name);
}

void nsx_overview(FILE *out)
{
	nsx_opt_overview(nsx_commands, nsx_ncommands, out);
}

void nsx_manual(FILE *out)
{
	nsx_opt_manual(nsx_commands, nsx_ncommands, out);
}
