explain @turns_below_zero --out o
