explain @window_halves --out o --pass barriers,nvtx,nvtx_by_pid --window 1000000ns..2000000ns -q
