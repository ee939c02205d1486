explain @mpi_late_writes --pass findings --md
