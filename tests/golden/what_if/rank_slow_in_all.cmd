explain @rank_slow_in_all --pass what_if --md --what-if rank:1:even
