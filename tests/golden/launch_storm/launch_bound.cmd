explain @launch_bound --pass launch_storm --json
