explain @clock_unseen --out o
