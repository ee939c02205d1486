explain @mpi_from_anyone --pass findings,negative_results --md
