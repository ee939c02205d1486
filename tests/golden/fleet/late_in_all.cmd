fleet @mpi_late_rank -q -o o
