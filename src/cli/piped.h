/* piped.h - a trace read from stdin. */
#pragma once

#include "base/err.h"

/* Opens "-". *ret: the path that stands for it. Errors: NSX_E_IO, NSX_E_STOP; NSX_E_USAGE for a
 * second "-" or a terminal.
 */
int nsx_piped(char **ret, struct nsx_err *err) NSX_CHECKED;
bool nsx_is_piped(const char *path); /* whether a path stands for "-" */
