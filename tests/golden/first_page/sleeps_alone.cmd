explain @sleeps_alone --out o
