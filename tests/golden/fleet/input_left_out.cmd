fleet @two_rank_straggler no-such.nsxd --json
