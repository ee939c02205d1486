explain @value_before_token --pass findings --md
