explain @synthetic --pass nvlink_during_nccl --json
