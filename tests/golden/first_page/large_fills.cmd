explain @large_fills --out o --window 0..0.8
