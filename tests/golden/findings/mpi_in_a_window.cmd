explain @mpi_no_gpu --window 0.2..0.7 --pass findings,library_calls --md
