explain @p2p_copy --pass nccl --md
