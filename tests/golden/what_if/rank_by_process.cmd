explain @replay_late_rank --pass what_if --md --what-if rank:pid:222:even
