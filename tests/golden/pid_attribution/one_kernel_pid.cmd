explain @case06_one_kernel_pid --pass pid_attribution --json
