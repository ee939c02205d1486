explain @one_kernel --pass run_phases --md
