/* codes.h - numeric codes of the exporter, each defined once.
 *
 * The program decides by these numbers. Labels, from the trace's ENUM_* tables, may be in any words
 * and are only shown. The numbers are the same in all known versions (2019 to 2026), except for
 * sync types: these follow from which ids of a wait are set.
 */
#pragma once

#include "base/base.h"

/* The process key of a global id. A global id holds machine and VM, then 24 bits of process id,
 * then 24 bits of thread id. In a process key the thread bits are 0.
 */
static inline uint64_t nsx_process_key(uint64_t global_id)
{
	return global_id & ~UINT64_C(0xffffff);
}
static inline int64_t nsx_pid_of(uint64_t global_id)
{
	return (int64_t)(global_id >> 24 & 0xffffff);
}
static inline int64_t nsx_tid_of(uint64_t global_id)
{
	return (int64_t)(global_id & 0xffffff);
}

enum { /* values of copyKind */
	NSX_COPY_UNKNOWN, NSX_COPY_HTOD, NSX_COPY_DTOH, NSX_COPY_HTOA,
	NSX_COPY_ATOH, NSX_COPY_ATOA, NSX_COPY_ATOD, NSX_COPY_DTOA,
	NSX_COPY_DTOD, NSX_COPY_HTOH, NSX_COPY_PTOP, NSX_COPY_UVM_HTOD,
	NSX_COPY_UVM_DTOH, NSX_COPY_UVM_DTOD, NSX_NCOPY_KINDS
};
enum { /* srcKind, dstKind, memKind: CUPTI's value - 1 */
	NSX_MEM_PAGEABLE, NSX_MEM_PINNED, NSX_MEM_DEVICE, NSX_MEM_ARRAY,
	NSX_MEM_MANAGED, NSX_MEM_DEVICE_STATIC, NSX_MEM_MANAGED_STATIC,
	NSX_MEM_UNKNOWN, NSX_NMEM_KINDS
};
enum { NSX_MEM_ALLOCATE, NSX_MEM_FREE }; /* memoryOperationType */
enum { /* values of migrationCause */
	NSX_MIGRATE_UNKNOWN, NSX_MIGRATE_PREFETCH, NSX_MIGRATE_PAGE_FAULT,
	NSX_MIGRATE_SPECULATIVE, NSX_MIGRATE_EVICTION, NSX_MIGRATE_COUNTERS,
	NSX_NMIGRATE_CAUSES
};
enum { /* overheadType: JIT and loading are the program's overhead, 3 to 5 the profiler's */
	NSX_OVERHEAD_JIT = 2, NSX_OVERHEAD_FLUSH, NSX_OVERHEAD_INSTRUMENTATION,
	NSX_OVERHEAD_RESOURCE, NSX_OVERHEAD_MODULE_LOAD,
	NSX_OVERHEAD_LAZY_LOAD, NSX_OVERHEAD_BUFFER_FULL
};
enum { /* NVTX_EVENTS.eventType; _IMPORTED: NVTXT text files */
	NSX_EVENT_MARK = 34, NSX_EVENT_PUSH_POP = 59, NSX_EVENT_START_END = 60,
	NSX_EVENT_MARK_IMPORTED = 65, NSX_EVENT_PUSH_POP_IMPORTED = 70,
	NSX_EVENT_START_END_IMPORTED = 71, NSX_EVENT_DOMAIN_CREATE = 75
};
/* The RUNTIME.eventClass of a duplicate row that carries a call's backtrace. */
enum { NSX_CLASS_BACKTRACE = 67 };
/* The RUNTIME.returnValue of a query for unfinished work, which is no failure. */
enum { NSX_RETURN_NOT_READY = 600 };
/* Whether a thread that left its CPU could run: by its threadState (running, unscheduled), or by
 * the threadBlock (quantum end, dispatch, preempted, yield; ready; deferred preemption).
 */
static inline int nsx_is_runnable(int64_t state, int64_t block)
{
	return state == 1 || state == 6 || (block >= 42 && block <= 45) || block == 49 ||
	       block == 51;
}

/* Whether a row says why its thread left the CPU. Terminated (5) needs no states in the trace. */
static inline int nsx_knows_states(int64_t state, int64_t block)
{
	return (state && state != 5) || block > 1;
}

/* Whether an overhead is the program's own: JIT, module loading and lazy loading. */
static inline int nsx_overhead_is_load(unsigned type)
{
	return type == NSX_OVERHEAD_JIT || type == NSX_OVERHEAD_MODULE_LOAD ||
	       type == NSX_OVERHEAD_LAZY_LOAD;
}
/* Whether an overhead is the profiler's own. */
static inline int nsx_overhead_is_tool(unsigned type)
{
	return type == NSX_OVERHEAD_FLUSH ||
	       type == NSX_OVERHEAD_INSTRUMENTATION ||
	       type == NSX_OVERHEAD_RESOURCE;
}
static inline int nsx_copy_is_migration(unsigned kind)
{
	return kind >= NSX_COPY_UVM_HTOD && kind <= NSX_COPY_UVM_DTOD;
}
/* Whether a page fault of the host caused the migration, not a prefetch or an eviction. */
static inline int nsx_copy_is_fetched(unsigned kind, unsigned cause)
{
	return kind == NSX_COPY_UVM_DTOH && cause != NSX_MIGRATE_PREFETCH &&
	       cause != NSX_MIGRATE_EVICTION;
}
static inline int nsx_copy_is_pageable(unsigned kind, unsigned src, unsigned dst)
{
	return (kind == NSX_COPY_HTOD && src == NSX_MEM_PAGEABLE) ||
	       (kind == NSX_COPY_DTOH && dst == NSX_MEM_PAGEABLE);
}

/* The kinds to which the event types belong. */
enum nsx_nvtx_kind { NSX_NVTX_STACK, NSX_NVTX_ASYNC, NSX_NVTX_MARK };
