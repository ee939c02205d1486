explain @call_sites --pass call_sites --json
