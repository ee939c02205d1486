explain @transfers_cross --pass what_if --md --what-if kernel:/gemm/:2x
