explain @mpi_other_order --pass findings,negative_results --md
