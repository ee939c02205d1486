explain @lost_launches -q --out o --window 0.006s..0.016s --expect 'idle > 10 %'
