explain @sites --pass cpu_hotspots,call_sites --md
