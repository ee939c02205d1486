explain @long_start --out o
