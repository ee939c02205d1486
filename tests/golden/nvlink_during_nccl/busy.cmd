explain @nvlink_busy --pass nvlink_during_nccl --md
