explain @checkpoints --pass findings,iterations --md
