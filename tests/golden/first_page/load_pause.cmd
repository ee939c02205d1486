explain @load_pause --out o
