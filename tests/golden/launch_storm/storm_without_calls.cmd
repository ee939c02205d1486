explain @case07_launch_storm --pass launch_storm --json
