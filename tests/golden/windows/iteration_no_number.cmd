explain @iterations_nvtx --iteration 2x --pass windows --md
