explain @pinned_start --out o
