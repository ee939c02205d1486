explain @processes_in_turn --out o
