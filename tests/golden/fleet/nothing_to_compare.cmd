fleet @nccl_host_only --json
