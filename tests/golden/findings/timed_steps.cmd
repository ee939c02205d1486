explain @timed_steps --pass findings --md
