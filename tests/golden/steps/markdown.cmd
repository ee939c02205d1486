explain @steps_vllm --pass steps --md
