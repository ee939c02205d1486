explain @one_kernel --html @one_kernel
