explain @nccl_payload --pass nccl_messages --json
