explain @samples_after --window 0.15..0.25 --pass cpu_hotspots --md
