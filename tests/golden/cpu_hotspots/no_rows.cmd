explain @one_kernel --pass cpu_hotspots --json
