explain @evaluations --out o
