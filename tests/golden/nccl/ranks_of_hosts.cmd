explain @ranks_of_hosts --pass nccl --md
