explain @pause_each_eighth --pass findings --md --replay-ops 60
