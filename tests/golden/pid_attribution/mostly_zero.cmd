explain @pids_mostly_zero --pass pid_attribution --json
