explain @mpi_early_end --pass findings,negative_results --md
