explain @one_kernel --html o.html --out o
