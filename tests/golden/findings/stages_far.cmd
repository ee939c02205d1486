explain @stages_far --pass findings --md
