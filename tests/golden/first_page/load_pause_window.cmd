explain @load_pause --out o --window phase:pause
