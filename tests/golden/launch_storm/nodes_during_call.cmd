explain @nodes_during_call --pass launch_storm --md
