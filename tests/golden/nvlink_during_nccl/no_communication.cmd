explain @gpu_metrics --pass nvlink_during_nccl --md
