explain @keep_step --out o
