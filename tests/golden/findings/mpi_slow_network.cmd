explain @mpi_slow_network --pass findings,negative_results --md
