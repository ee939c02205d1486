explain @nccl_host_only --out o --window 20000ns..60000ns
