explain @iterations_nvtx --window phase:nowhere --pass windows --json
