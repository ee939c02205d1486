explain @tensors_in_a_row --pass findings --md
