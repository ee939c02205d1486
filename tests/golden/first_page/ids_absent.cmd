explain @ids_absent --out o
