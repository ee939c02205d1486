explain @sites --pass call_sites --json
