explain @mpi_ranges --pass findings --md
