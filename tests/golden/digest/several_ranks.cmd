digest @nccl_payload --rank 3 -o d.nsxd
