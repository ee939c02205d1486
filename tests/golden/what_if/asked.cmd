explain @replay_late_rank --pass what_if --json --what-if rank:1:even --what-if comm:2x --what-if kernel:wrok:2x
