explain @case07_launch_storm --pass by_pid,per_pid --json
