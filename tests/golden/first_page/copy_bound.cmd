explain @copy_bound --out o
