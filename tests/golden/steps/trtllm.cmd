explain @steps_trtllm --pass steps --json
