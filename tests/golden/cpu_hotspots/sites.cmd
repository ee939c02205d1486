explain @sites --pass cpu_hotspots --json
