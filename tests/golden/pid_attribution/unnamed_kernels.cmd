explain @pids_unnamed --pass pid_attribution --json
