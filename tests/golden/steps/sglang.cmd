explain @steps_sglang --pass steps --json
