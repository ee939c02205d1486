explain @prefills --pass findings,iterations --md
