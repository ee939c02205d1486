explain @load_then_loop --out o --window 0.001s..0.0285s
