explain @iterations_nvtx --pass nvtx --md --window 2500000ns..5500000ns
