explain @pause_each_eighth --pass iterations,findings --md
