explain @case09_synthetic_nvlink --pass nvlink_during_nccl --window 1400000ns..2400000ns --md
