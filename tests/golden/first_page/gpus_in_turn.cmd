explain @gpus_in_turn --out o
