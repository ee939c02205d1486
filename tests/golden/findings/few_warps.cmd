explain @few_warps --pass findings --md
