explain @one_kernel --pass nvtx_coverage_warn_threshold --json --nvtx-coverage-warn-threshold 0.25
