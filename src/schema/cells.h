/* cells.h - reads cell values, whatever their type in the file.
 *
 * A cell whose type does not match its column's counts as absent. The code that loads the column
 * counts it as a defect.
 */
#pragma once

#include "schema/codes.h"
#include "sqlite/db.h"

static inline int64_t nsx_i64_or(const struct nsx_val *v, int64_t absent)
{
	return v->type == NSX_V_I64 ? v->u.i : absent;
}
static inline uint32_t nsx_u32_or(const struct nsx_val *v, uint32_t absent)
{
	return v->type == NSX_V_I64 && v->u.i >= 0 && v->u.i < UINT32_MAX ?
		       (uint32_t)v->u.i :
		       absent;
}
static inline uint8_t nsx_u8_or(const struct nsx_val *v, uint8_t absent)
{
	return v->type == NSX_V_I64 && v->u.i >= 0 && v->u.i < 255 ? (uint8_t)v->u.i : absent;
}
static inline bool nsx_is_text(const struct nsx_val *v, const char *text)
{
	return v->type == NSX_V_TEXT && v->len == strlen(text) && !memcmp(v->u.p, text, v->len);
}
static inline bool nsx_is_instant(const struct nsx_val *v)
{
	return v->type == NSX_V_I64 && v->u.i <= NSX_TIME_MAX && v->u.i >= -NSX_TIME_MAX;
}
/* The process key of a row, from globalPid or globalTid or, without them, from pid << 24. */
static inline uint64_t nsx_read_process_key(const struct nsx_val *global, const struct nsx_val *pid)
{
	if (global->type == NSX_V_I64)
		return nsx_process_key((uint64_t)global->u.i);
	if (pid->type == NSX_V_I64)
		return (uint64_t)pid->u.i << 24;
	return 0;
}
