explain @synthetic --pass by_pid,per_pid --md
