explain @one_kernel --pass call_sites --json
