explain @nccl_host_only --out o
