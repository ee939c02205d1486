explain @iterations_nvtx --pass iterations,findings --md
