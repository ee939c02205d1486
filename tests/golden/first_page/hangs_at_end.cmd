explain @hangs_at_end --out o
