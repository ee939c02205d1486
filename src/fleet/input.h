/* input.h - reads the inputs of the fleet command as digests. */
#pragma once

#include "fleet/digest.h"

struct nsx_fleet_inputs {
	const char **path; /* each file once, in order of name */
	size_t n;
	struct nsx_arena *arena;
};

/* Lists operands: traces, digests, folders of them, and @FILE with one name per line.
 * Errors: NSX_E_IO, NSX_E_USAGE (no inputs). Owner: the caller, nsx_arena_free.
 */
int nsx_fleet_list(char *const *operands, int n, struct nsx_fleet_inputs *ret,
		   struct nsx_err *err) NSX_CHECKED;

struct nsx_left_out {
	size_t n;
	struct nsx_buf why; /* a line for each */
};
/* Reads the inputs as digests, in their order, `jobs` at a time; digests of traces are made
 * on the way. An input that cannot be read is left out, and the reason added to *left_out.
 * Owner: the caller, nsx_digests_free, and nsx_buf_done for the text. Errors: NSX_E_NOMEM,
 * NSX_E_STOP, NSX_E_USAGE (an option that suits no trace).
 */
int nsx_fleet_read(const struct nsx_fleet_inputs *in,
		   const struct nsx_digest_opts *o, unsigned jobs,
		   struct nsx_digest ***ret, size_t *ret_n, struct nsx_left_out *left_out,
		   struct nsx_err *err) NSX_CHECKED;
