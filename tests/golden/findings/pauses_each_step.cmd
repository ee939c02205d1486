explain @pauses_each_step --pass findings --md
