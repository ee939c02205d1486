fleet @nccl_payload --json
