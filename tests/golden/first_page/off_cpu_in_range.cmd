explain @off_cpu_in_range --out o
