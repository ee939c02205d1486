explain @no_lengths --out o
