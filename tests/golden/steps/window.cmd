explain @steps_vllm --window step:prefill --pass windows,steps --json
