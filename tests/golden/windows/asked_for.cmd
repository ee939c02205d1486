explain @iterations_nvtx --pass windows --window 3000000ns..4000000ns --md
