explain @batches_and_waits --out o
