explain @busy_cpu --window 0.35..0.65 --pass findings,cpu_hotspots --md
