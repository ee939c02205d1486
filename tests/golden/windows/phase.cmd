explain @iterations_nvtx --window phase:steady --pass windows --json
