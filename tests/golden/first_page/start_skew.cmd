explain @start_skew --out o
