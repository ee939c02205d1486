digest @nccl_payload --detail some -o d.nsxd
