explain @paced_clock --pass findings,iterations --md
