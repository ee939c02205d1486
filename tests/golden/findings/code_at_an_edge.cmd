explain @locks_each_step --window -12655000ns..41116666ns --pass findings --md
