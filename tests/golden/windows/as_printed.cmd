explain @iterations_nvtx --window 0.001s..0.003s --pass windows --json
