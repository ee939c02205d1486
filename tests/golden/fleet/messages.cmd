fleet @mpi_ring -o o
