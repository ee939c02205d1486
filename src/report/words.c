/* words.c - times and enums in words. */
#include <ctype.h>
#include "report/words.h"

const char *const nsx_cause_words[NSX_NCAUSES] = {
	[NSX_CAUSE_SYNC] = "the host waits",
	[NSX_CAUSE_BLOCKING_COPY] = "a copy blocks the host",
	[NSX_CAUSE_IMPLICIT_SYNC] = "a call synchronises",
	[NSX_CAUSE_ALLOC] = "memory is allocated or freed",
	[NSX_CAUSE_MODULE] = "code is loaded",
	[NSX_CAUSE_OSRT] = "a call of the system or of MPI",
	[NSX_CAUSE_OTHER_API] = "another CUDA call",
	[NSX_CAUSE_HOST_CODE] = "host code",
	[NSX_CAUSE_LAUNCH_CALL] = "the launch call",
	[NSX_CAUSE_LAUNCH_TO_START] = "between launch and start",
	[NSX_CAUSE_STREAM_WAIT] = "a stream waits for another",
	[NSX_CAUSE_DISPATCH] = "between queued operations",
	[NSX_CAUSE_DEPENDENCY] = "queued work that is held up",
	[NSX_CAUSE_MIGRATION] = "before a page migration",
	[NSX_CAUSE_UNKNOWN] = "launch not recorded",
	[NSX_CAUSE_EDGE] = "before the first or after the last operation",
};

const char *const nsx_barrier_words[NSX_NBARRIERS] = {
	[NSX_BARRIER_SYNC_API] = "wait for the GPU",
	[NSX_BARRIER_BLOCKING_MEMCPY] = "blocking copy",
	[NSX_BARRIER_IMPLICIT_SYNC] = "call that synchronises",
	[NSX_BARRIER_HOST_WAIT] = "operating-system call",
	[NSX_BARRIER_LAUNCHER_GAP] = "between launches",
};

/* Rounds ns down to units of 10^-digits seconds. */
static int64_t units_below(int64_t ns, unsigned digits, int64_t *ret_unit)
{
	int64_t unit = 1;

	for (unsigned i = digits; i < 9; i++)
		unit *= 10;
	*ret_unit = unit;
	return ns / unit - (ns % unit < 0);
}

static const char *say_units(struct nsx_arena *a, int64_t n, int64_t unit, unsigned digits)
{
	int64_t second = 1000000000 / unit;
	uint64_t size = n < 0 ? 0 - (uint64_t)n : (uint64_t)n;

	return nsx_arena_printf(a, "%s%llu.%0*llus", n < 0 ? "-" : "",
				(unsigned long long)(size / (uint64_t)second), (int)digits,
				(unsigned long long)(size % (uint64_t)second));
}

const char *nsx_text_instant(struct nsx_arena *a, int64_t ns, unsigned digits)
{
	int64_t unit, n = units_below(ns, digits, &unit);

	return say_units(a, n, unit, digits);
}

const char *nsx_text_window(struct nsx_arena *a, const struct nsx_window *w)
{
	int64_t length = w->end_ns - w->start_ns, unit, first, last;
	unsigned digits = 3;

	for (int64_t step = 1000000; digits < 9 && step > length / 100; step /= 10)
		digits++;
	first = units_below(w->start_ns, digits, &unit);
	last = units_below(w->end_ns, digits, &unit);
	last += last * unit < w->end_ns;
	return nsx_arena_printf(a, "%s..%s", say_units(a, first, unit, digits),
				say_units(a, last, unit, digits));
}

const char *nsx_text_api(struct nsx_arena *a, const char *name)
{
	char buf[256], *text = nsx_arena_strdup(a, nsx_api_base(name, buf, sizeof(buf)));

	for (char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && !strchr("_:.~ ", *c))
			*c = '?';
	return text;
}

const char *nsx_text_profiled(struct nsx_arena *a, int64_t profiled_ns, int64_t ns)
{
	enum { PART = 10 };

	return profiled_ns < ns / PART || profiled_ns <= 0 ? "" :
		nsx_arena_printf(a, ", %s of it the profiler's own",
				 nsx_text_ns(a, (double)profiled_ns));
}
