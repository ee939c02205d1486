explain @sites_unnamed --pass cpu_hotspots --md
