explain @optimizer_on_host --pass findings --md
