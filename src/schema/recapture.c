/* recapture.c - options of nsys by version.
 *
 * Sources: the user guides and release notes of 2020.3 to 2026.5, and the help of 2023.4.4.
 * Where these leave the first version open, a later one is given.
 */
#include <stdio.h>
#include "base/str.h"
#include "schema/recapture.h"

enum {
	NEVER = 999999, /* a version that does not exist yet            */
	UNKNOWN = 202401, /* assumed if the trace's version is unknown       */
};

/* Options in the order in which they are printed. A row applies if one of its bits is wanted.
 * Adjacent rows with the same bit are several options, or one option under its different names.
 */
static const struct option {
	unsigned what;
	unsigned from, until; /* versions: [from, until)                     */
	const char *text;
} options[] = {
	{NSX_REC_COUNTERS | NSX_REC_SLOWER | NSX_REC_SETS, 202104, 202501,
	 "--gpu-metrics-device=all"},
	{NSX_REC_COUNTERS | NSX_REC_SLOWER | NSX_REC_SETS, 202501, NEVER,
	 "--gpu-metrics-devices=all"},
	{NSX_REC_SETS, 202104, NEVER, "--gpu-metrics-set=help"},
	{NSX_REC_COUNTERS, 202104, NEVER, "--gpu-metrics-set=<supported-set>"},
	{NSX_REC_COUNTERS, 202104, NEVER, "--gpu-metrics-frequency=10000"},
	{NSX_REC_SLOWER, 202104, NEVER, "--gpu-metrics-frequency=1000"},
	{NSX_REC_GRAPHS, 202201, NEVER, "--cuda-graph-trace=node"},
	{NSX_REC_MEMORY, 202101, NEVER, "--cuda-memory-usage=true"},
	{NSX_REC_FAULTS, 202101, NEVER,
	 "--cuda-um-cpu-page-faults=true --cuda-um-gpu-page-faults=true"},
	{NSX_REC_SCHED, 0, 202201, "--sample=cpu"},
	{NSX_REC_SCHED, 202201, NEVER, "--sample=none --cpuctxsw=process-tree"},
	{NSX_REC_LIGHT, 0, 202201, "--sample=none"},
	{NSX_REC_LIGHT, 202201, NEVER, "--sample=none --cpuctxsw=none"},
	{NSX_REC_TORCH, 202501, NEVER, "--pytorch=autograd-nvtx"},
	{NSX_REC_ALL_APIS, 202501, NEVER, "--cuda-trace-all-apis=true"},
	{NSX_REC_RANGE, 0, NEVER, "--capture-range=cudaProfilerApi"},
	{NSX_REC_RANGE, 0, 202201, "--stop-on-range-end=true"},
	{NSX_REC_RANGE, 202201, NEVER, "--capture-range-end=stop"},
	{NSX_REC_SHORT, 0, NEVER, "--duration=30 --kill=none"},
	{NSX_REC_LATER, 0, NEVER, "--delay=10 --duration=20 --kill=none"},
	{NSX_REC_EXPORT, 202201, NEVER, "--lazy=false"},
	{NSX_REC_PAYLOAD, 202501, NEVER,
	 "--include-json=true --include-blobs=true"},
};
/* The first versions with these values of --trace. Before, NCCL's ranges were part of NVTX, and
 * there was no hardware tracing.
 */
enum { TRACES_NCCL = 202506, TRACES_SOFTWARE = 202506 };
unsigned nsx_nsys_version(const char *product)
{
	const char *p = strpbrk(product, "0123456789");
	unsigned year, minor;

	if (!p || sscanf(p, "%4u.%2u", &year, &minor) != 2 || year < 2018 || year > 2100)
		return 0;
	return 100 * year + minor;
}

unsigned nsx_recapture_since(unsigned what)
{
	unsigned since = 0;

	what &= ~NSX_REC_EXPORT; /* without an option, nsys exports everything */
	for (unsigned bit = 1; bit <= NSX_REC_PAYLOAD; bit <<= 1) {
		unsigned first = NEVER;

		for (size_t i = 0; i < ARRAY_LEN(options); i++)
			if (options[i].what & what & bit)
				first = NSX_MIN(first, options[i].from);
		if (first != NEVER)
			since = NSX_MAX(since, first);
	}
	return since;
}

static const char *trace_option_value(unsigned version, bool on_windows, unsigned what)
{
	if (on_windows) /* Windows has neither POSIX calls nor NCCL */
		return what & NSX_REC_SOFTWARE && version >= TRACES_SOFTWARE ?
			       "cuda-sw,nvtx" : "cuda,nvtx";
	return what & NSX_REC_LIGHT ? "cuda,nvtx" :
	       what & NSX_REC_SOFTWARE && version >= TRACES_SOFTWARE ?
				      "cuda-sw,nvtx,osrt" :
	       what & NSX_REC_NCCL && version >= TRACES_NCCL ?
				      "cuda,nvtx,osrt,nccl" :
				      "cuda,nvtx,osrt";
}

const char *nsx_recapture_line(struct nsx_arena *a, const struct nsx_schema *s, unsigned what)
{
	unsigned version = s ? nsx_nsys_version(s->product_version) : 0;
	bool is_export = what & NSX_REC_EXPORT;
	unsigned as = version ? version : UNKNOWN;
	struct nsx_buf line = {0}, newer = {0};
	const char *text;

	if (version && version < nsx_recapture_since(what))
		return NULL;
	nsx_buf_adds(&line, is_export ? "nsys export --type sqlite" : "nsys profile");
	if (!is_export && what != NSX_REC_SETS)
		nsx_buf_printf(&line, " --trace=%s", 
			       trace_option_value(as, s && s->on_windows, what));
	if (strstr(line.p, ",nccl"))
		/* With this option, more than calls, groups and GPU work is recorded. */
		nsx_buf_adds(&line, " --nccl-trace=all");
	for (size_t i = 0; i < ARRAY_LEN(options); i++) {
		const struct option *o = &options[i];

		if (!(o->what & what))
			continue;
		if (as >= o->from && as < o->until)
			nsx_buf_printf(&line, " %s", o->text);
		else if (!version && as < o->from)
			nsx_buf_printf(&newer, "%s%s",
				       newer.n ? " " :
						 "  # nsys 2025 and later: ", o->text);
	}
	nsx_buf_adds(&line, is_export		   ? " -o run.sqlite run.nsys-rep" :
			    what == NSX_REC_SETS ? "" :
						   " -o run COMMAND");
	nsx_buf_adds(&line, newer.n ? newer.p : "");
	text = nsx_buf_keep(&line, a);
	nsx_buf_done(&newer);
	return text;
}

const struct nsx_preset nsx_presets[NSX_NPRESETS] = {
#define NSX_PRESET(id, record, shows, ...) {#id, record, shows, {__VA_ARGS__}},
#include "schema/presets.def"
#undef NSX_PRESET
};

int nsx_refuse_preset(const char *name, struct nsx_err *err)
{
	const char *nearest = NSX_NEAREST(name, i, NSX_NPRESETS, nsx_presets[i].name);
	NSX_AT_EXIT(nsx_buf_done) struct nsx_buf all = {0};

	for (unsigned i = 0; i < NSX_NPRESETS; i++)
		nsx_buf_printf(&all, "%s%s", !i ? "" : i + 1 < NSX_NPRESETS ? ", " : " and ",
			       nsx_presets[i].name);
	return nsx_fail(err, NSX_E_USAGE, "there is no preset '%.80s'; %sthere are %s", name,
			nsx_meant(nearest).text, all.p);
}

const char *nsx_recapture_preset(unsigned what, bool links)
{
	unsigned i = 0;

	while (i < NSX_PRESET_full && (what & NSX_REC_ALL & ~nsx_presets[i].record ||
				       (i == NSX_PRESET_nvlink && !links)))
		i++;
	return nsx_presets[i].name;
}
