explain @waits_by_cost --out o
