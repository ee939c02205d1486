explain @operator_waits --pass findings --md
