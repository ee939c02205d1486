explain @sampled_on_two --pass findings --md
