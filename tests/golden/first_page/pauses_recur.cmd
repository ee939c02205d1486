explain @pauses_recur --out o
