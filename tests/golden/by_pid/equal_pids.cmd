explain @pids_equal --pass by_pid,top_kernels,launches,barriers --md
