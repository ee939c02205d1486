explain @hand_over --out o
