explain @waits_and_results --out o
