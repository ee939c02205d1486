@visible_devices --md --pass partition,iterations,nccl
