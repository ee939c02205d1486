explain @mpi_staged --out o
