explain @fed_dense --pass launch_storm --json
