explain @nccl_payload --out o
