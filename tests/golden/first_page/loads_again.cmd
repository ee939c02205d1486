explain @loads_again --out o
