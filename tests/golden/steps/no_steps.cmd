explain @one_kernel --pass steps --json
