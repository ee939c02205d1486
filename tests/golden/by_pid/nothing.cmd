explain @no_tables_2021 --pass by_pid,per_pid --md
