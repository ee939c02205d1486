explain @samples_after --window 0.3..0.4 --pass cpu_hotspots --md
