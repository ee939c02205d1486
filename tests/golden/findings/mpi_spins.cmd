explain @mpi_spins --pass findings --md
