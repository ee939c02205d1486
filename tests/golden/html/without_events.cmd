explain @one_kernel --html o.html --html-events none -q
