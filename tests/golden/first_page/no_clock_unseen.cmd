explain @no_clock_unseen --out o
