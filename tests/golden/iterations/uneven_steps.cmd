explain @uneven_steps --out o
