explain @iterations_nvtx --iteration 99 --pass windows --md
