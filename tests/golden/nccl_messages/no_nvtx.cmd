explain @one_kernel --pass nccl_messages --json
