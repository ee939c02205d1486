ask @ranks_of_hosts kernel gemm
