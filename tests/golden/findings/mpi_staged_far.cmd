explain @mpi_staged_far --pass findings --md
