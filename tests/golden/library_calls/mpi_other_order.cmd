explain @mpi_other_order --pass library_calls --md
