/* fuzz_ask.c - asks a question about a trace. Byte 0 chooses the trace (bases.h), byte 1 the
 * question; the rest is its argument.
 */
#include "asked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 2)
		fuzz_ask(data[0], (enum nsx_question_id)(data[1] % NSX_NQUESTIONS),
			 data + 2, size - 2);
	return 0;
}
