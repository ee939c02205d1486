explain @window_reach_cpu --window 2s..2.1s --reach 0.1 --pass cpu_threads --md
