explain @registers_unknown --out o --pass kernel_shape -q
