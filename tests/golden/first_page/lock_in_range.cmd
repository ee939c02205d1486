explain @lock_in_range --out o
