explain @on_cpu_prepares --pass findings --md
