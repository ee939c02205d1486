explain @case03_two_pids --explain nope
