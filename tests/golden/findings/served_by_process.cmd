explain @served_by_process --pass findings --md
