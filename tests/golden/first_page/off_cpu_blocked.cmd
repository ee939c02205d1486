explain @off_cpu_blocked --out o
