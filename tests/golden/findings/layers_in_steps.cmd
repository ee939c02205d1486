explain @layers_in_steps --pass iterations,findings --md
