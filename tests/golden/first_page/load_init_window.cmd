explain @load_pause --out o --window nvtx:init
