explain @load_then_loop --out o --window 0s..0.0285s
