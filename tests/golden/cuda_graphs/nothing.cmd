explain @no_tables_2021 --pass cuda_graphs --json
