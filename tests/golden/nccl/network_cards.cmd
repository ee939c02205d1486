explain @network_cards --pass nccl --md
