diff @large_fills @large_fills --md
