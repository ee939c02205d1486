explain @green_contexts --out o
