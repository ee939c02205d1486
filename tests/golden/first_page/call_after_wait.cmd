explain @call_after_wait --out o
