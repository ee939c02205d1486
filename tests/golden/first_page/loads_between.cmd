explain @loads_between --out o
