/* fuzz_phase_map.c - reads bytes as a phase map. A map that parses must answer look-ups. */
#include "fuzz.h"
#include "passes/nvtx/phase.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct nsx_phase_map *m = NULL;
	struct nsx_err err = {0};

	if (nsx_phase_map_parse((const char *)data, size, "map.json", &m, &err)) {
		if (!err.msg[0] || strchr(err.msg, '\n'))
			abort();
		return 0;
	}
	if (nsx_phase_of(m, "aten::mm") > nsx_phase_count(m) ||
	    nsx_phase_of(m, "") > nsx_phase_count(m))
		abort();
	nsx_phase_map_free(m);
	return 0;
}
