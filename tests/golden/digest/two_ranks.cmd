digest @nccl_payload --detail steps -o d.nsxd
