explain @pause_of_code --out o
