explain @threads_in_turn --out o
