explain @mpi_to_root --pass findings,negative_results --md
