explain @iterations_nvtx --pass windows --json
