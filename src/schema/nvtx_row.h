/* nvtx_row.h - a row of the view nvtx, for loading and conversion. */
#pragma once

#include "schema/cells.h"
#include "schema/codes.h"
#include "schema/schema.h"

#define NSX_NVTX_ROW(X)                                                       \
	X(NSX_N_START, start_ns) X(NSX_N_END, end_ns)                         \
	X(NSX_N_TYPE, event_type) X(NSX_N_TEXT, text)                         \
	X(NSX_N_TEXT_ID, text_id) X(NSX_N_TID, global_tid)                    \
	X(NSX_N_PID, pid) X(NSX_N_PLAIN_TID, tid)                             \
	X(NSX_N_DOMAIN, domain_id) X(NSX_N_JSON, json_text)
#define NSX_NVTX_CELL(id, field) id,
#define NSX_NVTX_FIELD(id, field) NSX_F_nvtx_##field,
enum { NSX_NVTX_ROW(NSX_NVTX_CELL) NSX_N_CELLS };
static const enum nsx_field nsx_nvtx_row[NSX_N_CELLS] = {NSX_NVTX_ROW(NSX_NVTX_FIELD)};

/* The row's enum nsx_nvtx_kind by its event type; -1: neither range nor mark. Reduced exports
 * without that column hold push/pop ranges.
 */
static inline int nsx_nvtx_row_kind(const struct nsx_val *row)
{
	const struct nsx_val *type = &row[NSX_N_TYPE];

	if (type->type != NSX_V_I64 && type->type != NSX_V_NULL)
		return -1;
	switch (nsx_i64_or(type, NSX_EVENT_PUSH_POP)) {
	case NSX_EVENT_PUSH_POP:
	case NSX_EVENT_PUSH_POP_IMPORTED:
		return NSX_NVTX_STACK;
	case NSX_EVENT_START_END:
	case NSX_EVENT_START_END_IMPORTED:
		return NSX_NVTX_ASYNC;
	case NSX_EVENT_MARK:
	case NSX_EVENT_MARK_IMPORTED:
		return NSX_NVTX_MARK;
	default:
		return -1;
	}
}

/* The row's text, inline or as a string id. */
static inline const struct nsx_val *nsx_nvtx_row_name(const struct nsx_val *row)
{
	return &row[row[NSX_N_TEXT].type == NSX_V_TEXT ? NSX_N_TEXT : NSX_N_TEXT_ID];
}
