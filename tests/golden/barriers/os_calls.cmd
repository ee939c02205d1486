explain @osrt --pass barriers --json
