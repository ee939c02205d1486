/* problem.h - an error under its public name. */
#ifndef NSX_PROBLEM_H
#define NSX_PROBLEM_H

#include <nsx/error.h>
#include "base/err.h"

/* Its code. */
int nsx_tell_problem(const struct nsx_err *err, struct nsx_problem *problem);

#endif
