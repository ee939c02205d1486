fleet @mpi_start -o o
