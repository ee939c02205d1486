/* test_counters.c - GPU counters are recognised by the names that they have in different sets. */
#include "../testlib.h"
#include "facts/metrics/metrics.h"

static bool is_known(const char *name, double max, enum nsx_counter k)
{
	struct nsx_metric m = {.name = name};
	struct nsx_counters c = {{NULL}};

	m.scope[NSX_SCOPE_WINDOW].max = max;
	nsx_counters_add(&c, &m);
	return c.of[k];
}

TEST(counter_spellings)
{
	static const struct {
		const char *name;
		enum nsx_counter k;
	} names[] = {
		{"GR Active [Throughput %]", NSX_GR_ACTIVE},
		{"SMs Active", NSX_SM_ACTIVE},
		{"SM Active [Throughput %]", NSX_SM_ACTIVE},
		{"SM Issue [Throughput %]", NSX_SM_ISSUE},
		{"Tensor Active / FP16 Active", NSX_TENSOR_ACTIVE},
		{"Compute Warps in Flight [Throughput %]", NSX_WARPS_IN_FLIGHT},
		{"DRAM Read Bandwidth [Throughput %]", NSX_DRAM_READ},
		{"DRAM Read Throughput", NSX_DRAM_READ},
		{"VRAM Read Bandwidth [Throughput %]", NSX_DRAM_READ},
		{"GPU Memory Read Bandwidth [Throughput %]", NSX_DRAM_READ},
		{"GPU Memory Write Bandwidth", NSX_DRAM_WRITE},
		{"DRAM Write Throughput", NSX_DRAM_WRITE},
		{"VRAM Write Bandwidth", NSX_DRAM_WRITE},
		{"PCIe RX Throughput [Throughput %]", NSX_PCIE_RX},
		{"PCIe Read Throughput", NSX_PCIE_RX},
		{"PCIe Read Bandwidth [Throughput %]", NSX_PCIE_RX},
		{"PCIe Write Throughput", NSX_PCIE_TX},
		{"PCIe Write Bandwidth", NSX_PCIE_TX},
	};

	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(is_known(names[i].name, 100, names[i].k));
}

/* A counter with another unit is not taken for a percentage. */
TEST(counter_units)
{
	assert_false(is_known("SMs Active [Avg]", 60, NSX_SM_ACTIVE));
	assert_false(is_known("DRAM Read Throughput", 3e9, NSX_DRAM_READ));
	assert_false(is_known("PCIe Read Requests to BAR1", 60, NSX_PCIE_RX));
}
