explain @pauses_and_copies --out o
