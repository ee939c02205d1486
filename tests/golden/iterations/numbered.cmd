explain @steps_numbered --out o
