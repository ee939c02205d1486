explain @hot_expert_reduce --pass findings --md
