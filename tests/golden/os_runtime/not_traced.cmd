explain @one_kernel --pass os_runtime --json
