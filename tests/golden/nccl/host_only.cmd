explain @nccl_host_only --pass nccl --json
