explain @mpi_sendrecv --pass findings,negative_results --md
