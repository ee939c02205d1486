explain @alloc_stall --pass top_kernels --md --fail-on high
