explain @steps_layers --pass steps --json
