explain @value_to_gpu --pass findings --md
