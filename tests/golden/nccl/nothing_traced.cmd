explain @empty_tables --pass nccl --json
