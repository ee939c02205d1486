explain @steps_sglang --pass iterations --json
