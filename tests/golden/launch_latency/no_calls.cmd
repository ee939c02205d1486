explain @case07_launch_storm --pass launch_latency --json
