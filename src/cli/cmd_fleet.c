/* cmd_fleet.c - many ranks in, one answer out. */
#include "cli/fleet_run.h"
#include "cli/cmd_common.h"

static int cmd_fleet_run(void *args, int noperands, char **operands, struct nsx_err *err)
{
	struct nsx_fleet_run *r = args;
	struct nsx_digest **v = NULL;
	size_t n = 0;
	int rc = nsx_fleet_run_begin(r, noperands, operands, err) ?:
		 nsx_fleet_read(&r->inputs, &r->digest, r->jobs, &v, &n, &r->left_out, err);

	nsx_fleet_run_say(&r->left_out);
	rc = rc ?: nsx_fleet_run_finish(r, v, n, err);
	nsx_fleet_run_done(r);
	return rc;
}

const struct nsx_cmd nsx_cmd_fleet = {
	NSX_FLEET_COMMAND,
	.run = cmd_fleet_run,
};
