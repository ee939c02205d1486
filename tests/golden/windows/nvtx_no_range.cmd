explain @iterations_nvtx --window nvtx:nowhere --pass windows --json
