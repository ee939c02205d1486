/* problem.h - errors in the public interface. */
#ifndef NSX_PROBLEM_H
#define NSX_PROBLEM_H

#include <nsx/error.h>
#include "base/err.h"

/* Copies err to *problem; returns its code. */
int nsx_tell_problem(const struct nsx_err *err, struct nsx_problem *problem);

#endif
