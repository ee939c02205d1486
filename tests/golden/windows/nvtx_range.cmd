explain @iterations_nvtx --window nvtx:step --pass windows --json
