explain @off_cpu_unknown --out o
