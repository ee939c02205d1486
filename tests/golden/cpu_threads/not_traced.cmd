explain @one_kernel --pass cpu_threads --json
