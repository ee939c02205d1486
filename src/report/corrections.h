/* corrections.h - describes what the loader corrected of a trace's GPU times. */
#pragma once

#include "trace/trace.h"

/* "3 records of GPU work begin before their own call ...: left out (the first: ...)"; NULL: none
 * is left out or cut.
 */
const char *nsx_say_impossible(const struct nsx_trace *t, struct nsx_arena *a);
/* Describes the shift of a clock whose shift_ns is not 0: "GPU times were recorded 2 ms too early:
 * ...".
 */
const char *nsx_say_shift(const struct nsx_clock *c, struct nsx_arena *a);
