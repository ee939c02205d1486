explain @on_cpu_by_chance --pass findings --md
