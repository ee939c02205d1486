explain @sites --pass cpu_hotspots --json --window 1000000ns..2400000ns
