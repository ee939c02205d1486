explain @synthetic --pass barriers --json
