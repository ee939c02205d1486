/* known.c - counters that are known by name, and the bottleneck that several of them show. */
#include <math.h>
#include "facts/metrics/metrics.h"

/* The names of each counter. Metric sets for graphics use other names than those for computing. */
static const char *const spellings[NSX_NCOUNTERS][3] = {
	[NSX_GR_ACTIVE] = {"GR Active"},
	[NSX_SM_ACTIVE] = {"SMs Active", "SM Active"},
	[NSX_SM_ISSUE] = {"SM Issue"},
	[NSX_TENSOR_ACTIVE] = {"Tensor Active"},
	[NSX_WARPS_IN_FLIGHT] = {"Compute Warps in Flight"},
	[NSX_DRAM_READ] = {"DRAM Read", "VRAM Read", "GPU Memory Read"},
	[NSX_DRAM_WRITE] = {"DRAM Write", "VRAM Write", "GPU Memory Write"},
	[NSX_PCIE_RX] = {"PCIe RX Throughput", "PCIe Read Throughput",
			 "PCIe Read Bandwidth"},
	[NSX_PCIE_TX] = {"PCIe TX Throughput", "PCIe Write Throughput",
			 "PCIe Write Bandwidth"},
};

const char *nsx_counter_name(enum nsx_counter k)
{
	return spellings[k][0];
}

/* Whether a counter is in percent of the peak: its name says so or has no unit, and no value
 * exceeds 100. One quantity may be sampled in several units.
 */
static bool is_percent(const struct nsx_metric *m)
{
	const char *unit = strchr(m->name, '[');

	return m->scope[NSX_SCOPE_WINDOW].max <= 100 &&
	       (!unit || !strncmp(unit, "[Throughput %]", 14));
}

void nsx_counters_add(struct nsx_counters *c, const struct nsx_metric *m)
{
	if (!m->name || !is_percent(m))
		return;
	for (unsigned k = 0; k < NSX_NCOUNTERS; k++)
		for (unsigned i = 0; i < ARRAY_LEN(spellings[k]) && spellings[k][i]; i++)
			if (!c->of[k] && !strncasecmp(m->name, spellings[k][i],
						      strlen(spellings[k][i])))
				c->of[k] = m;
}

struct nsx_counters nsx_counters_of(const struct nsx_metrics *m, uint32_t device)
{
	struct nsx_counters c = {{NULL}};

	for (size_t i = 0; m && i < m->n; i++)
		if (m->v[i].device == device)
			nsx_counters_add(&c, &m->v[i]);
	return c;
}

enum { FEWEST = 10 }; /* samples from which their median is typical */

/* A sample that lies only partly in the scope shows less than what runs in it. If kernels are
 * shorter than the samples, nearly all samples do. So the median of those with at least half of
 * their time in the scope is taken.
 */
double nsx_counter_typical(const struct nsx_counters *c, enum nsx_counter which,
			   enum nsx_scope scope)
{
	const struct nsx_metric_scope *s = c->of[which] ? &c->of[which]->scope[scope] : NULL;

	return !s ? NAN : scope == NSX_SCOPE_COMPUTE && s->n >= FEWEST ? s->p50 : s->mean;
}

/* The typical use of DRAM, in percent of its peak. Reads and writes share one bus, so their
 * percentages are added. If the sum exceeds 100, this GPU measures them apart, and the greater one
 * is returned.
 */
double nsx_dram_typical(const struct nsx_counters *c, enum nsx_scope scope)
{
	double in = nsx_counter_typical(c, NSX_DRAM_READ, scope);
	double out = nsx_counter_typical(c, NSX_DRAM_WRITE, scope);

	return in + out > 100 ? NSX_MAX(in, out) : in + out;
}

enum nsx_bound nsx_bound_by(const struct nsx_counters *c, enum nsx_scope scope)
{
	double dram = nsx_dram_typical(c, scope);
	double sm = nsx_counter_typical(c, NSX_SM_ACTIVE, scope);
	double issue = nsx_counter_typical(c, NSX_SM_ISSUE, scope);

	if (isnan(dram))
		return NSX_BOUND_UNKNOWN;
	if (dram >= 80)
		return NSX_BOUND_MEMORY;
	if (issue >= 60 || nsx_counter_typical(c, NSX_TENSOR_ACTIVE, scope) >= 60)
		return NSX_BOUND_COMPUTE;
	if (sm >= 60 && issue < 30)
		return NSX_BOUND_LATENCY;
	return sm < 60 ? NSX_BOUND_UNFILLED : NSX_BOUND_NEITHER;
}
