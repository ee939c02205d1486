explain @case03_two_pids --explain top_kernels
