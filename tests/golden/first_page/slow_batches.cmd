explain @slow_batches --out o
