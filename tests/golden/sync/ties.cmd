explain @ties --pass sync --json
