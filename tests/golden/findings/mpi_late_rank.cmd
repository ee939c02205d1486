explain @mpi_late_rank --pass findings,negative_results --md
