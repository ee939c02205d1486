explain @no_tables_2021 --pass capture_quality --json
