explain @busy_cpu --pass cpu_threads,cpu_hotspots,findings --md
