explain @waits_for_child --pass findings --md
