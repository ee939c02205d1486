explain @synthetic --pass launch_storm --json
