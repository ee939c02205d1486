explain @evaluations --pass findings,iterations --md
