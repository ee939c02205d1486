explain @steps_vllm --pass steps --json
