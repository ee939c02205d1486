explain @mpi_messages --pass findings,negative_results --md
