explain @one_kernel --pass library_calls --json
