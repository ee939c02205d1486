/* nvtx_gpu.c - NVTX ranges projected on the GPU: from the first to the last
 * operation that was launched in them.
 */
#include "convert/convert.h"

int nsx_convert_nvtx_gpu(struct nsx_conv *c, struct nsx_err *err)
{
	(void)c;
	return nsx_fail(err, NSX_E_USAGE, "--activity nvtx-kernel cannot be "
			"converted yet");
}
