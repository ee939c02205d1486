explain @nccl_payload --pass nccl --json
