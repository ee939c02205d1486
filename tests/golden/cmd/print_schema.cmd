explain @case03_two_pids --print-schema --pass input
