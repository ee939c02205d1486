explain @three_workers
