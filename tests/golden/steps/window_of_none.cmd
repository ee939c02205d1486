explain @steps_vllm --window step:sampling
