explain @code_in_pieces --out o
