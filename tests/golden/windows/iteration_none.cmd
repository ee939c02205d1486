explain @one_kernel --iteration 0 --pass windows --md
