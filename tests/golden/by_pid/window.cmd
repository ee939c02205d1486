explain @case03_two_pids --pass by_pid --json --window 500000ns..2500000ns
