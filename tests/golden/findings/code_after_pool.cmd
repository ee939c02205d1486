explain @code_after_pool --pass findings --md
