explain @operator_on_host --pass findings --md
