explain @one_kernel --html o.html --html-max 3z
