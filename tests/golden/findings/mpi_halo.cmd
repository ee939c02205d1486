explain @mpi_halo --pass findings,negative_results --md
