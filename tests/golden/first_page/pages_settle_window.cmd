explain @pages_settle --out o --window nvtx:fill
