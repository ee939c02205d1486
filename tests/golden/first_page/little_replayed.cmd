explain @launch_bound --out o --replay-ops 1
