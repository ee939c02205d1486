explain @on_cpu_meanwhile --pass findings --md
