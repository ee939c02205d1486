explain @kernel_tail --pass findings --md
