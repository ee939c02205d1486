explain @samples_alone --out o
