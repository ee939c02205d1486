explain @columns_renamed --out o
