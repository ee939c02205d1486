explain @ties --pass barriers --json
