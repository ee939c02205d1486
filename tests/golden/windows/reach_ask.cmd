ask @window_reach gaps --window 2s..2.1s --reach 0.1 --limit 2
