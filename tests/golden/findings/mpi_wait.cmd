explain @mpi_wait --pass findings --md
