/* fuzz_ask.c - byte 0 chooses one of bases.h, byte 1 a question, the rest is what it is
 * asked about.
 */
#include "asked.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size >= 2)
		fuzz_ask(data[0], (enum nsx_question_id)(data[1] % NSX_NQUESTIONS),
			 data + 2, size - 2);
	return 0;
}
