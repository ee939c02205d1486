explain @mpi_no_gpu --pass findings --md
