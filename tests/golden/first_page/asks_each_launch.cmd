explain @asks_each_launch --out o
