explain @sites --out o
