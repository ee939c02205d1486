explain @one_kernel --json --out o
