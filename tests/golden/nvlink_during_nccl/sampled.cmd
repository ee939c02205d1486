explain @case09_synthetic_nvlink --pass nvlink_during_nccl --json
