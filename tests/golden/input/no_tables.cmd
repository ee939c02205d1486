explain @no_tables_2021 --pass input --json
