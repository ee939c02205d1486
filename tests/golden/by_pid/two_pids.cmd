explain @case03_two_pids --pass by_pid --json
