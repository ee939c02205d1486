explain @synthetic --pass by_pid --json
