explain @off_cpu_even --out o
