explain @start_and_end --out o
