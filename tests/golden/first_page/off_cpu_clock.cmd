explain @off_cpu_clock --out o
