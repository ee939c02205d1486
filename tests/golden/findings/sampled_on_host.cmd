explain @sampled_on_host --pass findings --md
