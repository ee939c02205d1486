explain @replay_late_rank --out o --what-if rank:1:even --what-if comm:2x --what-if kernel:wrok:2x
