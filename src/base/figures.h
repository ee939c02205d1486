/* figures.h - formats numbers for people: three significant digits and the unit that fits.
 * Exact values are in JSON and CSV. Owner of every text: arena a.
 */
#pragma once

#include "base/arena.h"

const char *nsx_text_ns(struct nsx_arena *a, double ns);     /* "421 ms"     */
const char *nsx_text_bytes(struct nsx_arena *a, double bytes); /* "25.5 GB"  */
const char *nsx_text_count(struct nsx_arena *a, double n); /* "290", "1.2 M" */
/* Formats a share as "97 %" or "0.4 %". Only exact values show as 0 or 100. */
const char *nsx_text_share(struct nsx_arena *a, double part, double whole);
/* Formats a count as "1 call" or "2 calls"; many NULL: appends an "s" to `one`. */
const char *nsx_text_n(struct nsx_arena *a, size_t n, const char *one, const char *many);
