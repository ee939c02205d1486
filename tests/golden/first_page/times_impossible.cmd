explain @times_impossible --out o
