explain @held_by_first --out o
