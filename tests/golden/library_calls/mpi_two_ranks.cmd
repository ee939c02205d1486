explain @mpi_late_rank --pass library_calls --md
