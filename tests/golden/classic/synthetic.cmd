explain @synthetic --classic --md --pass critical_path,nccl,nvlink_during_nccl,barriers,by_pid
