@visible_devices_unmapped --md --pass partition,iterations,nccl
