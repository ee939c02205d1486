explain @mpi_staged --pass findings --md
