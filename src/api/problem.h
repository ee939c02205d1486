/* problem.h - errors in the public interface. */
#pragma once

#include <nsx/error.h>
#include "base/err.h"

/* Copies err to *problem; returns its code. */
int nsx_tell_problem(const struct nsx_err *err, struct nsx_problem *problem);
