/* fuzz_sql.c - byte 0 chooses one of bases.h, the rest is a SELECT of somebody else. */
#include "asked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size)
		fuzz_ask(data[0], NSX_Q_sql, data + 1, size - 1);
	return 0;
}
