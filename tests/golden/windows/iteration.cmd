explain @iterations_nvtx --iteration 2 --pass windows --json
