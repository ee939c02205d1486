/* fuzz_sql.c - runs a SELECT on a trace. Byte 0 chooses the trace (bases.h); the rest is the
 * SELECT.
 */
#include "asked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		fuzz_ask(data[0], NSX_Q_sql, data + 1, size - 1);
	return 0;
}
