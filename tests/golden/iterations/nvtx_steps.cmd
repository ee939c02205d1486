explain @iterations_nvtx --pass iterations --json
