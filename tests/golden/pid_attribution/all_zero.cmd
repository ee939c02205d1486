explain @case05_pid_zero --pass pid_attribution --json
